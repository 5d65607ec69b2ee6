"""TMA descriptors that kernels make. They are objects in global memory, which a copy reads while it is in flight.

A descriptor that is overwritten while a copy uses it is an `async-lifetime` error, and the copy then uses the new one.
Each call of `tl.make_tensor_descriptor` in the source has one object a CTA, in the compiler's scratch memory, so a loop
overwrites the same object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .arith import Pointer
from .findings import Findings, KernelFault
from .globalmem import Descriptor
from .machine import machine
from .memory import Access
from .ops_tma import KernelDescriptor


@dataclass(eq=False)
class Slot:
    """128 bytes of global memory for a descriptor."""

    name: str
    content: Descriptor | None = None
    written: Access | None = None
    uses: list[Access] = field(default_factory=list)

    def fill(self, descriptor: Descriptor) -> None:
        """Stores a descriptor, made by the running task."""
        m = machine()
        place, worker = m.here(), m.worker
        access = Access(worker.bit, place, "make_tensor_descriptor", engine=False, fenced=True)
        if self.written and not self.written.bit & worker.clock:
            text = f"two tasks make {self.name}, in no order"
            m.findings.add("race-write-write", text, (place, self.written.place))
        for use in self.uses:
            if not use.bit & worker.clock:
                text = f"{self.name} is made again while {use.what} may still use it"
                m.findings.add("async-lifetime", text, (place, use.place))
        self.content, self.written, self.uses = descriptor, access, []

    def use(self, access: Access, clock: int, findings: Findings) -> None:
        """Notes that an operation with that clock uses the descriptor."""
        if self.written and not self.written.bit & clock and self.written.bit != access.bit:
            text = f"{access.what} uses {self.name}, which another task may still make"
            findings.add("race-read-write", text, (access.place, self.written.place))
        self.uses.append(access)


@dataclass(frozen=True, eq=False)
class Slots:
    """The result of `tlx.allocate_tensor_descriptor`."""

    slots: tuple[Slot, ...]

    def __getitem__(self, index: int) -> Slot:
        m = machine()
        place = m.here()
        if not 0 <= index < len(self.slots):
            m.findings.stop("out-of-bounds", f"descriptor {index} of {len(self.slots)}", (place,))
        return self.slots[index]


@dataclass(eq=False)
class DeviceDescriptor(KernelDescriptor):
    """A descriptor in a slot, as it was when the kernel obtained it."""

    slot: Slot = field(kw_only=True)

    def use(self, access: Access, clock: int, findings: Findings) -> None:
        self.slot.use(access, clock, findings)

    def now(self) -> Descriptor:
        assert self.slot.content is not None
        return self.slot.content


def allocate_tensor_descriptor(num: int, *, _name: str = "descriptors") -> Slots:
    """Memory for `num` descriptors of the CTA."""
    m = machine()
    m.here()
    return Slots(tuple(Slot(f"{_name}[{i}] of {m.worker.cta.name}") for i in range(int(num))))


def make_tensor_descriptor(
    desc_ptr: Slot | None,
    base: Pointer,
    shape: Sequence[int],
    strides: Sequence[int],
    block_shape: Sequence[int],
    padding_option: str = "zero",
) -> DeviceDescriptor:
    """Makes a descriptor in `desc_ptr`, or in memory of this call. Raises KernelFault if TMA cannot use it."""
    m = machine()
    place, cta = m.here(), m.worker.cta
    if desc_ptr is None:
        name = f"the descriptor of line {place.line} of {cta.name}"
        desc_ptr = cta.scratch.setdefault(m.calls(), Slot(name))
    _check(desc_ptr, base, shape, strides, block_shape, padding_option)
    sizes = tuple(map(tuple, (map(int, shape), map(int, strides), map(int, block_shape))))
    made = DeviceDescriptor(base.flat, int(base.at), *sizes, slot=desc_ptr)
    desc_ptr.fill(made)
    return made


def _check(
    slot: Any, base: Any, shape: Sequence[int], strides: Sequence[int], block: Sequence[int], padding: str
) -> None:
    if not isinstance(slot, Slot) or not isinstance(base, Pointer) or isinstance(base.at, torch.Tensor):
        raise KernelFault(f"make_tensor_descriptor in {type(slot).__name__} of {type(base).__name__}")
    size = int(base.dtype.itemsize)
    if not len(shape) == len(strides) == len(block) <= 5:
        raise KernelFault(f"make_tensor_descriptor of {list(shape)}, {list(strides)}, {list(block)}")
    if strides[-1] != 1 or block[-1] * size < 16 or any(s * size % 16 for s in strides[:-1]):
        text = f"strides {list(strides)} of {size} bytes, block {list(block)}"
        raise KernelFault(f"make_tensor_descriptor: {text}: the last stride is 1, rows are multiples of 16 bytes")
    if (base.flat.data_ptr() + base.at * size) % 16:
        raise KernelFault("make_tensor_descriptor: the base address is no multiple of 16 bytes")
    if padding != "zero":
        raise KernelFault(f"make_tensor_descriptor: padding {padding!r} is not modelled")


def reinterpret_tensor_descriptor(desc_ptr: Slot, block_shape: Sequence[int], dtype: torch.dtype) -> DeviceDescriptor:
    """The descriptor in a slot. `block_shape` and `dtype` must be those for which it was made."""
    m = machine()
    place = m.here()
    made = desc_ptr.content
    if made is None:
        m.findings.stop("race-read-write", f"{desc_ptr.name} is used before any task has made it", (place,))
    if tuple(block_shape) != made.block or dtype != made.dtype:
        raise KernelFault(f"{desc_ptr.name} is of {made.block} {made.dtype}, not of {tuple(block_shape)} {dtype}")
    return DeviceDescriptor(made.flat, made.start, made.shape, made.strides, made.block, slot=desc_ptr)
