"""What a simulated launch did, task by task and in order, for `replay` to say how long it takes. Imports torch.

Loops have run and branches been taken, so a trace is a straight list. Waits name the phase of a barrier that they need,
so a replay depends on when the arrivals come and not on the order in which the simulator ran the tasks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from tlxgen.arch import Sm90
from tlxgen.sim.actors import Task
from tlxgen.sim.memory import View

from .counts import Counts
from .meter import WGMMA_ROWS, Meter

Kind = Literal[
    "work",  # of threads
    "reduce",  # the threads that share a row meet
    "fence",  # of stores into SMEM, or of global memory
    "fetch", "release",  # a word of global memory, for or by which other CTAs wait
    "wait", "arrive",  # of an mbarrier
    "load", "load_wait",  # of asynchronous copies into SMEM, on barriers or in groups
    "product", "commit", "product_wait",  # of the tensor cores
    "store", "store_wait",  # of TMA
    "join", "join_wait",  # of a named barrier, or of the cluster's
    "send",  # into the SMEM of another CTA, on its barrier
]  # fmt: skip


@dataclass(frozen=True)
class Op:
    """An operation. `on` names barriers, each with what arrives there. `number` is the phase that a wait needs, how
    many operations may still be in flight, how many threads a named barrier counts, how many wgmmas a product is,
    whether a reduction sums up, or whether a fence is of global memory."""

    kind: Kind
    counts: Counts = field(default_factory=Counts)
    on: tuple[tuple[Hashable, int], ...] = ()
    number: int = 0
    size: int = 0  # bytes that an arrival announces


@dataclass
class Thread:
    """A task of a CTA, or the program before the tasks: what it did."""

    cta: int
    rank: int  # of the CTA in its cluster
    cluster: int
    size: int  # CTAs of the cluster
    threads: int
    ops: list[Op] = field(default_factory=list)
    open: bool = False  # whether further work joins the last op


@dataclass
class Trace:
    """A launch. `counts` has, for each mbarrier, the arrivals of a phase."""

    kernel: str
    threads: dict[Task, Thread] = field(default_factory=dict)
    counts: dict[Hashable, int] = field(default_factory=dict)


_SYNC = (
    "barrier_wait", "barrier_arrive", "barrier_expect_bytes", "named_barrier_wait", "named_barrier_arrive",
    "cluster_barrier", "cluster_arrive_relaxed", "cluster_wait", "async_dot_wait", "async_descriptor_store_wait",
    "bulk_wait_group", "async_load_commit_group", "async_load_wait_group", "tcgen05_commit", "fence", "atomic_add",
)  # fmt: skip
# Results of the ALU that round an element of a left operand to 8 bits and bring it to its place: F2FP, PRMT, LOP3, SHF
# and SEL in the SASS of forward attention. A F2FP takes as long as a PRMT: beside_products.
MOVED = 4.2
_LOADS = ("desc", "result", "offsets", "barrier", "pred")
_COPIES = ("src", "result", "mask", "other", "cache_modifier", "eviction_policy", "is_volatile", "bulk", "bulk_size",
           "barrier")  # fmt: skip


class Tracer(Meter):
    """A meter that also keeps the order. `traces` has a trace for each launch."""

    def __init__(self) -> None:
        super().__init__()
        self.names = {*self.names, *_SYNC}
        self.traces: dict[int, Trace] = {}
        self._op = Counts()
        self._trace = Trace("")

    def begin(self, launch: int, kernel: str) -> None:
        super().begin(launch, kernel)
        self._trace = self.traces[launch] = Trace(kernel)

    def count(self, name: str, task: Task, arguments: tuple[Any, ...], options: Mapping[str, Any], result: Any) -> None:
        self._op = Counts()
        super().count(name, task, arguments, options, result)
        self._held(task).add(self._op)
        thread = self._thread(task)
        made = getattr(self, f"_{name}", None) if name in _SYNC else self._asynchronous(name, task, arguments, options)
        if callable(made):
            made = made(task, arguments, options)
        done = [made] if made else _told(arguments, options) if name == "inline_asm_elementwise" else []
        for op in done:
            if op.kind == "product_wait":
                _early(thread.ops, op)
            elif op.kind != "fetch" or [o.kind for o in thread.ops[-1:]] != ["fetch"]:  # who waits asks again and again
                thread.ops.append(op)
            thread.open = False
        if done:
            return
        if any(self._op.values) and name not in _SYNC:
            self._work(thread, name)

    def _counted(self, task: Task) -> Counts:
        return self._op

    def _thread(self, task: Task) -> Thread:
        found = self._trace.threads.get(task)
        if found is None:
            cta: Any = task.cta  # type: ignore[attr-defined]
            size = len(cta.cluster)
            found = Thread(cta.number, cta.rank, cta.number // size, size, task.threads)
            self._trace.threads[task] = found
        return found

    def _work(self, thread: Thread, name: str) -> None:
        """Work without a wait between joins, up to a reduction: threads issue in order, and the rest waits for it."""
        if thread.open:
            thread.ops[-1].counts.add(self._op)
        else:
            thread.ops.append(Op("work", self._op))
        thread.open = name not in ("max", "min", "sum")
        if not thread.open:
            thread.ops.append(Op("reduce", number=int(name == "sum")))

    # Operations that complete later.

    def _asynchronous(self, name: str, task: Task, arguments: Any, options: Any) -> Op | None:
        cta: Any = task.cta  # type: ignore[attr-defined]
        if name in ("async_dot", "async_dot_scaled"):
            if not self._op.products:
                return None
            given = {**dict(zip(("A", "B", "acc"), arguments, strict=False)), **options}
            self._ordered(task, given["A"])
            committed = [b.on(c) for b in given.get("mBarriers", ()) for c in _pair(cta, given.get("two_ctas"))]
            return Op("product", self._op, self._once(committed), _wgmmas(given["A"], given["B"], given.get("acc")))
        if name == "tmem_copy":
            return Op("product", self._op)
        if name == "async_descriptor_load":
            given = {**dict(zip(_LOADS, arguments, strict=False)), **options}
            if not self._op.l2_bytes:
                return None
            targets = [cta.cluster[int(r)] for r in given.get("multicast_targets", ())] or [cta]
            if given.get("two_ctas"):
                targets = [c.cluster[c.rank & ~1] for c in targets]
            return Op("load", self._op, self._on([given["barrier"].on(c) for c in targets], given["desc"].bytes))
        if name == "async_load":
            given = {**dict(zip(_COPIES, arguments, strict=False)), **options}
            size = int(self._op.l2_bytes)
            return Op("load", self._op, self._on([given["barrier"].barrier], size) if given.get("bulk") else ())
        if name in ("async_descriptor_store", "async_store"):
            return Op("store", self._op)
        if name in ("async_remote_shmem_store", "async_remote_shmem_copy"):
            source, rank, barrier = _last(arguments, options, ("dst", "src", "remote_cta_rank", "barrier"))[1:]
            size = source.size if isinstance(source, View) else _bytes(source)
            return Op("send", self._op, self._on([barrier.on(cta.cluster[int(rank)])], size))
        return None

    def _ordered(self, task: Task, left: Any) -> None:
        """Values rounded to 8 bits are as left operand in other places of registers than as a sum. Bringing them there
        adds to the work that made them."""
        if self._rounded.pop(id(left), None) is not None:
            moved = Counts(alu=MOVED * left.numel(), instructions=MOVED * left.numel())
            self._held(task).add(moved)
            for made in [op for op in self._thread(task).ops if op.kind == "work"][-1:]:
                made.counts.add(moved)

    def _on(self, barriers: Iterable[Any], amount: int) -> tuple[tuple[Hashable, int], ...]:
        found = []
        for barrier in barriers:
            self._trace.counts[barrier] = barrier.count
            found.append((barrier, amount))
        return tuple(found)

    def _once(self, barriers: Iterable[Any]) -> tuple[tuple[Hashable, int], ...]:
        return self._on(barriers, 1)

    # Synchronisation.

    def _barrier_wait(self, task: Task, arguments: Any, options: Any) -> Op | None:
        reference, parity, pred = _last(arguments, options, ("bar", "phase", "pred"))
        if pred is not None and not pred:
            return None
        barrier = reference.barrier
        passed = barrier.phase if barrier.phase & 1 != int(parity) else barrier.phase - 1
        return Op("wait", on=self._once([barrier]), number=passed)

    def _barrier_arrive(self, task: Task, arguments: Any, options: Any) -> Op | None:
        reference, count, rank, pred = _last(arguments, options, ("bar", "arrive_count", "remote_cta_rank", "pred"))
        if pred is not None and not pred:
            return None
        cta: Any = task.cta  # type: ignore[attr-defined]
        barrier = reference.barrier if rank is None else reference.on(cta.cluster[int(rank)])
        amount = (1 if count is None else int(count)) * (task.threads if barrier.per_thread else 1)
        return Op("arrive", on=self._on([barrier], amount))

    def _barrier_expect_bytes(self, task: Task, arguments: Any, options: Any) -> Op | None:
        reference, size, pred = _last(arguments, options, ("bar", "size", "pred"))
        if pred is not None and not pred:
            return None
        return Op("arrive", on=self._once([reference.barrier]), size=int(size))

    def _named_barrier_wait(self, task: Task, arguments: Any, options: Any) -> Op:
        bar, count = _last(arguments, options, ("bar", "arrive_count"))
        cta: Any = task.cta  # type: ignore[attr-defined]
        return Op("join_wait", on=((("named", cta.number, int(bar)), task.threads),), number=int(count))

    def _named_barrier_arrive(self, task: Task, arguments: Any, options: Any) -> Op:
        made = self._named_barrier_wait(task, arguments, options)
        return Op("join", on=made.on, number=made.number)

    def _cluster_barrier(self, task: Task, arguments: Any, options: Any) -> Op:
        return self._meets(task, "join_wait", 1)

    def _cluster_arrive_relaxed(self, task: Task, arguments: Any, options: Any) -> Op:
        return self._meets(task, "join", 1)

    def _cluster_wait(self, task: Task, arguments: Any, options: Any) -> Op:
        return self._meets(task, "join_wait", 0)

    def _meets(self, task: Task, kind: Kind, amount: int) -> Op:
        cta: Any = task.cta  # type: ignore[attr-defined]
        members = max(len(cta.meeting.members), 1)
        return Op(kind, on=((("cluster", self._thread(task).cluster), amount),), number=members)

    def _fence(self, task: Task, arguments: Any, options: Any) -> Op:
        return Op("fence")

    def _atomic_add(self, task: Task, arguments: Any, options: Any) -> Op | None:
        sem = _last(arguments, options, ("pointer", "val", "mask", "sem"))[3]
        if sem == "acquire":
            return Op("fetch")
        return None if sem == "relaxed" else Op("release")

    def _async_dot_wait(self, task: Task, arguments: Any, options: Any) -> Op:
        return Op("product_wait", number=int(_last(arguments, options, ("pendings",))[0]))

    def _async_descriptor_store_wait(self, task: Task, arguments: Any, options: Any) -> Op:
        return Op("store_wait", number=int(_last(arguments, options, ("pendings",))[0]))

    _bulk_wait_group = _async_descriptor_store_wait

    def _async_load_commit_group(self, task: Task, arguments: Any, options: Any) -> Op:
        return Op("load", number=1)

    def _async_load_wait_group(self, task: Task, arguments: Any, options: Any) -> Op:
        return Op("load_wait", number=int(_last(arguments, options, ("pendings",))[0]))

    def _tcgen05_commit(self, task: Task, arguments: Any, options: Any) -> Op | None:
        reference, pair = _last(arguments, options, ("mBarrier", "two_ctas"))
        cta: Any = task.cta  # type: ignore[attr-defined]
        if pair and cta.rank % 2:
            return None
        return Op("commit", on=self._once([reference.on(c) for c in _pair(cta, pair)]))


def _told(arguments: tuple[Any, ...], options: Mapping[str, Any]) -> list[Op]:
    """What statements of PTX wait for: a word that is acquired, TMA's writes, a fence of global memory."""
    found = []
    for statement in str(arguments[0] if arguments else options["asm"]).split(";"):
        name, *rest = statement.split() or [""]
        if name.startswith("ld.acquire"):
            found.append(Op("fetch"))
        elif name == "cp.async.bulk.wait_group":
            found.append(Op("store_wait", number=int(rest[0])))
        elif name == "fence.proxy.async":
            found.append(Op("fence", number=1))
    return found


def _early(ops: list[Op], wait: Op) -> None:
    """Adds a wait for products to a softmax where ptxas has it: behind the maximum of the first of a thread's two rows.

    So it is, or nearly, in the SASS of forward attention for sm90: nothing that threads compute is needed for the wait.
    Where nothing is reduced, as in the backward, it stays where the source has it.
    """
    at = len(ops)
    while at and ops[at - 1].kind in ("work", "reduce"):
        at -= 1
    first = next((n for n in range(at, len(ops)) if ops[n].kind == "reduce"), len(ops))
    if at < first < len(ops):
        half = ops[first - 1].counts * 0.5
        ops[first - 1 : first] = [Op("work", half), wait, Op("work", ops[first - 1].counts - half)]
    else:
        ops.append(wait)


def _wgmmas(a: Any, b: Any, acc: Any) -> int:
    """How many of them multiply two tiles; none where TMEM has the sum."""
    if isinstance(acc, View):
        return 0
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    steps = -(-depth * b.dtype.itemsize // Sm90.wgmma_k_bytes)
    return int(-(-rows // WGMMA_ROWS) * steps * -(-columns // Sm90.wgmma_n_max))


def _pair(cta: Any, two_ctas: Any) -> list[Any]:
    return list(cta.cluster[cta.rank & ~1 : (cta.rank & ~1) + 2]) if two_ctas else [cta]


def _last(arguments: tuple[Any, ...], options: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    """The arguments of these names in their order; None for one that is not given."""
    given = {**dict(zip(names, arguments, strict=False)), **options}
    return [given.get(name) for name in names]


def _bytes(value: torch.Tensor) -> int:
    return int(value.numel() * value.dtype.itemsize)
