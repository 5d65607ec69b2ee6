"""One structure to the text of its module: Jinja, then the libcst passes, then black. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlxgen import __version__
from tlxgen.families import Structure
from tlxgen.plan import Plan

from . import environment, passes

LINE_LENGTH = 120


@dataclass(frozen=True)
class ConfigRow:
    """An entry of CONFIGS as it is printed."""

    kwargs: str
    options: str


@dataclass(frozen=True)
class Module:
    """What the templates' common part is told about the module that they make."""

    title: str
    version: str
    provenance: tuple[tuple[str, str], ...]
    configs: tuple[ConfigRow, ...]
    arguments: tuple[tuple[str, str], ...]
    tuned: tuple[tuple[tuple[int, ...], int], ...] = ()  # shape class -> entry of CONFIGS


def render(
    structure: Structure,
    *,
    title: str,
    provenance: Mapping[str, str],
    templates: Path,
    template: str,
    for_people: bool = True,
) -> str:
    """The source of `structure`, formatted if it is to be read: that takes twice as long as all the rest.

    `provenance` goes into the header as it is given; it must not hold a date, a host or a path of a machine.
    """
    rows = tuple(config_row(v.plan) for v in structure.variants if v.plan)
    module = Module(
        title, __version__, tuple(provenance.items()), rows[:1], _arguments(structure.plan), _tuned(structure)
    )
    context = {"plan": structure.plan, "facts": structure.plan.facts, "module": module}
    text = environment.render(environment.environment(templates), template, context)
    text = passes.run(text, bake=structure.baked)
    return _with_configs(_format(text) if for_people else text, rows)


def config_row(plan: Plan) -> ConfigRow:
    """The triton.Config of a variant, black's way on one line."""
    kept = ", ".join(f'"{p.name}": {p.value}' for p in plan.parameters if not p.baked)
    options = f"num_warps={plan.launches[0].num_warps}, num_stages=1"
    if max(plan.cluster) > 1:
        options += f", ctas_per_cga={plan.cluster}"
    return ConfigRow("{" + kept + "}", options)


def dispatcher(
    structures: Sequence[Structure], *, title: str, provenance: Mapping[str, str], templates: Path, template: str
) -> str:
    """The formatted source of the module that chooses among tuned structures, which lie beside it."""
    first = structures[0]
    rows = sorted((shape, s.name, index) for s in structures for shape, index in s.tuned.items())
    module = Module(title, __version__, tuple(provenance.items()), (), _arguments(first.plan))
    context = {"plan": first.plan, "facts": first.plan.facts, "module": module, "modules": structures, "rows": rows}
    return _format(environment.render(environment.environment(templates), template, context))


def _tuned(structure: Structure) -> tuple[tuple[tuple[int, ...], int], ...]:
    return tuple(sorted(structure.tuned.items()))


def _arguments(plan: Plan) -> tuple[tuple[str, str], ...]:
    return plan.launches[0].arguments


def _format(text: str) -> str:
    import black

    return black.format_str(text, mode=black.Mode(line_length=LINE_LENGTH))


def _with_configs(text: str, rows: tuple[ConfigRow, ...]) -> str:
    """The whole table in place of its first row: rows are printed as black would, so 1,000 need not pass through it."""
    first, table = (
        "".join(f"    triton.Config({r.kwargs}, {r.options}),\n" for r in some) for some in (rows[:1], rows)
    )
    if text.count(first) != 1:
        raise AssertionError("the CONFIGS table is not where the template prints it")
    return text.replace(first, table)
