"""Other ways of stamping than that of templates/lib/_stamps.py. `instrumented.py gpu` tells by them where its cost is.

All of them have the same twins and the same buffer; only the device functions `stamp` and `stamps_next` differ.
"""

from __future__ import annotations

import re

DEFAULT = "default"

_CLOCK = '"{.reg .u64 all; .reg .u32 high; mov.u64 all, %clock64; mov.b64 {$0, high}, all;}"'
_READ = f'now = tl.inline_asm_elementwise({_CLOCK}, "=r", [], dtype=tl.int32, is_pure=False, pack=1)'
_OWN = "{.reg .pred own; setp.ge.s32 own, $1, 0; @own st.global.b32 [$2+$4], $3; mov.u32 $0, 0;}"


def _store(value: str, at: str) -> str:
    """The first thread's store of a word of a row."""
    arguments = f"[place, stamps_ptr + place, {value}, {at}], dtype=tl.int32, is_pure=False, pack=1"
    return f'tl.inline_asm_elementwise("{_OWN}", "=&r,r,l,r,n", {arguments})'


_SLOW = 'now = tl.inline_asm_elementwise("mov.u32 $0, %clock;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)'

# For each, what a stamp does, and what the end of a row does before it gives the next place.
_BODIES: dict[str, tuple[list[str], list[str]]] = {
    "at once": (  # stores the clock right after it is read
        [
            "if OFFSET == 0:",
            "    " + _store("NUMBER", "0"),
            _READ,
            _store("now", "OFFSET * 4 + 4"),
        ],
        [],
    ),
    "uniform": (  # Triton's predicate, and an address that the compiler keeps in uniform registers: none is spilled
        [_READ, "tl.store(stamps_ptr + place + OFFSET, clock if OFFSET else NUMBER)"],
        ["tl.store(stamps_ptr + place + COUNT, clock)"],
    ),
    "clock alone": ([_READ], []),  # what of the cost is the clock's
    "store alone": (["now = clock + 1", _store("now", "OFFSET * 4 + 4")], []),  # and what the store's
    "uniform, 32 bits": (  # the clock with its number, as stamps were first
        [
            "if OFFSET == 0:",
            "    tl.store(stamps_ptr + place, NUMBER)",
            _SLOW,
            "tl.store(stamps_ptr + place + (OFFSET + 1), (now << 8) + NUMBER)",
        ],
        [],
    ),
}
WAITS = "waits"  # the default's stamps, at waits alone
VARIANTS = (DEFAULT, WAITS, *_BODIES)
UNREAD = ("uniform, 32 bits", "clock alone", "store alone")  # their buffers are others


def variant(text: str, name: str) -> str:
    """The text of _stamps.py, with the stamps of a variant."""
    if name in (DEFAULT, WAITS):
        return text
    stamp, end = _BODIES[name]
    if name.startswith("uniform"):
        text = text.replace("tl.where(thread % THREADS == 0, area + HEADER, NOBODY)", "area + HEADER")
    text = _with_body(text, "stamp", [*stamp, "return now"])
    return _with_body(text, "stamps_next", [*end, "return min(place + (COUNT + 1), end)"])


def _with_body(text: str, function: str, body: list[str]) -> str:
    pattern = rf"(^def {function}\([^)]*\):\n)(?:    .*\n|\n(?=    ))+"
    made, count = re.subn(pattern, lambda m: m[1] + "".join(f"    {line}\n" for line in body), text, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{count} functions {function} in _stamps.py")
    return made
