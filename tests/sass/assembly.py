"""SASS for tests, written by hand: an instruction a line, with its scoreboards behind a bar."""

from __future__ import annotations

import re

_LABEL = re.compile(r"^[.$]\w+:$")


def sass(text: str) -> str:
    """What nvdisasm -c -hex would print. "LDTM.x4 R4, tmem[UR4] | w2 r1 m03": writes 2, reads 1, waits for 0 and 3."""
    found: list[str] = []
    address = 0
    for line in filter(None, (line.strip() for line in text.splitlines())):
        if _LABEL.match(line):
            found.append(line)
            continue
        shown, _, control = line.partition("|")
        fields = {part[0]: part[1:] for part in control.split()}
        waits = sum(1 << int(n) for n in fields.get("m", ""))
        high = 1 << 41 | int(fields.get("w", 7)) << 46 | int(fields.get("r", 7)) << 49 | waits << 52
        found += [f"        /*{address:04x}*/   {shown.strip()} ;   /* 0x{0:016x} */", f"    /* 0x{high:016x} */"]
        address += 16
    return "\n".join(found) + "\n"
