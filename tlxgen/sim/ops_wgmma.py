"""wgmma: groups that complete in order. Until then they read shared memory, and the accumulator must not be accessed.

Shared memory is read when the scheduler completes the group, so an operand that is overwritten too early gives wrong
numbers in addition to the finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .actors import Event
from .findings import KernelFault, Place
from .machine import BarrierRef, machine
from .memory import Access, View
from .ops_memory import local_slice, local_trans
from .ops_tcgen05 import check_shapes, mma


@dataclass(eq=False)
class Accumulator:
    """The result of a wgmma that has not been waited for. Only async_dot and async_dot_wait accept one.

    If a kernel ignores the result of a wait and uses this object afterwards, the use is executed and reported, since
    the compiler keeps only uses of the wait's result behind the wait.
    """

    event: Event | None
    shape: tuple[int, int]
    place: Place
    value: torch.Tensor | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python's own protocols
            raise AttributeError(name)
        return getattr(self._value(), name)

    def _value(self) -> torch.Tensor:
        m = machine()
        places = (m.here(), self.place)
        if self.event is None or self.event in m.worker.undotted or self.value is None:
            text = "an accumulator is used while its wgmma may still run: async_dot_wait comes first"
            m.findings.stop("async-lifetime", text, places)
        text = "an accumulator is used after async_dot_wait, but not what that gave back: nothing orders the two"
        m.findings.add("async-lifetime", text, places)
        return self.value


def _operation(name: str) -> Callable[..., Any]:
    return lambda self, *operands: getattr(self._value(), name)(*operands)


for _name in ("add", "radd", "mul", "rmul", "sub", "rsub", "truediv", "neg", "getitem", "len"):
    setattr(Accumulator, f"__{_name}__", _operation(f"__{_name}__"))


def async_dot(
    A: Any,
    B: Any,
    acc: Any = None,
    use_acc: Any = None,
    pred: Any = None,
    mBarriers: Sequence[BarrierRef] = (),
    two_ctas: Any = False,
    force_async: Any = False,
    **options: Any,
) -> Any:
    """Issues D = A @ B + acc, by tcgen05 if acc is in tensor memory, else by wgmma. `use_acc` false ignores acc."""
    if isinstance(acc, View):
        check_shapes(A, B, acc, bool(two_ctas))
        return mma(A, B, acc, use_acc, pred, mBarriers, two_ctas, force_async)
    if pred is not None or mBarriers or two_ctas or force_async:
        raise KernelFault("async_dot: pred, mBarriers, two_ctas and force_async are of Blackwell")
    return _wgmma(A, B, acc, use_acc)


def _wgmma(a: Any, b: Any, acc: Any, use_acc: Any) -> Any:
    m = machine()
    place = m.here()
    if m.arch != "sm90":
        raise KernelFault(
            f"async_dot into registers is wgmma, which {m.arch} has not: its accumulator is in tensor memory"
        )
    (rows, depth), (inner, columns) = a.shape, b.shape
    if depth != inner or rows % 64 or columns % 8 or not 8 <= columns <= 256 or depth * a.dtype.itemsize < 32:
        raise KernelFault(f"async_dot of {tuple(a.shape)} and {tuple(b.shape)}: wgmma has no such shape")
    if not isinstance(b, View):
        raise KernelFault("async_dot: B must be in shared memory")
    if acc is not None and tuple(acc.shape) != (rows, columns):
        raise KernelFault(f"async_dot: accumulator of shape {tuple(acc.shape)}, expected {(rows, columns)}")
    start = None if acc is None or (use_acc is not None and not use_acc) else acc
    result = Accumulator(None, (rows, columns), place)

    def run(_: Event) -> None:
        product = torch.matmul(_values(a), _values(b))
        before = start.value if isinstance(start, Accumulator) else start
        result.value = product if before is None else product + before

    event = m.prepare("wgmma", run, m.worker.dots)
    for operand in (a, b):
        if isinstance(operand, View):
            access = Access(event.bit, place, "a wgmma", engine=True, fenced=True, task=m.worker)
            operand.read(access, event.clock, m.findings)
    result.event = event
    m.worker.undotted.append(event)
    m.hub.issue(event)
    m.hub.pause()
    return result


def whole_dot(left: View, right: View, sums: Sequence[Any]) -> tuple[Any, ...]:
    """Issues sums + left @ right^T by one wgmma for blocks of columns side by side, in one group.

    `right` is the buffer of the first block's columns, and those of the others are the next ones of its array. Where
    columns are neighbours in memory it is that of the columns of several blocks.
    """
    place = machine().here()
    each, along_k = right.shape
    wide = {int(acc.shape[1]) for acc in sums}
    if len(wide) > 1 or (width := wide.pop()) * len(sums) > 256 or each % width or along_k != left.shape[1]:
        raise KernelFault(f"whole_dot of {tuple(left.shape)}, {tuple(right.shape)} and {len(sums)} blocks of columns")
    blocks = each // width
    turned = right.strided.stride()[1] > right.strided.stride()[0]
    further = (right.buffer.at(right.index + i, place) for i in range(1, -(-len(sums) // blocks)))
    parts = [right, *(local_trans(b) if turned else b for b in further)]
    parts = [local_slice(parts[i // blocks], [i % blocks * width, 0], [width, along_k]) for i in range(len(sums))]
    return tuple(_wgmma(left, local_trans(part), acc, None) for part, acc in zip(parts, sums, strict=True))


def whole_wait(pendings: int, sums: Sequence[Any]) -> tuple[Any, ...]:
    """async_dot_wait for products that `whole_dot` issued: `pendings` of its groups may be in flight."""
    return tuple(async_dot_wait(pendings * len(sums), acc) for acc in sums)


def _values(operand: Any) -> torch.Tensor:
    tensor: torch.Tensor = operand.get() if isinstance(operand, View) else operand
    return tensor.float()


def async_dot_wait(pendings: int, acc: Any) -> Any:
    """Waits until at most `pendings` wgmmas of this task are in flight. If `acc` is complete, it returns a tensor."""
    m = machine()
    place, worker = m.here(), m.worker
    if m.change is not None:
        pendings = m.change.pendings(place, pendings)
    if pendings < 0:
        raise KernelFault(f"async_dot_wait({pendings})")
    m.hub.pause()
    retired = worker.undotted[: max(0, len(worker.undotted) - pendings)]
    worker.undotted = worker.undotted[len(retired) :]
    for event in retired:
        m.hub.await_event(event)
        worker.clock |= event.clock
    if isinstance(acc, Accumulator) and acc.event not in worker.undotted:
        return acc.value
    return acc
