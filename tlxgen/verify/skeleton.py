"""A declaration to start from, for a kernel that has none."""

from __future__ import annotations

from typing import Any

from tlxgen.cases.match import jit_of, supplied


def skeleton(kernel: Any) -> str:
    """YAML with the kernel's own arguments: pointers and descriptors as tensors, the rest as numbers to fill in."""
    needed = [p for p in jit_of(kernel).params if p.name not in supplied(kernel)]
    constants = [f"  {p.name}: 64" for p in needed if p.is_constexpr]
    lines = [f"kernel: {jit_of(kernel).fn.__name__}", "grid: [1]", "args:"]
    lines += [f"  {p.name}: {_guess(p.name)}" for p in needed if not p.is_constexpr]
    lines += ["constexprs:", *constants] if constants else []
    lines.append('reference: "..."  # torch, over the inputs by name')
    return "\n".join(f"      {line}" for line in lines)


def _guess(name: str) -> str:
    kind = "output" if name.startswith(("c", "o", "y")) else "tensor"
    if name.endswith("_desc"):
        return f"{{{kind}: [256, 256], dtype: fp16, block: [64, 64]}}"
    if name.endswith("_ptr") or (len(name) == 1 and name.islower()):
        return f"{{{kind}: [256, 256], dtype: fp16}}"
    return "256"
