"""A grouped GEMM with numbers in it: groups that are empty, of one row, odd and huge.

Imports torch; the rest of the family does not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.arch import DTYPES
from tlxgen.coverage import Waiver
from tlxgen.families.gemm import problem as gemm
from tlxgen.families.gemm.groups import EXTENTS, Groups
from tlxgen.families.gemm.problem import tolerance
from tlxgen.families.gemm.sizes import LEAST_PART
from tlxgen.families.kit.unseen import GRID

from .spec import GroupedGemmSpec

BEYOND = 5  # of the extent that groups share, what no group has at its end
ALIGNMENT = 128

Shape = tuple[int, int, int, int]
Tensors = dict[str, Any]

SHAPES: tuple[Shape, ...] = (
    (8, 256, 512, 256),
    (1, 1, 1, 8),
    (3, 1, 264, 40),
    (5, 77, 129, 200),
    (64, 9, 72, 33),
    (300, 2, 136, 77),
    (2, 1000, 1111, 520),
    (16, 330, 700, 96),
)


def shapes(spec: GroupedGemmSpec) -> tuple[Shape, ...]:
    """The shapes to check: the spec's own, and those that catch the usual faults."""
    own = tuple((int(g), int(m), int(n), int(k)) for g, m, n, k in spec.check.shapes)
    return tuple(dict.fromkeys(runnable(spec, shape) for shape in (*own, *SHAPES)))


def runnable(spec: GroupedGemmSpec, shape: Shape) -> Shape:
    """The shape, with N and K as a product of the spec can have them."""
    return shape[0], *gemm.runnable(spec, shape[1:])


def simulated_shapes(spec: GroupedGemmSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Problems that a CPU runs at once, as the spec can have them: one element; groups of some tiles, with K shorter
    than a tile, of three slots where products are promoted, and longer than the ring; more groups than CTAs, most of
    them empty or of a few rows; a group of more tile rows than are walked before the next column."""

    def shapes() -> Iterator[Shape]:
        m, n, k = (constants.get(f"BLOCK_{axis}", size) for axis, size in (("M", 128), ("N", 128), ("K", 64)))
        stages = constants.get("STAGES", 4)
        pair = spec.cluster.m if spec.arch == "sm100" else 1  # CTAs that share a tile of twice the rows
        yield 1, constants.get("GROUP_M", 8) * m * pair + 9, n + 7, k
        if spec.problem.vary == "k":
            yield from ((1, 1, 1, 1), (1, 1, 1, k + 1))
            yield 5, m + 8, n + 7, k - 3
            yield 3, 8, 2 * n - 8, (stages + 1) * k + 5
            if spec.schedule.tail == "split":  # few parts, of the group that has half; 8, or more on more SMs
                yield 5, 1, 2 * n - 8, 23 * k  # of which the first two seeds leave no room for another one
                yield from ((1, rows, n - 8, 9 * LEAST_PART * k) for rows in (1, m))
        elif spec.problem.vary == "n":
            yield 1, 1, 1, k
            yield 4, m + 3, n - 9, k + k // 2
            yield 9, 2 * m, 8, (stages + 1) * k - 8
        else:
            yield 1, 1, 1, k
            yield 4, m - 9, n + 7, k + k // 2
            if spec.tasks.mma.promote:
                yield 2, m - 3, n - 9, 3 * k
            yield 3, m + 7, 2 * n - 8, (stages + 1) * k - 8
            yield 3 * sms, 5, n, k

    return (runnable(spec, shape) for shape in shapes())


def unseen(spec: GroupedGemmSpec) -> Iterator[Waiver]:
    """What no run can exercise, and why."""
    if spec.problem.vary in ("k", "none"):  # else the host function does not know how many there are
        yield GRID
    elif spec.schedule.kind == "clc":
        yield Waiver(
            ("no-item",), "", "a CTA begins with the number that it is launched for, whether that is an item or not"
        )
    why = "an empty group has a tile of K, of zeros" if spec.problem.vary == "k" else "without K nothing is launched"
    yield Waiver(("no-round",), r"for k in (tl\.)?range\(k_tiles\b", why)


def groups_of(spec: GroupedGemmSpec) -> Groups:
    return Groups(spec.problem.vary, spec.problem.given)


def sizes(groups: int, total: int) -> torch.Tensor:
    """So much of each group that there is `total` in all: one has half, one nothing, one 1, all others some."""
    cuts = torch.sort(torch.randint(0, total // 2 + 1, (groups - 1,))).values
    if groups > 3:
        cuts[2] = cuts[1]
        cuts[0] = min(1, int(cuts[1]))
    ends = torch.cat([torch.zeros(1, dtype=torch.int64), cuts, torch.tensor([total])])
    return ends.diff()[torch.randperm(groups)]


def inputs(spec: GroupedGemmSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the host function, by name. What lies between rows is NaN."""
    g, *mean = shape
    groups, means = groups_of(spec), dict(zip("mnk", mean, strict=True))
    vary = groups.vary
    mine = sizes(g, g * means.get(vary, 0)) if groups.searched else torch.zeros(g, dtype=torch.int64)
    if groups.given == "masked_m":
        mine = torch.randint(0, 2 * means["m"] + 1, (g,))
    return filled(spec, g, means, mine, device)


def filled(spec: GroupedGemmSpec, g: int, extents: dict[str, int], mine: torch.Tensor, device: torch.device) -> Tensors:
    """The same for given sizes of the groups."""
    groups = groups_of(spec)
    vary, given = groups.vary, groups.given
    made: Tensors = {given: _said(given, mine).to(device=device, dtype=torch.int32)} if groups.searched else {}
    if groups.searched:
        end = int(made["split_sizes"].sum()) if given == "split_sizes" else int(made[given][-1])
        extents = extents | {vary: 2 * extents["m"] if given == "masked_m" else end + BEYOND}
    for name, operand in (("a", spec.problem.a), ("b", spec.problem.b)):
        rows, columns = (extents[x] for x in EXTENTS[name])
        tensor = _matrices(
            g if name in groups.apart else 0, rows, columns, operand.dtype, operand.layout == "row", device
        )
        if vary == "k":  # beyond rows or columns of groups it may be read, and lie beside results: numbers show there
            tensor.narrow(EXTENTS[name].index("k"), end, BEYOND).fill_(float("nan"))
        made[name] = tensor
    made = {name: made[name] for name in ("a", "b", given) if name in made}
    if given == "psum":
        made["alignment"] = ALIGNMENT
    if spec.problem.scaling == "mx":  # of a matrix each, in which scales follow one another as rows do
        a_rows = extents["m"] * (1 if groups.searched else g)
        made["a_scale"] = gemm.scales(a_rows, extents["k"], device)
        made["b_scale"] = gemm.scales(g * extents["n"], extents["k"], device).unflatten(0, (g, -1))
        if not groups.searched:
            made["a_scale"] = made["a_scale"].unflatten(0, (g, -1))
    if spec.problem.scaling == "block":
        lead = (g,) if "a" in groups.apart else ()
        made |= gemm.block_scales((*lead, extents["m"]), (g, extents["n"]), extents["k"], device)
    rows = g * extents["m"] if given == "masked_m" else extents["m"]
    for op in spec.epilogue.ops:
        made |= _operands(op, groups, g, rows, extents["n"], device)
    return made


def _said(given: str, mine: torch.Tensor) -> torch.Tensor:
    """What the caller says of groups of these sizes."""
    if given == "psum":
        room = -(-mine // ALIGNMENT) * ALIGNMENT
        return room.cumsum(0) - room + mine
    return mine.cumsum(0) if given == "offs" else mine


def _matrices(groups: int, rows: int, columns: int, dtype: str, row_major: bool, device: torch.device) -> torch.Tensor:
    """A matrix, or one for each group, in rows that TMA can address."""
    if not row_major:
        return _matrices(groups, columns, rows, dtype, True, device).mT
    count = max(groups, 1) * rows
    made = gemm.matrix(count, columns, DTYPES[dtype], device, torch.randn(count, columns, device=device))
    return made.unflatten(0, (groups, rows)) if groups else made


def _operands(op: str, groups: Groups, g: int, rows: int, columns: int, device: torch.device) -> Tensors:
    """What an operation takes: vectors along what the groups share, or one for each group."""
    made = gemm.operands(op, rows, columns, device)
    for name, tensor in made.items():
        if name in groups.vectors:
            each = [tensor, *(gemm.operands(op, rows, columns, device)[name] for _ in range(g - 1))]
            made[name] = torch.cat(each) if name == "scale" else torch.stack(each)
    return made


def launch(
    module: ModuleType, spec: GroupedGemmSpec, shape: Shape, tensors: Tensors, config: Any
) -> tuple[dict[str, torch.Tensor], int]:
    """Runs the host function; gives what each group has of C, and how many elements were written elsewhere."""
    a, b, groups = tensors["a"], tensors["b"], groups_of(spec)
    g = len(tensors[groups.given]) if groups.searched else len(a)
    rows = (g, a.shape[-2]) if groups.vary in ("k", "none") else a.shape[1:2] if groups.vary == "n" else a.shape[:-1]
    columns = gemm.c_columns(spec, b.shape[-1])
    kept = torch.zeros(*rows, columns, dtype=torch.bool, device=a.device)
    for part in of_groups(spec, tensors, kept).values():
        part.fill_(True)
    given = arguments(module, spec, tensors)
    c, strays = gemm.launched(module, spec, given, tuple(rows), columns, config, kept.flatten(0, -2))
    return of_groups(spec, tensors, c), strays


def arguments(module: ModuleType, spec: GroupedGemmSpec, tensors: Tensors) -> Tensors:
    """The host function's: the problem's tensors, MX scales of each group packed as the hardware takes them."""
    if spec.problem.scaling != "mx":
        return tensors
    packed = {
        name: [module.pack_scales(x) for x in tensors[name]]
        for name in ("a_scale", "b_scale")[groups_of(spec).searched :]
    }
    made = {name: torch.stack([x.flatten() for x in each]) for name, each in packed.items()}
    if "a_scale" not in made:
        own = [module.pack_scales(part["a_scale"]).flatten() for part in parts(spec, tensors)]
        blocks = tensors["a_scale"].new_zeros(512 * -(-tensors["a"].shape[1] // 128))  # where no group has rows, one
        made["a_scale"] = torch.cat([*own, blocks]).view(-1, len(blocks) // 128)
    return tensors | made


def of_groups(spec: GroupedGemmSpec, t: Tensors, c: torch.Tensor) -> dict[str, torch.Tensor]:
    """What each group has of C, by name."""
    groups = groups_of(spec)
    parts: Iterable[torch.Tensor]
    if groups.given == "masked_m":
        parts = (c[i, begin:end] for i, (begin, end) in enumerate(places(groups, t)))
    elif groups.vary == "m":
        parts = (c[begin:end] for begin, end in places(groups, t))
    elif groups.vary == "n":
        parts = (c[:, begin:end] for begin, end in places(groups, t))
    else:
        parts = c
    return {f"c[{i}]": part for i, part in enumerate(parts) if part.numel()}


def places(groups: Groups, t: Tensors) -> list[tuple[int, int]]:
    """Where each group begins and ends in what groups share, as the caller says it; masked ones, in their matrix."""
    said = t[groups.given].tolist()
    if groups.given == "masked_m":
        return [(0, rows) for rows in said]
    if groups.given == "split_sizes":
        return list(zip(itertools.accumulate([0, *said]), itertools.accumulate(said), strict=False))
    before = [0, *said[:-1]]
    return [
        (-(-b // ALIGNMENT) * ALIGNMENT if groups.given == "psum" else b, e) for b, e in zip(before, said, strict=True)
    ]


def reference(spec: GroupedGemmSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """What each group has of C, in float64, and the norm that its error is relative to."""
    found = (gemm.after(spec, gemm.product(spec, part), part) for part in parts(spec, t))
    return {f"c[{i}]": made for i, made in enumerate(found) if made[0].numel()}


def parts(spec: GroupedGemmSpec, t: Tensors) -> Iterator[Tensors]:
    """Of all arguments what each group has."""
    groups = groups_of(spec)
    if not groups.searched:
        yield from ({name: x[i] for name, x in t.items()} for i in range(len(t["a"])))
        return
    along = {
        "m": {"a": 0, "residual": 0, "scale_a": 0, "a_scale": 0},
        "n": {"b": 1, "residual": 1, "bias": 0, "scale_b": 0},
    }
    along["k"] = {"a": 1, "b": 0}
    each = {*groups.apart, *groups.vectors, "b_scale"} | ({"a_scale"} if "a" in groups.apart else set())
    for i, (begin, end) in enumerate(places(groups, t)):
        part = {name: x[i] if name in each else x for name, x in t.items()}
        for name, axis in along[groups.vary].items():
            if name in part:
                first = i * t["a"].shape[1] if groups.given == "masked_m" and name not in each else 0
                part[name] = part[name].narrow(axis, first + begin, end - begin)
        yield part


__all__ = ["inputs", "launch", "reference", "shapes", "simulated_shapes", "tolerance", "unseen"]
