"""The rows of a batch without padding, held against a table of times and sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_torch.runtime.ragged import RaggedBatch

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=7)


@given(LENGTHS)
def test_rows_go_time_by_time_over_sentences_sorted_by_length(lengths: list[int]) -> None:
    batch = RaggedBatch(lengths)
    assert [lengths[sentence] for sentence in batch.order] == sorted(lengths, reverse=True)
    expected = [
        (time, int(sentence))
        for time in range(max(lengths))
        for sentence in batch.order
        if time < lengths[sentence]
    ]
    assert batch.num_rows == len(expected)
    seen = {}
    for sentence, rows in batch.sentence_rows():
        assert len(rows) == lengths[sentence]
        seen.update({int(row): (time, sentence) for time, row in enumerate(rows)})
    assert [seen[row] for row in range(len(expected))] == expected


@given(LENGTHS, st.integers(1, 30))
def test_ranges_cover_all_steps_in_order_and_are_as_long_as_may_be(
    lengths: list[int], max_rows: int
) -> None:
    batch = RaggedBatch(lengths)
    ranges = batch.ranges(max_rows)
    sizes = [size for part in ranges for size in part.batch_sizes]
    assert sizes == [sum(length > time for length in lengths) for time in range(max(lengths))]
    ends = np.cumsum([sum(part.batch_sizes) for part in ranges])
    assert [(part.rows.start, part.rows.stop) for part in ranges] == list(
        zip([0, *ends[:-1]], ends, strict=True)
    )
    for part, after in zip(ranges, [*ranges[1:], None], strict=True):
        assert len(part.batch_sizes) == 1 or sum(part.batch_sizes) <= max_rows
        if after is not None:
            assert sum(part.batch_sizes) + after.batch_sizes[0] > max_rows


def test_sentences_of_equal_length_keep_their_order() -> None:
    assert RaggedBatch([2, 3, 2, 3]).order.tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_step_wider_than_the_range_is_a_range_of_its_own(max_rows: int) -> None:
    assert [part.batch_sizes for part in RaggedBatch([2] * 4).ranges(max_rows)] == [(4,), (4,)]
