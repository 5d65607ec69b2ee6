"""Global memory, with a record of the CTAs that wrote and read each element, and the boxes that TMA moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import torch

from .engine import Hub
from .findings import Findings, KernelFault, Place
from .globalorder import GlobalOrder, Kind
from .regions import Box, Region, get, only, put

RAW = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
NOBODY, SHARED = -1, -2  # owners other than a CTA: nobody has written it; several CTAs have added to it
_REDUCE = {"add": torch.add, "min": torch.minimum, "max": torch.maximum,
           "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor}  # fmt: skip


def _bits(values: torch.Tensor) -> torch.Tensor:
    return values.contiguous().view(RAW[values.dtype.itemsize])


class GlobalMemory:
    """The storages that launches access: for each element the CTAs of the last launch that wrote and read it, and
    whether any launch has written it.

    It keeps the storages alive, so that no address is reused.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._owner: dict[tuple[int, int], torch.Tensor] = {}  # CTA numbers by element
        self._reader: dict[tuple[int, int], torch.Tensor] = {}
        self._written: dict[tuple[int, int], torch.Tensor] = {}
        self._storages: dict[int, torch.UntypedStorage] = {}  # by their first address
        self.tiles: dict[tuple[str, int], list[int]] = {}  # line -> number of accesses inside, across an edge, outside
        self.order: GlobalOrder | None = None  # the order of a launch with atomics
        self.synchronised = False  # the launch has ordered its tasks through atomics

    def begin(self, order: GlobalOrder | None) -> None:
        """Starts a launch, which may overwrite what an earlier one wrote. With an `order`, CTAs may synchronise."""
        self._owner.clear()
        self._reader.clear()
        self.order, self.synchronised = order, False

    def tile(self, place: Place, kind: int) -> None:
        """Counts an access of a line: 0 inside of a tensor or a mask, 1 across its edge, 2 wholly outside."""
        self.tiles.setdefault((place.path, place.line), [0, 0, 0])[kind] += 1

    def stop(self, id: str, message: str, place: Place) -> NoReturn:
        """Records a finding that ends the run."""
        self._findings.stop(id, message, (place,))

    def follow(self, hub: Hub) -> GlobalOrder:
        """Starts the order of a launch with atomics. Earlier accesses are not judged."""
        self.order = self.order or GlobalOrder(hub)
        return self.order

    def register(self, tensor: torch.Tensor) -> None:
        """Makes the storage of `tensor` accessible to kernels by its address."""
        storage = tensor.untyped_storage()
        self._storages[storage.data_ptr()] = storage

    def find(self, address: int, dtype: torch.dtype, place: Place) -> tuple[torch.Tensor, int]:
        """The storage that holds `address`, as a vector of `dtype`, and the index there."""
        held = next((b for b, s in self._storages.items() if b <= address < b + s.nbytes()), None)
        if held is None:
            self._findings.stop("out-of-bounds", f"no tensor lies at address {address:#x}", (place,))
        index, rest = divmod(address - held, dtype.itemsize)
        if rest:
            self._findings.stop("out-of-bounds", f"address {address:#x} is no multiple of {dtype}", (place,))
        return torch.empty(0, dtype=dtype).set_(self._storages[held]), index

    def snapshot(self) -> Snapshot:
        """A copy of the registered storages' contents, and of the record of writes."""
        held = [(s, _all_bytes(s).clone()) for s in self._storages.values()]
        return Snapshot(held, {key: written.clone() for key, written in self._written.items()})

    def restore(self, snapshot: Snapshot) -> None:
        """Undoes what launches have written since."""
        for storage, content in snapshot.storages:
            _all_bytes(storage).copy_(content)
        self._written = {key: written.clone() for key, written in snapshot.written.items()}

    @staticmethod
    def flat(tensor: torch.Tensor) -> torch.Tensor:
        """The whole storage of a tensor, as a vector of its type."""
        return torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())

    @staticmethod
    def key(flat: torch.Tensor) -> tuple[int, int]:
        return flat.untyped_storage().data_ptr(), flat.dtype.itemsize

    def record(
        self,
        flat: torch.Tensor,
        at: Region,
        cta: int,
        place: Place,
        reduces: bool = False,
        values: torch.Tensor | None = None,
    ) -> None:
        """Records that CTA number `cta` writes `values` to the elements `at` of a storage, or adds to them. A second
        write of the same bits by another CTA is not a race."""
        key = self.key(flat)
        if key not in self._written:
            self._written[key] = torch.zeros(flat.numel(), dtype=torch.bool)
            self.register(flat)
        if self.order:
            self._follow(self.order, "add" if reduces else "write", flat, at, cta, place, values)
        else:
            owner = _numbers(self._owner, key, flat)
            before = get(owner, at)
            if only(before) not in ((NOBODY, cta, SHARED) if reduces else (NOBODY, cta)):
                clash = (before >= 0) & (before != cta) if reduces else (before != NOBODY) & (before != cta)
                if bool(clash.any()):
                    self._conflict(flat, at, cta, place, clash, int(before[clash][0]), values)
            self._check_readers(key, at, cta, place)
            put(owner, at, SHARED if reduces else cta)
        put(self._written[key], at, True)

    def _follow(
        self,
        order: GlobalOrder,
        kind: Kind,
        flat: torch.Tensor,
        at: Region,
        cta: int,
        place: Place,
        values: torch.Tensor | None = None,
    ) -> None:
        """Judges an access by the accesses that happen before it."""
        key = self.key(flat)
        for other, by, clash in order.unordered(kind, key, at, cta):
            if kind != "read" and other != "read":
                self._conflict(flat, at, cta, place, clash, by, values)
            else:
                one, two = ("reads", "write") if kind == "read" else ("writes", "read")
                text = f"CTA {cta} {one} {int(clash.sum())} elements that other CTAs of the launch {two}"
                self._findings.add("global-race", f"{text}, and nothing orders the two", (place,))
        order.note(kind, key, flat.numel(), at, cta)

    def _conflict(
        self,
        flat: torch.Tensor,
        at: Region,
        cta: int,
        place: Place,
        clash: torch.Tensor,
        other: int,
        values: torch.Tensor | None,
    ) -> None:
        equal = values is not None and torch.equal(_bits(get(flat, at)[clash]), _bits(values[clash]))
        by = f"CTA {other} also writes" if other >= 0 else "other CTAs add to"
        text = f"CTA {cta} writes {int(clash.sum())} elements that {by}" + (", the same values" if equal else "")
        self._findings.add("redundant-write" if equal else "global-write-conflict", text, (place,))

    def _check_readers(self, key: tuple[int, int], at: Region, cta: int, place: Place) -> None:
        if key not in self._reader:
            return
        readers = get(self._reader[key], at)
        if only(readers) in (NOBODY, cta):
            return
        clash = (readers != NOBODY) & (readers != cta)
        if bool(clash.any()):
            text = f"CTA {cta} writes {int(clash.sum())} elements that other CTAs of the launch read"
            self._findings.add("global-race", text, (place,))

    def observe(self, flat: torch.Tensor, at: Region, cta: int, place: Place) -> None:
        """Records that CTA number `cta` reads the elements `at`, which no other CTA of the launch may write."""
        if self.order:
            self._follow(self.order, "read", flat, at, cta, place)
            return
        key = self.key(flat)
        if key in self._owner:
            before = get(self._owner[key], at)
            if only(before) not in (NOBODY, cta):
                clash = (before != NOBODY) & (before != cta)
                if bool(clash.any()):
                    text = f"CTA {cta} reads {int(clash.sum())} elements that other CTAs of the launch write"
                    self._findings.add("global-race", text, (place,))
        reader = _numbers(self._reader, key, flat)
        before = get(reader, at)
        number = only(before)
        if number is None:
            put(reader, at, torch.full_like(before, SHARED).masked_fill_((before == NOBODY) | (before == cta), cta))
        else:
            put(reader, at, cta if number in (NOBODY, cta) else SHARED)

    def unwritten(self, tensor: torch.Tensor) -> int:
        """The number of elements of `tensor` that no kernel has written."""
        flat = self.flat(tensor)
        written = self._written.get(self.key(flat))
        if written is None:
            return int(tensor.numel())
        return int((~written.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())).sum())


def _numbers(of: dict[tuple[int, int], torch.Tensor], key: tuple[int, int], flat: torch.Tensor) -> torch.Tensor:
    if key not in of:
        of[key] = torch.full((flat.numel(),), NOBODY, dtype=torch.int32)
    return of[key]


@dataclass(frozen=True)
class Snapshot:
    """The result of `GlobalMemory.snapshot`."""

    storages: list[tuple[torch.UntypedStorage, torch.Tensor]]
    written: dict[tuple[int, int], torch.Tensor]


def _all_bytes(storage: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(storage)


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

    def use(self, access: Any, clock: int, findings: Findings) -> None:
        """Notes that an operation with that clock reads the descriptor. Host descriptors are never written."""

    def now(self) -> Descriptor:
        """The descriptor as a copy in flight reads it."""
        return self

    def _part(self, offsets: Sequence[int], ends: Sequence[int]) -> tuple[tuple[slice, ...], Box] | None:
        """The part of the box at `offsets` that lies between 0 and `ends`: slices in the box, and in the storage."""
        if len(offsets) != len(self.block):
            raise KernelFault(f"{len(offsets)} offsets for a descriptor of rank {len(self.block)}")
        low = [max(0, -o) for o in offsets]
        high = [min(b, e - o) for b, e, o in zip(self.block, ends, offsets, strict=True)]
        if any(h <= lo for lo, h in zip(low, high, strict=True)):
            return None
        start = self.start + sum((o + lo) * s for o, lo, s in zip(offsets, low, self.strides, strict=True))
        shape = tuple(h - lo for lo, h in zip(low, high, strict=True))
        # Addresses wrap at 64 bits. Descriptors of ragged tensors use this: large offsets cancel out.
        period = (1 << 64) // int(self.dtype.itemsize)
        start = (start + period // 2) % period - period // 2
        strides = tuple(s if n > 1 else 0 for n, s in zip(shape, self.strides, strict=True))
        return tuple(slice(lo, h) for lo, h in zip(low, high, strict=True)), Box(shape, strides, start)

    def read(self, offsets: Sequence[int], memory: GlobalMemory, cta: int, place: Place) -> torch.Tensor:
        """The values of the box, with zeros outside of the tensor."""
        box = torch.zeros(self.block, dtype=self._raw)
        part = self._part(offsets, self.shape)
        memory.tile(place, self._kind(part))
        if part:
            self._within(part[1], 0, memory, place)
            memory.observe(self.flat, part[1], cta, place)
            box[part[0]] = part[1].of(self.flat.view(self._raw))
        return box.view(self.dtype)

    def write(self, offsets: Sequence[int], box: torch.Tensor, memory: GlobalMemory, cta: int, place: Place) -> None:
        """Writes the part of the box inside of the tensor, in whole chunks of 16 bytes a row (measured on an H200)."""
        part = self._kept(offsets, box.reshape(self.block).contiguous().view(self._raw), memory, place)
        if part is not None:
            at, values = part
            memory.record(self.flat, at, cta, place, values=values)
            put(self.flat.view(self._raw), at, values)

    def _within(self, at: Box, more: int, memory: GlobalMemory, place: Place) -> None:
        """Ends the run if a box leaves the allocation by more than `more` elements, which offsets of a ragged tensor's
        descriptor can cause."""
        if at.start < 0 or at.end > self.flat.numel() + more:
            text = f"a TMA box of elements {at.start} to {at.end - 1} of an allocation of {self.flat.numel()}"
            memory.stop("out-of-bounds", text, place)

    def _kind(self, part: tuple[tuple[slice, ...], Box] | None) -> int:
        """Whether a part is the whole box (0), some of it (1) or nothing (2), for GlobalMemory.tile."""
        return 2 if part is None else int(part[1].shape != self.block)

    def reduce(
        self, kind: str, offsets: Sequence[int], box: torch.Tensor, memory: GlobalMemory, cta: int, place: Place
    ) -> None:
        """Adds the box (or takes the minimum, ...) to the elements inside of the tensor, each one atomically."""
        part = self._kept(offsets, box.reshape(self.block), memory, place)
        if part is not None:
            at, values = part
            memory.record(self.flat, at, cta, place, reduces=True)
            put(self.flat, at, _REDUCE[kind](get(self.flat, at), values))

    def _kept(
        self, offsets: Sequence[int], box: torch.Tensor, memory: GlobalMemory, place: Place
    ) -> tuple[Region, torch.Tensor] | None:
        """The region that a store of a box writes, and the values."""
        chunk = max(1, 16 // self.dtype.itemsize)
        part = self._part(offsets, (*self.shape[:-1], -(-self.shape[-1] // chunk) * chunk))
        memory.tile(place, self._kind(part))
        if part is None:
            return None
        inside, at = part
        self._within(at, chunk - 1, memory, place)
        if at.end <= self.flat.numel():
            return at, box[inside]
        indices = at.of(torch.arange(at.end))  # the last row's chunk extends past the allocation
        kept = indices < self.flat.numel()
        return indices[kept], box[inside][kept]
