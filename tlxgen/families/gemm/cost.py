"""What a GEMM costs: the work in a problem, and the model of time (model.py) for plans, to rank variants with.

The rates of the model are data (rates.json) that benchmarks/fit_gemm.py has fitted to measurements, and so is what it
is corrected by (correction.json), which benchmarks/learn_gemm.py has learned.
"""

from __future__ import annotations

import json
import math
import operator
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from tlxgen.arch import DTYPES, Sm100
from tlxgen.loading import MODEL, MODEL_C
from tlxgen.plan import Plan

from . import model
from .facts import GemmFacts
from .model import LINE, SECTOR, Correction, Gpu, Kernel, Rates, Types, contiguous, row_cost
from .model import estimate as microseconds
from .ops import OPS
from .spec import GemmSpec

Shape = tuple[int, ...]

TMA_BYTES = 16  # what a tile that TMA loads begins at a multiple of

# Square, wide, tall, skinny, few tiles, long K: what a GEMM meets in a model.
SHAPES: tuple[tuple[int, ...], ...] = (
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (8192, 1024, 8192),
    (1024, 8192, 8192),
    (512, 4096, 16384),
    (16384, 4096, 4096),
    (1024, 1024, 1024),
    (256, 8192, 8192),
    (64, 16384, 4096),
    (4096, 128, 4096),
)

# What users have, for choosing the kernels that a package has for shapes outside of its table: rows of A from one to
# those of a large batch, by layers of models and by extents that are no multiples of a tile, or of a line of L2.
USUAL_M = (1, 16, 48, 100, 256, 600, 1500, 4000, 10000)
USUAL_NK = (
    *((4096, 4096), (28672, 8192), (7168, 2048), (1536, 7168), (3584, 18944), (24576, 1536), (512, 4096), (1024, 512)),
    *((320, 1280), (1000, 2056), (2888, 5000), (5000, 712), (11000, 11000), (640, 15000), (14500, 3000), (768, 768)),
)
USUAL = tuple((m, n, k) for m in USUAL_M for n, k in USUAL_NK)
RATES_FILE = Path(__file__).with_name("rates.json")
CORRECTION_FILE = Path(__file__).with_name("correction.json")


def _read(file: Path) -> tuple[Rates, Gpu]:
    """The rates, and the device that they were measured on."""
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return Rates(**data["fitted"], **data["assumed"]), Gpu(**data["gpu"])


def _learned(file: Path) -> Correction:
    data = json.loads(file.read_text(encoding="utf-8"))
    return Correction(tuple(data["widths"]), tuple(map(float, " ".join(data["weights"]).split())))


RATES, MEASURED = _read(RATES_FILE)
CORRECTION = _learned(CORRECTION_FILE)


def flops(spec: GemmSpec, shape: Shape) -> float:
    """Floating-point operations, a multiply-add as two; the epilogue is not counted."""
    m, n, k = shape
    return 2.0 * m * n * k


def bytes_moved(spec: GemmSpec, shape: Shape) -> float:
    """Bytes that must cross to or from memory: A, B, C and what the epilogue reads, each once."""
    m, n, k = shape
    problem = spec.problem
    a, b, c = (DTYPES[x.dtype].value_bits / 8 for x in (problem.a, problem.b, problem.c))
    scales = (m + n) * k // Sm100.mx_block if problem.scaling == "mx" else 0
    stored = n / 2 if any(OPS[op].halves for op in spec.epilogue.ops) else n
    return float(m * k * a + k * n * b + scales + m * stored * c + m * n * 2 * ("residual" in spec.epilogue.ops))


def clocks(plan: Plan, shape: Shape, sms: int) -> float:
    """Estimated clocks of the plan's kernels on a problem (M, N, K) of contiguous operands."""
    return estimate(plan, sms)(shape)


def estimate(plan: Plan, sms: int) -> Callable[[Shape], float]:
    """`clocks` of one plan as a function of the shape. What the shape does not change is worked out here, once."""
    types = types_of(plan)
    time = microseconds(kernel_of(plan), types, MEASURED._replace(sms=sms), RATES)
    mhz = RATES.ghz * 1e3

    def clocks(shape: Shape) -> float:
        m, n, k = shape
        a_pitch, b_pitch = contiguous(types, m, n, k)
        return time(m, n, k, row_cost(a_pitch, RATES), row_cost(b_pitch, RATES)) * mhz

    return clocks


def types_of(plan: Plan) -> Types:
    """What the kernels of a function have in common."""
    facts = cast(GemmFacts, plan.facts)
    a, b = facts.operands
    return Types(
        *(a.k_bytes, b.k_bytes, facts.c_dtype.bytes, a.k_major, b.k_major),
        rows=128 if facts.tensor_memory else 64,
        promote=facts.promote,
        scaled=facts.block_scales,
    )


def kernel_of(plan: Plan) -> Kernel:
    """A plan as the model of time knows it."""
    facts = cast(GemmFacts, plan.facts)
    size = {p.name: int(p.value) for p in plan.parameters}
    rows, columns = size["BLOCK_M"], size["BLOCK_N"]
    return Kernel(
        tile=(*((columns, rows) if facts.exchange else (rows, columns)), size["BLOCK_K"]),
        stages=size["STAGES"],
        group_m=size["GROUP_M"],
        consumers=2 if facts.tensor_memory else facts.replicas,
        overlap=facts.pingpong or size.get("ACC_STAGES", 1) > 1,
        persistent=facts.source != "grid",
        cluster=(facts.cluster_m, facts.cluster_n, facts.cluster_k),
        split=size["SPLIT_K"],
        tail=_tail(facts),
        pdl=facts.pdl,
        in_flight=bool(facts.in_flight or facts.tensor_memory or facts.promote),
        direct=not facts.tma_store,
        ahead=facts.ahead if facts.tail else 16,
        swap=facts.exchange,
        whole=facts.whole,
        edge=max(o.edge for o in facts.operands),
        specialized=plan.specialized,
        load_by="pointers" + ("_" + facts.pointers[0]) * (len(facts.pointers) == 1) if facts.pointers else "tma",
    )


def work(plan: Plan, shape: Shape) -> tuple[int, int, int] | None:
    """Tiles of C, one a CTA, in whole clusters; tiles of K of all of them, and of one.

    None where CTAs share a K, and where threads copy what is multiplied: how long that takes is not known.
    """
    return None if cast(GemmFacts, plan.facts).groups else whole(plan, shape)


def whole(plan: Plan, shape: Shape, products: int = 1) -> tuple[int, int, int] | None:
    """The same of so many products of a shape."""
    facts, size = cast(GemmFacts, plan.facts), _sizes(plan)
    if facts.tail or facts.pointers or facts.cluster_k > 1 or size.get("SPLIT_K", 1) > 1:
        return None
    m, n, k = shape
    rows = math.ceil(m / (size["BLOCK_M"] * facts.cluster_m)) * facts.cluster_m
    columns = math.ceil(n / (size["BLOCK_N"] * facts.cluster_n)) * facts.cluster_n
    rounds, tiles = math.ceil(k / size["BLOCK_K"]), products * rows * columns
    return tiles, tiles * rounds, rounds


def sharing(plan: Plan, shape: Shape, sms: int, l2: int) -> tuple[float, float, float, float]:
    """Of what tiles of C load, the part that is different among so many that follow each other; the part of the tiles
    that load something that L2 of so many bytes does not have; and the parts of their rows that begin amid a line of
    L2, and amid a sector.

    That is A for the first tiles of a group of tile rows, as many as run at a time, and B for the first group, and for
    the others what of it has been replaced, which has the room that a group's rows of A leave.
    """
    facts, size = cast(GemmFacts, plan.facts), _sizes(plan)
    (m, n, k), high, wide = shape, size["BLOCK_M"], size["BLOCK_N"]
    rows, columns = math.ceil(m / high), math.ceil(n / wide)
    group = min(size["GROUP_M"] * facts.cluster_m, rows)
    a, b = (bytes_of * k for bytes_of in (m * facts.operands[0].k_bytes, n * facts.operands[1].k_bytes))
    kept, groups = _kept(b / max(1.0, l2 - a * group / rows)), math.ceil(rows / group)
    old_a, old_b = 1 - min(1.0, MEASURED.sms / (group * columns)), kept * (groups - 1) / groups
    down = min(group, sms)
    apart = (down * high + math.ceil(sms / down) * wide) / (sms * (high + wide))
    return apart, 1 - old_a * old_b, *_amid(facts, shape, (high, wide))


def _amid(facts: GemmFacts, shape: Shape, tile: tuple[int, int]) -> tuple[float, float]:
    """The parts of the rows of tiles that begin amid a line of L2, and amid a sector. Rows of a matrix follow each
    other; those of groups begin at any 16 bytes, the least that TMA can load from."""
    vary = facts.groups.vary if facts.groups else ""
    begin = []
    for factor, across in zip(facts.operands, "mn", strict=True):
        along = "k" if factor.k_major else across
        pitch = shape["mnk".index(along)] * factor.k_bytes
        begin.append(math.gcd(int(pitch), TMA_BYTES if along == vary else LINE))
    parts = [[1 - min(every, size) / size for every in begin] for size in (LINE, SECTOR)]
    weights = [extent * factor.k_bytes for extent, factor in zip(tile, facts.operands, strict=True)]
    line, sector = (sum(map(operator.mul, part, weights)) / sum(weights) for part in parts)
    return line, sector


def _kept(size: float) -> float:
    """What a cache that replaces lines at random keeps of data that is read over and over, `size` times as large.

    Between two reads of a line, all that were not kept replace another one each, which is this one with a probability
    of one over the lines of the cache.
    """
    kept = 0.0
    for _ in range(100):  # towards the fixed point from below
        kept = math.exp((kept - 1) * size)
    return kept if size > 1 else 1.0


def probes(plan: Plan, shape: Shape) -> tuple[Shape, Shape, Shape]:
    """A tile of C a CTA of a cluster, over twelve tiles of K and over twice as many, and four tiles, whatever the
    shape."""
    facts, size = cast(GemmFacts, plan.facts), _sizes(plan)
    m, n, k = size["BLOCK_M"] * facts.cluster_m, size["BLOCK_N"] * facts.cluster_n, 12 * size["BLOCK_K"]
    return (m, n, k), (m, n, 2 * k), (m, 4 * n, k)


def _sizes(plan: Plan) -> dict[str, int]:
    return {p.name: int(p.value) for p in plan.parameters}


def beside() -> dict[str, str]:
    """What lies beside the modules of a folder: the model with the rates, and the part of it that is in C."""
    path = Path(model.__file__)
    text, in_c = (x.read_text(encoding="utf-8") for x in (path, path.with_suffix(".c")))
    rows = "".join(f"    {name}={value:.6g},\n" for name, value in RATES._asdict().items())
    source = f"# What {MEASURED.name} was measured to do.\n"
    weights = "\n".join(textwrap.wrap(" ".join(f"{x:.4g}" for x in CORRECTION.weights), 116))
    numbers = f'tuple(map(float, """\n{weights}\n""".split()))'
    source += f"RATES = Rates(\n{rows})\nCORRECTION = Correction({CORRECTION.widths}, {numbers})\n"
    return {MODEL: f"{text}\n\n{source}", MODEL_C: in_c}


def _tail(facts: GemmFacts) -> str:
    if facts.helped:
        return "helped"
    if facts.mma_adds:
        return facts.fix_up
    return "split" if facts.tail else "whole"
