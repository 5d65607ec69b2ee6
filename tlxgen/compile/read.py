"""Resources out of what a compile leaves: PTX, cubin, metadata and the report of ptxas -v."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from .job import OPCODES, Resources
from .toolchain import tools

_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?")
_SETMAXNREG = re.compile(r"setmaxnreg\.(inc|dec)\.sync\.aligned\.u32\s+(\d+)")
_MAXNREG = re.compile(r"^\s*\.maxnreg\s+(\d+)", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+((?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)[^;]*);", re.MULTILINE)


def resources(ptx: str, cubin: bytes, metadata: Any, report: str) -> Resources:
    """`metadata` is that of a CompiledKernel, `report` what ptxas -v said. ValueError if it did not say it all."""
    stack, used = _STACK.findall(report), _USED.findall(report)
    if len(stack) != 1 or len(used) != 1:  # one entry point, no device function left uninlined
        raise ValueError(f"ptxas -v reported on {len(used)} functions where one was expected")
    stack_bytes, stores, loads = map(int, stack[0])
    maxnreg = _MAXNREG.search(ptx)
    counts, sass_digest = sass(cubin)
    x, y, z = metadata.cluster_dims
    return Resources(
        registers=int(used[0][0]),
        stack_bytes=stack_bytes,
        spill_store_bytes=stores,
        spill_load_bytes=loads,
        smem_bytes=metadata.shared,
        tmem_columns=metadata.tmem_size or 0,
        named_barriers=int(used[0][1] or 0),
        mbarriers=len(re.findall(r"\bmbarrier\.init\.", ptx)),
        warps=metadata.num_warps,  # the total, where the option of the same name counts the default task's
        cluster=(x, y, z),
        maxnreg=int(maxnreg[1]) if maxnreg else None,
        setmaxnreg=tuple(sorted({(action, int(count)) for action, count in _SETMAXNREG.findall(ptx)})),
        sass=counts,
        cubin_bytes=len(cubin),
        ptx_sha256=hashlib.sha256(ptx.encode()).hexdigest(),
        sass_sha256=sass_digest,
        cubin_sha256=hashlib.sha256(cubin).hexdigest(),
    )


def sass(cubin: bytes) -> tuple[dict[str, int] | None, str | None]:
    """Instructions an opcode class with their "total", and a digest of the text; None, None without an nvdisasm.

    cuobjdump -sass is no way round that: it runs nvdisasm.
    """
    disassembler = tools().nvdisasm
    if disassembler is None:
        return None, None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        text = subprocess.run([disassembler, "-c", path], capture_output=True, text=True, check=True).stdout
    found = _INSTRUCTION.findall(text)
    if not found:
        raise ValueError("nvdisasm printed no instruction")
    counts = Counter(opcode for _, opcode in found)
    digest = hashlib.sha256("\n".join(" ".join(line.split()) for line, _ in found).encode()).hexdigest()
    return {name: counts[name] for name in OPCODES if name in counts} | {"total": len(found)}, digest
