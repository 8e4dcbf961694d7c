"""The pair of bilm-tf and AllenNLP: every option goes there and back, every flaw is named."""

import copy
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from torch import Tensor

from elmo_torch.errors import CheckpointError
from elmo_torch.formats.bilm_hdf5 import read_options, read_softmax, read_weights, write_pair
from elmo_torch.formats.bilm_options import config_from_options, options_from_config
from elmo_torch.nn.bilm import BiLm, BiLmConfig
from elmo_torch.nn.softmax import SoftmaxLayer
from tests.helpers import fill
from tests.shared_data import shared

OPTIONS: dict[str, Any] = {
    "lstm": {
        "use_skip_connections": True,
        "projection_dim": 4,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 6,
        "n_layers": 2,
    },
    "char_cnn": {
        "activation": "relu",
        "filters": [[1, 2], [2, 3], [3, 4]],
        "n_highway": 2,
        "embedding": {"dim": 5},
        "n_characters": 262,
        "max_characters_per_token": 50,
    },
}
TRAINING = {
    "bidirectional": True,
    "reverse": False,
    "char_cnn.projection_after_highway": True,
    "dropout": 0.1,
    "unroll_steps": 20,
    "batch_size": 128,
    "n_epochs": 10,
    "n_train_tokens": 768648884,
    "n_tokens_vocab": 793471,
    "n_negative_samples_batch": 8192,
    "sample_softmax": True,
    "share_embedding_softmax": False,
    "all_clip_norm_val": 10.0,
    "learning_rate": 0.2,
}
NO_CHARS = {"char_cnn": ..., "n_tokens_vocab": 11}  # a word-input model


def changed(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return OPTIONS with keys set by their dotted path; ``...`` takes the key away."""
    options = copy.deepcopy(OPTIONS)
    for path, value in changes.items():
        section, key = options, path
        if path not in TRAINING:
            *parents, key = path.split(".")
            for parent in parents:
                section = section[parent]
        if value is ...:
            del section[key]
        else:
            section[key] = value
    return options


VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "training keys": TRAINING,
    "261 characters": {"char_cnn.n_characters": 261},
    "longer words": {"char_cnn.max_characters_per_token": 70},
    "shorter words": {"char_cnn.max_characters_per_token": 9},
    "no residual": {"lstm.use_skip_connections": False},
    "residual absent": {"lstm.use_skip_connections": ...},
    "no LSTM projection": {"lstm.dim": 4},
    "no CNN projection": {"lstm.projection_dim": 9, "lstm.dim": 13},
    "neither projection": {"lstm.projection_dim": 9, "lstm.dim": 9},
    "one highway": {"char_cnn.n_highway": 1},
    "highway 0": {"char_cnn.n_highway": 0},
    "highway absent": {"char_cnn.n_highway": ...},
    "highway null": {"char_cnn.n_highway": None},
    "one layer": {"lstm.n_layers": 1},
    "layers absent": {"lstm.n_layers": ...},
    "three layers": {"lstm.n_layers": 3},
    "clips absent": {"lstm.cell_clip": ..., "lstm.proj_clip": ...},
    "clips null": {"lstm.cell_clip": None, "lstm.proj_clip": None},
    "fractional clips": {"lstm.cell_clip": 2.5, "lstm.proj_clip": 0.5},
    "tanh": {"char_cnn.activation": "tanh"},
    "word input": NO_CHARS,
    "word input, one layer, no projection": {**NO_CHARS, "lstm.n_layers": 1, "lstm.dim": 4},
}

State = dict[str, Tensor]


def random_state(config: BiLmConfig) -> State:
    bilm = BiLm(config)
    fill(bilm, seed=9)
    return dict(bilm.state_dict())


def write(folder: Path, options: Mapping[str, Any], softmax: State | None = None) -> State:
    """Write a random model of the options into a new folder; return its weights."""
    folder.mkdir()
    config = config_from_options(options, where="test")
    state = random_state(config)
    write_pair(
        folder / "options.json",
        folder / "weights.hdf5",
        config=config,
        options=options,
        state_dict=state,
        softmax=softmax,
    )
    return state


def read(folder: Path) -> tuple[BiLmConfig, dict[str, Any], State]:
    config, options = read_options(folder / "options.json")
    return config, options, read_weights(folder / "weights.hdf5", config)


def assert_same_tensors(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    folder = tmp_path / "pair"
    write(folder, OPTIONS)
    return folder


def edit(folder: Path, change: Callable[[h5py.File], object]) -> None:
    with h5py.File(folder / "weights.hdf5", "r+") as file:
        change(file)


def put(file: h5py.File, name: str, values: np.ndarray[Any, Any]) -> None:
    if name in file:
        del file[name]
    file.create_dataset(name, data=values)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_pair_reads_back_and_is_written_again_byte_for_byte(tmp_path: Path, name: str) -> None:
    options = changed(VARIANTS[name])
    state = write(tmp_path / "first", options)
    config, read_back, tensors = read(tmp_path / "first")
    assert read_back == options
    assert_same_tensors(tensors, state)
    BiLm(config).load_state_dict(tensors)

    (tmp_path / "second").mkdir()
    write_pair(
        tmp_path / "second/options.json",
        tmp_path / "second/weights.hdf5",
        config=config,
        options=read_back,
        state_dict=tensors,
    )
    for file in ("options.json", "weights.hdf5"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()


@pytest.mark.parametrize("name", VARIANTS)
def test_options_made_from_a_config_describe_the_same_model(name: str) -> None:
    config = config_from_options(changed(VARIANTS[name]), where="test")
    made = json.loads(json.dumps(options_from_config(config)))
    assert config_from_options(made, where="test") == config


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"lstm.n_layers": ...}, "lstm.num_layers", 1),
        ({"lstm.cell_clip": ...}, "lstm.cell_clip", None),
        ({"lstm.proj_clip": None}, "lstm.proj_clip", None),
        ({"lstm.use_skip_connections": ...}, "lstm.residual", False),
        ({"char_cnn.n_highway": None}, "token_encoder.num_highway", 0),
        ({"char_cnn.n_characters": 261}, "token_encoder.num_char_ids", 262),
        ({"char_cnn.max_characters_per_token": 9}, "token_encoder.max_chars", 9),
        ({"char_cnn.activation": "tanh"}, "token_encoder.activation", "tanh"),
        ({}, "token_encoder.filters", ((1, 2), (2, 3), (3, 4))),
        ({}, "lstm.cell_dim", 6),
        ({}, "token_encoder.char_dim", 5),
        (NO_CHARS, "token_encoder.vocab_size", 11),
    ],
)
def test_each_option_sets_its_field(changes: dict[str, Any], field: str, expected: object) -> None:
    value: Any = config_from_options(changed(changes), where="test")
    for name in field.split("."):
        value = getattr(value, name)
    assert value == expected


@pytest.mark.parametrize("fixture", ["bilm-tf", "allennlp"])
def test_files_made_by_tensorflow_are_written_again_dataset_for_dataset(
    tmp_path: Path, fixture: str
) -> None:
    folder = shared(f"fixtures/bilm_tf/{fixture}")
    config, options = read_options(folder / "options.json")
    write_pair(
        tmp_path / "options.json",
        tmp_path / "weights.hdf5",
        config=config,
        options=options,
        state_dict=read_weights(folder / "lm_weights.hdf5", config),
    )
    assert json.loads((tmp_path / "options.json").read_text()) == options

    def datasets(path: Path) -> dict[str, np.ndarray[Any, Any]]:
        found: dict[str, np.ndarray[Any, Any]] = {}

        def collect(name: str, item: h5py.Group | h5py.Dataset) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = item[()]

        with h5py.File(path, "r") as file:
            file.visititems(collect)
        return found

    theirs, ours = datasets(folder / "lm_weights.hdf5"), datasets(tmp_path / "weights.hdf5")
    assert len(theirs) == 33
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        assert ours[name].dtype == np.float32
        assert np.array_equal(ours[name], values), name


def test_tensorflows_names_of_a_single_layer_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "pair"
    state = write(folder, changed({"lstm.n_layers": 1}))

    def rename(file: h5py.File) -> None:
        for direction in ("RNN_0", "RNN_1"):
            file.move(f"{direction}/RNN/MultiRNNCell/Cell0/LSTMCell", f"{direction}/RNN/LSTMCell")
            del file[f"{direction}/RNN/MultiRNNCell"]

    edit(folder, rename)
    assert_same_tensors(read(folder)[2], state)


def test_tables_gain_a_row_of_zeros_for_padding(tmp_path: Path) -> None:
    for name, changes, key, rows in [
        ("chars", {}, "token_encoder.char_embedding.weight", 262),
        ("words", NO_CHARS, "token_encoder.word_embedding.weight", 12),
    ]:
        write(tmp_path / name, changed(changes))
        table = read(tmp_path / name)[2][key]
        assert len(table) == rows
        assert not table[0].any()
        assert table[1:].any(dim=1).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_half_and_double_precision_are_read_as_float32(pair: Path, dtype: type[Any]) -> None:
    values = np.array([0.1, -2.0, 3.5, 0.0], dtype=dtype)
    edit(pair, lambda file: put(file, "CNN_proj/b_proj", values))
    tensor = read(pair)[2]["token_encoder.projection.bias"]
    assert tensor.dtype == torch.float32
    assert np.array_equal(tensor.numpy(), values.astype(np.float32))


def softmax_state(vocab_size: int = 7, projection_dim: int = 4) -> State:
    layer = SoftmaxLayer(vocab_size=vocab_size, projection_dim=projection_dim)
    fill(layer, seed=10)
    return dict(layer.state_dict())


def test_a_softmax_in_the_file_is_read_only_by_its_own_reader(tmp_path: Path) -> None:
    softmax = softmax_state()
    state = write(tmp_path / "pair", OPTIONS, softmax)
    config, _, tensors = read(tmp_path / "pair")
    assert_same_tensors(tensors, state)
    read_back = read_softmax(tmp_path / "pair/weights.hdf5", config)
    assert read_back is not None
    assert_same_tensors(read_back, softmax)


def test_a_file_without_a_softmax_gives_none(pair: Path) -> None:
    assert read_softmax(pair / "weights.hdf5", read(pair)[0]) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.pop("softmax/b"), "missing softmax/b"),
        (lambda file: file.pop("softmax/W"), "missing softmax/W"),
        (
            lambda file: put(file, "softmax/W", np.zeros((7, 5))),
            r"softmax/W is \(7, 5\), its options say \(7, 4\)",
        ),
        (
            lambda file: put(file, "softmax/b", np.zeros(6)),
            r"softmax/b is \(6,\), its options say \(7,\)",
        ),
        (
            lambda file: put(file, "softmax/b", np.array(1.0)),
            r"softmax/b is \(\), its options say \(7,\)",
        ),
        (
            lambda file: put(file, "softmax/b", np.full(7, np.inf)),
            "softmax/b holds numbers that are not finite",
        ),
    ],
)
def test_a_softmax_that_does_not_fit_is_named(
    tmp_path: Path, change: Callable[[h5py.File], object], message: str
) -> None:
    folder = tmp_path / "pair"
    write(folder, OPTIONS, softmax_state())
    edit(folder, change)
    with pytest.raises(CheckpointError, match=message):
        read_softmax(folder / "weights.hdf5", read(folder)[0])


def test_all_tensors_that_do_not_fit_are_named_at_once(pair: Path) -> None:
    def spoil(file: h5py.File) -> None:
        del file["CNN_proj/b_proj"]
        del file["RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_P_0"]
        put(file, "CNN_high_2/W_carry", np.zeros((9, 9)))
        put(file, "extra", np.zeros(1))
        put(file, "CNN/b_cnn_0", np.zeros(3))
        put(file, "CNN/W_cnn_1", np.full((1, 2, 5, 3), np.nan))
        put(file, "char_embed", np.full((261, 5), -np.inf))

    edit(pair, spoil)
    with pytest.raises(CheckpointError) as caught:
        read(pair)
    message = str(caught.value)
    assert message.startswith(str(pair / "weights.hdf5"))
    _, _, problems = message.partition("the weights do not fit the model: ")
    assert sorted(problems.split("; ")) == [
        "CNN/W_cnn_1 holds numbers that are not finite",
        "CNN/b_cnn_0 is (3,), its options say (2,)",
        "char_embed holds numbers that are not finite",
        "missing CNN_proj/b_proj",
        "missing RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_P_0",
        "unknown CNN_high_2/W_carry",
        "unknown extra",
    ]


@pytest.mark.parametrize(
    ("dtype", "shown"), [(np.int32, "int32"), (np.bool_, "bool"), (np.complex64, "complex64")]
)
def test_datasets_that_are_not_floating_point_are_refused(
    pair: Path, dtype: type[np.generic], shown: str
) -> None:
    edit(pair, lambda file: put(file, "CNN/b_cnn_0", np.zeros(2, dtype=dtype)))
    with pytest.raises(CheckpointError, match=f"CNN/b_cnn_0 holds {shown}, not floating point"):
        read(pair)


def test_a_dataset_of_text_is_refused(pair: Path) -> None:
    edit(pair, lambda file: put(file, "CNN/b_cnn_0", np.array([b"1.0", b"2.0"])))
    with pytest.raises(CheckpointError, match=r"CNN/b_cnn_0 holds .*, not floating point"):
        read(pair)


def test_a_file_cut_short_anywhere_is_refused_as_damaged(pair: Path) -> None:
    path = pair / "weights.hdf5"
    config, _ = read_options(pair / "options.json")
    whole = path.read_bytes()
    cuts = {0, 1, 7, 8, 9, 47, 48, 95, 96, len(whole) - 1, *range(0, len(whole), 997)}
    assert len(cuts) > 30
    for cut in sorted(cuts):
        path.write_bytes(whole[:cut])
        for reader in (read_weights, read_softmax):
            with pytest.raises(CheckpointError, match="cannot be read as HDF5"):
                reader(path, config)


def test_a_file_of_something_else_is_refused(pair: Path) -> None:
    config, _ = read_options(pair / "options.json")
    for path in (pair / "options.json", pair, pair / "absent.hdf5"):
        with pytest.raises(CheckpointError, match=re.escape(str(path))):
            read_weights(path, config)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_layer": 2}, "unknown key n_layer; known here: .*lstm"),
        ({"lstm.size": 2}, r"unknown key lstm\.size; known here: cell_clip, dim, .*"),
        ({"char_cnn.size": 2}, r"unknown key char_cnn\.size"),
        ({"char_cnn.embedding.size": 2}, r"unknown key char_cnn\.embedding\.size"),
        ({"lstm": ...}, "missing key lstm"),
        ({"lstm.dim": ...}, r"missing key lstm\.dim"),
        (
            {"lstm.dim": ..., "lstm.projection_dim": ...},
            r"missing key lstm\.dim, lstm\.projection_dim",
        ),
        ({"char_cnn.filters": ...}, r"missing key char_cnn\.filters"),
        ({"char_cnn.n_characters": ...}, r"missing key char_cnn\.n_characters"),
        ({"char_cnn.embedding.dim": ...}, r"missing key char_cnn\.embedding\.dim"),
        ({"char_cnn": ...}, "without char_cnn needs n_tokens_vocab"),
        ({"lstm": 5}, "lstm must be of type dict; got 5"),
        ({"char_cnn": None}, "char_cnn must be of type dict; got None"),
        ({"lstm.dim": "6"}, r"lstm\.dim must be of type int; got '6'"),
        ({"lstm.dim": 6.0}, r"lstm\.dim must be of type int; got 6\.0"),
        ({"lstm.dim": True}, r"lstm\.dim must be of type int; got True"),
        ({"lstm.dim": None}, r"lstm\.dim must be of type int; got None"),
        ({"lstm.cell_clip": "3"}, r"lstm\.cell_clip must be of type int or float; got '3'"),
        ({"lstm.cell_clip": True}, r"lstm\.cell_clip must be of type int or float; got True"),
        ({"lstm.use_skip_connections": 1}, r"use_skip_connections must be of type bool; got 1"),
        ({"char_cnn.activation": 1}, r"char_cnn\.activation must be of type str; got 1"),
        ({"char_cnn.activation": "gelu"}, "activation must be relu or tanh; got 'gelu'"),
        ({"char_cnn.n_characters": 263}, "must be 261 or 262 .*; got 263"),
        ({"char_cnn.filters": [3]}, r"filters must be \[width, count\] pairs; got 3"),
        ({"char_cnn.filters": [[1, 2, 3]]}, r"pairs; got \[1, 2, 3\]"),
        ({"char_cnn.filters": [[1, 2.5]]}, r"pairs; got \[1, 2\.5\]"),
        ({"char_cnn.filters": []}, "filters must name at least one"),
        ({"char_cnn.filters": [[51, 2]]}, "got width 51, count 2"),
        ({"char_cnn.n_highway": -1}, "num_highway must be 0 or more; got -1"),
        ({"lstm.n_layers": 0}, "num_layers must be at least 1; got 0"),
        ({"lstm.dim": 3}, r"projection_dim \(4\) must not be wider than cell_dim \(3\)"),
        ({"lstm.cell_clip": 0}, "cell_clip must be positive, or None for no clip; got 0"),
        ({"lstm.proj_clip": float("nan")}, "proj_clip must be positive"),
        ({"lstm.proj_clip": 10**400}, "too large"),
        ({"reverse": True}, "reverse: a one-directional model"),
        ({"dropout": "0.1"}, "dropout must be of type int or float; got '0.1'"),
        ({"char_cnn": ..., "n_tokens_vocab": 0}, "vocab_size must be at least 1; got 0"),
    ],
)
def test_a_wrong_option_is_named_with_what_was_expected(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = tmp_path / "options.json"
    path.write_text(json.dumps(changed(changes)))
    with pytest.raises(CheckpointError, match=message) as caught:
        read_options(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"lstm": }', b"\xff\xfe{}", b"[" * 100_000, b"9" * 5000],
    ids=["empty", "open", "no value", "not UTF-8", "nested without end", "a number without end"],
)
def test_options_that_are_not_json_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "options.json"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"options\.json: not a JSON file"):
        read_options(path)


@pytest.mark.parametrize("content", ["[]", "null", "3", '"text"'])
def test_options_that_are_no_json_object_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "options.json"
    path.write_text(content)
    with pytest.raises(CheckpointError, match="the file must be a JSON object"):
        read_options(path)
