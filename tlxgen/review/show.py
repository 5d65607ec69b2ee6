"""`tlxgen list` and `tlxgen show`: a spec's variants with reasons, and its plans with everything derived."""

from __future__ import annotations

from pathlib import Path

from tlxgen.errors import ReviewError
from tlxgen.families import Structure, kernels_of
from tlxgen.plan import Plan
from tlxgen.plan.budget import register_split

from .tables import Table, show


def print_variants(spec: Path, *, only_rejected: bool = False) -> None:
    """Prints every variant: kept with its structure and SMEM, rejected with its reasons."""
    kernels = kernels_of(spec)
    kept = Table(f"{len(kernels.kept)} kept", ("variant", "structure", "SMEM B", "registers"))
    if not only_rejected:
        for structure in kernels.structures:
            for variant in structure.variants:
                assert variant.plan
                kept.add(variant.label, structure.name, variant.plan.budgets[0].used, _registers(variant.plan))
    rejected = Table(f"{len(kernels.rejected)} rejected", ("variant", "reasons"))
    for variant in kernels.rejected:
        rejected.add(variant.label, "\n".join(variant.reasons))
    show([kept, rejected])


def print_plans(spec: Path, only: str | None = None) -> None:
    """Prints roles, rings, barriers and budgets of each structure, for its first config."""
    kernels = kernels_of(spec).some()
    names = [s.name for s in kernels.structures]
    if only is not None and only not in names:
        raise ReviewError(f"no structure {only!r} in {spec}", remedy=f"it has {', '.join(names)}")
    for structure in kernels.structures:
        if only in (None, structure.name):
            plan = structure.variants[0].plan
            assert plan
            print(f"{structure.name}: {len(structure.variants)} configs; the numbers: {structure.variants[0].label}\n")
            show(plan_tables(plan, structure))


def plan_tables(plan: Plan, structure: Structure | None = None) -> list[Table]:
    """Roles, rings, barriers, parameters and budgets of one plan."""
    columns = [_columns(plan)] if plan.tmem else []
    signals = [_signals(plan)] if plan.signals else []
    return [_roles(plan), _rings(plan), _barriers(plan), *signals, *columns, _parameters(plan), _budgets(plan)]


def _roles(plan: Plan) -> Table:
    table = Table("Roles", ("role", "warps", "replicas", "registers", "guard", "does, in order"))
    split = register_split(plan)
    for role in plan.roles:
        registers = role.registers or (f"{split.default} (left over)" if split.applied else split.maxnreg)
        table.add(role.name, role.warps, role.replicas, registers, role.guard or "", "; ".join(map(str, role.steps)))
    return table


def _rings(plan: Plan) -> Table:
    table = Table("Rings", ("ring", "slots", "banks", "tile", "dtype", "filled by", "drained by", "bytes of SMEM"))
    for ring in plan.rings:
        orders = {"copy": "in order with its MMAs", "async": "which waits for its copies"}
        itself = f"{ring.fill.role}, {orders.get(ring.fill.kind, 'by TMA store groups')}"
        drained = ", ".join(d.role for d in ring.drains) or itself
        for tile in ring.tiles:
            shape = " x ".join(str(s.value) for s in tile.shape)
            extent = f"{tile.name} {shape}" + (f" x {tile.groups}" if tile.groups > 1 else "")
            filled = f"{ring.fill.role}, by {ring.fill.means}"
            table.add(
                ring.name, ring.slots.value, ring.banks, extent, tile.dtype.name, filled, drained, ring.smem_bytes
            )
    return table


def _barriers(plan: Plan) -> Table:
    table = Table("Barriers", ("barrier", "kind", "how many", "count", "who arrives", "bytes a phase"))
    for bar in plan.barriers:
        size = f"{bar.bytes.value} = {bar.bytes}" if bar.bytes else ""
        table.add(bar.name, bar.kind, bar.slots.value, bar.count, bar.who, size)
    for ring in plan.rings:
        if ring.over and ring.full_barrier and (brought := ring.full_barrier.bytes):
            what = f"{ring.full_barrier.name}, a use of {ring.name}"
            table.add(what, "", "", "", "", f"{brought.value} = {brought}")
    for turn in plan.turns:
        ids = f"ids {turn.first_id}..{turn.first_id + turn.replicas - 1}" if turn.kind == "named" else turn.replicas
        table.add(turn.name, turn.kind, ids, turn.threads or 1, f"{turn.role}, the replica whose turn it was", "")
    for meeting in plan.meetings:
        who = f"{meeting.role} x {meeting.replicas} replicas, which wait for each other"
        table.add(meeting.name, "named", f"id {meeting.id}", meeting.threads, who, "")
    return table


def _signals(plan: Plan) -> Table:
    table = Table("Signals", ("signal", "words in global memory", "a tile", "scope", "arrivals and reset"))
    for s in plan.signals:
        table.add(s.name, s.pointer, s.words, s.scope, s.means)
    return table


def _columns(plan: Plan) -> Table:
    table = Table("TMEM", ("buffer", "first column", "last column", "columns", "in the place of"))
    for c in plan.tmem:
        table.add(c.what, c.first, c.first + c.count - 1, c.count, c.over)
    return table


def _parameters(plan: Plan) -> Table:
    table = Table("Parameters", ("name", "value", "in the source", "meaning"))
    for p in plan.parameters:
        table.add(p.name, p.value, "constant" if p.baked else "tl.constexpr", p.meaning)
    return table


def _budgets(plan: Plan) -> Table:
    table = Table("Budgets", ("resource", "used", "limit", "unit", "for"))
    for budget in plan.budgets:
        uses = ", ".join(f"{u.what} {u.amount}" for u in budget.uses if u.amount)
        table.add(budget.name, budget.used, budget.limit, budget.unit, uses)
    table.add("registers", _registers(plan), plan.arch.registers, "registers", "threads x registers a thread, an SM")
    return table


def _registers(plan: Plan) -> str:
    split = register_split(plan)
    if not split.applied:
        return f"{split.maxnreg} a thread"
    parts = [f"{plan.default_role.name} {split.default}"]
    parts += [f"{r.name} {r.registers}" for r in plan.roles if not r.default]
    return ", ".join(parts)
