"""The shared and the tensor memory of a CTA, byte by byte, with a record of the last accesses to each byte.

A `Storage` is the memory of one allocation. Buffers that alias it are views of its bytes, so each reads what the others
write. Shared memory is linear: swizzles only permute bytes within a buffer, and two buffers of one storage are compared
by their whole extents. Tensor memory is 128 lanes of columns of 4 bytes.

Accesses are recorded when an operation is issued, not when it takes effect. So every pair of accesses is compared on
every schedule, whatever the order of effects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch

from .findings import Findings, KernelFault, Place
from .footprint import Footprint, Interval, footprint, inside, overlap
from .layouts import Layout, Site

Kind = Literal["smem", "tmem"]
SMEM_BYTES = 232448  # shared memory of a CTA, on sm90 and sm100
LANES, COLUMNS, COLUMN_BYTES = 128, 512, 4  # a CTA's tensor memory
COLUMN_ALIGNMENT = 4  # the compiler's alignment of an allocation


@dataclass(eq=False)
class Access:
    """A read or a write: the `bit` of its segment or event, whether an engine does it, and whether the async proxy sees
    it without a fence (it does for a TMA write, but not for a generic write to shared memory). An engine's access uses
    that proxy, except for `generic` ones, of cp.async and st.async. `task` is set for a cp.async and an MMA: the
    compiler puts a fence between those of one task."""

    bit: int
    place: Place
    what: str
    engine: bool
    fenced: bool
    generic: bool = False
    task: object = None


class Ring(NamedTuple):
    """The slots that a line of a kernel allocates. It is a tuple for speed, like Place."""

    name: str
    place: Place
    slots: int


@dataclass(eq=False)
class Record:
    """The last writes and reads of some bytes."""

    writes: list[tuple[Footprint, Access, View]] = field(default_factory=list)
    reads: list[tuple[Footprint, Access, View]] = field(default_factory=list)


@dataclass(eq=False)
class Storage:
    """The bytes of one allocation. Until written they are 0xFF, which is NaN in every floating type of kernels."""

    kind: Kind
    owner: Any  # the CTA
    number: int  # its number among the CTA's allocations
    extent: int = 0  # bytes of shared memory, or columns of tensor memory
    limit: int | None = None  # limit of its extent, if the kernel states its size
    lanes: int = 0  # lanes of tensor memory that it takes: 64 or 128
    aliased: bool = False  # whether it has several buffers
    fills: dict[tuple[Ring, int, Place, Footprint], int] = field(default_factory=dict)  # by line and bytes
    records: dict[int, Record] = field(default_factory=dict)
    _bytes: torch.Tensor | None = None

    @property
    def bytes(self) -> torch.Tensor:
        """The whole storage as a vector; for tensor memory, lane after lane."""
        if self._bytes is None:
            size = self.extent if self.kind == "smem" else LANES * self.extent * COLUMN_BYTES
            self._bytes = torch.full((size + -size % 8,), 0xFF, dtype=torch.uint8)
        return self._bytes

    def fit(self, extent: int) -> None:
        """Grows to `extent`. Raises KernelFault beyond its limit, or once it has been used."""
        if self.limit is not None and extent > self.limit:
            raise KernelFault(f"buffers that need {extent} in a storage of {self.limit}")
        if extent > self.extent:
            if self._bytes is not None:
                raise KernelFault("an alias larger than its storage is allocated after the storage has been used")
            self.extent = extent

    def record(self, slot: int) -> Record:
        """The record of a slot. If buffers alias, the whole storage has one record."""
        key = -1 if self.aliased else slot
        if key not in self.records:
            self.records[key] = Record()
        return self.records[key]

    def alias(self) -> None:
        """Notes that the storage has a second buffer."""
        if not self.aliased:
            self.aliased = True
            whole = Record()
            for part in self.records.values():
                whole.writes += part.writes
                whole.reads += part.reads
            self.records = {-1: whole}


@dataclass(frozen=True, eq=False)
class View:
    """A slot, or a part of it, as a tensor over its bytes. `shape` is the kernel's shape."""

    buffer: Buffer
    index: int
    tensor: torch.Tensor
    footprint: Footprint
    shape: tuple[int, ...]
    copy: int = 0  # offset in bytes of a second copy, if there is one

    def __str__(self) -> str:
        return f"{self.buffer.name}[{self.index}] of {self.buffer.storage.owner.name}"

    @property
    def label(self) -> str:
        return str(self)

    @property
    def dtype(self) -> torch.dtype:
        return self.tensor.dtype

    @property
    def kind(self) -> Kind:
        return self.buffer.storage.kind

    @property
    def owner(self) -> Any:
        """The CTA."""
        return self.buffer.storage.owner

    @property
    def size(self) -> int:
        """Bytes."""
        return int(self.tensor.numel() * self.dtype.itemsize)

    def get(self) -> torch.Tensor:
        """A copy of its values, in its shape."""
        return self.tensor.clone().reshape(self.shape)

    def put(self, value: torch.Tensor) -> None:
        """Overwrites its values."""
        for tensor in self._copies():
            tensor.copy_(value.reshape(tensor.shape))

    def poison(self) -> None:
        """Sets all bytes to 0xFF."""
        raw = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[self.dtype.itemsize]
        for tensor in self._copies():
            tensor.view(raw).fill_(0xFF if self.dtype.itemsize == 1 else -1)

    def _copies(self) -> Iterator[torch.Tensor]:
        yield self.tensor
        if self.copy:
            offset = self.tensor.storage_offset() + self.copy // self.dtype.itemsize
            yield self.tensor.as_strided(self.tensor.shape, self.tensor.stride(), offset)

    def part(self, tensor: torch.Tensor, shape: Sequence[int] | None = None) -> View:
        """A view of a part of its bytes, or of its bytes in another order, given by the strides of `tensor`."""
        footprint_ = _footprint_of(tensor, self.copy)
        return View(self.buffer, self.index, tensor, footprint_, tuple(shape or tensor.shape), self.copy)

    @property
    def strided(self) -> torch.Tensor:
        """Its values as a tensor of its shape. Raises KernelFault if no strides give that shape."""
        if self.tensor.shape != self.shape:
            raise KernelFault(f"a part of {self}, whose columns do not follow each other in tensor memory")
        return self.tensor

    def on(self, cta: Any) -> View:
        """The same view in the memory of another CTA of the cluster."""
        storage: Storage = cta.counterpart(self.buffer.storage)
        if self.buffer.storage.aliased:  # which the other CTA may not have come to yet
            storage.alias()
        flat = storage.bytes.view(self.dtype)
        tensor = flat.as_strided(self.tensor.shape, self.tensor.stride(), self.tensor.storage_offset())
        buffer = self.buffer.of(storage)
        return View(buffer, self.index, tensor, self.footprint, self.shape, self.copy)

    def write(self, access: Access, clock: int, findings: Findings) -> None:
        """Records a write with that clock, and reports all accesses that it is not ordered after."""
        if not findings.races:
            return
        record, mine = self.buffer.storage.record(self.index), self.footprint
        if self.buffer.ring is not None:
            fills, key = self.buffer.storage.fills, (self.buffer.ring, self.index, access.place, mine)
            fills[key] = fills.get(key, 0) + 1
        for footprint_, other, view in record.writes:
            if not other.bit & clock and other.bit != access.bit and overlap(mine, footprint_):
                text = f"{access.what} and {other.what} both write {self}{self._shared(view)}, in no order"
                findings.add("race-write-write", text, (access.place, other.place))
        for footprint_, other, view in record.reads:
            if not other.bit & clock and other.bit != access.bit and overlap(mine, footprint_):
                text = f"{access.what} overwrites {self}{self._shared(view)}, which {other.what} may still read"
                findings.add("async-lifetime" if other.engine else "race-read-write", text, (access.place, other.place))
            elif self._unfenced(access, other, clock) and overlap(mine, footprint_):
                text = f"{access.what} overwrites {self} through the async proxy; {other.what} of it was not fenced"
                findings.add("missing-fence", text, (access.place, other.place))
        record.writes = [x for x in record.writes if not inside(x[0], mine)]
        record.writes.append((mine, access, self))
        record.reads = [x for x in record.reads if not inside(x[0], mine)]

    def read(self, access: Access, clock: int, findings: Findings) -> None:
        """Records a read, and reports the writes that it is not ordered after, and memory that was never written."""
        if not findings.races:
            return
        record, mine = self.buffer.storage.record(self.index), self.footprint
        written = False
        for footprint_, write, view in record.writes:
            if not overlap(mine, footprint_):
                continue
            written = True
            if not write.bit & clock and write.bit != access.bit:
                text = f"{access.what} reads {self}{self._shared(view)}, which {write.what} may still write"
                findings.add("race-read-write", text, (access.place, write.place))
            elif access.engine and self._unseen(access, write, clock):
                text = f"{access.what} reads {self} through the async proxy; the stores to it were not fenced"
                findings.add("missing-fence", text, (access.place, write.place))
        if not written:
            findings.add("uninitialised", f"{access.what} reads {self}, never written", (access.place,))
        record.reads = [x for x in record.reads if x[1].bit != access.bit or x[0] is not mine]
        record.reads.append((mine, access, self))

    def _shared(self, other: View) -> str:
        """A text for an access to bytes that another buffer shares."""
        return f", whose bytes are also {other}" if other.buffer.name != self.buffer.name else ""

    def _unfenced(self, access: Access, read: Access, clock: int) -> bool:
        """Whether an engine overwrites shared memory after a task's own read, ordered before it but not fenced."""
        if not access.engine or access.generic or read.engine or self.buffer.storage.kind != "smem":
            return False
        return bool(read.bit & clock) and not self._fenced(read.bit, clock)

    def _unseen(self, access: Access, write: Access, clock: int) -> bool:
        """Whether the async proxy may not see a write that is ordered before an engine's access."""
        own = write.task is not None and write.task is access.task
        return not (write.fenced or own or self._fenced(write.bit, clock))

    def _fenced(self, write: int, clock: int) -> bool:
        """Whether a fence of a task of the cluster is between a write and an access with that clock."""
        fences = (fence for cta in self.owner.cluster for fence in reversed(cta.fences))
        return any(write & before and bit & clock for before, bit in fences)


def _footprint_of(tensor: torch.Tensor, copy: int = 0) -> Footprint:
    size = tensor.dtype.itemsize
    shape, strides = tuple(tensor.shape), tensor.stride()
    if copy:
        shape, strides = (2, *shape), (copy // size, *strides)
    return footprint(tensor.storage_offset() * size, shape, strides, size)


@dataclass(eq=False)
class Buffer:
    """The result of `local_alloc`: `num` slots of one shape in a storage. Offsets are bytes of shared memory or columns
    of tensor memory. Slot i is at `offset + i * step`; in a sub-tiled buffer, `group` slots are one unit apart each."""

    name: str
    storage: Storage
    findings: Findings
    shape: tuple[int, ...]
    dtype: torch.dtype
    num: int
    offset: int = 0
    step: int = field(init=False)
    group: int = 1
    layout: Layout = "plain"
    site: Site | None = None  # the line of its allocation, for tensor memory whose layout depends on an MMA
    ring: Ring | None = None
    _views: dict[int, View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.step = self.unit

    @property
    def unit(self) -> int:
        """The size of one slot: bytes of shared memory, or columns of tensor memory."""
        if self.storage.kind == "smem":
            return math.prod(self.shape) * int(self.dtype.itemsize)
        if self.scales:
            return -(-self.shape[-2] // 32) * -(-self.shape[-1] // 4)
        columns = math.prod(self.shape[1:]) // (2 if self.layout == "halved" else 1)
        return -(-columns * int(self.dtype.itemsize) // COLUMN_BYTES)

    @property
    def scales(self) -> bool:
        """Whether it has block scales of an MX operand in tensor memory, which have a layout of their own."""
        return self.storage.kind == "tmem" and self.dtype in (torch.uint8, torch.int8)

    def place(self, offset: int, step: int, group: int) -> None:
        """Sets the offsets that an alias plan gives it."""
        self.offset, self.step, self.group = offset, step, group
        self._views.clear()

    def begin(self, index: int) -> int:
        """The offset of slot `index`, in units of the storage."""
        return self.offset + index * self.step + index % self.group * self.unit

    @property
    def extent(self) -> int:
        """The extent that its storage needs."""
        unit = self.unit
        return max(self.offset + i * self.step + i % self.group * unit for i in range(self.num)) + unit

    def of(self, storage: Storage) -> Buffer:
        """The same buffer in the storage of another CTA."""
        other = Buffer(self.name, storage, self.findings, self.shape, self.dtype, self.num, layout=self.layout)
        other.ring = self.ring
        other.place(self.offset, self.step, self.group)
        return other

    def at(self, index: int, place: Place) -> View:
        """Slot `index`."""
        if not 0 <= index < self.num:
            self.findings.stop("out-of-bounds", f"slot {index} of {self.name}, which has {self.num}", (place,))
        view = self._views.get(index)
        if view is None:
            self.storage.fit(self.extent)
            view = self._views[index] = self._slot(index)
        return view

    def _slot(self, index: int) -> View:
        if self.storage.kind == "smem":
            flat = self.storage.bytes[self.begin(index) :][: self.unit]
            tensor = flat.view(self.dtype).reshape(self.shape)
            return View(self, index, tensor, _footprint_of(tensor), self.shape)
        lane = self.storage.extent * COLUMN_BYTES
        start = self.begin(index) * COLUMN_BYTES
        lanes = self.storage.bytes[: LANES * lane].reshape(LANES, lane)
        columns = lanes[:, start : start + self.unit * COLUMN_BYTES]
        if self.scales:  # the hardware has a copy in each quarter of the lanes; one copy is enough here
            tensor = columns[:32, : math.prod(self.shape) // 32].view(self.dtype)
            return View(self, index, tensor, _footprint_of(columns), self.shape)
        rows, width = self.shape[0], math.prod(self.shape[1:])
        if self.layout == "halved":
            tensor = columns.view(self.dtype)[:, : width // 2].unflatten(0, (2, rows)).transpose(0, 1)
            return View(self, index, tensor, _footprint_of(tensor), self.shape)
        tensor = columns[:rows].view(self.dtype)[:, :width]
        copy = rows * lane if self.layout == "doubled" else 0
        return View(self, index, tensor, _footprint_of(tensor, copy), self.shape, copy)


def columns_used(storages: Iterable[Storage]) -> int:
    """The columns of tensor memory that these allocations take, if each in order takes the first place that fits.

    Two allocations of 64 lanes can share columns: one takes the first 16 lanes of each warp, the other the last 16.
    (fbtriton, TensorMemoryAllocation.cpp, findFirstFit.)
    """
    halves: tuple[list[Interval], list[Interval]] = ([], [])
    used = 0
    for storage in storages:
        choices = [halves] if storage.lanes > LANES // 2 else [(half,) for half in halves]
        start, chosen = min(((_first_fit(x, storage.extent), x) for x in choices), key=lambda found: found[0])
        for half in chosen:
            half.append((start, start + storage.extent))
        used = max(used, start + storage.extent)
    return used


def _first_fit(halves: Sequence[list[Interval]], width: int) -> int:
    """The first column, a multiple of 4, from which `width` columns are free in each of `halves`."""
    taken = sorted(interval for half in halves for interval in half)
    start = 0
    for begin, end in taken:
        if begin >= start + width:
            break
        start = max(start, -(-end // COLUMN_ALIGNMENT) * COLUMN_ALIGNMENT)
    return start


def poisoned(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Values of 0xFF bytes: NaN in every floating type that kernels keep in memory (fp8 included)."""
    size = math.prod(shape) * dtype.itemsize
    return torch.full((size,), 0xFF, dtype=torch.uint8).view(dtype).reshape(tuple(shape))
