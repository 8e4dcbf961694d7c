"""A model is found whatever it is on disk, read whole, and written again without a change."""

import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import h5py
import pytest
import torch
from safetensors import SafetensorError

from elmo_torch.errors import CheckpointError, OutputError
from elmo_torch.formats.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from tests.models import random_checkpoint


def assert_same_model(left: Checkpoint, right: Checkpoint) -> None:
    assert left.config == right.config
    assert left.state_dict.keys() == right.state_dict.keys()
    for key, tensor in left.state_dict.items():
        assert torch.equal(tensor, right.state_dict[key]), key


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    folder = tmp_path / "pair"
    save_checkpoint(random_checkpoint(), folder, format="bilm")
    return folder


@pytest.fixture
def native(tmp_path: Path) -> Path:
    folder = tmp_path / "native"
    save_checkpoint(random_checkpoint(words=("a", "b")), folder)
    return folder


def test_our_folder_reads_back_bit_for_bit(native: Path) -> None:
    original, read = (
        random_checkpoint(words=("a", "b")),
        load_checkpoint(native, language_model=True),
    )
    assert_same_model(original, read)
    assert read.format == "native"
    assert original.softmax is not None
    assert read.softmax is not None
    for key, tensor in original.softmax.items():
        assert torch.equal(tensor, read.softmax[key])
    assert read.vocabulary is not None
    assert read.vocabulary.words == ("<S>", "</S>", "<UNK>", "a", "b")


def test_softmax_and_vocabulary_are_read_only_when_asked_for(native: Path) -> None:
    read = load_checkpoint(native)
    assert read.softmax is None
    assert read.vocabulary is None


def test_a_checkpoint_without_softmax_says_that_it_cannot_score(pair: Path) -> None:
    with pytest.raises(CheckpointError, match="no softmax"):
        load_checkpoint(pair, language_model=True).softmax_layer()


@pytest.mark.parametrize("archive", ["model.zip", "model.tar.gz", "model.tgz"])
@pytest.mark.parametrize("nested", [False, True])
def test_archives_of_a_pair_are_read(
    pair: Path, tmp_path: Path, archive: str, nested: bool
) -> None:
    path = tmp_path / archive
    prefix = "some/folder/" if nested else ""
    if archive.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as file:
            for member in pair.iterdir():
                file.write(member, prefix + member.name)
    else:
        with tarfile.open(path, "w:gz") as file:
            for member in pair.iterdir():
                file.add(member, prefix + member.name)
    assert_same_model(random_checkpoint(), load_checkpoint(path))


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ("options.json", "weights.hdf5"),
        ("elmo_2x_options.json", "elmo_2x_weights.hdf5"),
        ("options.json", "model.hdf5"),
    ],
)
def test_either_file_of_a_pair_finds_the_other(
    pair: Path, tmp_path: Path, options: str, weights: str
) -> None:
    folder = tmp_path / "named"
    folder.mkdir()
    shutil.copy(pair / "options.json", folder / options)
    shutil.copy(pair / "weights.hdf5", folder / weights)
    for path in (folder, folder / options, folder / weights, (folder / options, folder / weights)):
        assert_same_model(random_checkpoint(), load_checkpoint(path))


def test_a_folder_with_two_weights_files_is_refused_with_their_names(pair: Path) -> None:
    shutil.copy(pair / "weights.hdf5", pair / "second.hdf5")
    with pytest.raises(CheckpointError, match=r"second\.hdf5, weights\.hdf5"):
        load_checkpoint(pair)


@pytest.mark.parametrize("name", ["missing", "missing.zip"])
def test_a_missing_path_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(CheckpointError, match=name):
        load_checkpoint(tmp_path / name)


def test_a_folder_without_a_model_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"config\.json"):
        load_checkpoint(tmp_path)


def test_a_lone_weights_file_says_what_its_options_should_be_called(pair: Path) -> None:
    (pair / "options.json").unlink()
    with pytest.raises(CheckpointError, match=r"options\.json"):
        load_checkpoint(pair / "weights.hdf5")


def test_bfloat16_rounds_to_nearest_and_reads_as_float32(tmp_path: Path) -> None:
    original = random_checkpoint()
    save_checkpoint(original, tmp_path / "half", dtype=torch.bfloat16)
    read = load_checkpoint(tmp_path / "half")
    for key, tensor in original.state_dict.items():
        assert read.state_dict[key].dtype == torch.float32
        assert torch.equal(read.state_dict[key], tensor.to(torch.bfloat16).float())


def test_options_of_a_pair_survive_a_stay_in_our_format(pair: Path, tmp_path: Path) -> None:
    options = json.loads((pair / "options.json").read_text())
    options["dropout"] = 0.1
    options["char_cnn"]["n_characters"] = 261
    (pair / "options.json").write_text(json.dumps(options))
    save_checkpoint(load_checkpoint(pair), tmp_path / "ours")
    save_checkpoint(load_checkpoint(tmp_path / "ours"), tmp_path / "again", format="bilm")
    assert json.loads((tmp_path / "again" / "options.json").read_text()) == options
    assert (tmp_path / "again" / "weights.hdf5").read_bytes() == (
        pair / "weights.hdf5"
    ).read_bytes()


def test_the_softmax_travels_in_a_pair(native: Path, tmp_path: Path) -> None:
    save_checkpoint(load_checkpoint(native, language_model=True), tmp_path / "p", format="bilm")
    with h5py.File(tmp_path / "p" / "weights.hdf5") as file:
        assert file["softmax/W"].shape == (5, 5)
    read = load_checkpoint(tmp_path / "p", language_model=True)
    assert read.softmax is not None
    assert read.vocabulary is not None
    assert torch.equal(
        read.softmax["bias"],
        random_checkpoint(words=("a", "b")).softmax["bias"],  # type: ignore[index]  # made with a softmax
    )


def test_an_existing_folder_is_never_overwritten(native: Path) -> None:
    before = (native / "model.safetensors").read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        save_checkpoint(random_checkpoint(seed=1), native)
    assert (native / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("kind", [OSError, SafetensorError])
def test_a_failed_save_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise kind("No space left on device")

    monkeypatch.setattr("elmo_torch.formats.native.save_file", full)
    with pytest.raises(OutputError, match="No space left"):
        save_checkpoint(random_checkpoint(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_truncated_safetensors_file_is_an_error_that_names_it(native: Path, keep: float) -> None:
    path = native / "model.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        load_checkpoint(native)


def test_a_flipped_size_in_our_config_is_reported_with_the_tensors(native: Path) -> None:
    config = json.loads((native / "config.json").read_text())
    config["lstm"]["cell_dim"] = 9
    (native / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"lstm\.forward_layers\.0\.w_input is \(28, 5\)"):
        load_checkpoint(native)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not of this package"),
        ({"format_version": 99}, "upgrade"),
        ({"surprise": 1}, "surprise"),
        ({"lstm": {}}, "missing keys"),
        ({"token_encoder": {"kind": "magic"}}, "not readable"),
        ({"char_scheme": "runes"}, "runes"),
    ],
)
def test_a_wrong_key_in_our_config_is_named(
    native: Path, change: dict[str, object], message: str
) -> None:
    config = json.loads((native / "config.json").read_text()) | change
    (native / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(native)


def test_elmoformanylangs_folders_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "char.dic").touch()
    with pytest.raises(CheckpointError, match="ELMoForManyLangs"):
        load_checkpoint(tmp_path)
