"""What the tasks of a GEMM do, in order: their synchronisation, held against the source, and the rest in words."""

from __future__ import annotations

from collections.abc import Sequence

from tlxgen.plan import Step
from tlxgen.plan.pieces import BOXES, UNIT
from tlxgen.plan.steps import steps

from .facts import GemmFacts, Operand
from .ops import OPS


def load(facts: GemmFacts) -> tuple[Step, ...]:
    """The producer: fills the ring, and does what the tail asks of it."""
    if facts.pointers:
        return _copied(facts)
    after: dict[str, tuple[str, ...]] = {"split": ("await counts", ": add up a share of a tile that is left over")}
    after |= {"helped": ("await marks", "acquire ab", "expect ab", "load rest")}
    stay = facts.operand_rings if facts.pair else [o.ring for o in facts.operands if o.multicast]
    tell = steps("acquire item", "publish item") if facts.drawn else ()
    scaled = steps("load_wait", f"publish {facts.scaled_ring}") if facts.block_scales else ()
    drawn = (*steps("ask"), *tell, *steps("reset"), *(tell if facts.pingpong else ())) if facts.drawn else ()
    return (
        *steps("start" if facts.pdl else ""),
        *tell,
        *_fill(facts),
        *steps("load a_scale" if facts.block_scales else ""),
        *scaled,
        *steps(*after.get(_tail(facts), ())),
        *drawn,
        *_next(facts),
        *scaled,  # the last slots
        *steps(*(f"acquire {ring}" for ring in dict.fromkeys(stay))),  # until the last arrival of a peer CTA
    )


def _copied(facts: GemmFacts) -> tuple[Step, ...]:
    """A producer that copies itself: it publishes a slot some uses later, and the last ones at the end."""
    ring = facts.copied[0].ring
    publish = steps("load_wait", "fence", f"publish {ring}")
    loads = (*(f"load {o.name}" for o in facts.copied), *("load a_scale",) * facts.block_scales)
    asked = _fill(facts, facts.by_tma)
    return (*steps("start" if facts.pdl else ""), *asked, *steps(f"acquire {ring}", *loads), *publish, *publish)


def _tail(facts: GemmFacts) -> str:
    if facts.mma_adds:
        return facts.fix_up
    return "helped" if facts.helped else "split" if facts.tail else "whole"


def _next(facts: GemmFacts) -> tuple[Step, ...]:
    return steps("next" if facts.clc else "")


def _loaded(operand: Operand) -> tuple[str, ...]:
    """Its tiles, or boxes of the one that it ends in."""
    if operand.tile.unit == UNIT:
        return (operand.name, *(f"{operand.name}_{rows}" for rows in BOXES[1:]))
    return (*(tile.name for tile in operand.tiles), *(f"{operand.name}_edge",) * bool(operand.edge))


def _fill(facts: GemmFacts, operands: Sequence[Operand] | None = None) -> tuple[Step, ...]:
    """The loads by TMA, of all or of some operands."""
    asked = facts.loads if operands is None else operands
    found: tuple[Step, ...] = ()
    for ring in dict.fromkeys(o.ring for o in asked):
        loads = (f"load {name}" for o in asked if o.ring == ring for name in _loaded(o))
        found += steps(f"acquire {ring}", f"expect {ring}", *loads)
    return found


def _waits(facts: GemmFacts) -> tuple[Step, ...]:
    return steps(*(f"wait {ring}" for ring in facts.operand_rings))


def _releases(facts: GemmFacts) -> tuple[Step, ...]:
    return steps(*(f"release {ring}" for ring in facts.operand_rings))


def wgmma(facts: GemmFacts, order: str) -> tuple[Step, ...]:
    """A consumer on Hopper. `order`: of the turns of a pingpong pair."""
    hand = steps("hand mma_turn") if facts.pingpong else ()
    begins = hand or steps("hand mma_turn" if facts.pairs_in_turn else "")
    return (
        *steps(*("prefetch a", "prefetch b") if facts.prefetch else ()),
        *(begins if order == "named" else ()),  # the last replica's, so that the first begins
        *_hear(facts),
        *steps("take mma_turn" if facts.pingpong else ""),
        *_products(facts),
        *(hand if facts.in_flight else ()),
        *_settled(facts),
        *(() if facts.in_flight else hand),
        *_output(facts),
        *_hear(facts),
        *_shares(facts),
        *_last_stores(facts),
    )


def _hear(facts: GemmFacts) -> tuple[Step, ...]:
    """The number of the next tile, where the producer draws it."""
    return steps("wait item", "release item") if facts.drawn else ()


def _products(facts: GemmFacts) -> tuple[Step, ...]:
    """The K loop, but for the last products."""
    waits, releases = _waits(facts), _releases(facts)
    issued = facts.in_flight * len(facts.accumulators)
    settled = steps(*(f"wgmma_wait {acc} {issued}" for acc in facts.accumulators)) if issued else _last_products(facts)
    first = (*waits, *steps(*(f"multiply {acc}" for acc in facts.accumulators)), *settled, *releases)
    if not facts.promote:
        return first
    alone = (*waits, *steps("multiply products", "wgmma_wait products"), *releases, *steps(": add the products"))
    if not facts.paired:
        return (*first, *alone)
    take, hand = (steps(f"{verb} mma_turn" if facts.pairs_in_turn else "") for verb in ("take", "hand"))
    both = (*take, *waits, *steps("multiply products"), *waits, *steps("multiply next_products"), *hand)
    for name, after in (("products", 1), ("next_products", 0)):
        both = (*both, *steps(f"wgmma_wait {name} {after}"), *releases, *steps(f": add the {name}"))
    return (*first, *alone, *both)


def _settled(facts: GemmFacts) -> tuple[Step, ...]:
    return (*_last_products(facts), *_releases(facts)) if facts.in_flight else ()


def _last_products(facts: GemmFacts) -> tuple[Step, ...]:
    """Until those of the last slot are done, in the order of issue."""
    accs = facts.accumulators
    return steps(*(f"wgmma_wait {acc} {len(accs) - 1 - i}" for i, acc in enumerate(accs)))


def pipelined(facts: GemmFacts) -> tuple[Step, ...]:
    """The one task of the un-specialised form, which loads ahead of its own products."""
    fill, start = _fill(facts), steps("start" if facts.pdl else "")
    loop = (*_products(facts), *fill)
    return (*start, *fill, *loop, *_settled(facts), *_output(facts), *_last_stores(facts))


def _output(facts: GemmFacts) -> tuple[Step, ...]:
    """From sums in registers to C, or to where they are added up."""
    if _tail(facts) in ("split", "each"):
        return (*_store(facts), *_sums(facts), *steps("signal counts"))
    if _tail(facts) == "last":
        added = steps(": the last of a tile adds up its parts", *(f": {OPS[op].meaning}" for op in facts.ops))
        return (*_store(facts), *_sums(facts), *steps("signal counts"), *added, *steps(": store C from registers"))
    if _tail(facts) == "helped":
        helped = (*steps("wait ab", "release ab", ": add a helper's sums"), *_store(facts))
        return (*_store(facts), *helped, *_staged("sums"), *steps("signal marks"))
    if facts.cluster_k == 1:
        return _store(facts)
    goes_round = facts.persistent
    acquire, release = ("acquire part", "release part") if goes_round else ("", "")
    return (*steps(acquire, "expect part", "send part", "wait part", ": add up", release), *_store(facts))


def _shares(facts: GemmFacts) -> tuple[Step, ...]:
    """After all items: of each tile that this CTA has a part of, a share of the rows."""
    if not facts.each_adds:
        return ()
    added = steps(": add up a share of the tile's rows", *(f": {OPS[op].meaning}" for op in facts.ops))
    return (*steps("await counts"), *added, *steps(": store C from registers"))


def _store(facts: GemmFacts) -> tuple[Step, ...]:
    """A subtile of C: by the store task, by TMA, or from registers."""
    ops = steps(*(f": {OPS[op].meaning}" for op in facts.ops))
    if not facts.tma_store:
        return (*ops, *steps(": store C from registers"))
    if not (guard := facts.store_guard):
        return (*ops, *_stored(facts))
    return (*ops, *steps("acquire c", "fence", "publish c", when=guard), *_staged("c", when=f"not {guard}"))


def _stored(facts: GemmFacts) -> tuple[Step, ...]:
    """A subtile of C; and what rows or columns are left, where one wgmma has all of them."""
    left = () if not facts.whole else ("c_edge",) if facts.exchange else tuple(f"c_{n}" for n in facts.boxes[1:])
    return (*_staged("c"), *(_staged(*left) if left else ()))


def _sums(facts: GemmFacts) -> tuple[Step, ...]:
    """The sums over a part of K; and what rows are left, where one wgmma has all of them."""
    return (*_staged("sums"), *(_staged("sums_edge") if facts.whole else ()))


def _staged(*names: str, when: str = "") -> tuple[Step, ...]:
    return steps("store_wait C_STAGES - 1", "fence", *(f"store {name}" for name in names), when=when)


def _last_stores(facts: GemmFacts) -> tuple[Step, ...]:
    stay = steps("acquire part") if facts.cluster_k > 1 and facts.persistent else ()
    when = f"not {facts.store_guard}" if facts.store_guard else ""
    return (*stay, *(steps("store_wait", when=when) if facts.tma_store else ()))


def store(facts: GemmFacts) -> tuple[Step, ...]:
    """The store task."""
    stored = steps("wait c", "store c", "store_wait", "release c")
    return (*_hear(facts), *stored, *_hear(facts), *_next(facts))


def tcgen05(facts: GemmFacts) -> tuple[Step, ...]:
    """The warp that issues the products on Blackwell."""
    meet = steps(f"rendezvous {facts.operand_rings[0]}") if facts.protocol == "rendezvous" else ()
    copies = steps(*(f"copy {s.name}" for s in facts.scales if facts.scale_columns))
    products = (*_waits(facts), *meet, *copies, *steps("multiply acc"), *_releases(facts))
    stay = steps("acquire acc") if facts.protocol == "leader" else ()  # until the other CTA's last arrival
    return (*steps("acquire acc"), *products, *steps("publish acc"), *_next(facts), *stay)


def epilogue(facts: GemmFacts) -> tuple[Step, ...]:
    """The epilogue on Blackwell, which asks for tiles where no scheduler does."""
    when = f"not {facts.scheduler_guard}" if facts.scheduler_guard else ""
    ask = steps("ask", when=when) if facts.clc else ()
    return (*ask, *steps("wait acc", "release acc"), *_store(facts), *_next(facts), *_last_stores(facts))


def scheduler(facts: GemmFacts) -> tuple[Step, ...]:
    return (*steps("ask"), *_next(facts))
