"""Designs of GEMM kernels that hopper_matmul might ship: tiles, tasks, clusters and tails, and which shapes they fit.

`benchmarks/gemm_designs.py` times them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.gemm_times import Shape
from tlxgen.plan.pieces import form

# Shapes of `benchmarks/gemm_random.py`, seeds 15 to 17, on which hopper_matmul was behind, and others of their kind.
SHAPES: tuple[tuple[Shape, str], ...] = (
    ((8, 6512, 1712), "col row"), ((316, 1856, 6848), "row col"), ((4, 4096, 4096), "row col"),
    ((8, 3584, 3584), "col row"), ((1371, 3288, 3584), "row row"), ((278, 6144, 4096), "row col"),
    ((1, 512, 1152), "row col"), ((136, 5120, 27648), "row col"), ((16, 1152, 2048), "col row"),
    ((256, 4608, 3584), "row col"), ((81, 8192, 8192), "row col"), ((2, 8512, 896), "row col"),
    ((43, 3584, 18944), "row col"), ((24, 1792, 9568), "col row"), ((383, 7168, 2048), "row col"),
    ((16, 4608, 3584), "row col"), ((543, 1088, 1920), "row col"), ((3, 8064, 3328), "row col"),
    ((2510, 512, 4736), "row row"), ((128, 384, 9888), "row col"), ((8, 24576, 1536), "col row"),
    ((303, 5120, 5120), "row col"), ((4, 4288, 256), "row col"), ((107, 3584, 18944), "row col"),
    ((1001, 2072, 4096), "row row"), ((40, 1536, 512), "row col"), ((946, 5120, 13824), "row col"),
    ((47, 5120, 5120), "row col"), ((12, 2816, 576), "row col"), ((700, 3072, 3072), "row col"),
    ((250, 272, 7424), "row col"), ((8, 1920, 6912), "col row"), ((887, 6144, 2944), "row row"),
    ((99, 1920, 2032), "row col"), ((128, 3584, 3584), "row col"), ((7, 24576, 1536), "row col"),
)  # fmt: skip

COMMON: dict[str, Any] = {
    "cache.c": "evict_first",
    "rings.ab.empty": "warp",
    "rings.c.stages": 2,
    "schedule": {"pdl": True, "prefetch": 2},
    "tasks.load.edge_rows": 32,
    "tasks.mma.registers": None,
    "epilogue.subtiles": 4,
}
FEW = {"tasks.mma.exchange": True, "tasks.mma.replicate": 1, "epilogue.subtiles": 1, "rings.c.stages": 1}
HALVES = {"epilogue.subtiles": 2, "rings.c.stages": 1}
LAST = {"schedule.tail": "split", "schedule.fix_up": "last"}
EACH = {"schedule.tail": "split", "schedule.fix_up": "each"}
ONE_PART = {"tasks.mma.replicate": 1, "epilogue.subtiles": 1, "rings.c.stages": 1}
SINGLE = ((64, 128, 64, 6), (64, 256, 64, 4))
TWO = ((128, 128, 64, 6), (256, 128, 64, 4), (128, 256, 64, 4), (128, 64, 64, 8))
FEW_TILES = ((32, 64, 128, 8), (32, 128, 64, 8), (64, 64, 128, 6), (128, 64, 64, 8))
TALL = {**FEW, "rings.c.stages": 2}
SWAPPED = (
    *((96, 64, 128, 5), (128, 64, 64, 8), (160, 64, 64, 7), (192, 64, 64, 6), (224, 64, 64, 5), (256, 64, 64, 4)),
    *((96, 128, 64, 6), (128, 128, 64, 5), (160, 128, 64, 5), (192, 128, 64, 4)),
)
SHARED = (  # by two consumers, which have half of the columns each
    *((96, 128, 64, 6), (160, 128, 64, 5), (192, 128, 64, 4), (96, 256, 64, 4), (160, 256, 64, 4), (192, 256, 64, 3)),
)
PLAIN = {
    **FEW,
    "tasks": {"specialized": False, "mma": {"exchange": True, "warps": 4}},
    "schedule": {"pdl": True, "kind": "grid"},
}
PLAIN_DIRECT = {"tasks": {"specialized": False, "mma": {"warps": 4}}, "schedule": {"pdl": True, "kind": "grid"}}
PLAIN_STAY = {**PLAIN, "schedule": {"pdl": True}}
PLAIN_WIDE = {"tasks": {"specialized": False, "mma": {"warps": 8}}, "schedule": {"pdl": True, "kind": "grid"}}
TURNS_OF_TWO = {"tasks.mma.split": "pingpong"}
THREE = {"tasks.mma.replicate": 3}


def cluster(axis: str, ctas: int) -> dict[str, Any]:
    return {"cluster": {axis: ctas}, "rings.ab.empty": "leader"}


def along(axis: str, ctas: int) -> dict[str, Any]:
    """A cluster whose consumers release a slot with one arrival a thread."""
    return {"cluster": {axis: ctas}}


def deep(ctas: int) -> dict[str, Any]:
    """A cluster along K, whose CTAs have a part of one tile each."""
    schedule = {"pdl": True, "kind": "grid"}
    return {"cluster": {"k": ctas}, "schedule": schedule, "epilogue.subtiles": 1, "rings.c.stages": 1}


Where = Callable[[int, int, int, str], bool]  # by M, N, K and the layouts of A and B, "row col"


class Design(NamedTuple):
    values: dict[str, Any]
    tiles: tuple[tuple[int, int, int, int], ...]  # rows, columns, extent along K, slots
    where: Where


def rows(least: int, most: int, k: int = 1 << 30) -> Where:
    return lambda m, n, depth, a: least <= m <= most and depth <= k


def of_rows(least: int, a: str = "", b: str = "") -> Where:
    """For so many rows and more, of operands in these layouts; of any where none is said."""
    return lambda m, n, k, layout: m >= least and layout.startswith(a) and layout.endswith(b)


DESIGNS: dict[str, Design] = {
    # Few rows: tiles of 8 and 16, whole and cut, alone and in clusters; un-specialised.
    "narrow8": Design(FEW, ((8, 64, 128, 12),), lambda m, n, k, a: m <= 8 and a[:3] == "row"),
    "narrow8_last": Design({**FEW, **LAST}, ((8, 64, 128, 11),), lambda m, n, k, a: m <= 8 and a[:3] == "row"),
    "narrow16": Design(FEW, ((16, 64, 128, 10), (16, 128, 64, 11)), rows(1, 16)),
    "narrow16_last": Design({**FEW, **LAST}, ((16, 64, 128, 10),), rows(1, 16)),
    "narrow16_n4": Design({**FEW, **cluster("n", 4)}, ((16, 64, 128, 10),), rows(1, 16)),
    "narrow16_n8": Design({**FEW, **cluster("n", 8)}, ((16, 64, 128, 10),), rows(1, 16)),
    "narrow16_copies": Design(
        {**FEW, **LAST, "tasks.load.by": "pointers_a", "rings.ab.full": "separate"},
        ((16, 64, 128, 10), (16, 128, 64, 11)),
        lambda m, n, k, a: m <= 16 and a[:3] == "col",
    ),
    "plain16": Design(PLAIN, ((16, 64, 128, 4), (16, 64, 128, 8), (16, 128, 64, 8)), rows(1, 16, 1100)),
    "plain32": Design(PLAIN, ((32, 64, 128, 4), (32, 64, 128, 8), (32, 128, 64, 6)), rows(1, 32, 1100)),
    "plain64": Design(PLAIN, ((64, 64, 64, 6), (64, 64, 128, 4), (64, 128, 64, 6)), rows(17, 400, 1100)),
    "plain64_direct": Design(
        PLAIN_DIRECT, ((64, 64, 64, 6), (64, 128, 64, 6), (64, 128, 64, 4)), rows(33, 1 << 30, 1100)
    ),
    "plain128": Design(PLAIN_WIDE, ((128, 128, 64, 4), (128, 128, 64, 6), (128, 256, 64, 4)), rows(100, 1 << 30, 1100)),
    "plain_stay": Design(PLAIN_STAY, ((16, 64, 128, 8), (32, 64, 128, 8), (32, 128, 64, 6)), rows(1, 128, 1100)),
    # Clusters whose consumers send one arrival each.
    "few_n4_32": Design({**FEW, **cluster("n", 4)}, ((32, 64, 128, 8),), rows(1, 43)),
    "few_n4": Design({**FEW, **cluster("n", 4)}, ((64, 64, 128, 6),), rows(33, 400)),
    "few_n8": Design({**FEW, **cluster("n", 8)}, ((64, 64, 128, 6),), rows(33, 128)),
    "few_m2": Design({**FEW, **cluster("m", 2)}, ((64, 64, 128, 6), (64, 128, 64, 8)), rows(65, 700)),
    "pair_n2": Design(cluster("n", 2), ((128, 128, 64, 6), (128, 256, 64, 4)), rows(65, 3000)),
    "pair_m2": Design(cluster("m", 2), ((128, 128, 64, 6), (128, 256, 64, 4)), rows(129, 3000)),
    "pair_m4": Design(cluster("m", 4), ((128, 128, 64, 6),), rows(300, 3000)),
    "thirds_m2": Design(cluster("m", 2), ((128, 96, 64, 6), (128, 192, 64, 4)), rows(129, 3000)),
    "fifths_m2": Design(cluster("m", 2), ((128, 160, 64, 5),), rows(129, 3000)),
    "turns_m2": Design({**cluster("m", 2), **TURNS_OF_TWO}, ((128, 128, 64, 6),), rows(200, 3000)),
    "turns_n2": Design({**cluster("n", 2), **TURNS_OF_TWO}, ((128, 128, 64, 6),), rows(200, 3000)),
    "three_n2": Design({**cluster("n", 2), "tasks.mma.replicate": 3}, ((192, 128, 64, 5),), rows(129, 3000)),
    "three_m2": Design({**cluster("m", 2), "tasks.mma.replicate": 3}, ((192, 192, 64, 4),), rows(193, 3000)),
    # Fewer parts of C, each stored after the one before: 64 columns instead of 32.
    "halves": Design(HALVES, ((128, 192, 64, 4), (128, 96, 64, 6), (128, 128, 64, 6)), rows(65, 1 << 20)),
    "halves_turns": Design({**HALVES, **TURNS_OF_TWO}, ((128, 128, 64, 6),), rows(129, 1 << 20)),
    "halves_three": Design({**HALVES, "tasks.mma.replicate": 3}, ((192, 192, 64, 4),), rows(513, 1 << 20)),
    "halves_single": Design({**HALVES, "tasks.mma.replicate": 1}, ((64, 192, 64, 5), (64, 256, 64, 4)), rows(33, 2048)),
    # Two CTAs that share columns of B, or rows of A, of large tiles: what L2 delivers is less.
    "wide_m2": Design({**HALVES, **cluster("m", 2)}, ((128, 192, 64, 4),), rows(129, 1 << 20)),
    "wide_n2": Design({**HALVES, **cluster("n", 2)}, ((128, 192, 64, 4),), rows(129, 1 << 20)),
    "large_m2": Design(cluster("m", 2), ((128, 256, 64, 4), (256, 128, 64, 4)), rows(129, 1 << 20)),
    "large_n2": Design(cluster("n", 2), ((128, 256, 64, 4), (256, 128, 64, 4)), rows(129, 1 << 20)),
    # As much of C as two consumers have registers for: least is loaded for a product.
    **{
        f"huge{name}": Design(
            {"tasks.mma.registers": 232, **more}, ((256, 160, 64, 3), (256, 192, 64, 3)), rows(129, 1 << 20)
        )
        for name, more in {"": {}, "_m2": along("m", 2), "_n2": along("n", 2)}.items()
    },
    "large_thirds_m2": Design(
        {**HALVES, **cluster("m", 2), "tasks.mma.replicate": 3}, ((192, 192, 64, 4),), rows(513, 1 << 20)
    ),
    "single_m2": Design(
        {**HALVES, **cluster("m", 2), "tasks.mma.replicate": 1},
        ((64, 192, 64, 6), (64, 128, 64, 8), (64, 256, 64, 5)),
        rows(65, 700),
    ),
    "single_m4": Design(
        {**HALVES, **cluster("m", 4), "tasks.mma.replicate": 1},
        ((64, 192, 64, 6), (64, 128, 64, 8), (64, 256, 64, 5)),
        rows(129, 700),
    ),
    "few_m4": Design({**FEW, **cluster("m", 4)}, ((64, 64, 128, 6), (64, 128, 64, 8)), rows(129, 700)),
    "single_n2": Design({**cluster("n", 2), "tasks.mma.replicate": 1}, ((64, 128, 64, 7),), rows(33, 400)),
    # Tall tiles, one or two of which cover the rows; CTAs beside each other share these.
    "tall_three": Design(THREE, ((192, 64, 64, 6), (192, 96, 64, 5)), rows(97, 1100)),
    "tall_three_n2": Design({**THREE, **along("n", 2)}, ((192, 64, 64, 6), (192, 96, 64, 5)), rows(129, 600)),
    "tall_three_n4": Design({**THREE, **along("n", 4)}, ((192, 64, 64, 6), (192, 96, 64, 5)), rows(129, 600)),
    "tall_three_last": Design({**THREE, **LAST}, ((192, 64, 64, 6),), rows(129, 600)),
    "tall_two": Design({}, ((128, 64, 64, 8), (256, 64, 64, 5)), rows(97, 1100)),
    "tall_two_n4": Design(along("n", 4), ((128, 64, 64, 8), (256, 64, 64, 5)), rows(97, 600)),
    "tall_two_last": Design(LAST, ((128, 64, 64, 8), (256, 64, 64, 5)), rows(97, 600)),
    # Parts along K, added up by the last CTA of a tile, or by each that has one.
    "last_single": Design({**LAST, "tasks.mma.replicate": 1}, SINGLE, rows(33, 1100)),
    "last_two": Design(LAST, TWO, rows(65, 6000)),
    "last_three": Design({**LAST, **THREE}, ((192, 128, 64, 4),), rows(129, 6000)),
    "last_few": Design({**FEW, **LAST}, FEW_TILES, rows(1, 1100)),
    "each_single": Design({**EACH, "tasks.mma.replicate": 1}, SINGLE, rows(33, 1100)),
    "each_two": Design(EACH, TWO, rows(65, 2600)),
    "each_three": Design({**EACH, **THREE}, ((192, 128, 64, 4),), rows(129, 2600)),
    "each_few": Design({**FEW, **EACH}, FEW_TILES, rows(1, 1100)),
    # Clusters along K as they were timed first: those that ship stay for several tiles, and prefetch.
    "depth4_one": Design(
        {**deep(4), "tasks.mma.replicate": 1}, ((64, 64, 64, 9), (64, 128, 64, 5), (64, 128, 64, 6)), rows(1, 2000)
    ),
    "depth4_two": Design(deep(4), ((128, 64, 64, 6),), rows(1, 2000)),
    "depth2_one": Design(
        {**deep(2), "tasks.mma.replicate": 1}, ((64, 128, 64, 6), (64, 192, 64, 5), (64, 256, 64, 4)), rows(1, 2000)
    ),
    "depth2_two": Design(deep(2), ((128, 128, 64, 5), (256, 128, 64, 4), (128, 256, 64, 4)), rows(65, 2000)),
    "depth2_three": Design({**deep(2), **THREE}, ((192, 128, 64, 4),), rows(129, 2000)),
    "depth8_one": Design({**deep(8), "tasks.mma.replicate": 1}, ((64, 128, 64, 6),), rows(1, 2000)),
}


def swapped() -> Iterator[tuple[str, Design]]:
    """Tall tiles of one consumer, whose instructions have A's rows as columns, each for rows that fill it well."""
    for tile in dict.fromkeys((*SWAPPED, *SHARED)):
        values = TALL if form(tile[0]) else FEW
        made: dict[str, dict[str, Any]] = {"": {}, "_m2": along("m", 2), "_n2": along("n", 2), "_n4": along("n", 4)}
        cut = {f"_last{name}": {**LAST, **more} for name, more in made.items()}
        made |= cut | {f"_each{name}": {**EACH, **more} for name, more in made.items()}
        for name, more in made.items():
            high = tile[0] * (2 if name.endswith("_m2") else 1)

            def filled(m: int, n: int, k: int, a: str, high: int = high) -> bool:
                return 65 <= m <= 1100 and -(-m // high) * high <= max(1.25 * m, 96)

            if tile in SWAPPED:
                yield f"swap_{tile[0]}x{tile[1]}{name}", Design({**values, **more}, (tile,), filled)
            if tile in SHARED and not name.startswith(("_last", "_each")):
                registers = 232 if tile[0] * tile[1] > 128 * 128 * 2 else None
                two = {"tasks.mma.replicate": 2, "tasks.mma.registers": registers, "rings.c.stages": 1}
                yield f"swap2_{tile[0]}x{tile[1]}{name}", Design({**values, **more, **two}, (tile,), filled)


def side_by_side() -> Iterator[tuple[str, Design]]:
    """Parts along K in clusters, whose CTAs have the same part of tiles beside each other."""
    for name in (f"{tail}_{kind}" for tail in ("last", "each") for kind in ("single", "two", "three", "few")):
        for axis, ctas in (("m", 2), ("n", 2), ("m", 4), ("n", 4)):
            yield f"{name}_{axis}{ctas}", DESIGNS[name]._replace(values=DESIGNS[name].values | along(axis, ctas))


def whole() -> Iterator[tuple[str, Design]]:
    """One wgmma of all rows of A in a tile, or of all columns of B: any multiple of 8."""
    for consumers in (1, 2, 3):
        shared = 64 * consumers
        widths = [(w, 232448 - 1024 - 16384 * consumers) for w in range(72, 257 if consumers < 3 else 177, 8)]
        depths = [(w, min(8, room // ((w + shared) * 128))) for w, room in widths]
        axes = (("m", 2), ("n", 2), ("n", 4), ("m", 4))
        for name, more in {"": {}, **{f"_{axis}{ctas}": along(axis, ctas) for axis, ctas in axes}}.items():
            values: dict[str, Any] = {"tasks.mma.columns": "whole", "tasks.mma.replicate": consumers, **more}
            values |= {"rings.c.stages": 2, "epilogue.subtiles": 1, "tasks.load.edge_rows": None}
            tiles = tuple((w, shared, 64, stages) for w, stages in depths)
            exchanged = Design({**values, "tasks.mma.exchange": True}, tiles, of_rows(65, "row"))
            yield f"whole{consumers}{name}", exchanged
            tiles = tuple((shared, w, 64, stages) for w, stages in depths)
            yield f"broad{consumers}{name}", Design(values, tiles, of_rows(33, "", "col"))


def cut_whole() -> Iterator[tuple[str, Design]]:
    """One wgmma of all rows of A in a tile, down to 24, whose tiles are cut along K or whole, in clusters."""
    clusters = {"": {}, "_m2": {"m": 2}, "_n2": {"n": 2}, "_n4": {"n": 4}, "_2x4": {"m": 2, "n": 4}}
    few = (24, 32, 40, 48, 56, 64, 72)
    many = (80, 88, 96, 112, 128, 136, 144, 160, 176)
    for consumers, (name, ctas), layout in itertools.product((1, 2, 3), clusters.items(), ("row", "col")):
        values: dict[str, Any] = {"tasks.mma.columns": "whole", "tasks.mma.replicate": consumers, "cluster": ctas}
        values |= {
            "tasks.mma.exchange": True,
            "rings.c.stages": 2,
            "epilogue.subtiles": 1,
            "tasks.load.edge_rows": None,
        }
        for tail, more in (("cut", EACH if name else LAST), ("slim", {})):
            widths = few + (many if tail == "cut" else ())
            reach = [
                (w, w if layout == "row" else -(-w // 64) * 64) for w in widths if w <= (176 if consumers < 3 else 128)
            ]
            room, most = 229888 - 16384 * consumers, 12 if tail == "cut" else 16
            tiles = tuple((w, 64 * consumers, 64, min(most, room // (128 * (x + 64 * consumers)))) for w, x in reach)
            yield f"{tail}{consumers}{name}_{layout}", Design({**values, **more}, tiles, of_rows(17, layout))


def both_axes() -> Iterator[tuple[str, Design]]:
    """One wgmma of any width in clusters with CTAs along both axes, or along M, of tiles that are whole or cut."""
    axes: dict[str, dict[str, int]] = {"_2x1": {"m": 2}, "_4x1": {"m": 4}}
    axes |= {f"_{m}x{n}": {"m": m, "n": n} for m, n in ((2, 4), (4, 2), (2, 2))}
    for consumers, (name, ctas), side in itertools.product((1, 2), axes.items(), ("swap", "broad")):
        for layout, tail in itertools.product(("row", "col"), ("", "_each") if side == "swap" else ("",)):
            values: dict[str, Any] = {"tasks.mma.columns": "whole", "tasks.mma.replicate": consumers, "cluster": ctas}
            values |= {"rings.c.stages": 2, "epilogue.subtiles": 1, "tasks.load.edge_rows": None}
            values |= {"tasks.mma.exchange": True} if side == "swap" else {}
            near = layout == ("row" if side == "swap" else "col")
            widths = range(40 if near else 64, 177 if consumers < 2 else 209, 8 if near else 64)
            shared, tiles = 64 * consumers, []
            for width in widths:
                room = 231424 - 16384 * consumers - 1536 * consumers * bool(tail)
                stages = min(16, room // (128 * ((width if near else -(-width // 64) * 64) + shared)))
                tiles.append((width, shared, 64, stages) if side == "swap" else (shared, width, 64, stages))
            of = (layout, "") if side == "swap" else ("", layout)
            values |= EACH if tail else {}
            yield f"{side}{consumers}{name}{tail}_{layout}", Design(values, tuple(tiles), of_rows(65, *of))


GRID_KINDS: dict[str, tuple[dict[str, Any], tuple[tuple[int, int, int, int], ...]]] = {
    "64": (ONE_PART, ((64, 64, 64, 9), (64, 64, 64, 12), (64, 64, 128, 6))),
    "64_swap": (FEW, ((64, 64, 64, 9), (64, 64, 64, 12), (64, 64, 128, 6))),
    "64x128": ({**HALVES, "tasks.mma.replicate": 1}, ((64, 128, 64, 8),)),
    "128x64_swap": (FEW, ((128, 64, 64, 8),)),
    "two": (HALVES, ((128, 64, 64, 8), (128, 128, 64, 6))),
}


def grids() -> Iterator[tuple[str, Design]]:
    """Clusters with CTAs along M and along N, which share tiles of A and of B, on barriers of both or of each."""
    for (name, (values, tiles)), (m, n) in itertools.product(GRID_KINDS.items(), ((2, 2), (2, 4), (4, 2))):
        high = tiles[0][0] * m

        def filled(rows: int, columns: int, k: int, a: str, high: int = high) -> bool:
            return 33 <= rows <= 1100 and -(-rows // high) * high <= max(1.6 * rows, 128)

        for apart, full in {"": "shared", "_apart": "separate"}.items():
            for tail, more in {"": {}, "_each": EACH}.items():
                own = {**values, **more, "cluster": {"m": m, "n": n}, "rings.ab.full": full}
                yield f"grid2_{m}x{n}_{name}{apart}{tail}", Design(own, tiles, filled)


DESIGNS |= (*swapped(), *side_by_side(), *whole(), *cut_whole(), *both_axes(), *grids())
