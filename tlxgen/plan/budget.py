"""Compares sums over the plan with the limits of its architecture; a variant over a limit is rejected with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tlxgen.arch import Sm100

from .model import Budget, Columns, Meeting, Plan, Reason, Role, Turn, Use
from .registers import RegisterSplit, split_registers
from .rings import Ring

# The compiler uses named barrier 0 for the default task, 1 for the switch loop and 2 + i for partition i.
# Source: fbtriton, ConvertWarpSpecializeToLLVM.cpp.
COMPILER_BARRIERS = 2
# fbtriton leaves optional scratch out of kernels with more SMEM than this, whatever the device has: measured, a GEMM of
# 246,148 B kept it, one of 262,532 B did not.
SPARE_BYTES = 256 * 1024
MAX_REGISTERS = 255  # registers a thread that an instruction can address


def partitions(roles: Sequence[Role]) -> list[Role]:
    """All tasks but the default one, in the order of the source. A role is repeated for each of its replicas."""
    return [r for role in roles if not role.default for r in [replace(role, replicas=1)] * role.replicas]


def padding(roles: Sequence[Role], group: int = 4) -> list[int]:
    """Warps of the empty partitions by which the compiler fills up the last warpgroup: powers of two, largest first."""
    missing = -sum(r.warps for r in partitions(roles)) % group
    return [size for size in (2, 1) if missing & size]


def first_free_barrier(plan: Plan) -> int:
    """The first named barrier that the kernel itself may use, for all values of its guards."""
    if not plan.specialized:
        return 1
    return COMPILER_BARRIERS + len(partitions(plan.possible_roles)) + len(padding(plan.possible_roles))


def assign_turns(plan: Plan) -> tuple[Turn, ...]:
    """Gives each turn its named barriers: one id a replica, counting the threads of the waiter and the arriver."""
    free, turns = first_free_barrier(plan), []
    for turn in plan.turns:
        if turn.kind == "named":
            # Two replicas use each id: the one that ends its turn arrives, and the one whose turn begins waits.
            turn = replace(turn, first_id=free, threads=2 * plan.role(turn.role).warps * plan.arch.warp_threads)
            free += turn.replicas
        turns.append(turn)
    return tuple(turns)


def warps_meet(plan: Plan) -> tuple[Meeting, ...]:
    """Where the warps of a role meet: after they read a tile in TMEM and before they store another tile in its place.

    A warp can access only the TMEM lanes of its rank in the warpgroup. In a role of two warpgroups, each takes half of
    a tile's columns, and the halves of the two tiles are at different columns. So one warpgroup could overwrite columns
    that the other has not read yet.
    """
    roles = {r.name: r for r in plan.roles}
    found = []
    for parent in (r for r in plan.rings if r.space == "tmem"):
        for ring in (r for r in plan.rings if r.slotwise and r.alias == parent.name):
            role = roles.get(ring.fill.role)
            reads = role and ring.fill.kind == "store" and any(d.role == role.name for d in parent.drains)
            if role and reads and role.warps > Sm100.lanes_warps:
                found.append(Meeting(f"{parent.name}_read", role.name, role.replicas))
    return tuple(found)


def assign_meetings(plan: Plan) -> tuple[Meeting, ...]:
    """Gives each meeting a named barrier, after those of the turns. Its count is the threads of all replicas."""
    free = first_free_barrier(plan) + sum(t.replicas for t in plan.turns if t.kind == "named")
    return tuple(
        replace(m, id=free + i, threads=m.replicas * plan.role(m.role).warps * plan.arch.warp_threads)
        for i, m in enumerate(plan.meetings)
    )


def register_split(plan: Plan) -> RegisterSplit:
    """How the compiler divides the register file among the tasks."""
    tasks = [(r.warps, r.registers) for r in partitions(plan.roles)]
    split = split_registers(plan.default_role.warps, tasks)
    limits = [x.maxnreg for x in plan.launches[:1] if x.maxnreg]
    return replace(split, maxnreg=min(split.maxnreg, *limits)) if limits else split


def register_file(plan: Plan) -> int:
    """Registers with which a CTA is launched. setmaxnreg only moves them between its tasks."""
    threads = next(b.used for b in plan.budgets if b.name == "threads")
    return register_split(plan).maxnreg * threads


def budgets(plan: Plan) -> tuple[Budget, ...]:
    """The plan's use of SMEM, threads, named barriers and, on an architecture that has it, TMEM."""
    arch = plan.arch
    return (
        Budget("SMEM", "B", arch.smem_bytes, _smem(plan)),
        Budget("threads", "threads", arch.max_threads, tuple(_threads(plan))),
        Budget("named barriers", "barriers", arch.named_barriers, tuple(_named_barriers(plan))),
        *([Budget("TMEM", "columns", arch.tmem_columns, tuple(_tmem(plan)))] if issubclass(arch, Sm100) else ()),
    )


def tmem_columns(plan: Plan) -> tuple[Columns, ...]:
    """The map of TMEM columns: first the buffers of rings that have buffers of their own, one after the other, then
    those of rings that alias others."""
    columns: list[Columns] = []
    for ring in (r for r in plan.rings if r.space == "tmem" and not r.alias):
        for tile in (t for t in ring.tiles if not t.view):
            for i in range(ring.slots.value * ring.banks * tile.groups):
                columns.append(Columns(f"{tile.name}[{i}]", _next_column(columns), tile.tmem_columns))
    for use in plan.compiler_tmem:
        columns.append(Columns(use.what, _next_column(columns), use.amount))
    return (*columns, *_overlays(plan, columns))


def _overlays(plan: Plan, columns: Sequence[Columns]) -> Iterator[Columns]:
    """The columns of a ring whose tiles alias those of another ring, slot by slot, from the other's first column on."""
    under = {c.what: c for c in columns}
    for parent in (r for r in plan.rings if r.space == "tmem" and not r.alias):
        behind = 0
        for ring in plan.overlays(parent):
            behind = behind if ring.behind else 0
            for tile in (t for t in ring.tiles if not t.view):
                count = tile.tmem_columns
                for i in range(parent.slots.value * parent.banks * tile.groups):
                    over = under[f"{parent.tiles[0].name}[{i // tile.groups}]"]
                    yield Columns(f"{tile.name}[{i}]", over.first + behind + i % tile.groups * count, count, over.what)
                behind += count * tile.groups


def _next_column(columns: Sequence[Columns]) -> int:
    return columns[-1].first + columns[-1].count if columns else 0


def _tmem(plan: Plan) -> Iterator[Use]:
    for ring in (r for r in plan.rings if r.space == "tmem"):
        mine = {t.name for t in ring.tiles}
        own = (c.count for c in plan.tmem if c.what.partition("[")[0] in mine and not c.over)
        yield Use(f"ring {ring.name}", sum(own))
    yield from plan.compiler_tmem


def _smem(plan: Plan) -> tuple[Use, ...]:
    needed = tuple(_needed_smem(plan))
    most = sum(use.amount for use in (*needed, *plan.spare_smem))
    return (*needed, *(plan.spare_smem if most <= SPARE_BYTES else ()))


def _needed_smem(plan: Plan) -> Iterator[Use]:
    for ring in plan.rings:
        yield Use(f"ring {ring.name}", ring.smem_bytes)
    barriers = sum(b.slots.value for b in plan.barriers)
    barriers += sum(t.replicas for t in plan.turns if t.kind == "mbarrier")
    yield Use(f"{barriers} mbarriers", barriers * plan.arch.mbarrier_bytes)
    yield from plan.compiler_smem


def _threads(plan: Plan) -> Iterator[Use]:
    for role in plan.roles:
        yield Use(role.name, role.threads)
    if padding(plan.roles):
        yield Use("padding", sum(padding(plan.roles)) * plan.arch.warp_threads)


def _named_barriers(plan: Plan) -> Iterator[Use]:
    yield Use("compiler", first_free_barrier(plan))
    for turn in plan.turns:
        if turn.kind == "named":
            yield Use(turn.name, turn.replicas)
    for meeting in plan.meetings:
        yield Use(meeting.name, 1)


def over_budget(plan: Plan) -> Iterator[Reason]:
    """Yields a reason for each limit that the plan exceeds."""
    for budget in plan.budgets:
        if budget.used > budget.limit:
            parts = ", ".join(f"{u.what} {u.amount}" for u in budget.uses if u.amount)
            over = budget.used - budget.limit
            if budget.name == "TMEM":
                parts = ", ".join(map(str, plan.tmem))
            text = f"needs {budget.used} of {budget.limit} {budget.unit}, {over} too many ({parts})"
            yield Reason(budget.name.lower().replace(" ", "-"), text)
    yield from _registers(plan)
    yield from _aliases(plan)
    yield from _orders(plan)
    for ring in plan.rings:
        for barrier in (ring.full_barrier, ring.empty_barrier, ring.ready_barrier):
            if barrier and barrier.bytes and barrier.bytes.value > plan.arch.mbarrier_count_max:
                text = (
                    f"{barrier.name} expects {barrier.bytes.value} B, an mbarrier counts {plan.arch.mbarrier_count_max}"
                )
                yield Reason("mbarrier-bytes", text)


def task_registers(plan: Plan) -> Iterator[Budget]:
    """The registers a thread that each role needs and gets, for roles whose `holds` is stated."""
    split = register_split(plan)
    for role in plan.roles:
        if role.holds.accumulator or role.holds.working:
            uses = (Use("accumulator", role.holds.accumulator), Use("beside it about", role.holds.working))
            yield Budget(f"registers of {role.name}", "a thread", _granted(plan, role, split), uses)


def _registers(plan: Plan) -> Iterator[Reason]:
    split = register_split(plan)
    if not split.applied and any(r.registers for r in plan.roles):
        yield Reason("registers", split.reason)
        return
    if plan.instruction_registers > split.maxnreg:
        text = (
            f"one wgmma needs {plan.instruction_registers} registers a thread; "
            f"{sum(u.amount for u in _threads(plan))} threads are compiled for {split.maxnreg}"
        )
        yield Reason("instruction", text)
    for role in plan.roles:
        held, granted = role.holds, _granted(plan, role, split)
        if held.accumulator + held.working <= granted:
            continue
        if held.accumulator:
            text = (
                f"{role.name} holds {held.accumulator} accumulator registers a thread and needs about "
                f"{held.working} more; it gets {granted}"
            )
            yield Reason("accumulator", text)
        else:
            yield Reason("registers", f"{role.name} needs about {held.working} registers a thread; it gets {granted}")


def _granted(plan: Plan, role: Role, split: RegisterSplit) -> int:
    if not split.applied:
        return min(split.maxnreg, MAX_REGISTERS)
    if role.default:
        return min(split.default or 0, MAX_REGISTERS)
    return split.partitions[[r.name for r in partitions(plan.roles)].index(role.name)]


def _aliases(plan: Plan) -> Iterator[Reason]:
    """Yields a reason for each ring that must not use another ring's buffers.

    An alias is allowed under three conditions. Its buffers have the shape and type of the first of the other ring; if
    reshaped, their banks have the same bytes. The role that fills the ring is the last reader of the other ring's
    buffer. That role releases the buffer only after the data that it stored there has been read.
    """
    for ring in (r for r in plan.rings if r.alias):
        parent = plan.ring(str(ring.alias))
        for text in _unshared(ring, parent) if ring.over else _unsafe(plan, ring, parent):
            yield Reason("alias", f"{ring.name} cannot take the buffers of {parent.name}: {text}")
    under = {c.what: c for c in plan.tmem}
    behind = {t.name for r in plan.rings if r.behind for t in r.tiles}
    for c in (c for c in plan.tmem if c.what.partition("[")[0] in behind):
        last = under[c.over].first + under[c.over].count - 1
        if c.first + c.count - 1 > last:
            yield Reason("alias", f"{c} ends behind column {last}, the last of {c.over}")


def _unsafe(plan: Plan, ring: Ring, parent: Ring) -> Iterator[str]:
    if ring.space != parent.space:
        yield f"{ring.space} against {parent.space}"
    # In TMEM each bank starts where its parent's bank starts; in SMEM the banks follow each other.
    root = _root(plan, parent)
    fits = ring.bank_bytes <= root.bank_bytes if ring.space == "tmem" else ring.bank_bytes == root.bank_bytes
    if ring.reshaped and (ring.banks != root.banks or not fits):
        banks = (f"{r.banks} banks of {r.bank_bytes} B" for r in (ring, root))
        yield " against ".join(banks)
    if not ring.reshaped and _shapes(ring) != _shapes(parent)[: len(ring.tiles)]:
        yield f"{', '.join(_shapes(ring))} against {', '.join(_shapes(parent))}"
    if not ring.reshaped and (ring.slots.value, ring.banks) != (parent.slots.value, parent.banks):
        counts = (f"{r.slots.value} slots in {r.banks} banks" for r in (ring, parent))
        yield " against ".join(counts)
    for drain in parent.drains:
        told = drain.via and not _untold(plan, drain.role, drain.via, ring.fill.role)
        # A product is issued after its role has heard; a copy may be issued ahead.
        in_order = told and ring.fill.kind == "commit"
        if ring.behind and (in_order or any(heard.role == drain.role for heard in ring.drains)):
            continue  # before it is filled, who reads the other releases it, or tells by the rings of `via`
        if (drain.role != ring.fill.role and not told) or drain.replicas * drain.ctas > 1:
            yield f"{drain.replicas * drain.ctas} x {drain.role} may still read them when {ring.fill.role} writes"
        elif drain.until != ring.name:
            yield f"{drain.role} releases them before {ring.name} has left"


def _root(plan: Plan, ring: Ring) -> Ring:
    """The ring at the end of `ring`'s chain of aliases: the owner of the buffers."""
    return _root(plan, plan.ring(ring.alias)) if ring.alias else ring


def _unshared(ring: Ring, parent: Ring) -> Iterator[str]:
    """Yields why `ring` and `parent` cannot share slots and barriers, with `ring` in the place of one of its tiles.

    Both rings must acquire, fill, read and release a slot in the same way. Only their tiles and bytes may differ, and
    the tiles of `ring` must fit.
    """
    for what in ("space", "fill", "drains", "empty", "banks"):
        mine, other = getattr(ring, what), getattr(parent, what)
        if mine != other:
            yield f"their slots are not used alike: {what} {mine} against {other}"
    if ring.slots.value != parent.slots.value:
        yield f"{ring.slots.value} slots against {parent.slots.value}"
    under = parent.tile(ring.over)
    for tile in ring.tiles:
        if tile.smem_bytes > under.smem_bytes:
            yield f"{tile.smem_bytes} B of {tile.name} against {under.smem_bytes} B of {under.name}"


def _orders(plan: Plan) -> Iterator[Reason]:
    """Yields a reason for each hand-off that has no barrier of its own and that no other ring's barriers imply."""
    for ring in plan.rings:
        yield from _unheard(plan, ring)
        for drain in ring.drains:
            if ring.name in drain.via and ring.slots.value < 2:
                text = "a CTA that is a use ahead fills the one slot while another waits for it: 2 are needed"
                yield Reason("order", f"{ring.name} goes back by its own full barrier: {text}")
            if drain.via and (text := _untold(plan, drain.role, drain.via, ring.fill.role)):
                yield Reason("order", f"a slot of {ring.name} goes back without a barrier: {text}")
            if drain.after and (text := _untold(plan, drain.after[0], drain.after[1:], drain.role)):
                yield Reason(
                    "order", f"{drain.role} releases a slot of {ring.name} that {drain.after[0]} reads: {text}"
                )


def _unheard(plan: Plan, ring: Ring) -> Iterator[Reason]:
    """A reason for each role that reads slots of several CTAs, which one of them fills, and does not tell of all."""
    for drain in ring.drains if ring.fill.kind == "commit" and ring.fill.ctas > 1 else ():
        heard = drain.ctas
        if drain.via:
            first = plan.ring(drain.via[0])
            heard = first.fill.cta_count if first.fill.role == drain.role else sum(d.ctas for d in first.drains)
        if drain.by != "once" and heard < ring.fill.cta_count:
            text = f"{ring.fill.role} fills the slots of {ring.name} in {ring.fill.ctas} CTAs"
            yield Reason("order", f"{text}, and hears from {drain.role} in {heard}")


def _untold(plan: Plan, start: str, via: Sequence[str], end: str) -> str:
    """Why the barriers of the rings `via` do not order what `start` has done before what `end` does; empty if they do.

    Each ring's full or empty barrier must lead from one role to the next, from `start` to `end`.
    """
    at = start
    for name in via:
        passed = plan.ring(name)
        drained = {d.role for d in passed.drains}
        if at == passed.fill.role and passed.full_barrier and len(drained) == 1:
            at = drained.pop()
        elif at in drained and passed.empty_barrier:
            at = passed.fill.role
        else:
            return f"{at} tells nobody by {name}"
    return "" if at == end else f"it is {at} that learns of it, not {end}"


def _shapes(ring: Ring) -> list[str]:
    return [f"{' x '.join(str(s.value) for s in t.shape)} {t.dtype.name}" for t in ring.tiles]
