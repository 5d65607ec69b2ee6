"""What instrumented kernels of this folder share: stamps of the clock, and the buffer that they go to.

Written by tlxgen, the same for every folder; imports torch and triton only. Each task of each CTA has an area of its
own in one buffer of int32: HEADER words, room for `records` words of rows, and SLACK words more, into which a task
writes over and over when its room is full. A row is what a task executes without a branch: the number of its first
stamp, then the lower 32 bits of the SM's clock at each of its stamps. Numbers begin with 1, and the file beside the
module says how many stamps a row has. A zero follows the last row, and after it come the global timer and the clock at
the end, lower halves first.

    with collect() as launches:
        hopper_gemm(a, b)
    launches[0].buffer
"""

import contextlib
import json
import math
from dataclasses import dataclass
from pathlib import Path

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

HEADER = tl.constexpr(8)  # words: 1 + the task's first thread, the SM, the global timer and the clock at the beginning
SLACK = tl.constexpr(72)  # the longest row, and what ends the rows
KEPT = tl.constexpr(4)  # words of a row that a lane keeps
AREA = 1 << 16  # words of a task's area at most, where nobody says how many
WORDS = 1 << 26  # 256 MiB: of a buffer at most, where nobody says how many records


@triton.jit
def stamps_time(stamps_ptr, place, OFFSET: tl.constexpr):
    """Stores the global timer and the clock, in halves."""
    time = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
    clock = tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
    tl.store(stamps_ptr + place + OFFSET, time.to(tl.int32))
    tl.store(stamps_ptr + place + (OFFSET + 1), (time >> 32).to(tl.int32))
    tl.store(stamps_ptr + place + (OFFSET + 2), clock.to(tl.int32))
    tl.store(stamps_ptr + place + (OFFSET + 3), (clock >> 32).to(tl.int32))


@triton.jit
def stamps_begin(stamps_ptr, last, task: tl.constexpr, TASKS: tl.constexpr):
    """Where the first row of a task goes, and the row that a warp keeps: its lanes, and their words of it."""
    cta = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    area = (cta * TASKS + task) * (last + 1) + (SLACK - 1)
    sm = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(stamps_ptr + area, tlx.thread_id(0) + 1)
    tl.store(stamps_ptr + area + 1, sm)
    place, lane, row = area + HEADER, tl.arange(0, 32), stamps_row(0)
    stamps_time(stamps_ptr, area, 2)
    return place, lane, row


@triton.jit
def stamps_row(number):
    """A row in registers: word n of it is in lane n // KEPT, register n % KEPT. The first one is its number."""
    row = (tl.full((32,), number, tl.int32),)
    for _ in tl.static_range(KEPT - 1):
        row = row + (tl.zeros((32,), tl.int32),)
    return row


@triton.jit
def stamp(lane, row, OFFSET: tl.constexpr, NUMBER: tl.constexpr):
    """Reads the clock at the stamp `NUMBER` of a task, the OFFSET-th of a row, into one lane."""
    if OFFSET == 0:
        row = stamps_row(NUMBER)
    WORD: tl.constexpr = (OFFSET + 1) % KEPT
    LANE: tl.constexpr = (OFFSET + 1) // KEPT
    clock = tl.inline_asm_elementwise(
        "{.reg .pred own; setp.eq.s32 own, $1, $3; mov.b32 $0, $2; @own mov.u32 $0, %clock;}"
        if LANE
        else "{.reg .u64 all; .reg .u32 high; mov.u64 all, %clock64; mov.b64 {$0, high}, all;}",
        "=&r,r,r,n",
        [lane, row[WORD], LANE],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )
    return row[:WORD] + (clock,) + row[WORD + 1 :]


@triton.jit
def stamps_next(stamps_ptr, last, place, lane, row, COUNT: tl.constexpr):
    """Stores a row of COUNT stamps. Returns where the next row goes: into the slack of the area where there is no room.

    The numbers of an area's places differ in the bits of `last` alone, up to its slack, so that no register holds its
    end.
    """
    LANES: tl.constexpr = COUNT // KEPT + 1
    for i in tl.static_range(KEPT):
        tl.store(stamps_ptr + place + lane * KEPT + i, row[i], mask=lane < LANES)
    return min(place + LANES * KEPT, place | last)


@triton.jit
def stamps_finish(stamps_ptr, place):
    """Ends the rows of a task."""
    tl.store(stamps_ptr + place, 0)
    stamps_time(stamps_ptr, place, 1)


@dataclass(frozen=True)
class Launch:
    """One launch of an instrumented kernel: `buffer` has an area for each task of each of `ctas` CTAs. `stamps` is what
    the file beside the module says of its stamps."""

    kernel: str
    ctas: int
    cluster: int
    records: int
    stamps: dict
    buffer: torch.Tensor


COLLECTING = []  # for each `collect` that is under way, its launches and how many records it wants


@contextlib.contextmanager
def collect(records=None):
    """The launches while it lasts, each with a buffer of its own, as a list; `records`: of each task of each CTA."""
    launches = []
    COLLECTING.append((launches, records))
    try:
        yield launches
    finally:
        COLLECTING.pop()


def stamped(module):
    """Makes of a kernel, in the file `module`, one that gets a buffer for its stamps with each launch."""
    stamps = json.loads(Path(module).with_suffix(".stamps.json").read_text(encoding="utf-8"))
    return lambda kernel: Stamped(kernel, stamps)


class Stamped:
    """A kernel that is launched as the plain one is. Outside of `collect` launches share a buffer; nobody reads it."""

    def __init__(self, fn, stamps):
        self.fn, self.stamps, self.buffers = fn, stamps, {}

    def __getitem__(self, grid):
        return lambda *arguments, **options: self.launch(grid, arguments, options)

    def __getattr__(self, name):
        return getattr(self.fn, name)

    def launch(self, grid, arguments, options):
        """Returns nothing, so that a host function comes here again with the next call. Raises ValueError where the
        buffer would be larger than what 32 bits count."""
        areas, around = math.prod(grid) * len(self.stamps["tasks"]), HEADER.value + SLACK.value
        launches, wanted = COLLECTING[-1] if COLLECTING else (None, None)
        least = 1 << (wanted + around - 1).bit_length() if wanted else min(AREA, 1 << (WORDS // areas).bit_length() - 1)
        area = max(128, least)
        words = areas * area + SLACK.value
        if words >= 1 << 31:
            raise ValueError(f"{area} words for each of {areas} tasks of CTAs are too many for one buffer")
        buffer = None if launches is not None else self.buffers.get(words)
        if buffer is None:
            buffer = torch.zeros(words, dtype=torch.int32, device="cuda")
        if launches is None:
            self.buffers = {words: buffer}
        else:
            torch.cuda.synchronize()  # a kernel that is launched early does not wait for the zeros
            cluster = math.prod(options.get("ctas_per_cga") or (1,))
            launches.append(
                Launch(
                    self.fn.fn.__name__,
                    math.prod(grid),
                    cluster,
                    area - around,
                    self.stamps,
                    buffer[SLACK.value - 1 : -1],
                )
            )
        self.fn[grid](*arguments, buffer, area - 1, **options)
