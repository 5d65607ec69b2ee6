"""Shared memory with a record of who touched it last, and global memory with a record of which CTA wrote it.

A slot is one buffer of a ring; nothing aliases it, so its record is its own. Accesses are recorded when an operation is
issued, not when its effect comes: then every pair of them is compared on every schedule, whatever the order of effects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .findings import Findings, KernelFault, Place

Rect = tuple[int, int, int, int]  # first row, end row, first column, end column, in a slot's own shape
RAW = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
SMEM_BYTES = 232448  # of a CTA, sm90


@dataclass(eq=False)
class Access:
    """A read or a write: `bit` of the segment or event that does it, whether an engine does it, and since when it is
    visible to the async proxy (a generic write needs a fence, a TMA write none)."""

    bit: int
    place: Place
    what: str
    engine: bool
    fenced: bool


def _overlap(a: Rect, b: Rect) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _inside(a: Rect, b: Rect) -> bool:
    return b[0] <= a[0] and a[1] <= b[1] and b[2] <= a[2] and a[3] <= b[3]


@dataclass(eq=False)
class Slot:
    """A buffer of a ring in the shared memory of one CTA."""

    name: str
    index: int
    owner: Any  # the CTA
    ring: int  # which of the CTA's allocations
    data: torch.Tensor
    writes: list[tuple[Rect, Access]] = field(default_factory=list)
    reads: list[tuple[Rect, Access]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name}[{self.index}] of {self.owner.name}"

    def write(self, rect: Rect, access: Access, clock: int, findings: Findings) -> None:
        """Records a write by what `clock` lies before; reports all that it is not ordered after."""
        if not findings.races:
            return
        for other_rect, other in self.writes:
            if _overlap(rect, other_rect) and not other.bit & clock:
                text = f"{access.what} and {other.what} both write {self}, in no order"
                findings.add("race-write-write", text, (access.place, other.place))
        for other_rect, other in self.reads:
            if _overlap(rect, other_rect) and not other.bit & clock:
                text = f"{access.what} overwrites {self}, which {other.what} may still read"
                id = "async-lifetime" if other.engine else "race-read-write"
                findings.add(id, text, (access.place, other.place))
        self.writes = [x for x in self.writes if not _inside(x[0], rect)] + [(rect, access)]
        self.reads = [x for x in self.reads if not _inside(x[0], rect)]

    def read(self, rect: Rect, access: Access, clock: int, findings: Findings) -> None:
        """Records a read; reports the writes that it is not ordered after, and memory that was never written."""
        if not findings.races:
            return
        written = [w for r, w in self.writes if _overlap(rect, r)]
        if not written:
            findings.add("uninitialised", f"{access.what} reads {self}, never written", (access.place,))
        for write in written:
            if not write.bit & clock:
                text = f"{access.what} reads {self}, which {write.what} may still write"
                findings.add("race-read-write", text, (access.place, write.place))
            elif access.engine and not write.fenced:
                text = f"{access.what} reads {self} through the async proxy; the stores to it were not fenced"
                findings.add("missing-fence", text, (access.place, write.place))
        self.reads = [x for x in self.reads if x[1].bit != access.bit or x[0] != rect] + [(rect, access)]


@dataclass(frozen=True, eq=False)
class View:
    """A slot, or a part of it, as a tensor over its bytes; transposing changes the tensor and not the `rect`."""

    slot: Slot
    tensor: torch.Tensor
    rect: Rect

    @property
    def label(self) -> str:
        return str(self.slot)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.tensor.dtype

    def on(self, cta: Any) -> View:
        """The same view in the shared memory of another CTA of the cluster."""
        slot: Slot = cta.rings[self.slot.ring].slots[self.slot.index]
        offset = self.tensor.storage_offset() - self.slot.data.storage_offset() + slot.data.storage_offset()
        return View(slot, slot.data.as_strided(self.shape, self.tensor.stride(), offset), self.rect)


@dataclass(frozen=True, eq=False)
class Ring:
    """What `local_alloc` gives: slots of one shape. Indexing gives a View."""

    name: str
    slots: tuple[Slot, ...]
    findings: Findings

    @property
    def dtype(self) -> torch.dtype:
        return self.slots[0].data.dtype

    def at(self, index: int, place: Place) -> View:
        if not 0 <= index < len(self.slots):
            text = f"slot {index} of {self.name}, which has {len(self.slots)}"
            self.findings.stop("out-of-bounds", text, (place,))
        slot = self.slots[index]
        rows = slot.data.shape[0] if slot.data.dim() > 1 else 1
        return View(slot, slot.data, (0, rows, 0, slot.data.numel() // rows))


def poisoned(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Memory of 0xFF bytes: NaN in every floating type that kernels keep there (fp8 included)."""
    size = math.prod(shape) * dtype.itemsize
    return torch.full((size,), 0xFF, dtype=torch.uint8).view(dtype).reshape(tuple(shape))


class GlobalMemory:
    """The storages that a launch touches: which CTA wrote each element, and, over all launches, whether any did."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._owner: dict[tuple[int, int], torch.Tensor] = {}
        self._written: dict[tuple[int, int], torch.Tensor] = {}

    def begin(self) -> None:
        """A new launch: what an earlier one wrote may be written again."""
        self._owner.clear()

    @staticmethod
    def flat(tensor: torch.Tensor) -> torch.Tensor:
        """The whole storage of a tensor, as a vector of its type."""
        return torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())

    @staticmethod
    def _key(flat: torch.Tensor) -> tuple[int, int]:
        return flat.untyped_storage().data_ptr(), flat.dtype.itemsize

    def record(self, flat: torch.Tensor, at: torch.Tensor, cta: int, place: Place) -> None:
        """CTA number `cta` writes the elements `at` (indices into the storage)."""
        key = self._key(flat)
        if key not in self._written:
            self._written[key] = torch.zeros(flat.numel(), dtype=torch.bool)
        owner = self._owner.setdefault(key, torch.full((flat.numel(),), -1, dtype=torch.int32))
        before = owner[at]
        others = before[(before >= 0) & (before != cta)]
        if others.numel():
            text = f"CTA {cta} writes {others.numel()} elements that CTA {int(others[0])} also writes"
            self._findings.add("global-write-conflict", text, (place,))
        owner[at] = cta
        self._written[key][at] = True

    def unwritten(self, tensor: torch.Tensor) -> int:
        """How many elements of `tensor` no kernel has written."""
        flat = self.flat(tensor)
        written = self._written.get(self._key(flat))
        if written is None:
            return int(tensor.numel())
        return int((~written.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())).sum())


@dataclass(eq=False)
class Descriptor:
    """A TMA descriptor: a box of `block` elements anywhere over a tensor of `shape` and `strides`."""

    flat: torch.Tensor
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]

    @property
    def dtype(self) -> torch.dtype:
        return self.flat.dtype

    @property
    def bytes(self) -> int:
        return math.prod(self.block) * int(self.dtype.itemsize)

    @property
    def _raw(self) -> torch.dtype:
        """An integer type of the same size: torch cannot index fp8."""
        return RAW[self.dtype.itemsize]

    def _part(self, offsets: Sequence[int], ends: Sequence[int]) -> tuple[tuple[slice, ...], torch.Tensor] | None:
        """What of the box lies between 0 and `ends`: its place in the box, and the indices into the storage."""
        if len(offsets) != len(self.block):
            raise KernelFault(f"{len(offsets)} offsets for a descriptor of rank {len(self.block)}")
        low = [max(0, -o) for o in offsets]
        high = [min(b, e - o) for b, e, o in zip(self.block, ends, offsets, strict=True)]
        if any(h <= lo for lo, h in zip(low, high, strict=True)):
            return None
        at = torch.full((1,) * len(self.block), self.start, dtype=torch.int64)
        for d, (lo, h) in enumerate(zip(low, high, strict=True)):
            shape = [1] * len(self.block)
            shape[d] = h - lo
            at = at + (torch.arange(lo, h) + offsets[d]).reshape(shape) * self.strides[d]
        return tuple(slice(lo, h) for lo, h in zip(low, high, strict=True)), at

    def read(self, offsets: Sequence[int]) -> torch.Tensor:
        """The box; zero where it lies outside of the tensor."""
        box = torch.zeros(self.block, dtype=self._raw)
        part = self._part(offsets, self.shape)
        if part:
            box[part[0]] = self.flat.view(self._raw)[part[1]]
        return box.view(self.dtype)

    def write(self, offsets: Sequence[int], box: torch.Tensor, memory: GlobalMemory, cta: int, place: Place) -> None:
        """Writes what of the box lies inside, in whole chunks of 16 bytes of a row (measured on an H200)."""
        chunk = 16 // self.dtype.itemsize
        part = self._part(offsets, (*self.shape[:-1], -(-self.shape[-1] // chunk) * chunk))
        if part is None:
            return
        inside, at = part
        values = box.contiguous().view(self._raw)[inside]
        at = at.expand(values.shape)
        kept = at < self.flat.numel()  # the last row's chunk may reach past the end of what was allocated
        memory.record(self.flat, at[kept], cta, place)
        self.flat.view(self._raw)[at[kept]] = values[kept]
