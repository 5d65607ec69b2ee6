"""What in a gemm spec does not go together: rules that span keys, each with the key that is blamed."""

from __future__ import annotations

from collections.abc import Iterator

from tlxgen.arch import ARCHS, DTYPES
from tlxgen.families.kit import faults
from tlxgen.plan.pieces import BOX, UNIT, form
from tlxgen.spec import Fault

from .axes import AXES
from .keys import GemmKeys
from .ops import OPS
from .sizes import SCALE_BLOCK

PIECED = (96, 160, 192, 224)  # columns of an instruction that are shared by products of 32 or more
ONLY_SM100 = "this is of sm100: sm90 has no tensor memory, no CLC, no MX and no cvt.rs"
MOST_CTAS = 8  # of a cluster that any GPU takes: more are not portable
WITH_TENSORS = ("bias", "residual", "scale", "scale_rowwise")


def of(spec: GemmKeys) -> list[Fault]:
    """Every fault of the spec."""
    tasks = _hopper(spec) if spec.arch == "sm90" else _blackwell(spec)
    return [*_shared(spec), *tasks, *_operands(spec), *_cluster(spec), *_epilogue(spec)]


def _shared(spec: GemmKeys) -> Iterator[Fault]:
    """What any family may get wrong: names, registers, guards, tile extents."""
    optional = {"tasks.epilogue.guard": spec.tasks.epilogue, "tasks.scheduler.guard": spec.tasks.scheduler}
    store = spec.tasks.epilogue.registers if spec.tasks.epilogue else None
    yield from faults.name(spec)
    yield from faults.registers({"tasks.mma.registers": spec.tasks.mma.registers, "tasks.epilogue.registers": store})
    yield from faults.guards(spec, AXES, of={path: task.guard for path, task in optional.items() if task})
    yield from faults.powers_of_two(spec, ("tile.k",), "a tile extent")
    yield from _rows(spec)
    yield from _columns(spec)


def _rows(spec: GemmKeys) -> Iterator[Fault]:
    """Blocks of Triton are powers of two: a tile of three consumers is put together from three of them.

    Where rows are the columns of an instruction, products share those that are no power of two.
    """
    shared = spec.tasks.specialized and spec.tasks.mma.split == "cooperative" and spec.tasks.mma.replicate == 3
    if spec.arch == "sm90" and spec.tasks.mma.exchange:
        if form(spec.tile.m):
            yield from _shared_by_products(spec, "m", "rows")
    elif not shared:
        yield from faults.powers_of_two(spec, ("tile.m",), "a tile extent")
    elif spec.tile.m != 192:
        yield ("tile", "m"), f"three consumers have 64 rows each: a tile of 192, not of {spec.tile.m}"


def _columns(spec: GemmKeys) -> Iterator[Fault]:
    """On sm90 products share the columns of a tile that are no power of two."""
    if not form(spec.tile.n):
        return
    if spec.arch != "sm90":
        yield from faults.powers_of_two(spec, ("tile.n",), "a tile extent")
    elif spec.tasks.mma.columns != "whole":  # else `_beside_whole` says which
        if spec.tasks.mma.exchange:
            why = "columns of C are rows of the instruction, of which each product has all: false"
            yield ("tasks", "mma", "exchange"), f"tile.n is {spec.tile.n}: {why}"
        yield from _shared_by_products(spec, "n", "columns")


def _shared_by_products(spec: GemmKeys, axis: str, what: str) -> Iterator[Fault]:
    """Rows or columns of a tile that are no power of two: which there are, and what they do not go with."""
    extent = getattr(spec.tile, axis)
    if spec.tasks.mma.columns == "whole":
        return  # `_beside_whole` says which
    if extent not in PIECED:
        some = ", ".join(map(str, PIECED))
        yield ("tile", axis), f"{what} of a tile are a power of two, or shared by products: {some}, not {extent}"
    else:
        yield from faults.where(
            *((path, broken, f"tile.{axis} is {extent}: {why}") for path, broken, why in _beside_pieces(spec))
        )


def _beside_pieces(spec: GemmKeys) -> Iterator[tuple[str, object, str]]:
    """What does not go with several accumulators."""
    yield "tasks.mma.promote", spec.tasks.mma.promote, "products are promoted into one accumulator: false"
    yield "tasks.load.by", spec.tasks.load.by != "tma", "a copy is of one block, which is a power of two: tma"
    cut = spec.schedule.tail != "whole" and not spec.tasks.mma.exchange
    yield "schedule.tail", cut, "sums over a part of K are those of one accumulator: whole"
    yield "cluster.k", spec.cluster.k > 1, "CTAs send each other slices of one accumulator: 1"


def _beside_whole(spec: GemmKeys) -> Iterator[tuple[str, object, str]]:
    """What does not go with one wgmma of all columns, whose blocks lie one after the other in a slot."""
    a, mma = spec.problem.a, spec.tasks.mma
    wide = DTYPES[a.dtype].bytes != 2 or a.dtype != spec.problem.b.dtype
    replicas = mma.replicate if spec.tasks.specialized else 1
    columns, rows = ("m", "n") if mma.exchange else ("n", "m")
    extent = getattr(spec.tile, columns)
    least = UNIT if mma.exchange else BOX  # blocks of rows of C leave alone
    yield f"tile.{columns}", extent % UNIT or extent < least, f"a multiple of {UNIT}, at least {least}"
    share = getattr(spec.tile, rows) != 64 * replicas
    yield f"tile.{rows}", share, f"each consumer has the 64 rows of a wgmma: {64 * replicas}"
    yield "tile.k", spec.tile.k != 64, "a row of a slot is a line of 128 bytes: 64"
    yield "tasks.mma.split", mma.split != "cooperative", "consumers share a tile: cooperative"
    if not mma.exchange:
        yield "epilogue.subtiles", spec.epilogue.subtiles != 1, "boxes of columns are stored one after the other: 1"
    yield "problem.a.dtype", wide, "values have 16 bits: bf16 or fp16"
    yield "tasks.mma.warps", mma.warps != 4, "a wgmma is of one warpgroup: 4"
    yield "tasks.load.by", spec.tasks.load.by != "tma", "boxes are loaded by TMA: tma"
    cut = spec.schedule.tail != "whole" and not mma.exchange
    yield (
        "schedule.tail",
        cut,
        "sums of parts are stored by blocks of rows of C: whole",
    )
    yield "schedule.split_k", spec.schedule.split_k > 1, "sums of parts are not made of blocks: 1"
    yield "cluster.k", spec.cluster.k > 1, "CTAs along k send each other slices of sums, not blocks of them: 1"
    yield "epilogue.store", spec.epilogue.store != "tma", "blocks leave by TMA: tma"
    halving = [op for op in spec.epilogue.ops if OPS[op].halves]
    yield "epilogue.ops", halving, f"boxes of C have half of the columns: no {', '.join(halving)}"
    yield "tasks.epilogue", spec.tasks.epilogue is not None, "consumers store their blocks: no store task"


def _hopper(spec: GemmKeys) -> list[Fault]:
    """What sm90 cannot do, and what of its tasks does not go together."""
    mma, found = spec.tasks.mma, list[Fault]()
    here = "on sm90 the TMA producer is the default task"
    found += faults.foreign(
        *((path, there, ONLY_SM100) for path, there in _only_sm100(spec).items()),
        ("tasks.load.default", not spec.tasks.load.default, here),
        ("tasks.mma.warps", mma.warps == 1, "wgmma is issued by warpgroups: 4 or 8 warps, not 1"),
    )
    if mma.promote and not DTYPES[spec.problem.a.dtype].is_fp8:
        text = f"wgmma adds up products of {spec.problem.a.dtype} in fp32: there is nothing to promote"
        found.append((("tasks", "mma", "promote"), text))
    if mma.promote and not spec.tasks.specialized:
        found.append((("tasks", "mma", "promote"), "sums are promoted by consumers: tasks.specialized must be true"))
    if mma.promote and mma.in_flight and "in_flight" in mma.model_fields_set:
        found.append((("tasks", "mma", "in_flight"), "a slot's products are promoted when they are done: 0"))
    if not spec.tasks.specialized:
        if spec.cluster.m * spec.cluster.n * spec.cluster.k > 1:
            found.append((("cluster",), "the CTAs of a cluster need a producer each: tasks.specialized must be true"))
        if spec.tasks.epilogue:
            found.append((("tasks", "epilogue"), "a store task needs tasks.specialized: true"))
        if mma.split == "pingpong":
            found.append((("tasks", "mma", "split"), "pingpong needs two specialised consumers"))
        if "replicate" in mma.model_fields_set and mma.replicate != 1:
            found.append((("tasks", "mma", "replicate"), "the un-specialised form has one task: replicate is 1"))
    elif mma.split == "pingpong":
        if mma.replicate != 2:
            found.append((("tasks", "mma", "replicate"), f"pingpong is played by 2 replicas, not {mma.replicate}"))
        if spec.schedule.kind not in ("persistent", "dynamic"):
            text = "pingpong alternates between tiles: it needs schedule.kind persistent or dynamic"
            found.append((("schedule", "kind"), text))
    if spec.schedule.kind == "dynamic":
        found += [
            (tuple(path.split(".")), f"schedule.kind is dynamic: {why}") for path, why in _against_a_counter(spec)
        ]
    if (tail := spec.schedule.tail) != "whole":
        found += [(tuple(path.split(".")), f"schedule.tail is {tail}: {why}") for path, why in _beside_a_tail(spec)]
    elif spec.schedule.fix_up != "after":
        found.append((("schedule", "fix_up"), "only tiles that are cut have parts: schedule.tail must be split"))
    if tail == "helped" and spec.schedule.fix_up != "after":
        found.append((("schedule", "fix_up"), "whom a helper helps adds up its sums: schedule.tail must be split"))
    if spec.schedule.fix_up == "each" and mma.split == "pingpong":
        text = "consumers of a CTA have a share of the same tiles, and wait together: cooperative"
        found.append((("tasks", "mma", "split"), f"schedule.fix_up is each: {text}"))
    if mma.exchange:
        found += [(tuple(path.split(".")), f"tasks.mma.exchange: {why}") for path, why in _beside_an_exchange(spec)]
    if mma.columns == "whole":
        found += faults.where(
            *((path, broken, f"tasks.mma.columns is whole: {why}") for path, broken, why in _beside_whole(spec))
        )
    if spec.schedule.prefetch and spec.tasks.specialized:  # else nothing is prefetched
        found += [(("schedule", "prefetch"), why) for why in _against_a_prefetch(spec)]
    if spec.problem.scaling == "block":
        found += [(tuple(path.split(".")), f"problem.scaling is block: {why}") for path, why in _block_scaled(spec)]
    if (by := spec.tasks.load.by) != "tma":
        found += [(tuple(path.split(".")), f"tasks.load.by is {by}: {why}") for path, why in _beside_pointers(spec)]
    elif spec.tasks.load.warps != 4:
        found.append((("tasks", "load", "warps"), "one thread asks TMA for tiles, of a task of 4 warps"))
    return found


def _block_scaled(spec: GemmKeys) -> Iterator[tuple[str, str]]:
    """What does not go with scales of blocks."""
    for name, operand in (("a", spec.problem.a), ("b", spec.problem.b)):
        if not DTYPES[operand.dtype].is_fp8:
            yield f"problem.{name}.dtype", f"scales are those of fp8, not of {operand.dtype}"
    if not spec.tasks.mma.promote:
        yield "tasks.mma.promote", "products are scaled as they are added to the sums: true"
    if spec.tile.k != SCALE_BLOCK:
        yield "tile.k", f"a slot has the products that one scale is for: {SCALE_BLOCK}"
    if spec.tile.n > SCALE_BLOCK:
        yield "tile.n", f"all columns of a tile have one scale: at most {SCALE_BLOCK}"
    if spec.schedule.tail != "whole":
        yield "schedule.tail", "consumers know where K begins for whole tiles alone: whole"
    if spec.schedule.split_k > 1:
        yield "schedule.split_k", "consumers know where K begins for whole tiles alone: 1"
    if spec.cluster.k > 1:
        yield "cluster.k", "consumers know where K begins for whole tiles alone: 1"
    if spec.tasks.mma.exchange:
        yield "tasks.mma.exchange", "rows of the accumulator are rows of A: false"


def _beside_pointers(spec: GemmKeys) -> Iterator[tuple[str, str]]:
    """What does not go with operands that a task copies itself."""
    if not spec.tasks.specialized:
        yield "tasks.specialized", "a task of its own copies: true"
    if spec.cluster.m * spec.cluster.n * spec.cluster.k > 1:
        yield "cluster", "a CTA copies for itself: no cluster"
    both, shared = spec.tasks.load.by == "pointers", spec.rings.ab.full == "shared"
    if both and not shared:
        yield "rings.ab.full", "A and B of a slot are published together: shared"
    if shared and not both:
        yield "rings.ab.full", "TMA says when one operand is there, and the producer when the other is: separate"
    if spec.schedule.kind == "dynamic":
        yield "schedule.kind", "a producer that copies draws no tiles: persistent"
    if spec.schedule.tail == "split" and spec.schedule.fix_up == "after":
        yield "schedule.fix_up", "a producer that copies has no registers left to add up parts: last"
    if spec.schedule.tail == "helped":
        yield "schedule.tail", "a helper's sums come by TMA, in A's place: whole or split"


def _against_a_counter(spec: GemmKeys) -> Iterator[tuple[str, str]]:
    """What does not go with tiles that a CTA draws."""
    if not spec.tasks.specialized:
        yield "tasks.specialized", "the producer draws tiles and tells the consumers: true"
    if spec.cluster.m * spec.cluster.n * spec.cluster.k > 1:
        yield "cluster", "a CTA draws tiles for itself: no cluster"
    if spec.tasks.epilogue and spec.guards.get(spec.tasks.epilogue.guard) == "keep":
        path = f"guards.{spec.tasks.epilogue.guard}"
        yield path, "how many tasks hear of a tile is a constant of the source; remove the key"


def _against_a_prefetch(spec: GemmKeys) -> Iterator[str]:
    """Why there is nothing to ask L2 for ahead."""
    if not spec.schedule.pdl:
        yield "L2 is asked while the kernel before still runs: schedule.pdl must be true"
    if spec.schedule.kind != "persistent":
        yield "CTAs that come later would ask for what has been read long since: schedule.kind must be persistent"
    if spec.schedule.split_k > 1:
        yield "a CTA that is early has any part of K: split_k must be 1"


def _beside_an_exchange(spec: GemmKeys) -> Iterator[tuple[str, str]]:
    """What does not go with an accumulator that is a turned tile of C."""
    mma = spec.tasks.mma
    most = 3 if mma.columns == "whole" else 2
    if spec.tasks.specialized and (mma.replicate > most or mma.split == "pingpong"):
        yield "tasks.mma.replicate", "consumers have the columns of a tile, or half of them: 1, or 2 that cooperate"
    elif spec.tasks.specialized and mma.replicate > 1:
        two = "each of several consumers has columns of a tile, and of its sums"
        if spec.schedule.tail != "whole" and mma.columns != "whole":
            yield "schedule.tail", f"{two}: whole"
        if spec.tasks.load.by != "tma":
            yield "tasks.load.by", "copies are of tiles of one consumer: tma"
        if spec.tasks.epilogue:
            yield "tasks.epilogue", "consumers have columns of a tile, and store them: no store task"
    if spec.cluster.k > 1:
        yield "cluster.k", "CTAs send each other slices of columns, which are rows of the accumulator: 1"
    if spec.schedule.tail == "helped":
        yield "schedule.tail", "a helper's sums would have to lie turned in A's place: whole or split"
    if spec.epilogue.subtiles != 1:
        yield "epilogue.subtiles", "slices of C's columns are rows of the accumulator, of several warps: 1"


def _beside_a_tail(spec: GemmKeys) -> Iterator[tuple[str, str]]:
    """What does not go with tiles that are left over and cut along K."""
    drawn = getattr(spec.problem, "vary", "") == "k" and spec.schedule.kind == "dynamic"  # parts of groups may be
    if spec.schedule.kind != "persistent" and not drawn:
        yield "schedule.kind", "only CTAs that stay have tiles that are left over: persistent"
    if not spec.tasks.specialized:
        yield "tasks.specialized", "the un-specialised form walks whole tiles: true"
    yield from _beside_cut_clusters(spec)
    if spec.schedule.split_k > 1:
        yield "schedule.split_k", "split_k cuts every tile already: 1"
    if spec.tasks.epilogue:
        yield "tasks.epilogue", "the consumers themselves store sums: no store task"
    if spec.epilogue.store != "tma":
        yield "epilogue.store", "sums leave by TMA from where C does: tma"
    if spec.schedule.tail == "helped" and spec.rings.ab.full == "separate":
        yield "rings.ab.full", "a slot of the ring brings a helper's sums as it brings A and B: shared"


def _beside_cut_clusters(spec: GemmKeys) -> Iterator[tuple[str, str]]:
    """What does not go with CTAs of a cluster that share loads of the same part of K of their tiles."""
    ctas, alone = spec.cluster.m * spec.cluster.n, "the parts of a tile are for CTAs of their own: no cluster"
    if spec.cluster.k > 1:
        yield "cluster.k", "cluster.k cuts every tile already: 1"
    if ctas > 1 and (spec.schedule.tail == "helped" or hasattr(spec.problem, "vary")):  # of groups
        yield "cluster", alone
    elif ctas > 1 and spec.schedule.fix_up == "after":
        yield "cluster", f"{alone}, or schedule.fix_up last or each"


def _only_sm100(spec: GemmKeys) -> dict[str, bool]:
    return {
        "tasks.scheduler": spec.tasks.scheduler is not None,
        "rings.acc": "acc" in spec.rings.model_fields_set,
        "schedule.kind": spec.schedule.kind == "clc",
        "cluster.protocol": "protocol" in spec.cluster.model_fields_set,
        "epilogue.interleave": spec.epilogue.interleave,
        "epilogue.subtiles": spec.epilogue.subtiles == 8,
        "problem.scaling": spec.problem.scaling == "mx",
        "epilogue.rounding": spec.epilogue.rounding == "stochastic",
    }


def _blackwell(spec: GemmKeys) -> list[Fault]:
    """What sm100 does otherwise than sm90, and what of its tasks does not go together."""
    tasks, mma, cluster = spec.tasks, spec.tasks.mma, spec.cluster
    clc = spec.schedule.kind == "clc"
    rules = (
        ("tasks.specialized", not tasks.specialized, "tcgen05 has a warp of its own: tasks.specialized is true"),
        ("tasks.load.default", tasks.load.default, "the epilogue is the default task"),
        ("tasks.load.by", tasks.load.by != "tma", "operands come by TMA"),
        ("problem.scaling", spec.problem.scaling == "block", "scales of blocks are those of MX: mx"),
        ("tasks.load.warps", tasks.load.warps != 4, "the producer asks TMA for tiles, by one thread"),
        (
            "tasks.load.edge_rows",
            tasks.load.edge_rows is not None,
            "a tile comes as one box: nothing else was measured",
        ),
        ("tasks.mma.warps", mma.warps != 1, f"one thread issues tcgen05: 1 warp, not {mma.warps}"),
        ("tasks.mma.replicate", mma.replicate > 2, f"a tile has 1 or 2 row groups, not {mma.replicate}"),
        ("tasks.mma.split", mma.split == "pingpong", "accumulators in tensor memory overlap MMA and epilogue"),
        ("tasks.mma.order", "order" in mma.model_fields_set, "no replicas take turns"),
        ("tasks.mma.promote", mma.promote, "tcgen05 accumulates in fp32"),
        ("tasks.mma.columns", mma.columns is not None, "the columns of a tile are a power of two, and one product's"),
        ("tasks.mma.in_flight", "in_flight" in mma.model_fields_set, "the tensor core itself releases a slot"),
        ("rings.ab.empty", spec.rings.ab.empty == "warp", "the tensor core releases a slot, and arrives once: leader"),
        ("schedule.kind", spec.schedule.kind == "dynamic", "the hardware hands out tiles without a counter: clc"),
        ("cluster.n", cluster.n > 1, "two CTAs multiply together along M: cluster.m"),
        ("cluster.m", cluster.m > 2, f"two CTAs multiply together, not {cluster.m}"),
        ("cluster.k", cluster.k > 1, "K is cut by schedule.split_k"),
        ("schedule.tail", spec.schedule.tail != "whole", "tiles that are left over stay whole: clc shares them out"),
        ("tasks.mma.exchange", mma.exchange, "A's rows fill the instruction, as nothing else has been measured: false"),
        ("schedule.fix_up", "fix_up" in spec.schedule.model_fields_set, "no tile is cut along K: clc shares them out"),
        (
            "schedule.prefetch",
            spec.schedule.prefetch > 0,
            "prefetch is not supported here, as it has not been measured: 0",
        ),
        ("cluster.multicast", cluster.multicast is not None, "two CTAs that multiply together load half of B each"),
        (
            "tasks.scheduler",
            tasks.scheduler and not clc,
            "the tiles of this schedule.kind need no scheduler: clc does",
        ),
        (
            "epilogue.interleave",
            spec.epilogue.interleave and mma.replicate != 2,
            "it is two row groups that store in turns",
        ),
    )
    return faults.foreign(*((path, broken, f"on sm100 {why}") for path, broken, why in rules))


def _operands(spec: GemmKeys) -> list[Fault]:
    return [*_types(spec), *(_scaled(spec) if spec.problem.scaling == "mx" else _layouts(spec))]


def _layouts(spec: GemmKeys) -> list[Fault]:
    a, b, found = spec.problem.a, spec.problem.b, list[Fault]()
    transposable = ARCHS[spec.arch].transposable
    rule = "wgmma reads fp8 operands K-major only"
    if not transposable(DTYPES[a.dtype]) and a.layout != "row":
        found.append((("problem", "a", "layout"), f"A of {a.dtype} must be row-major: {rule}"))
    if not transposable(DTYPES[b.dtype]) and b.layout != "col":
        found.append((("problem", "b", "layout"), f"B of {b.dtype} must be column-major: {rule}"))
    return found


def _scaled(spec: GemmKeys) -> list[Fault]:
    """What MX scales ask for."""
    found: list[Fault] = []
    if spec.tasks.mma.replicate != 1:
        found.append((("tasks", "mma", "replicate"), "with MX scales a tile is one row group"))
    if spec.problem.a.layout != "row" or spec.problem.b.layout != "col":
        found.append((("problem", "scaling"), "MX scales lie along K: A is row-major, B column-major"))
    return found


def _types(spec: GemmKeys) -> list[Fault]:
    """Which types go together, with MX scales and without."""
    types = {name: DTYPES[operand.dtype] for name, operand in (("a", spec.problem.a), ("b", spec.problem.b))}
    a, b = types.values()
    if spec.problem.scaling == "mx":
        return [
            (("problem", n, "dtype"), f"MX scales fp8 and fp4, not {t.name}") for n, t in types.items() if not t.is_mx
        ]
    found: list[Fault] = []
    if "scale" in spec.rings.model_fields_set:
        found.append((("rings", "scale"), "there are no scales: problem.scaling is none"))
    packed = [n for n, t in types.items() if t.values > 1]
    for name in packed:
        found.append((("problem", name, "dtype"), "e2m1 comes with scales: problem.scaling must be mx"))
    if not packed and (a.bits != b.bits or (a != b and not a.is_fp8)):
        found.append((("problem", "b", "dtype"), f"tensor cores cannot multiply {a.name} by {b.name}"))
    return found


def _cluster(spec: GemmKeys) -> list[Fault]:
    m, n, multicast = spec.cluster.m, spec.cluster.n, spec.cluster.multicast
    if spec.arch == "sm100":
        return []
    if spec.cluster.k > 1:
        return list(_along_k(spec))
    if m * n > MOST_CTAS:
        return [(("cluster", "n"), f"any GPU takes clusters of {MOST_CTAS} CTAs, not of {m} x {n}")]
    if m > 1 and n > 1:
        text = "CTAs along n share tiles of a, and those along m tiles of b: both are multicast; leave it out"
        one = multicast is not None and {*multicast} != {"a", "b"}
        return [(("cluster", "multicast"), text)] if one else []
    shared = "b" if m > 1 else "a" if n > 1 else None
    found: list[Fault] = []
    for operand in multicast or ():
        if shared is None:
            found.append(
                (("cluster", "multicast"), "multicast needs a cluster of several CTAs (cluster.m or cluster.n)")
            )
        elif operand != shared:
            axis = "m" if m > 1 else "n"
            text = f"CTAs along {axis} hold different tiles of {operand}: only {shared} can be multicast"
            found.append((("cluster", "multicast"), text))
    if multicast is not None and not multicast and shared:
        found.append((("cluster", "multicast"), "a cluster that multicasts nothing does nothing: leave it out"))
    return found


def _along_k(spec: GemmKeys) -> Iterator[Fault]:
    """What does not go with a cluster whose CTAs share a tile of C."""
    if spec.cluster.m * spec.cluster.n > 1:
        yield ("cluster", "k"), "the CTAs of a cluster lie along K, or along M and N"
    if spec.cluster.multicast:
        yield ("cluster", "multicast"), "CTAs along k load different parts of both operands: none can be multicast"
    if spec.schedule.split_k > 1:
        yield ("schedule", "split_k"), "cluster.k cuts K already: split_k is 1"
    if spec.tasks.epilogue:
        yield ("tasks", "epilogue"), "a CTA of a cluster along K stores its slice of the tile itself"
    if spec.epilogue.subtiles != 1:
        yield ("epilogue", "subtiles"), "a CTA of a cluster along K stores its slice of the tile whole: subtiles is 1"


def _epilogue(spec: GemmKeys) -> list[Fault]:
    found: list[Fault] = []
    for i, op in enumerate(spec.epilogue.ops):
        if op in WITH_TENSORS and op in spec.epilogue.ops[:i]:
            found.append((("epilogue", "ops", i), f"{op} takes its own tensor and can be used once"))
    halving = [i for i, op in enumerate(spec.epilogue.ops) if OPS[op].halves]
    found += [
        (("epilogue", "ops", i), "C has half of the columns from here on: last")
        for i in halving[:1]
        if i + 1 < len(spec.epilogue.ops)
    ]
    if halving and spec.schedule.split_k > 1:
        found.append((("schedule", "split_k"), "the reduction adds up columns of C, of which gate and up make one: 1"))
    if halving and spec.schedule.tail != "whole":
        found.append(
            (("schedule", "tail"), "sums take the place of C, and of gate and up there are twice as many: whole")
        )
    if spec.epilogue.rounding == "stochastic" and spec.problem.c.dtype == "fp32":
        found.append((("epilogue", "rounding"), "C in fp32 is what the accumulator is: there is nothing to round"))
    if spec.epilogue.store == "direct" and spec.tasks.epilogue:
        found.append((("epilogue", "store"), "the store task stores by TMA: epilogue.store must be tma"))
    return found
