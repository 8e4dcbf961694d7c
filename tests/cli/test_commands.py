"""The other commands: what they print, and what they refuse."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from elmo_torch.cli.console import guarded
from elmo_torch.formats.checkpoint import load_checkpoint
from elmo_torch.pretrain.perplexity import evaluate
from elmo_torch.runtime.frozen import FrozenBiLm
from tests.cli.conftest import Elmo

RECIPE = """
[model.char_cnn]
char_dim = 3
filters = [[1, 4], [2, 5]]
projection_dim = 6
[model.lstm]
cell_dim = 8
projection_dim = 6
num_layers = 1
[training]
num_tokens = 2_000
vocab_size = 20
num_samples = 8
num_streams = 4
save_every_steps = 5
"""


def test_compare_shows_a_table_of_cosines(elmo: Elmo, model: Path) -> None:
    done = elmo(
        "compare", "the bank of a river", "the bank failed", "--word", "bank", "--model", model
    )
    assert done.exit_code == 0
    assert 'cosine of "bank"' in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if "1 and 2" in line]
    assert "1.000" in row


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["the bank", "the bank."], "sentence 2 has no token 'bank'"),
        (["the bank"], "two sentences"),
    ],
)
def test_compare_refuses_what_it_cannot_find(
    refused: Callable[..., str], model: Path, sentences: list[str], message: str
) -> None:
    assert message in refused("compare", *sentences, "--word", "bank", "--model", model)


def test_info_shows_sizes_and_origin(elmo: Elmo, model: Path) -> None:
    done = elmo("info", model)
    assert done.exit_code == 0
    for part in ("elmo-torch folder", "10 numbers a token", "6 words", "cell 7, projection 5"):
        assert part in done.stdout


def test_convert_goes_there_and_back(elmo: Elmo, model: Path, tmp_path: Path) -> None:
    assert elmo("convert", model, tmp_path / "pair", "--to", "bilm").exit_code == 0
    assert {p.name for p in (tmp_path / "pair").iterdir()} == {
        "options.json", "weights.hdf5", "vocab.txt",
    }  # fmt: skip
    assert elmo("convert", tmp_path / "pair", tmp_path / "back").exit_code == 0
    for name in ("model.safetensors", "softmax.safetensors", "vocab.txt"):
        assert (tmp_path / "back" / name).read_bytes() == (model / name).read_bytes()


def test_convert_refuses_an_existing_folder(
    refused: Callable[..., str], model: Path, tmp_path: Path
) -> None:
    assert "exists already" in refused("convert", model, tmp_path)
    assert "float32" in refused(
        "convert", model, tmp_path / "x", "--to", "bilm", "--dtype", "bfloat16"
    )


def test_evaluate_prints_three_perplexities_to_two_decimals(
    elmo: Elmo, model: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the bank\n\nthe river unseen\n")
    done = elmo("evaluate", model, text)
    assert done.exit_code == 0
    checkpoint = load_checkpoint(model, language_model=True)
    assert checkpoint.vocabulary is not None
    loss = evaluate(
        FrozenBiLm(checkpoint.bilm(), checkpoint.token_ids()),
        checkpoint.softmax_layer(),
        checkpoint.vocabulary,
        [["the", "bank"], ["the", "river", "unseen"]],
    )
    assert done.stdout.splitlines() == [
        f"forward perplexity {loss.forward_perplexity:.2f}",
        f"backward perplexity {loss.backward_perplexity:.2f}",
        f"mean perplexity {loss.mean_perplexity:.2f}",
    ]
    assert "7 targets" in done.stderr


def test_evaluate_refuses_what_it_cannot_score_or_run(
    elmo: Elmo, refused: Callable[..., str], model: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n\n")
    assert "no token" in refused("evaluate", model, text)
    text.write_text("the bank\n")
    assert "'warp'" in refused("evaluate", model, text, "--device", "warp")
    assert "--errors" in refused("evaluate", model, text, "--errors", "ignore")
    assert elmo("convert", model, tmp_path / "pair", "--to", "bilm").exit_code == 0
    (tmp_path / "pair" / "vocab.txt").unlink()
    assert "cannot score" in refused("evaluate", tmp_path / "pair", text)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("a b c d\nb c\n\nd d a\n" * 50)
    return path


def pretrain_words(corpus: Path, tmp_path: Path) -> list[object]:
    recipe = tmp_path / "small.toml"
    recipe.write_text(RECIPE)
    return ["pretrain", corpus, "-o", tmp_path / "run", "--recipe", recipe]


def test_pretrain_ends_in_a_model_that_evaluates(elmo: Elmo, corpus: Path, tmp_path: Path) -> None:
    words = pretrain_words(corpus, tmp_path)
    # the corpus has four words: seven with the special ones, so fewer samples than the recipe's
    done = elmo(*words, "--held-out", corpus, "--num-samples", 4)
    assert done.exit_code == 0, done.output
    again = elmo("evaluate", tmp_path / "run" / "model", corpus)
    assert done.stdout.splitlines()[:3] == again.stdout.splitlines()
    assert done.stdout.splitlines()[3].startswith("unigram perplexity ")
    provenance = json.loads((tmp_path / "run" / "model" / "config.json").read_text())["provenance"]
    assert provenance["training tokens"] == 2000


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--resume"], "no run to resume"),
        ([], "num_samples"),
        (["--num-samples", "4", "--held-out", "missing.txt"], "missing.txt"),
        (["--num-samples", "4", "--dropout"], "No such option"),
    ],
)
def test_pretrain_refuses_what_it_cannot_start(
    elmo: Elmo, corpus: Path, tmp_path: Path, extra: list[str], message: str
) -> None:
    done = elmo(*pretrain_words(corpus, tmp_path), *extra)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "run" / "model").exists()


def test_an_interrupted_pretraining_goes_on_to_the_same_model(
    elmo: Elmo, corpus: Path, tmp_path: Path
) -> None:
    words = [str(word) for word in pretrain_words(corpus, tmp_path)]
    words += ["--num-samples", "4", "--tokens", "40000", "--threads", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "elmo_torch", *words], stderr=subprocess.PIPE, text=True
    )
    for _ in range(600):
        if (tmp_path / "run" / "state.pt").exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "--resume" in stderr
    assert elmo(*words, "--resume").exit_code == 0
    undisturbed = [
        word if word != str(tmp_path / "run") else str(tmp_path / "whole") for word in words
    ]
    assert elmo(*undisturbed).exit_code == 0
    for name in ("model.safetensors", "softmax.safetensors"):
        assert (tmp_path / "run" / "model" / name).read_bytes() == (
            tmp_path / "whole" / "model" / name
        ).read_bytes()


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (KeyboardInterrupt(), "elmo: interrupted", 130),
        (OSError(28, "No space left on device", "out.h5"), "elmo: out.h5: the disk is full", 2),
        (PermissionError(13, "Permission denied", "x"), "elmo: x: Permission denied", 2),
        (MemoryError(), "not enough memory", 2),
        (RuntimeError("odd\nthing"), "elmo: unexpected RuntimeError: odd thing", 1),
    ],
)
def test_every_error_becomes_a_line_and_a_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, line: str, code: int
) -> None:
    import typer

    def command() -> None:
        raise error

    with pytest.raises(typer.Exit) as caught:
        guarded(command)()
    assert caught.value.exit_code == code
    printed = capsys.readouterr().err.splitlines()
    assert len(printed) == 1
    assert line in printed[0]


def test_an_unknown_command_or_option_is_a_user_error(elmo: Elmo) -> None:
    assert elmo("embark").exit_code == 2
    assert elmo("embed", "--colour", "red").exit_code == 2
