"""State kept from batch to batch while the number of rows changes."""

import torch

from elmo_torch.nn.bilstmp import BiLmState
from elmo_torch.nn.carried_state import CarriedState
from tests.helpers import lstm_config, random_state

CONFIG = lstm_config()


def _zero(batch: int) -> BiLmState:
    state = random_state(CONFIG, batch)
    return BiLmState(hidden=torch.zeros_like(state.hidden), memory=torch.zeros_like(state.memory))


def _assert_rows(state: BiLmState | None, *sources: BiLmState) -> None:
    """Check that row k of the state is row k of the k-th source."""
    assert state is not None
    for row, source in enumerate(sources):
        assert torch.equal(state.hidden[:, row], source.hidden[:, row])
        assert torch.equal(state.memory[:, row], source.memory[:, row])
    assert state.hidden.shape[1] == state.memory.shape[1] == len(sources)


def test_the_first_batch_starts_from_zero() -> None:
    carried = CarriedState()
    assert carried.stored is None
    _assert_rows(carried.rows(_zero(2)), *[_zero(2)] * 2)


def test_rows_go_on_from_their_own_state() -> None:
    carried, after = CarriedState(), random_state(CONFIG, 3)
    carried.update(after)
    _assert_rows(carried.rows(_zero(3)), after, after, after)


def test_rows_that_a_smaller_batch_leaves_out_keep_their_state() -> None:
    carried = CarriedState()
    large, small = random_state(CONFIG, 3, seed=1), random_state(CONFIG, 1, seed=2)
    carried.update(large)
    _assert_rows(carried.rows(_zero(1)), large)
    carried.update(small)
    _assert_rows(carried.stored, small, large, large)
    _assert_rows(carried.rows(_zero(3)), small, large, large)


def test_rows_that_were_never_used_start_from_zero() -> None:
    carried, after, zero = CarriedState(), random_state(CONFIG, 2), _zero(4)
    carried.update(after)
    _assert_rows(carried.rows(zero), after, after, zero, zero)


def test_a_larger_batch_replaces_all_rows() -> None:
    carried, larger = CarriedState(), random_state(CONFIG, 4, seed=2)
    carried.update(random_state(CONFIG, 2))
    carried.update(larger)
    _assert_rows(carried.stored, larger, larger, larger, larger)


def test_after_a_reset_the_next_batch_starts_from_zero() -> None:
    carried = CarriedState()
    carried.update(random_state(CONFIG, 3))
    carried.reset()
    assert carried.stored is None
    _assert_rows(carried.rows(_zero(2)), *[_zero(2)] * 2)


def test_the_kept_state_has_no_history() -> None:
    carried, after = CarriedState(), random_state(CONFIG, 2)
    carried.update(BiLmState(hidden=after.hidden.requires_grad_(), memory=after.memory))
    assert not carried.rows(_zero(2)).hidden.requires_grad


def test_rows_come_back_in_the_dtype_of_the_model() -> None:
    carried = CarriedState()
    carried.update(random_state(CONFIG, 2))
    zero = _zero(3)
    single = BiLmState(hidden=zero.hidden.float(), memory=zero.memory.float())
    rows = carried.rows(single)
    assert rows.hidden.dtype == rows.memory.dtype == torch.float32
    carried.update(rows)
    assert carried.stored is not None
    assert carried.stored.hidden.dtype == torch.float32
