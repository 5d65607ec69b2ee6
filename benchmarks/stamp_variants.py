"""Other ways of stamping than that of templates/lib/_stamps.py. `instrumented.py gpu` tells by them where its cost is.

All of them have the same twins; only the device functions differ, and in some how many words of a row a lane keeps.
"""

from __future__ import annotations

import re

DEFAULT = "default"
WAITS = "waits"  # the default's stamps, at waits alone

_KEPT = ("KEPT = tl.constexpr(4)", "KEPT = tl.constexpr({})")
_STORED = ("mask=lane < LANES)", "mask=lane > last)")  # no lane has a number as large
_READ = (
    """        "{.reg .pred own; setp.eq.s32 own, $1, $3; mov.b32 $0, $2; @own mov.u32 $0, %clock;}"
        if LANE
        else "{.reg .u64 all; .reg .u32 high; mov.u64 all, %clock64; mov.b64 {$0, high}, all;}",
""",
    """        "{.reg .u64 all; .reg .u32 low, high; mov.u64 all, %clock64; mov.b64 {low, high}, all; "
        "xor.b32 $0, low, $2;}",
""",
)

_ALL = "{.reg .u64 all; .reg .u32 high; mov.u64 all, %clock64; mov.b64 {$0, high}, all;}"

# Lanes of a task's other warps have numbers from 32 on, so that the first warp alone reads the clock.
_OWN = (
    ("tl.arange(0, 32), stamps_row(0)", "own_lane(), stamps_row(0)"),
    ("        if LANE\n        else", "        if True\n        else"),
    (
        "@triton.jit\ndef stamps_begin(",
        """@triton.jit
def own_lane():
    return tl.inline_asm_elementwise(
        "{.reg .u32 thread; mov.u32 thread, %tid.x; and.b32 $0, thread, 127;}",
        "=r,r", [tl.arange(0, 32)], dtype=tl.int32, is_pure=False, pack=1,
    )


@triton.jit
def stamps_begin(""",
    ),
)

# For each, what it replaces in _stamps.py.
_CHANGES: dict[str, list[tuple[str, str]]] = {
    "a word a lane": [(_KEPT[0], _KEPT[1].format(1))],  # one register, and a comparison a stamp
    "two words a lane": [(_KEPT[0], _KEPT[1].format(2))],
    "never stored": [_STORED],  # what of the cost is the store's
    "clock alone": [(_KEPT[0], _KEPT[1].format(1)), _READ, _STORED],  # and what the clock's, in one register
    # A register that counts nothing, and that the compiler moves freely: what a clock would cost that orders nothing.
    "counter": [("mov.u32 $0, %clock;", "mov.u32 $0, %pm0;"), (_ALL, "mov.u32 $0, %pm0;")],
    "constant": [("mov.u32 $0, %clock;", "mov.u32 $0, 12345;"), (_ALL, "mov.u32 $0, 12345;")],
    "one warp": [*_OWN],
}
VARIANTS = (DEFAULT, WAITS, *_CHANGES)
UNREAD = tuple(_CHANGES)  # their buffers are others


WITHOUT = "without "  # and numbers of stamps of the last task, which are left out
SOFT = "soft "  # and numbers of stamps of the last task, which read the counter instead


FIRST = (
    "wait first"  # the default's stamps, in a forward whose source waits for P V before the softmax, as its SASS does
)


def reordered(source: str) -> str:
    """A module whose product with V is waited for, and V released, before the softmax of the same step."""
    pattern = (
        r"( +p, m, l, alpha = softmax\(.*\n)( +acc = tlx\.async_dot_wait\(0, acc\)\n +tlx\.barrier_arrive\(v_empty.*\n)"
    )
    return re.sub(pattern, r"\2\1", source)


def thinned(twin: str, name: str) -> str:
    """The text of a twin, without the stamps that a variant leaves out."""
    kind = next((x for x in (WITHOUT, SOFT) if name.startswith(x)), None)
    if kind is None:
        return twin
    numbers = {int(n) for part in name.removeprefix(kind).split() for n in _range(part)}
    before, task, last = twin.rpartition("with tlx.async_task(")
    if kind == SOFT:
        before = before.replace("from ._stamps import stamp,", "from ._stamps import soft, stamp,")
        lines = (
            line.replace("= stamp(", "= soft(") if _number(line) in numbers else line
            for line in last.splitlines(keepends=True)
        )
        return before + task + "".join(lines)
    kept = (line for line in last.splitlines(keepends=True) if _number(line) not in numbers)
    return before + task + "".join(kept)


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _number(line: str) -> int:
    found = re.search(r"= stamp\(.*, (\d+)\)", line)
    return int(found[1]) if found else 0


def variant(text: str, name: str) -> str:
    """The text of _stamps.py, with the stamps of a variant."""
    for old, new in _CHANGES.get(name, ()):
        if text.count(old) != 1:
            raise ValueError(f"_stamps.py has {text.count(old)} times {old!r}")
        text = text.replace(old, new)
    if name.startswith(SOFT):
        begin = text.index("@triton.jit\ndef stamp(")
        function = text[begin : text.index("@triton.jit", begin + 1)]
        function = variant(function.replace("def stamp(", "def soft("), "counter")
        text = text[:begin] + function + text[begin:]
    return text
