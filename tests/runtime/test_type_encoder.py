"""The frozen token encoder gives the vectors of the char CNN of ``nn``."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_torch.kernels.crew import Crew
from elmo_torch.kernels.precision import Precision
from elmo_torch.nn.char_cnn import CharCnn, CharCnnConfig
from elmo_torch.nn.word_embedding import WordEmbedding, WordEmbeddingConfig
from elmo_torch.runtime import type_encoder
from elmo_torch.runtime.type_encoder import FrozenWordEmbedding, make_type_encoder
from elmo_torch.text.char_ids import CharIds
from tests.helpers import char_cnn_config, fill

MAX_CHARS = 11
WORDS = ["", "a", "be", "sea", "four", "seven", "twelve", "nine letters", "Ω漢", "<S>", "</S>"]
WORDS += ["x" * length for length in range(6, 14)]

# float32 sums in another order, as a share of the largest number; a window too many or too few, a
# filter in another's place or a missing bias change it by 1e-2 and more.
ROUNDING = 1e-5


def encoders(config: CharCnnConfig, precision: Precision = "fp32", seed: int = 0):  # type: ignore[no-untyped-def]
    plain = CharCnn(config)
    fill(plain, seed)
    return plain, make_type_encoder(plain, precision)


def assert_close(got: torch.Tensor, expected: torch.Tensor) -> None:
    assert got.shape == expected.shape
    assert (got - expected).abs().max() <= ROUNDING * expected.abs().max()


def ids_of(words: list[str]) -> torch.Tensor:
    return torch.from_numpy(CharIds(MAX_CHARS).encode(words))


CONFIGS = {
    "one highway": char_cnn_config(),
    "two highways": char_cnn_config(num_highway=2),
    "no highway": char_cnn_config(num_highway=0),
    "tanh": char_cnn_config(activation="tanh"),
    "one width": char_cnn_config(filters=((3, 7),)),
    "widths out of order": char_cnn_config(filters=((4, 3), (1, 2), (2, 9))),
    "as wide as the word": char_cnn_config(filters=((1, 2), (MAX_CHARS, 3))),
    "many filters": char_cnn_config(filters=((1, 40), (2, 30), (3, 70)), char_dim=16),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_vectors_are_those_of_nn_for_words_of_every_length(config: CharCnnConfig) -> None:
    plain, frozen = encoders(config)
    with torch.no_grad():
        expected = plain(ids_of(WORDS))
    got = frozen(ids_of(WORDS), Crew(1))
    assert_close(got, expected)


@given(
    st.lists(st.text(max_size=15), min_size=1, max_size=20),
    st.sampled_from(sorted(CONFIGS)),
    st.integers(1, 5),
)
@settings(deadline=None)
def test_vectors_do_not_depend_on_the_chunks(words: list[str], name: str, chunk: int) -> None:
    plain, frozen = encoders(CONFIGS[name], seed=chunk)
    with torch.no_grad():
        expected = plain(ids_of(words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type_encoder, "_CHUNK_TYPES", chunk)
        got = frozen(ids_of(words), Crew(1))
    assert_close(got, expected)


def test_spellings_that_no_word_has_are_encoded_too() -> None:
    """Ids that a caller of the AllenNLP drop-in may give: padding alone, or any id anywhere."""
    plain, frozen = encoders(char_cnn_config())
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 262, (40, MAX_CHARS), generator=generator)
    ids[0] = 0
    with torch.no_grad():
        expected = plain(ids)
    assert_close(frozen(ids, Crew(1)), expected)


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_low_precision_is_bfloat16_here(precision: Precision) -> None:
    plain, frozen = encoders(CONFIGS["many filters"], precision)
    with torch.no_grad():
        expected = plain(ids_of(WORDS))
    got = frozen(ids_of(WORDS), Crew(1))
    # four products, each of numbers that are off by 2^-9 at most, on weights that add to errors;
    # without a product or a bias the error is of order 1
    error = (got - expected).norm(dim=1) / expected.norm(dim=1)
    assert 1e-5 < error.max() < 2**-5


def test_a_word_model_has_a_table() -> None:
    plain = WordEmbedding(WordEmbeddingConfig(vocab_size=5, projection_dim=3))
    frozen = make_type_encoder(plain, "int8")
    assert isinstance(frozen, FrozenWordEmbedding)
    ids = torch.tensor([4, 0, 2])
    assert torch.equal(frozen(ids, Crew(1)), plain(ids).detach())
