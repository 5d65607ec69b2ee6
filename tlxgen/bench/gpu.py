"""Timers on a GPU: CUDA graphs over rotated inputs, and the host's time for a launch. This module imports torch."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import device as readings

Run = Callable[[], Any]
COLD_BYTES = 160 << 20  # bytes read before an input is reused: more than three times an H200's L2
MEMORY_BYTES = 8 << 30  # limit of all copies of the inputs together
MOST_SETS = 64
REPLAY_US = 2000.0  # length of a replay: long compared with a graph's launch, short compared with changes of clocks
MOST_LAUNCHES = 256  # limit of the launches in one graph
LINK_ELEMENTS = 1 << 16  # elements of the small kernel between two launches of a chain
LINK_US = 3.0  # its approximate time
HOST_CALLS = 40  # launches in a burst over which host time is averaged; far fewer than a stream can queue
HOST_LEAD = 4  # untimed calls before a burst: a thread that has just waited needs up to 200 us for its first call
HOST_BURSTS = 9


class Replay:
    """A CUDA graph of several launches of one candidate on rotated inputs. A call returns microseconds a launch."""

    def __init__(self, runs: Sequence[Run], launches: int) -> None:
        self.launches = launches
        self.runs = runs  # keeps the tensors that a replay writes: a capture frees unreferenced memory
        for run in runs:  # compiles, loads and autotunes, which must not happen during a capture
            run()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for i in range(launches):
                runs[i % len(runs)]()
        self.queued: deque[tuple[torch.cuda.Event, torch.cuda.Event]] = deque()

    def start(self) -> None:
        """Queues a replay. A timer may be queued again before its first replay has ended."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        self.graph.replay()
        end.record()
        self.queued.append((begin, end))

    def __call__(self) -> float:
        if not self.queued:
            self.start()
        begin, end = self.queued.popleft()
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e3 / self.launches


class Gpu:
    """The GPU of this process, with the methods that `bench` and `tune` need."""

    def __init__(self, index: int = 0) -> None:
        self.device = torch.device("cuda", index)
        torch.cuda.set_device(self.device)
        properties = torch.cuda.get_device_properties(self.device)
        self.name: str = properties.name
        self.sms: int = properties.multi_processor_count
        self.capability: tuple[int, int] = torch.cuda.get_device_capability(self.device)

    def sets(self, bytes_moved: float) -> int:
        """How many copies of the inputs are needed to keep L2 cold from one launch to the next."""
        wanted = math.ceil(COLD_BYTES / max(1.0, bytes_moved)) + 1
        return max(1, min(wanted, MOST_SETS, int(MEMORY_BYTES // max(1.0, bytes_moved))))

    def launches(self, sets: int, us: float) -> int:
        """How many launches of about `us` microseconds make up a replay. It is a whole number of rotations."""
        rotations = math.ceil(REPLAY_US / max(us, 0.1) / sets)
        return sets * max(1, min(rotations, MOST_LAUNCHES // sets))

    def timer(self, runs: Sequence[Run], us: float) -> Replay:
        """A timer of `runs`, which are one launch for each copy of the inputs, of about `us` microseconds each."""
        return Replay(runs, self.launches(len(runs), us))

    def chain(self, runs: Sequence[Run], us: float) -> Replay:
        """As `timer`, with a small torch kernel after each launch, so that the candidate cannot overlap itself."""
        link = self._link()

        def linked(run: Run) -> Run:
            def both() -> None:
                run()
                link()

            return both

        return Replay([linked(run) for run in runs], self.launches(len(runs), us + LINK_US))

    def link(self) -> Replay:
        """A timer of the small kernel alone."""
        return Replay([self._link()], self.launches(1, LINK_US))

    def _link(self) -> Run:
        given = torch.zeros(LINK_ELEMENTS, device=self.device)
        out = torch.empty_like(given)
        return lambda: torch.add(given, 1, out=out)

    def roughly(self, run: Run) -> float:
        """Approximate microseconds of a warm launch, by which the length of a replay is chosen."""
        run()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(3):
            run()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e3 / 3

    def host_us(self, run: Run, lead: int = HOST_LEAD) -> float:
        """Microseconds that the host spends on an eager launch, while the GPU's queue is not full.

        `lead` untimed calls precede the burst. With 0 of them, the time includes the wake-up of the thread.
        """
        run()
        bursts = []
        for _ in range(HOST_BURSTS):
            torch.cuda.synchronize()
            for _ in range(lead):
                run()
            start = time.perf_counter()
            for _ in range(HOST_CALLS):
                run()
            bursts.append((time.perf_counter() - start) / HOST_CALLS * 1e6)
        torch.cuda.synchronize()
        return statistics.median(bursts)

    def dead(self) -> bool:
        """Whether the CUDA context is unusable, so that every call fails, as after an illegal access."""
        try:
            torch.cuda.synchronize()
            torch.zeros(1, device=self.device)
        except Exception:
            return True
        return False

    def release(self) -> None:
        """Frees the memory of graphs and inputs that are no longer referenced."""
        torch.cuda.empty_cache()

    def conditions(self) -> dict[str, float]:
        """Present clocks, power, temperature. nvidia-smi ignores CUDA_VISIBLE_DEVICES, so the index is translated."""
        visible = [v for v in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if v]
        index = self.device.index or 0
        return readings.conditions(visible[index] if index < len(visible) else str(index))

    def versions(self) -> dict[str, str]:
        return readings.versions() | {"cuda": str(torch.version.cuda)}
