"""`tlxgen show`: prints the complete plans of a spec, for one variant of each structure or for any variant."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tlxgen.errors import ReviewError
from tlxgen.families import Kernels, kernels_of
from tlxgen.files import require_outputs, write_atomic
from tlxgen.plan import Plan
from tlxgen.plan.budget import register_file, register_split, task_registers
from tlxgen.record import head
from tlxgen.words import counted

from .choose import Shown, choose
from .extra import require
from .plans import facts
from .registers import per_task
from .tables import Table, key, show


def print_plans(
    spec: Path,
    only: str | None = None,
    settings: Sequence[str] = (),
    *,
    as_json: bool = False,
    svg: Path | None = None,
) -> None:
    """Prints roles, rings, barriers and budgets of each structure for its first config, or draws them into `svg`.

    With `settings` (`tile.m=128`) the config is the first that matches them, or a rejected variant that does. If no
    variant is left, it prints the first with a plan, then raises NoVariantError. Raises ReviewError for an unknown
    structure or variant.
    """
    if svg:
        require_outputs({"--svg": svg})
        require("networkx", "pictures of plans")
    kernels, chosen = choose(spec, settings) if settings else _first(spec)
    names = [s.name for s in kernels.structures]
    if only is not None and only not in names:
        raise ReviewError(f"no structure {only!r} in {spec}", remedy=f"it has {', '.join(names) or 'none'}")
    chosen = [c for c in chosen if only is None or (c.structure and c.structure.name == only)]
    for one in chosen:
        if one.variant.plan is None:
            text = f"{one.variant.label} has no plan: {'; '.join(one.variant.reasons)}"
            raise ReviewError(text, remedy="keys that do not go together have no plan to show")
    if svg:
        write_atomic(svg, _picture(kernels.name, chosen))
        told = counted(len(chosen), "picture") + f" of {kernels.name}"
        print(f"wrote {svg}: {told}")
    elif as_json:
        print(json.dumps({**head("show"), "name": kernels.name, "plans": [_record(c) for c in chosen]}, default=str))
    else:
        for one in chosen:
            assert one.variant.plan
            print(f"{_heading(one)}\n")
            show(plan_tables(one.variant.plan))
    if not settings:
        kernels.some()


def _picture(name: str, chosen: Sequence[Shown]) -> bytes:
    from .picture.draw import page  # draws with networkx, which comes with an extra

    plans = []
    for one in chosen:
        assert one.variant.plan
        heading, _, note = _heading(one).partition("; the numbers: " if one.structure else "\n")
        plans.append((heading, note or one.variant.label, facts(one.variant.plan)))
    return page(f"tlxgen show: {name}", plans)


def _first(spec: Path) -> tuple[Kernels, list[Shown]]:
    """The first variant of each structure or, if none is left, the first variant with a plan."""
    kernels = kernels_of(spec)
    kept = [Shown(s.variants[0], s, len(s.variants)) for s in kernels.structures]
    return kernels, kept or [Shown(v, None, kernels.rejections) for v in kernels.unfit[:1]]


def _heading(shown: Shown) -> str:
    label, structure = shown.variant.label, shown.structure
    if not structure:
        others = f" (the first of {shown.agree} that agree, all rejected)" if shown.agree > 1 else ""
        return "\n    ".join([f"rejected: {label}{others}", *shown.variant.reasons])
    agree = f", {shown.agree} of which agree" if shown.agree < len(structure.variants) else ""
    return f"{structure.name}: {len(structure.variants)} configs{agree}; the numbers: {label}"


def _record(shown: Shown) -> dict[str, Any]:
    """A plan as data: the rows of each table, with the columns' names as keys."""
    assert shown.variant.plan
    return {
        "structure": shown.structure.name if shown.structure else None,
        "values": shown.variant.values,
        "reasons": shown.variant.reasons,
        **{key(table.title): table.records for table in plan_tables(shown.variant.plan)},
    }


def plan_tables(plan: Plan) -> list[Table]:
    """The tables of a plan: roles, rings, barriers, parameters and budgets."""
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
    table = Table("Budgets", ("resource", "used", "limit", "unit", "left", "for"))
    for budget in (*plan.budgets, *task_registers(plan)):
        uses = ", ".join(f"{u.what} {u.amount}" for u in budget.uses if u.amount)
        left = budget.limit - budget.used
        table.add(budget.name, budget.used, budget.limit, budget.unit, left if left >= 0 else f"{-left} too many", uses)
    split = register_split(plan)
    used = register_file(plan)
    held = f"{split.maxnreg} a thread at launch, then {per_task(plan)}" if split.applied else per_task(plan)
    table.add("register file", used, plan.arch.registers, "registers", plan.arch.registers - used, held)
    return table
