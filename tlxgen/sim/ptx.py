"""Executes the inline PTX of `tl.inline_asm_elementwise`: packs values into registers, runs instructions, and unpacks.

A register is an int32 tensor of bits, with one element a thread and call. A register of 16 bits has zeros above, and
one of 64 bits is a pair (low, high). `.approx` instructions give the correctly rounded result, which the hardware does
not promise. An unknown instruction is an UnsupportedOp that names it. (PTX ISA 9.)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from .findings import KernelFault, UnsupportedOp
from .mx import scale_bytes

Register = Any  # a tensor, or a pair of them
Instruction = Callable[..., Register]
Effect = Callable[..., None]
NONE: Mapping[str, Effect] = {}
_RAW = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_LANES = 32


@dataclass(frozen=True)
class Line:
    """One instruction: its full name, and its operands as text, where a list is `{a, b}`. `guard` is its predicate,
    with a ! in front if that must be false."""

    name: str
    operands: tuple[Any, ...]
    guard: str = ""


@cache
def parse(text: str) -> tuple[Line, ...]:
    """The instructions of a piece of PTX, without declarations and comments."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S).strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    lines = []
    for statement in filter(None, map(str.strip, text.split(";"))):
        if statement.startswith(".reg"):
            continue
        guard, statement = statement[1:].split(None, 1) if statement.startswith("@") else ("", statement)
        name, _, rest = statement.partition(" ")
        found = re.findall(r"\{([^}]*)\}|([^\s,{}]+)", rest.strip())
        operands = (tuple(x.strip() for x in many.split(",")) if many else one for many, one in found)
        lines.append(Line(name, tuple(operands), guard))
    return tuple(lines)


def run(
    text: str,
    inputs: Sequence[Register],
    outputs: int,
    effects: Mapping[str, Effect] = NONE,
    accesses: Sequence[tuple[str, Effect]] = (),
) -> list[Register]:
    """Executes `text` with `inputs` as the operands after the first `outputs` operands, and returns those.

    `effects` are functions for instructions that write no register; they get the operands, which are immediate
    integers. `accesses` are functions for memory accesses, by a pattern of the name; they get the match, the address
    (in brackets) and values.
    """
    registers: dict[str, Register] = {f"${outputs + i}": value for i, value in enumerate(inputs)}
    for line in parse(text):
        if line.name in effects:
            effects[line.name](*map(int, line.operands))
            continue
        taken = _guard(line.guard, registers)
        if any(isinstance(x, str) and x.startswith("[") for x in line.operands):
            if taken is None or _same(taken, line):
                _access(line, registers, accesses)
            continue
        if line.name == "trap":
            _trap(taken)
            continue
        target, *sources = line.operands
        values = [_value(source, registers) for source in sources]
        made = _instruction(line.name)(*values)
        _assign(target, made if taken is None else _kept(taken, made, registers.get(target)), registers)
    missing = [f"${i}" for i in range(outputs) if f"${i}" not in registers]
    if missing:
        raise KernelFault(f"inline PTX does not write {', '.join(missing)}")
    return [registers[f"${i}"] for i in range(outputs)]


def _access(line: Line, registers: dict[str, Register], accesses: Sequence[tuple[str, Effect]]) -> None:
    for pattern, effect in accesses:
        if found := re.fullmatch(pattern, line.name):
            returns = not line.operands[0].startswith("[")
            at, *values = line.operands[returns:]
            result = effect(found, _address(at.strip("[]"), registers), *(_value(x, registers) for x in values))
            if returns:
                registers[line.operands[0]] = torch.as_tensor(result, dtype=torch.int32)
            return
    raise _unsupported(f"the PTX instruction {line.name}")


def _address(text: str, registers: dict[str, Register]) -> Any:
    """The pointer of an access: `[base]`, or `[base+bytes]`."""
    base, _, offset = text.partition("+")
    pointer = _value(base, registers)
    if not offset:
        return pointer
    elements, rest = divmod(int(_value(offset, registers)), pointer.dtype.itemsize)
    if rest:
        raise KernelFault(f"inline PTX: an address within an element of {pointer.dtype}")
    return pointer + elements


def _same(taken: torch.Tensor, line: Line) -> bool:
    """Whether an access with a predicate is made, which all threads agree on."""
    if bool(taken.any()) != bool(taken.all()):
        raise _unsupported(f"a predicate that threads differ in, on the PTX instruction {line.name}")
    return bool(taken.any())


def _guard(guard: str, registers: dict[str, Register]) -> torch.Tensor | None:
    """The threads in which an instruction is executed; None for all."""
    if not guard:
        return None
    taken: torch.Tensor = _value(guard.removeprefix("!"), registers)
    return ~taken if guard.startswith("!") else taken


def _kept(taken: torch.Tensor, made: Register, before: Register | None) -> Register:
    """The value of a register after an instruction that is executed where `taken`; NaN where it was never written."""
    if isinstance(made, tuple):
        return tuple(_kept(taken, part, before[i] if before else None) for i, part in enumerate(made))
    return torch.where(taken, made, _immediate(0x7FC00000) if before is None else before)


def _trap(taken: torch.Tensor | None) -> None:
    if taken is None or bool(taken.any()):
        raise KernelFault("inline PTX: trap")


def _value(source: Any, registers: dict[str, Register]) -> Register:
    if isinstance(source, tuple):
        return tuple(_value(part, registers) for part in source)
    if source in registers:
        return registers[source]
    if source in _SPECIAL:
        return _SPECIAL[source]()
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", source):
        return _immediate(int(source[2:], 16))
    try:
        return _immediate(int(source, 0))
    except ValueError:
        pass
    try:
        return _immediate(struct.unpack("I", struct.pack("f", float(source)))[0])
    except ValueError:
        raise KernelFault(f"inline PTX reads {source}, which nothing wrote") from None


def _steps() -> Register:
    """The simulator's time as 64 bits: the steps of the run, like `tlx.clock64`."""
    steps = _machine().hub.steps
    return _immediate(steps), _immediate(steps >> 32)


def _sm() -> Register:
    """Each CTA has an SM of its own."""
    return _immediate(_machine().worker.cta.number)


def _machine() -> Any:
    from .machine import machine  # only special registers need a machine

    return machine()


_SPECIAL: dict[str, Callable[[], Register]] = {
    "%clock": lambda: _steps()[0],
    "%clock64": _steps,
    "%globaltimer": _steps,
    "%smid": _sm,
}


def _immediate(bits: int) -> torch.Tensor:
    return torch.tensor((bits + (1 << 31)) % (1 << 32) - (1 << 31), dtype=torch.int32)


def _assign(target: Any, value: Register, registers: dict[str, Register]) -> None:
    if not isinstance(target, tuple):
        registers[target] = value
        return
    parts = value if isinstance(value, tuple) else (value & 0xFFFF, value >> 16 & 0xFFFF)
    if len(parts) != len(target):
        raise KernelFault(f"inline PTX unpacks {len(parts)} registers into {len(target)}")
    registers.update(zip(target, parts, strict=True))


# The instructions.


def _floats(bits: torch.Tensor) -> torch.Tensor:
    return bits.view(torch.float32)


def _bits(value: torch.Tensor) -> torch.Tensor:
    return value.to(torch.float32).view(torch.int32)


def _on_floats(function: Callable[..., torch.Tensor]) -> Instruction:
    return lambda *operands: _bits(function(*map(_floats, operands)))


def _on_pairs(function: Callable[..., torch.Tensor]) -> Instruction:
    one = _on_floats(function)
    return lambda *operands: tuple(one(*parts) for parts in zip(*operands, strict=True))


def _on_halves(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Instruction:
    """Of two registers, each of two bf16, what `function` makes of bf16 as float32, rounded."""

    def apply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        low, high = (
            function(*(_bits((x >> shift).to(torch.int16).view(torch.bfloat16)).view(torch.float32) for x in (a, b)))
            for shift in (0, 16)
        )
        bits = [x.to(torch.bfloat16).view(torch.int16).to(torch.int32) & 0xFFFF for x in (low, high)]
        return bits[0] | bits[1] << 16

    return apply


def _larger_magnitude(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """max.NaN.xorsign.abs: the larger magnitude, or NaN where one is NaN, with the product of the signs."""
    most = torch.maximum(a.abs(), b.abs())
    return torch.where(torch.signbit(a) ^ torch.signbit(b), -most, most)


def fma(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """a * b + c, rounded once. The product of two float32 is exact in float64."""
    return (a.double() * b.double() + c.double()).float()


def _move(value: Register) -> Register:
    """A move of 64 bits. A pair stays a pair."""
    return value


def _move_packed(value: Register) -> Register:
    """A move of 32 bits, where a pair has 16 bits each."""
    return value[0] & 0xFFFF | value[1] << 16 if isinstance(value, tuple) else value


def _convert_pair(dtype: torch.dtype, bits: int, largest: float) -> Instruction:
    """A conversion of two operands, of which the first goes into the upper half."""

    def convert(high: torch.Tensor, low: torch.Tensor) -> torch.Tensor:
        raw = _RAW[dtype.itemsize]
        upper, lower = (_floats(x).clamp(-largest, largest).to(dtype).view(raw).to(torch.int32) for x in (high, low))
        mask = (1 << bits) - 1
        return (upper & mask) << bits | lower & mask

    return convert


def _convert(dtype: torch.dtype) -> Instruction:
    return lambda a: _floats(a).to(dtype).view(torch.int16).to(torch.int32) & 0xFFFF


def _widen(dtype: torch.dtype) -> Instruction:
    return lambda a: _bits(a.to(torch.int16).view(dtype))


def _scales(high: torch.Tensor, low: torch.Tensor) -> torch.Tensor:
    return scale_bytes(_floats(high)).to(torch.int32) << 8 | scale_bytes(_floats(low)).to(torch.int32)


def _shift(left: bool, signed: bool = False) -> Instruction:
    """A shift. Counts of at least 32 shift everything out."""

    def shift(a: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        wide, n = a.to(torch.int64), (count.to(torch.int64) & 0xFFFFFFFF).clamp(max=_LANES)
        return (wide << n if left else (wide if signed else wide & 0xFFFFFFFF) >> n).to(torch.int32)

    return shift


def _across_warp(reduce: Callable[..., torch.Tensor]) -> Instruction:
    """`redux.sync`. 32 rows are the lanes of a warp, which is the layout of a load from tensor memory."""

    def redux(a: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if int(mask) != -1 or not a.dim() or a.shape[0] % _LANES:
            raise KernelFault(f"redux.sync of shape {tuple(a.shape)}, member mask {int(mask) & 0xFFFFFFFF:#x}")
        lanes = _floats(a).reshape(-1, _LANES, *a.shape[1:])
        return _bits(reduce(lanes, dim=1, keepdim=True)).expand(lanes.shape).reshape(a.shape)

    return redux


def _as_type(name: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """The function by which a comparison of that type reads a register."""
    if name == "f32":
        return _floats
    return (lambda a: a.to(torch.int64) & 0xFFFFFFFF) if name == "u32" else (lambda a: a)


def _comparison(name: str, kind: str) -> Instruction:
    compare, read = _COMPARISONS[name], _as_type(kind)
    return lambda a, b: compare(read(a), read(b))


_COMPARISONS: dict[str, Callable[..., torch.Tensor]] = {
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
}  # fmt: skip
_F32: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "fma": fma, "div": torch.div,
    "min": torch.fmin, "max": torch.fmax, "neg": torch.neg, "abs": torch.abs, "ex2": torch.exp2, "lg2": torch.log2,
    "rcp": torch.reciprocal, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "sin": torch.sin, "cos": torch.cos,
    "tanh": torch.tanh,
}  # fmt: skip
_NAN_F32: dict[str, Callable[..., torch.Tensor]] = {"min": torch.minimum, "max": torch.maximum}
_PAIRS = {name: _F32[name] for name in ("add", "sub", "mul", "fma")}
_MODIFIERS = r"(?:\.rn|\.ftz|\.approx|\.full)*"
_TABLE: list[tuple[str, Instruction]] = [
    *((rf"{name}{_MODIFIERS}\.f32", _on_floats(function)) for name, function in _F32.items()),
    *((rf"{name}(?:\.ftz)?\.NaN\.f32", _on_floats(function)) for name, function in _NAN_F32.items()),
    *((rf"{name}(?:\.rn)?(?:\.ftz)?\.f32x2", _on_pairs(function)) for name, function in _PAIRS.items()),
    (r"mul(?:\.rn)?\.bf16x2", _on_halves(torch.mul)),
    (r"max\.NaN\.xorsign\.abs\.bf16x2", _on_halves(_larger_magnitude)),
    (r"mov\.[busf]64", _move),
    (r"mov\.(?:[bu]16|[busf]32)", _move_packed),
    (r"add\.[us]32", torch.add),
    (r"sub\.[us]32", torch.sub),
    (r"mul\.lo\.[us]32", torch.mul),
    (r"and\.b(?:16|32)", torch.bitwise_and),
    (r"or\.b(?:16|32)", torch.bitwise_or),
    (r"xor\.b(?:16|32)", torch.bitwise_xor),
    (r"not\.b32", torch.bitwise_not),
    *((rf"setp\.{name}\.{kind}", _comparison(name, kind)) for name in _COMPARISONS for kind in ("s32", "u32", "f32")),
    *((rf"setp\.{name}\.b32", _comparison(name, "u32")) for name in ("eq", "ne")),
    (r"selp\.[busf]32", lambda a, b, p: torch.where(p, a, b)),
    (r"shl\.b32", _shift(left=True)),
    (r"shr\.[ub]32", _shift(left=False)),
    (r"shr\.s32", _shift(left=False, signed=True)),
    (r"cvt\.u32\.u16", lambda a: a & 0xFFFF),
    (r"cvt\.u16\.u32", lambda a: a & 0xFFFF),
    (r"cvt\.rn\.f32\.s32", _bits),
    (r"cvt\.rn\.f32\.u32", lambda a: _bits((a.to(torch.int64) & 0xFFFFFFFF).float())),
    (r"cvt\.rzi\.s32\.f32", lambda a: _floats(a).to(torch.int32)),
    (r"cvt\.rn\.f16\.f32", _convert(torch.float16)),
    (r"cvt\.rn\.bf16\.f32", _convert(torch.bfloat16)),
    (r"cvt\.f32\.f16", _widen(torch.float16)),
    (r"cvt\.f32\.bf16", _widen(torch.bfloat16)),
    (r"cvt\.rn\.f16x2\.f32", _convert_pair(torch.float16, 16, float("inf"))),
    (r"cvt\.rn\.bf16x2\.f32", _convert_pair(torch.bfloat16, 16, float("inf"))),
    (r"cvt\.rn\.satfinite\.e4m3x2\.f32", _convert_pair(torch.float8_e4m3fn, 8, 448.0)),
    (r"cvt\.rn\.satfinite\.e5m2x2\.f32", _convert_pair(torch.float8_e5m2, 8, 57344.0)),
    (r"cvt\.rp\.satfinite\.ue8m0x2\.f32", _scales),
    (r"redux\.sync\.max(?:\.NaN)?\.f32", _across_warp(torch.amax)),
    (r"redux\.sync\.min(?:\.NaN)?\.f32", _across_warp(torch.amin)),
]


@cache
def _instruction(name: str) -> Instruction:
    for pattern, function in _TABLE:
        if re.fullmatch(pattern, name):
            return function
    raise _unsupported(f"the PTX instruction {name}")


def _unsupported(what: str) -> UnsupportedOp:
    return UnsupportedOp(what, _machine().here())


# Conversions between tensors and registers.


def elementwise(
    text: str,
    constraints: str,
    inputs: Sequence[Any],
    dtypes: Sequence[torch.dtype],
    pack: int,
    effects: Mapping[str, Effect] = NONE,
    accesses: Sequence[tuple[str, Effect]] = (),
) -> list[torch.Tensor]:
    """`tl.inline_asm_elementwise`. Each call gets `pack` elements of each of `inputs`, which have one shape.

    Without inputs, or with a pointer, which is passed as a register, there is one call for one element. `effects` and
    `accesses` are as in `run`. Elements of less than 32 bits share registers, up to `pack` of them.
    """
    blocks = [x for x in inputs if isinstance(x, torch.Tensor)]
    if len(blocks) < len(inputs) and (pack > 1 or any(x.dim() for x in blocks)):
        raise _unsupported("inline PTX of several pointers")
    shape = blocks[0].shape if blocks else torch.Size()
    calls = [_grouped(x, pack) for x in blocks]
    packed = iter(calls)
    operands = [r for x in inputs for r in (_packed(next(packed), pack) if isinstance(x, torch.Tensor) else (x,))]
    counts = [-(-pack // _per_register(dtype, pack)) for dtype in dtypes]
    names = [c.strip() for c in constraints.split(",") if c.strip()]
    if sum(c.startswith("=") for c in names) != sum(counts) or len(names) != sum(counts) + len(operands):
        raise KernelFault(f"inline PTX: {constraints!r} for {sum(counts)} outputs and {len(operands)} inputs")
    results = iter(run(text, operands, sum(counts), effects, accesses))
    made = []
    for dtype, count in zip(dtypes, counts, strict=True):
        grouped = _unpacked([next(results) for _ in range(count)], dtype, pack, calls[0].shape if calls else (1,))
        made.append(grouped.flatten()[: shape.numel()].reshape(shape))
    return made


def _per_register(dtype: torch.dtype, pack: int) -> int:
    return min(pack, max(1, 4 // int(dtype.itemsize)))


def _grouped(x: torch.Tensor, pack: int) -> torch.Tensor:
    """The elements with a last dimension for the `pack` elements of a call, padded if `pack` does not divide them."""
    if pack == 1:
        return x.unsqueeze(-1)
    if x.dim() and x.shape[-1] % pack == 0:
        return x.unflatten(-1, (-1, pack))
    flat = x.flatten()
    return torch.cat((flat, flat.new_zeros(-flat.numel() % pack))).unflatten(0, (-1, pack))


def _packed(x: torch.Tensor, pack: int) -> list[torch.Tensor]:
    size, share = x.dtype.itemsize, _per_register(x.dtype, pack)
    if size > 4:
        raise UnsupportedOp(f"inline PTX of {x.dtype}", None)
    if size == 4:
        return [x[..., i].view(torch.int32) for i in range(pack)]
    bits = x.view(_RAW[size]).to(torch.int32) & ((1 << 8 * size) - 1)
    registers = []
    for start in range(0, pack, share):
        value = bits[..., start]
        for i in range(1, share):
            value = value | bits[..., start + i] << 8 * size * i
        registers.append(value)
    return registers


def _unpacked(registers: list[torch.Tensor], dtype: torch.dtype, pack: int, shape: torch.Size) -> torch.Tensor:
    size, share = dtype.itemsize, _per_register(dtype, pack)
    made = torch.empty(shape, dtype=_RAW[size])
    for i in range(pack):
        if size == 8:
            low, high = registers[i]
            made[..., i] = low.to(torch.int64) & 0xFFFFFFFF | high.to(torch.int64) << 32
            continue
        made[..., i] = registers[i // share] >> 8 * size * (i % share) if share > 1 else registers[i]
    return made.view(dtype)
