"""What a grouped_gemm spec may say: gemm's keys, which extent groups have of their own, and how the caller says it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from tlxgen.families.gemm import keys
from tlxgen.families.gemm.ops import OPS
from tlxgen.families.gemm.spec import GemmSpec
from tlxgen.families.kit import faults
from tlxgen.spec import Fault, choices


class Problem(keys.Problem):
    """C[g] = epilogue(A[g] @ B[g]) of each group g."""

    vary: Literal["m", "n", "k", "none"] = Field(
        "m",
        description="The extent that differs by group.",
        json_schema_extra=choices(
            m="Rows of A and C: each expert multiplies its tokens by its weights. A is (all M, K), B (G, K, N).",
            n="Columns of B and C. A is (G, M, K), B (K, all N).",
            k="The length of the sums: gradients by weights. A is (M, all K) in col, B (all K, N) in row, C (G, M, N); "
            "a group without any gives zeros.",
            none="Nothing: a product of batches. A is (G, M, K), B (G, K, N), C (G, M, N).",
        ),
    )
    given: Literal["offs", "split_sizes", "masked_m", "psum"] = Field(
        "offs",
        description="How the caller says where groups lie: int32 on the device, one a group.",
        json_schema_extra=choices(
            offs="Where each group ends; the next begins there, at any row. As torch's grouped_mm has it.",
            split_sizes="How much each group has; they follow one another.",
            masked_m="A and C are (G, most M, K) and (G, most M, N), and of each matrix the first rows count: for "
            "decode, where a graph is captured once for all sizes.",
            psum="Where each group ends; it begins at a multiple of an argument, 128 say, as DeepGEMM's psum layout.",
        ),
    )


class GroupedGemmSpec(GemmSpec):
    """C[g] = epilogue(A[g] @ B[g]), by one kernel."""

    kernel: Literal["grouped_gemm"] = Field(description="The kernel family.")  # type: ignore[assignment]
    problem: Problem = Field(Problem(), description="Operands, result and groups.")

    def faults(self) -> list[Fault]:
        return [*super().faults(), *faults.where(*_rules(self))]


def _rules(spec: Any) -> Iterator[faults.Rule]:
    """What does not go with groups."""
    problem, schedule, vary = spec.problem, spec.schedule, spec.problem.vary
    for path, broken in (
        ("schedule.split_k", schedule.split_k > 1),
        ("schedule.tail", schedule.tail != "whole" and vary != "k"),
        ("cluster.k", spec.cluster.k > 1),
    ):
        yield path, broken, "tiles of groups are whole; remove the key"
    if schedule.tail != "whole" and vary == "k":
        yield "schedule.tail", schedule.tail != "split", "tiles of groups with a long K are cut: split"
        yield "schedule.fix_up", schedule.fix_up != "last", "nobody knows before which tiles have parts: last"
    yield "schedule.kind", schedule.kind == "grid", "CTAs search for the groups of their tiles: persistent"
    yield "schedule.prefetch", schedule.prefetch > 0, "only the device knows which tiles come first: 0"
    yield "schedule.pdl", schedule.pdl, "every task reads the groups' sizes, which the kernel before may write: false"
    yield "tasks.specialized", not spec.tasks.specialized, "tiles of groups have a producer: true"
    yield "tasks.load.by", spec.tasks.load.by != "tma", "operands of groups come by TMA: tma"
    text = "beyond the end of a group lie rows of the next; remove the key"
    yield "tasks.load.edge_rows", spec.tasks.load.edge_rows is not None, text
    if problem.scaling == "block":
        text = "a group's columns, or its K, may begin within a block that one number scales: m or none"
        yield "problem.vary", vary not in ("m", "none"), text
    if problem.scaling == "mx":
        text = "scales of rows of a group, or of batches, are in blocks of their own: m or none"
        yield "problem.vary", vary not in ("m", "none"), text
        text = "blocks of scales are counted group by group, in rows that follow one another: offs or split_sizes"
        yield "problem.given", problem.given not in ("offs", "split_sizes"), text
        for name, operand in (("a", problem.a), ("b", problem.b)):
            yield (
                f"problem.{name}.dtype",
                operand.dtype == "e2m1",
                "operands of groups have a value a byte: e4m3 or e5m2",
            )
    yield "epilogue.rounding", spec.epilogue.rounding == "stochastic", "C of groups is rounded to the nearest value"
    yield "problem.given", vary == "none" and problem.given != "offs", "nothing varies: remove the key"
    if problem.given == "masked_m":
        yield "problem.vary", vary != "m", "rows of A and C are masked: m"
        yield "problem.a.layout", problem.a.layout != "row", "masked rows lie one after another: row"
    if vary == "m":
        text = "TMA loads from multiples of 16 bytes on, and a group's rows begin anywhere: row"
        yield "problem.a.layout", problem.a.layout != "row", text
    if vary == "n":
        text = "TMA stores whole chunks of 16 bytes, and a group's columns end anywhere: direct"
        yield "epilogue.store", spec.epilogue.store != "direct", text
        gated = any(OPS[op].halves for op in spec.epilogue.ops)
        yield "epilogue.ops", gated, "a group's columns begin anywhere, and gate and up are two that lie together"
    if vary in ("k", "none"):
        yield "epilogue.store", spec.epilogue.store != "tma", "a C for each group leaves by TMA: tma"
        added = "residual" in spec.epilogue.ops or (vary == "k" and spec.epilogue.ops)
        yield "epilogue.ops", added, "a C for each group takes no residual, and gradients no operation"
    if vary == "k":
        yield "problem.a.layout", problem.a.layout != "col", "TMA ends with a group's K where that is rows of A.T: col"
        yield "problem.b.layout", problem.b.layout != "row", "TMA ends with a group's K where that is rows of B: row"
        turns = spec.tasks.mma.split == "pingpong"
        yield "tasks.mma.split", turns, "a replica does not know how many slots the other one's tile has: cooperative"
