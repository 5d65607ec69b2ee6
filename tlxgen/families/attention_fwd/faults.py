"""What in an attention_fwd spec does not go together: rules that span keys, each with the key that is blamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from tlxgen.arch import Sm90, Sm100
from tlxgen.families.attention.common import COLUMNS, SLICE
from tlxgen.families.kit import faults
from tlxgen.spec import Fault

from .keys import AttentionKeys, ForwardKeys


class Modifying(Protocol):
    """What modifies scores, forward and backward."""

    @property
    def expression(self) -> str | None: ...
    @property
    def softcap(self) -> bool: ...


def of(spec: ForwardKeys) -> list[Fault]:
    """Every fault of the spec."""
    tasks = _hopper(spec) if spec.arch == "sm90" else _blackwell(spec)
    own = [*_bias(spec), *_blocks(spec), *expression(spec.softmax)] if isinstance(spec, AttentionKeys) else []
    narrow = _mx(spec) if spec.scaled else _fp8(spec) if spec.problem.dtype == "e4m3" else []
    return [*_shared(spec), *_widths(spec), *tasks, *_rings(spec), *own, *narrow]


def _widths(spec: ForwardKeys) -> list[Fault]:
    """Where the head dimensions are those of tiles: TMA fills tiles with zeros on sm90, in types of two bytes."""
    problem, whole = spec.problem, ", ".join(map(str, COLUMNS))
    exact = spec.arch != "sm90" or problem.dtype == "e4m3"
    why = "e4m3" if spec.arch == "sm90" else "sm100"
    return faults.where(
        *(
            (f"problem.{name}", exact and d not in COLUMNS, f"{d}: in {why} it is one of {whole}")
            for name, d in (("head_dim", problem.head_dim), ("head_dim_v", problem.head_dim_v or problem.head_dim))
            if name == "head_dim" or problem.head_dim_v is not None
        )
    )


def _shared(spec: ForwardKeys) -> Iterator[Fault]:
    """What any family may get wrong: names, guards, registers."""
    tasks = spec.tasks
    yield from faults.name(spec)
    yield from faults.guards(spec)
    yield from faults.registers(
        {"tasks.mma.registers": tasks.mma.registers, "tasks.softmax.registers": tasks.softmax.registers}
    )


def _hopper(spec: ForwardKeys) -> list[Fault]:
    """What sm90 cannot do, and what of its tasks does not go together."""
    tasks, mma = spec.tasks, spec.tasks.mma
    only_sm100 = "this is of sm100: on sm90 a consumer keeps scores, probabilities and O in its registers"
    own = faults.foreign(
        ("tasks.softmax", "softmax" in tasks.model_fields_set, only_sm100),
        ("tasks.store", tasks.store is not None, only_sm100),
        ("rings.s", "s" in spec.rings.model_fields_set, only_sm100),
        ("softmax.rescale", spec.lazy, only_sm100),
        (
            "softmax.polynomial",
            spec.polynomial,
            "this is of sm100: the exponential unit is not the bound on sm90, where products take twice the clocks",
        ),
        ("schedule.kind", spec.schedule.kind == "clc", "this is of sm100: sm90 has no cluster launch control"),
        ("schedule.kind", _drawn(spec) and spec.problem.lengths != "packed", "dense sequences are as long: persistent"),
        ("tasks.load.default", not tasks.load.default, "on sm90 the TMA producer is the default task"),
        ("tasks.mma.warps", mma.warps != 4, f"wgmma is issued by a warpgroup: 4 warps, not {mma.warps}"),
    )
    alone = "a single consumer takes no turns: turns must be none"
    return [*own, *faults.where(("tasks.mma.turns", mma.turns != "none" and mma.replicate == 1, alone))]


def _drawn(spec: ForwardKeys) -> bool:
    """Whether CTAs draw their items from a counter."""
    return spec.schedule.kind == "dynamic"


def _blackwell(spec: ForwardKeys) -> list[Fault]:
    """What sm100 does otherwise than sm90, and what of its tasks does not go together."""
    tasks, mma = spec.tasks, spec.tasks.mma
    own = faults.foreign(
        ("schedule.kind", _drawn(spec), "a counter is of sm90: here the hardware hands tiles out, clc"),
        ("tasks.load.default", tasks.load.default, "on sm100 the correction is the default task"),
        ("rings.o.parts", spec.rings.o.parts > 1, "on sm100 the correction holds parts of O anyway: parts must be 1"),
        ("tasks.mma.warps", mma.warps != 1, f"on sm100 one thread issues tcgen05: 1 warp, not {mma.warps}"),
        ("tasks.mma.turns", mma.turns != "none", "on sm100 no consumers take turns: one thread multiplies for all"),
        ("tasks.mma.keep", mma.keep != "none", "on sm100 tcgen05 takes Q from shared memory: keep must be none"),
        ("rings.kv.empty", spec.rings.kv.empty == "warp", "on sm100 the tensor core releases a slot: leader"),
    )
    together = faults.where(
        (
            "tasks.mma.overlap",
            mma.overlap and mma.replicate != 2,
            f"on sm100 it is two groups that are interleaved, not {mma.replicate}: overlap must be false",
        ),
        (
            "rings.o.reuse",
            spec.rings.o.reuse == "q" and spec.schedule.kind == "grid",
            "on sm100 the correction puts O in Q's place and then releases Q: a CTA of a grid releases nothing",
        ),
        (
            "tasks.store",
            spec.rings.o.reuse == "q" and tasks.store is not None,
            "O leaves through Q's buffer, and the correction releases that: no store task",
        ),
    )
    return [*own, *together]


def _bias(spec: AttentionKeys) -> list[Fault]:
    """What goes together with a matrix, queries by keys, that is added to scores."""
    given = "bias" in spec.rings.model_fields_set
    packed = spec.bias and spec.problem.lengths == "packed"
    return [
        *faults.foreign(
            ("softmax.bias", spec.bias and spec.arch != "sm90", "a bias is for sm90"),
            ("rings.bias", given and not spec.bias, "nothing is added to scores: softmax.bias is none"),
        ),
        *faults.where(
            ("softmax.bias", packed, "sequences end to end have no matrix of queries by keys"),
            (
                "softmax.bias",
                spec.bias and spec.softmax.softcap,
                "the product Q K^T is added up from the bias on: a soft cap would bend that, too",
            ),
            (
                "softmax.bias",
                spec.bias and spec.problem.dtype == "e4m3",
                "wgmma adds e4m3 up with some 14 bits, of which the bias would leave few to the products",
            ),
        ),
    ]


def expression(softmax: Modifying) -> list[Fault]:
    """What an expression takes the place of."""
    within = "an expression has a cap of its own: cap * tanh(score / cap)"
    added = "the product Q K^T is added up from the bias on: an expression would see their sum as the score"
    biased = getattr(softmax, "bias", "none") != "none"
    return faults.where(
        ("softmax.softcap", softmax.expression and softmax.softcap, within),
        ("softmax.bias", softmax.expression and biased, added),
    )


def _blocks(spec: AttentionKeys) -> list[Fault]:
    packed = spec.mask.blocks and spec.problem.lengths == "packed"
    return [
        *faults.foreign(("mask.blocks", spec.mask.blocks and spec.arch != "sm90", "lists of blocks are for sm90")),
        *faults.where(("mask.blocks", packed, "lists name blocks of (B, H) tensors: sequences end to end have none")),
    ]


def _fp8(spec: ForwardKeys) -> list[Fault]:
    """What comes of V having contiguous keys, as wgmma reads operands of 8 bits, and of O being wider than they are."""
    lengths, rings = spec.problem.lengths, spec.rings
    return faults.where(
        ("problem.dtype", spec.arch != "sm90", "e4m3 attention is for sm90; on sm100 problem.scaling is mx"),
        ("problem.lengths", lengths == "packed", "the keys of e4m3 V are contiguous: sequences cannot lie end to end"),
        ("rings.kv.storage", rings.kv.storage == "shared", "tiles of K and of V^T differ in e4m3: they need two rings"),
        ("rings.o.reuse", rings.o.reuse == "q", "O is bf16 and wider than Q: it cannot take Q's place"),
    )


def _mx(spec: ForwardKeys) -> list[Fault]:
    """What MXFP8 asks for: scales of the products lie in the columns of scores that each group leaves the other."""
    problem, mma, rings = spec.problem, spec.tasks.mma, spec.rings
    wide = problem.head_dim != Sm100.mx_k or spec.head_dim_v != Sm100.mx_k
    return faults.where(
        ("problem.scaling", spec.arch != "sm100", "MX scales are multiplied in by tcgen05: they are of sm100"),
        ("problem.dtype", problem.dtype != "e4m3", f"MX scales belong to e4m3, not to {problem.dtype}"),
        ("problem.head_dim", wide, f"MX scales come in blocks of {Sm100.mx_k}, which the head dimensions are"),
        ("problem.lengths", problem.lengths == "packed", "blocks of scales do not begin where a sequence does"),
        ("tile.n", spec.tile.n != Sm100.mx_rows, f"MX scales come in blocks of {Sm100.mx_rows} keys"),
        ("tasks.mma.overlap", not mma.overlap, "scales of one group lie beside the probabilities of the other"),
        ("rings.s.slices", rings.s.slices != 1, "probabilities and their scales are handed on together: slices is 1"),
        ("rings.o.reuse", rings.o.reuse == "q", "O is bf16 and wider than Q: it cannot take Q's place"),
        ("softmax.rescale", spec.lazy, "probabilities have one scale, by which the largest is 256: rescale is always"),
    )


def _columns(slices: tuple[int, ...]) -> str:
    return " + ".join(map(str, slices))


def _rings(spec: ForwardKeys) -> list[Fault]:
    rows, consumers, rings = spec.tile.m, spec.tasks.mma.replicate, spec.rings
    k, v, o = spec.slices, spec.slices_v, spec.slices_o
    share, least = rows // consumers, Sm90.wgmma_m if spec.arch == "sm90" else Sm100.mma_m[-1]
    return [
        *faults.powers_of_two(spec, ("tile.n",), "a tile of keys"),
        *faults.where(
            (
                "tile.m" if "m" in spec.tile.model_fields_set else "tasks.mma.replicate",
                rows % consumers or share & (share - 1),
                f"{rows} rows among {consumers} consumers: each needs the same power of two, as of a tile.m of "
                f"{consumers * least}",
            ),
            (
                "rings.kv.storage",
                rings.kv.storage == "shared" and k != v,
                f"rows of K ({_columns(k)}) and of V ({_columns(v)}) differ: they cannot share a ring",
            ),
            (
                "rings.o.reuse",
                rings.o.reuse == "q" and o != k[: len(o)],
                f"rows of Q ({_columns(k)}) and of O ({_columns(o)}) differ: O cannot take Q's place",
            ),
            (
                "rings.o.parts",
                rings.o.parts > 1 and rings.o.reuse == "q",
                "O leaves through Q's buffers, which hold all of it: parts must be 1",
            ),
            (
                "rings.o.parts",
                rings.o.parts > 1 and (len(v) > 1 or v[0] < 2 * SLICE),
                f"halves of O ({_columns(v)}) are of {SLICE} columns or more, of one accumulator",
            ),
            (
                "rings.q.stages",
                spec.schedule.kind == "grid" and rings.q.stages != 1,
                "a CTA of a grid loads Q once: stages is 1",
            ),
        ),
    ]
