"""The threads of a run: independent parts side by side, each with its share of the CPU's cores."""

import functools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

__all__ = ["side_by_side"]

_ItemT = TypeVar("_ItemT")
_ResultT = TypeVar("_ResultT")


def side_by_side(
    work: Callable[[_ItemT], _ResultT], items: Iterable[_ItemT], *, device: torch.device
) -> list[_ResultT]:
    """Return the results of independent pieces of work, in their order.

    On a CPU they run at the same time, two at most, and share the threads that
    ``torch.get_num_threads`` allows; with one thread, and on other devices, one after the other.
    """
    listed = list(items)
    num_threads = torch.get_num_threads()
    if device.type != "cpu" or num_threads == 1 or len(listed) == 1:
        return [work(item) for item in listed]
    return list(_pool(num_threads).map(torch.inference_mode()(work), listed))


@functools.cache
def _pool(num_threads: int) -> ThreadPoolExecutor:
    """Return two threads that use half of the cores each."""
    share = num_threads // 2
    pool = ThreadPoolExecutor(
        2, "elmo-torch", initializer=torch.set_num_threads, initargs=(share,)
    )
    pool.submit(int).result()
    # PyTorch remembers the last number that any thread set as the default of threads to come
    torch.set_num_threads(num_threads)
    return pool
