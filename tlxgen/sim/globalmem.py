"""Global memory with a record of which CTA wrote what, and the boxes that TMA moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .findings import Findings, KernelFault, Place

RAW = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
NOBODY, SHARED = -1, -2  # owners that are no CTA: not written; added to by any number of CTAs
_REDUCE = {"add": torch.add, "min": torch.minimum, "max": torch.maximum,
           "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor}  # fmt: skip


class GlobalMemory:
    """The storages that a launch touches: which CTA wrote each element, and, over all launches, whether any did."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._owner: dict[tuple[int, int], torch.Tensor] = {}
        self._written: dict[tuple[int, int], torch.Tensor] = {}
        self.synchronised = False  # the launch orders its CTAs through atomics, which are not followed

    def begin(self) -> None:
        """A new launch: what an earlier one wrote may be written again."""
        self._owner.clear()
        self.synchronised = False

    @staticmethod
    def flat(tensor: torch.Tensor) -> torch.Tensor:
        """The whole storage of a tensor, as a vector of its type."""
        return torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())

    @staticmethod
    def _key(flat: torch.Tensor) -> tuple[int, int]:
        return flat.untyped_storage().data_ptr(), flat.dtype.itemsize

    def record(self, flat: torch.Tensor, at: torch.Tensor, cta: int, place: Place, reduces: bool = False) -> None:
        """CTA number `cta` writes the elements `at` (indices into the storage), or adds to them."""
        key = self._key(flat)
        if key not in self._written:
            self._written[key] = torch.zeros(flat.numel(), dtype=torch.bool)
        owner = self._owner.get(key)
        if owner is None:
            owner = self._owner[key] = torch.full((flat.numel(),), NOBODY, dtype=torch.int32)
        before = owner[at]
        clash = (before >= 0) & (before != cta) if reduces else (before != NOBODY) & (before != cta)
        if bool(clash.any()) and not self.synchronised:
            other = int(before[clash][0])
            by = f"CTA {other} also writes" if other >= 0 else "other CTAs add to"
            text = f"CTA {cta} writes {int(clash.sum())} elements that {by}"
            self._findings.add("global-write-conflict", text, (place,))
        owner[at] = SHARED if reduces else cta
        self._written[key][at] = True

    def observe(self, flat: torch.Tensor, at: torch.Tensor, cta: int, place: Place) -> None:
        """CTA number `cta` reads the elements `at`: none that another CTA of the launch writes."""
        owner = self._owner.get(self._key(flat))
        if owner is None or self.synchronised:
            return
        before = owner[at]
        clash = (before != NOBODY) & (before != cta)
        if bool(clash.any()):
            text = f"CTA {cta} reads {int(clash.sum())} elements that other CTAs of the launch write"
            self._findings.add("global-race", text, (place,))

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

    def read(self, offsets: Sequence[int], memory: GlobalMemory, cta: int, place: Place) -> torch.Tensor:
        """The box; zero where it lies outside of the tensor."""
        box = torch.zeros(self.block, dtype=self._raw)
        part = self._part(offsets, self.shape)
        if part:
            memory.observe(self.flat, part[1], cta, place)
            box[part[0]] = self.flat.view(self._raw)[part[1]]
        return box.view(self.dtype)

    def write(self, offsets: Sequence[int], box: torch.Tensor, memory: GlobalMemory, cta: int, place: Place) -> None:
        """Writes what of the box lies inside, in whole chunks of 16 bytes of a row (measured on an H200)."""
        part = self._kept(offsets)
        if part is not None:
            inside, at, kept = part
            values = box.reshape(self.block).contiguous().view(self._raw)[inside]
            memory.record(self.flat, at[kept], cta, place)
            self.flat.view(self._raw)[at[kept]] = values[kept]

    def reduce(
        self, kind: str, offsets: Sequence[int], box: torch.Tensor, memory: GlobalMemory, cta: int, place: Place
    ) -> None:
        """Adds the box (or takes the minimum, ...) to what of it lies inside, element by element, atomically."""
        part = self._kept(offsets)
        if part is not None:
            inside, at, kept = part
            values, at = box.reshape(self.block)[inside][kept], at[kept]
            memory.record(self.flat, at, cta, place, reduces=True)
            self.flat[at] = _REDUCE[kind](self.flat[at], values)

    def _kept(self, offsets: Sequence[int]) -> tuple[tuple[slice, ...], torch.Tensor, torch.Tensor] | None:
        chunk = max(1, 16 // self.dtype.itemsize)
        part = self._part(offsets, (*self.shape[:-1], -(-self.shape[-1] // chunk) * chunk))
        if part is None:
            return None
        inside, at = part
        at = at.expand(tuple(s.stop - s.start for s in inside))
        return inside, at, at < self.flat.numel()  # the last row's chunk may reach past what was allocated
