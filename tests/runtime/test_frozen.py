"""Frozen execution gives the numbers of ``nn``, however text is batched, windowed or cached."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_torch.errors import InputError
from elmo_torch.nn.bilm import BiLm
from elmo_torch.runtime import recurrent
from elmo_torch.runtime.frozen import FrozenBiLm
from elmo_torch.runtime.selection import select_layers
from tests.models import random_checkpoint, small_config

# Differences are the rounding of float32 sums in another order, on values of order 1;
# a wrong state, mask or layer moves them by 1e-2 and more.
ROUNDING = 1e-5

SENTENCES = [["a", "rose", "is", "a", "rose"], [], ["x"], ["naive", "", "words", "a"] * 5]


def by_nn(bilm: BiLm, sentence: list[str]) -> np.ndarray:
    """Return all layers of one sentence by the plain model, (layers, tokens, dim)."""
    ids = random_checkpoint().token_ids().encode(["<S>", *sentence, "</S>"])
    with torch.no_grad():
        layers: np.ndarray = bilm(torch.from_numpy(ids)[None]).layers[:, 0, 1:-1].numpy()
    return layers


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("window_rows", [1, 2, 7, 10_000])
def test_a_batch_in_windows_of_any_width_equals_each_sentence_by_nn(
    monkeypatch: pytest.MonkeyPatch, num_layers: int, window_rows: int
) -> None:
    checkpoint = random_checkpoint(small_config(num_layers))
    monkeypatch.setattr(recurrent, "_CPU_ROWS", window_rows)
    frozen = FrozenBiLm(checkpoint.bilm(), checkpoint.token_ids())
    batch = frozen.run(SENTENCES, select_layers("all", num_layers + 1))
    for sentence, vectors in zip(SENTENCES, batch.vectors, strict=True):
        expected = by_nn(checkpoint.bilm(), sentence)
        assert vectors.shape == (num_layers + 1, len(sentence), 10)
        np.testing.assert_allclose(vectors, expected, atol=ROUNDING)


def test_windows_carry_the_state_out_as_one_run_does(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = random_checkpoint()
    frozen = FrozenBiLm(checkpoint.bilm(), checkpoint.token_ids())
    top = select_layers("top", 3)
    whole = [frozen.run(SENTENCES, top, frozen.zero_state(len(SENTENCES)))]
    whole.append(frozen.run(SENTENCES, top, whole[0].state))
    monkeypatch.setattr(recurrent, "_CPU_ROWS", 1)
    parts = [frozen.run(SENTENCES, top, frozen.zero_state(len(SENTENCES)))]
    parts.append(frozen.run(SENTENCES, top, parts[0].state))
    for left, right in zip(whole, parts, strict=True):
        assert left.state is not None
        assert right.state is not None
        torch.testing.assert_close(left.state.hidden, right.state.hidden, atol=ROUNDING, rtol=0)
        torch.testing.assert_close(left.state.memory, right.state.memory, atol=ROUNDING, rtol=0)
        for a, b in zip(left.vectors, right.vectors, strict=True):
            torch.testing.assert_close(a, b, atol=ROUNDING, rtol=0)
    assert not torch.allclose(whole[0].vectors[0], whole[1].vectors[0], atol=1e-3)


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "word", "Ω"]), max_size=6), min_size=1, max_size=5)
)
@settings(max_examples=30, deadline=None)
def test_a_sentence_does_not_depend_on_its_batch(sentences: list[list[str]]) -> None:
    checkpoint = random_checkpoint()
    frozen = FrozenBiLm(checkpoint.bilm(), checkpoint.token_ids())
    selection = select_layers("all", 3)
    together = frozen.run(sentences, selection).vectors
    for sentence, vectors in zip(sentences, together, strict=True):
        alone = frozen.run([sentence], selection).vectors[0]
        torch.testing.assert_close(vectors, alone, atol=ROUNDING, rtol=0)


def test_selections_are_rows_of_all_layers() -> None:
    checkpoint = random_checkpoint()
    frozen = FrozenBiLm(checkpoint.bilm(), checkpoint.token_ids())
    sentences = SENTENCES[:1]
    every = frozen.run(sentences, select_layers("all", 3)).vectors[0]
    expected = {
        "top": every[2:],
        "average": every.mean(dim=0, keepdim=True),
        (2, 0): every[[2, 0]],
        (1,): every[1:2],
    }
    for layers, rows in expected.items():
        selection = select_layers(layers if isinstance(layers, str) else list(layers), 3)  # type: ignore[arg-type]  # a key of the dict above
        got = frozen.run(sentences, selection).vectors[0]
        torch.testing.assert_close(got, rows, atol=1e-6, rtol=0)  # the mean in another order


@pytest.mark.parametrize("layers", [[3], [-1], [], [0, 0], [1.0], [True], "best"])
def test_layers_that_a_model_lacks_are_refused(layers: object) -> None:
    with pytest.raises(InputError, match="layers must be"):
        select_layers(layers, 3)  # type: ignore[arg-type]  # wrong on purpose


def test_boundary_rows_are_kept_on_request() -> None:
    checkpoint = random_checkpoint()
    frozen = FrozenBiLm(checkpoint.bilm(), checkpoint.token_ids())
    selection = select_layers("all", 3)
    for sentence in SENTENCES:
        bare = frozen.run([sentence], selection).vectors[0]
        framed = frozen.run([sentence], selection, keep_boundaries=True).vectors[0]
        assert framed.shape[1] == len(sentence) + 2
        assert torch.equal(framed[:, 1:-1], bare)
        assert framed[:, [0, -1]].abs().sum() > 0
