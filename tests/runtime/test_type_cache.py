"""The token encoder is asked once for every spelling, as far as the memory of the cache goes."""

import pytest
import torch

from elmo_torch.kernels.crew import Crew
from elmo_torch.nn.char_cnn import CharCnn
from elmo_torch.runtime.type_cache import TypeCache, default_cache_bytes
from elmo_torch.runtime.type_encoder import FrozenCharCnn
from tests.models import random_checkpoint

VECTOR_BYTES = 4 * 5
ROUNDING = 1e-6  # float32 products of other heights


class _Counted(FrozenCharCnn):
    """The frozen encoder, with a record of how many types each call brought."""

    def __init__(self) -> None:
        encoder = random_checkpoint().bilm().token_encoder
        assert isinstance(encoder, CharCnn)
        super().__init__(encoder, "fp32")
        self.seen: list[int] = []

    def __call__(self, char_ids: torch.Tensor, crew: Crew) -> torch.Tensor:
        self.seen.append(len(char_ids))
        return super().__call__(char_ids, crew)


def cache_of(num_types: int) -> tuple[TypeCache, _Counted]:
    encoder = _Counted()
    cache = TypeCache(
        encoder,
        random_checkpoint().token_ids(),
        projection_dim=5,
        num_bytes=num_types * VECTOR_BYTES,
    )
    return cache, encoder


CREW = Crew(1)


def test_a_type_is_encoded_once_until_the_cache_is_cleared() -> None:
    cache, encoder = cache_of(10)
    first = cache.encode(["a", "b", "c"], CREW)
    second = cache.encode(["c", "d", "a"], CREW)
    assert torch.equal(first[[2, 0]], second[[0, 2]])
    assert encoder.seen == [3, 1]
    cache.clear()
    cache.encode(["a"], CREW)
    assert encoder.seen == [3, 1, 1]


def test_the_type_that_was_not_asked_for_the_longest_goes_first() -> None:
    cache, encoder = cache_of(3)
    cache.encode(["a", "b", "c"], CREW)
    cache.encode(["a", "c"], CREW)
    cache.encode(["d"], CREW)  # in the place of b
    cache.encode(["a", "c", "d"], CREW)
    assert encoder.seen == [3, 1]
    cache.encode(["b"], CREW)
    assert encoder.seen == [3, 1, 1]


@pytest.mark.parametrize("num_types", [0, 1, 8, 49])
def test_more_types_than_the_cache_holds_are_all_encoded(num_types: int) -> None:
    words = [f"w{number}" for number in range(50)]
    whole = cache_of(100)[0].encode(words, CREW)
    cache, _ = cache_of(num_types)
    for _ in range(3):
        torch.testing.assert_close(cache.encode(words, CREW), whole, atol=ROUNDING, rtol=0)
        words, whole = words[::-1], whole.flip(0)


def test_a_batch_with_more_new_types_than_rows_keeps_the_known_ones_right() -> None:
    cache, _ = cache_of(4)
    expected = cache_of(100)[0].encode(["a", "b", "c", "d", "e", "f", "g"], CREW)
    cache.encode(["a", "b"], CREW)
    got = cache.encode(["a", "b", "c", "d", "e", "f", "g"], CREW)
    torch.testing.assert_close(got, expected, atol=ROUNDING, rtol=0)


def test_the_default_size_is_a_share_of_the_memory() -> None:
    assert 1 << 20 < default_cache_bytes() <= 128 << 20
