"""Resources out of what a compile leaves: PTX, cubin, metadata and the report of ptxas -v."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tlxgen.sass import FlowError, check

from .job import OPCODES, Resources
from .toolchain import tools

_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?")
_SETMAXNREG = re.compile(r"setmaxnreg\.(inc|dec)\.sync\.aligned\.u32\s+(\d+)")
_COMMENT = re.compile(r"[ \t]*//.*")
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_MAXNREG = re.compile(r"^\s*\.maxnreg\s+(\d+)", re.MULTILINE)
_CLUSTER = re.compile(r"^\s*\.reqnctapercluster\s+(\d+(?:\s*,\s*\d+)*)", re.MULTILINE)
_PARAMETERS = re.compile(r"\.entry\s+[\w$]+\(([^)]*)\)")
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.[bsuf](\d+)\s+[^,\[]*(?:\[(\d+)\])?")
_LABEL = re.compile(r"^(\.L\w+):")
_BRANCH = re.compile(r"\bBRA(?:\.U)?\s.*`\((\.L\w+)\)")  # not BRA.U.ANY, by which one instruction is tried again
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+((?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)[^;]*);", re.MULTILINE)


# CUtensorMapDataType of the element types as kernels number them, where the two differ.
_DATA_TYPES = {8: 10, 9: 8, 10: 9}


def launching(ptx: str, metadata: Any) -> dict[str, Any]:
    """What launches a cubin, as JSON: `entry`, `warps` a CTA, `shared` bytes, `cluster`, `parameters` in bytes each;
    for each TMA descriptor the box, the swizzle and the element type that its copies were compiled for.

    `scratch`: bytes of global memory that a launch must bring. `metadata` is that of a CompiledKernel.
    """
    found = _PARAMETERS.search(ptx)
    parameters = [int(bits) // 8 * int(count or 1) for bits, count in _PARAMETER.findall(found[1] if found else "")]
    return {
        "entry": metadata.name,
        "warps": metadata.num_warps,
        "shared": metadata.shared,
        "cluster": list(cluster(ptx, metadata)),
        "cooperative": bool(metadata.launch_cooperative_grid),
        "scratch": metadata.global_scratch_size + metadata.profile_scratch_size,
        "parameters": parameters,
        "descriptors": [
            {
                "box": list(told["block_size"]),
                "swizzle": told["swizzle"],
                "element": _DATA_TYPES.get(told["elem_type"], told["elem_type"]),
                "element_bytes": told["elem_size"],
                "fp4_padded": told["fp4_padded"],
            }
            for told in metadata.tensordesc_meta or ()
        ],
    }


def resources(ptx: str, cubin: bytes, metadata: Any, report: str, *, with_sass: bool = True) -> Resources:
    """`metadata` is that of a CompiledKernel, `report` what ptxas -v said. ValueError if it did not say it all.

    Reading the SASS takes as long as compiling: without it, the result is as where nvdisasm is missing.
    """
    stack, used = _STACK.findall(report), _USED.findall(report)
    if len(stack) != 1 or len(used) != 1:  # one entry point, no device function left uninlined
        raise ValueError(f"ptxas -v reported on {len(used)} functions where one was expected")
    stack_bytes, stores, loads = map(int, stack[0])
    maxnreg = _MAXNREG.search(ptx)
    text = disassembled(cubin) if with_sass else None
    counts, sass_digest = sass(text) if text is not None else (None, None)
    x, y, z = cluster(ptx, metadata)
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
        ptx_sha256=hashlib.sha256(anonymous(ptx).encode()).hexdigest(),
        sass_sha256=sass_digest,
        cubin_sha256=hashlib.sha256(cubin).hexdigest(),
        loops=loops(text) if text is not None else (),
        releases=releases(text) if text is not None else None,
    )


def cluster(ptx: str, metadata: Any) -> tuple[int, int, int]:
    """CTAs a cluster. Stock Triton's metadata lack the field that fbtriton's have; the PTX names them in either."""
    if (told := getattr(metadata, "cluster_dims", None)) is not None:
        x, y, z = told
        return x, y, z
    found = _CLUSTER.search(ptx)
    x, y, z = ([int(n) for n in found[1].split(",")] + [1, 1])[:3] if found else (1, 1, 1)
    return x, y, z


def anonymous(ptx: str) -> str:
    """`ptx` without comments and without the name of its kernel, with which the names of its parameters begin."""
    ptx = _COMMENT.sub("", ptx)
    entry = _ENTRY.search(ptx)
    return re.sub(rf"(?<![\w$.]){re.escape(entry[1])}(?=_param_|\b)", "kernel", ptx) if entry else ptx


def releases(text: str) -> dict[str, Any]:
    """What the rule on releases says of a kernel: how much it looked at, and what it found or could not follow."""
    try:
        return check(text).to_json()
    except FlowError as error:
        return {"unknown": str(error)}


def disassembled(cubin: bytes) -> str | None:
    """The SASS with labels and machine words, as nvdisasm -c -hex prints it; None without an nvdisasm.

    cuobjdump -sass is no way round that: it runs nvdisasm.
    """
    disassembler = tools().nvdisasm
    if disassembler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        return subprocess.run([disassembler, "-c", "-hex", path], capture_output=True, text=True, check=True).stdout


def sass(text: str) -> tuple[dict[str, int], str]:
    """Instructions an opcode class with their "total", and a digest of the text."""
    found = _INSTRUCTION.findall(text)
    if not found:
        raise ValueError("nvdisasm printed no instruction")
    digest = hashlib.sha256("\n".join(" ".join(line.split()) for line, _ in found).encode()).hexdigest()
    return _counts([opcode for _, opcode in found]), digest


def loops(text: str) -> tuple[dict[str, int], ...]:
    """Instructions an opcode class of each innermost loop: from a label to the first branch back to it.

    Code that the compiler moves out of the way, such as the further tries of an mbarrier wait, is in none of them. It
    returns by a branch back, too, which is told from a loop's: it begins in a loop and ends outside, or has an EXIT.
    """
    opcodes: list[str] = []
    labels: dict[str, int] = {}
    ends: dict[str, int] = {}
    for line in text.splitlines():
        if label := _LABEL.match(line):
            labels[label[1]] = len(opcodes)
        elif instruction := _INSTRUCTION.match(line):
            opcodes.append(instruction[2])
            branch = _BRANCH.search(instruction[1])
            if branch and branch[1] in labels:
                ends.setdefault(branch[1], len(opcodes))
    found: list[tuple[int, int]] = []
    for end, start in sorted((end, labels[label]) for label, end in ends.items()):
        returns = any(inner < start < inner_end for inner, inner_end in found)
        if not returns and "EXIT" not in opcodes[start:end]:
            found.append((start, end))
    inner = (s for s in found if not any(s[0] <= other[0] and other[1] <= s[1] for other in found if other != s))
    return tuple(_counts(opcodes[start:end]) for start, end in inner)


def _counts(opcodes: Sequence[str]) -> dict[str, int]:
    counts = Counter(opcodes)
    return {name: counts[name] for name in OPCODES if name in counts} | {"total": len(opcodes)}
