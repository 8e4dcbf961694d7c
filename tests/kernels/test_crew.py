"""Threads that work together: all of the work, once, in order, and nothing left behind."""

import multiprocessing
import threading
import time

import pytest
import torch

from elmo_torch.kernels.crew import Crew, run_with_crew
from tests.kernels.ways import num_threads

CPU = torch.device("cpu")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_crew_has_the_threads_that_the_user_allows(threads: int) -> None:
    with num_threads(threads):
        parts: list[int] = []

        def together(crew: Crew) -> int:
            crew.together(parts.append)
            return crew.size

        assert run_with_crew(together, CPU) == threads
        assert sorted(parts) == list(range(threads))
        assert torch.get_num_threads() == threads


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_parts_run_at_the_same_time(threads: int) -> None:
    meeting = threading.Barrier(threads)
    with num_threads(threads):
        run_with_crew(lambda crew: crew.together(lambda _: meeting.wait(timeout=20)), CPU)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_map_keeps_the_order(threads: int) -> None:
    with num_threads(threads):
        squares = run_with_crew(lambda crew: crew.map(lambda x: x * x, range(17)), CPU)
        assert squares == [x * x for x in range(17)]
        assert run_with_crew(lambda crew: crew.map(str, []), CPU) == []


@pytest.mark.parametrize(("threads", "sizes"), [(1, (1, 1)), (2, (1, 1)), (3, (2, 1)), (4, (2, 2))])
def test_halves_share_the_threads(threads: int, sizes: tuple[int, int]) -> None:
    with num_threads(threads):
        got = run_with_crew(lambda crew: crew.in_halves(lambda half, own: (half, own.size)), CPU)
    assert got == ((0, sizes[0]), (1, sizes[1]))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_pytorch_has_one_thread_in_a_run_and_the_users_after_it(threads: int) -> None:
    with num_threads(threads):
        inside = run_with_crew(lambda crew: torch.get_num_threads(), CPU)
        assert inside == 1
        assert torch.get_num_threads() == threads


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_in_any_thread_reaches_the_caller(threads: int, failing: int) -> None:
    def work(crew: Crew) -> None:
        def part(number: int) -> None:
            if number == failing % crew.size:
                raise ValueError("in the work")

        crew.together(part)

    with num_threads(threads):
        with pytest.raises(ValueError, match="in the work"):
            run_with_crew(work, CPU)
        assert run_with_crew(lambda crew: crew.size, CPU) == threads  # the crew works on


def test_runs_of_several_callers_take_turns() -> None:
    at_work: list[int] = []
    most = 0
    lock = threading.Lock()

    def work(crew: Crew) -> None:
        nonlocal most
        with lock:
            at_work.append(1)
            most = max(most, len(at_work))
        time.sleep(0.01)
        with lock:
            at_work.pop()

    with num_threads(2):
        callers = [threading.Thread(target=run_with_crew, args=(work, CPU)) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert most == 1


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_threads_that_start_later_have_the_users_number(threads: int) -> None:
    found: list[int] = []
    with num_threads(threads):
        run_with_crew(lambda crew: crew.in_halves(lambda half, own: own.size), CPU)
        later = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        later.start()
        later.join()
    assert found == [threads]


def test_results_are_made_without_gradients() -> None:
    weight = torch.ones(2, requires_grad=True)
    with num_threads(2):
        doubled = run_with_crew(lambda crew: crew.map(lambda k: weight * k, [1, 2]), CPU)
    assert not any(tensor.requires_grad for tensor in doubled)


def _size_of_crew() -> int:
    return run_with_crew(lambda crew: crew.size, CPU)


# Python warns of any fork of a process with threads; that it works here is what the test shows.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_a_crew_of_its_own() -> None:
    with num_threads(2):
        assert _size_of_crew() == 2
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply_async(_size_of_crew).get(timeout=60) == 2


def test_other_devices_are_handed_work_by_the_caller_alone() -> None:
    with num_threads(2):
        assert run_with_crew(lambda crew: crew.size, torch.device("meta")) == 1
