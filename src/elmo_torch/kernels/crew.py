"""Threads that work at the same time: the cores that a run may use, and how it divides them.

PyTorch and the compiled kernel let go of the interpreter while they compute, so Python's threads are
enough. All of a run happens in them, each with one thread for PyTorch's own products, so that no
two of them ever ask for the same core.
"""

import functools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import torch

__all__ = ["Crew", "run_with_crew"]

_ItemT = TypeVar("_ItemT")
_ResultT = TypeVar("_ResultT")


@dataclass(frozen=True, slots=True)
class Crew:
    """``size`` threads, the caller's among them; the others wait in a pool that has enough of them."""

    size: int
    _pool: ThreadPoolExecutor | None = None  # None: the caller alone

    def together(self, work: Callable[[int], object]) -> None:
        """Run ``work(part)`` in every thread at once, part 0 in the caller's, and wait for all."""
        if self._pool is None:
            work(0)
            return
        others = [self._pool.submit(work, part) for part in range(1, self.size)]
        try:
            work(0)
        finally:
            for other in others:
                other.result()

    def map(self, work: Callable[[_ItemT], _ResultT], items: Sequence[_ItemT]) -> list[_ResultT]:
        """Return the results of independent pieces of work, in order; the threads take turns."""
        results: dict[int, _ResultT] = {}

        @torch.inference_mode()
        def take_turns(part: int) -> None:
            for place in range(part, len(items), self.size):
                results[place] = work(items[place])

        self.together(take_turns)
        return [results[place] for place in range(len(items))]

    def in_halves(self, work: Callable[[int, "Crew"], _ResultT]) -> tuple[_ResultT, _ResultT]:
        """Return ``work(0, crew)`` and ``work(1, crew)``, at the same time with half of the threads each.

        One thread does both, one after the other.
        """
        if self._pool is None or self.size == 1:
            return work(0, self), work(1, self)
        larger = self.size - self.size // 2
        other = self._pool.submit(
            _with_threads,
            functools.partial(work, 1, Crew(self.size // 2, self._pool)),
            self.size // 2,
        )
        try:
            first = _with_threads(functools.partial(work, 0, Crew(larger, self._pool)), larger)
        finally:
            second = other.result()
        return first, second


def run_with_crew(work: Callable[[Crew], _ResultT], device: torch.device) -> _ResultT:
    """Return ``work(crew)`` with all threads that ``torch.get_num_threads`` allows; one run at a time.

    On devices other than a CPU the crew is the caller alone: it only hands out work.
    """
    size = torch.get_num_threads()
    if device.type != "cpu" or size == 1:
        return work(Crew(1))
    _at_work.acquire()
    try:
        pool = _pool(size)
        run: Future[_ResultT] = pool.submit(_with_threads, lambda: work(Crew(size, pool)), 1)
    except BaseException:
        _at_work.release()
        raise
    # not before it has ended, even if the caller is interrupted: a crew needs the whole pool
    run.add_done_callback(lambda _: _at_work.release())
    try:
        return run.result()
    finally:
        # PyTorch takes the last number that any thread set for the threads to come: the user's stays
        torch.set_num_threads(size)


_at_work = threading.Lock()


def _with_threads(work: Callable[[], _ResultT], num_threads: int) -> _ResultT:
    """Do some work in a thread of the pool, so many threads for PyTorch's own products."""
    before = torch.get_num_threads()
    if num_threads != before:
        torch.set_num_threads(num_threads)
    try:
        with torch.inference_mode():
            return work()
    finally:
        if num_threads != before:
            torch.set_num_threads(before)


@functools.cache
def _pool(size: int) -> ThreadPoolExecutor:
    pool = ThreadPoolExecutor(size, "elmo-torch", torch.set_num_threads, (1,))
    all_here = threading.Barrier(size)
    for started in [pool.submit(all_here.wait) for _ in range(size)]:
        started.result()
    return pool


def _forget_threads() -> None:
    """Start anew in a child process, which has none of its parent's threads."""
    global _at_work
    _at_work = threading.Lock()
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
