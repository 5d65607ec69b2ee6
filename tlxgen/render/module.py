"""Renders the module of a structure: Jinja, then the libcst passes, then black. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tlxgen import __version__, families, stamp
from tlxgen.families import Family, Function, Structure
from tlxgen.loading import HOST
from tlxgen.plan import Plan
from tlxgen.plan.sketch import sketch

from . import comments, environment, layout, passes, steps

PACKAGE = "lib/package.py.j2"


@dataclass(frozen=True)
class ConfigRow:
    """An entry of CONFIGS, ready to print."""

    kwargs: str
    options: str


@dataclass(frozen=True)
class Module:
    """The values about a module that the common part of all templates reads."""

    name: str
    title: str
    version: str
    provenance: tuple[tuple[str, str], ...]
    configs: tuple[ConfigRow, ...]
    tuned: tuple[tuple[tuple[int, ...], int], ...] = ()  # shape -> index in CONFIGS
    tuned_on: tuple[str, int] = ("", 0)  # name and number of SMs of the device of the measurement
    types: str = ""  # what all kernels have in common for the model of time, if the family has one
    kernels: tuple[str, ...] = ()  # each kernel for the model of time, in the order of CONFIGS
    sketch: str = ""  # the pipeline, one path from task to task a line
    asserts: tuple[tuple[str, str], ...] = ()  # (condition, message) of the kernel's parameters
    choice: bool = False  # whether CONFIGS has several entries
    related: Mapping[str, object] = field(default_factory=dict)  # values that depend on other functions of the package


def render(
    structure: Structure,
    *,
    title: str,
    provenance: Mapping[str, str],
    templates: Path,
    template: str,
    for_people: bool = True,
    related: Mapping[str, object] | None = None,
) -> str:
    """The source of `structure`. It is formatted if it is `for_people`, which takes twice as long as all other steps.

    `provenance` is printed in the header. It must not contain a date, a host name or a path of a machine.
    """
    told = context(structure, title=title, provenance=provenance, related=related)
    text = environment.render(environment.environment(templates), template, told)
    spec = structure.variants[0].spec
    text = passes.run(text, bake=structure.baked, toolchain=spec.toolchain if spec else "fbtriton")
    steps.check(text, structure.plan, structure.baked)
    text = _format(text) if for_people else text
    text = _with_rows(text, [f"triton.Config({row.kwargs}, {row.options})" for row in _rows(structure)])
    return _with_rows(text, _timed(structure)[1])


def context(
    structure: Structure,
    *,
    title: str = "",
    provenance: Mapping[str, str] | None = None,
    related: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The values that the templates of a structure's module read."""
    types, kernels = _timed(structure)
    module = Module(
        structure.name,
        title,
        __version__,
        tuple((provenance or {}).items()),
        _rows(structure)[:1],
        _tuned(structure),
        structure.tuned_on,
        types,
        kernels[:1],
        "\n".join(sketch(structure.plan)),
        _asserts(structure.plan),
        len(_rows(structure)) > 1,
        related or {},
    )
    return {"plan": structure.plan, "facts": structure.plan.facts, "module": module}


def _timed(structure: Structure) -> tuple[str, tuple[str, ...]]:
    """The kernels of a structure for its family's model of time: what they have in common, and each of them."""
    family = families.load(structure.family) if structure.family else None
    told = [family.timed(v.plan) for v in structure.variants if v.plan] if family else []
    kernels = [pair for pair in told if pair]
    return (kernels[0][0], tuple(kernel for _, kernel in kernels)) if kernels else ("", ())


def _rows(structure: Structure) -> tuple[ConfigRow, ...]:
    return tuple(config_row(v.plan) for v in structure.variants if v.plan)


def config_row(plan: Plan) -> ConfigRow:
    """The triton.Config of a variant on one line, formatted as by black."""
    kept = ", ".join(f'"{p.name}": {p.value}' for p in plan.parameters if not p.baked)
    options = f"num_warps={plan.launches[0].num_warps}, num_stages=1"
    if max(plan.cluster) > 1:
        options += f", ctas_per_cga={plan.cluster}"
    if plan.launches[0].maxnreg:
        options += f", maxnreg={plan.launches[0].maxnreg}"
    return ConfigRow("{" + kept + "}", options)


def dispatcher(
    function: Function,
    *,
    title: str,
    provenance: Mapping[str, str],
    templates: Path,
    template: str,
    related: Mapping[str, object] | None = None,
) -> str:
    """The formatted source of the module of a function that chooses among structures of the same folder."""
    structures = function.structures
    lead = next((s for s in structures if s.plan.host.pads), structures[0])  # pads if one does
    rows = sorted((shape, s.name, index) for s in structures for shape, index in s.tuned.items())
    kernels = [(text, s.name, index) for s in structures for index, text in enumerate(_timed(s)[1])]
    meanings = (related or {}).get("meanings", {})  # of arguments that other modules of the package accept
    assert isinstance(meanings, Mapping)
    host = lead.plan.host.among(s.plan.host for s in structures).told(meanings)
    entry = {(name, index): i for i, (_, name, index) in enumerate(kernels)}
    context = {
        "plan": replace(lead.plan, host=host),
        "facts": lead.plan.facts,
        "module": Module(
            *(function.name, title, __version__, tuple(provenance.items()), ()),
            types=_timed(lead)[0],
            related=related or {},
        ),
        "modules": structures,
        "kernels": kernels,
        "measured": [(shape, entry.get((name, index))) for shape, name, index in rows],
        "tuned_on": lead.tuned_on,
        "lead": lead.name,
        "rows": rows,
    }
    return _format(environment.render(environment.environment(templates), template, context))


def package(name: str, functions: Sequence[Function], *, title: str, provenance: Mapping[str, str]) -> str:
    """The formatted source of a folder's __init__.py, which imports its functions."""
    module = Module(name, title, __version__, tuple(provenance.items()), ())
    ambiguous = "" if any(f.name == name for f in functions) else name
    context = {"module": module, "functions": functions, "ambiguous": ambiguous}
    return _format(environment.render(environment.environment(stamp.templates()), PACKAGE, context))


def shared_host() -> str:
    """The text of _host.py, the code that the host functions of a folder's modules share."""
    return (stamp.templates() / "lib" / HOST).read_text(encoding="utf-8")


def shared_files(family: Family) -> dict[str, str]:
    """File name -> text of the shared files that the modules of a folder import."""
    return {HOST: shared_host(), **family.beside()}


def _tuned(structure: Structure) -> tuple[tuple[tuple[int, ...], int], ...]:
    return tuple(sorted(structure.tuned.items()))


def _asserts(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The conditions of the plan's rules, each once, with messages."""
    return tuple({rule.condition.text: rule.message for rule in reversed(plan.rules)}.items())[::-1]


def _format(text: str) -> str:
    return layout.formatted(comments.above(text, layout.LINE_LENGTH))


def _with_rows(text: str, rows: Sequence[str]) -> str:
    """Puts the whole table in place of its first row. Rows are printed in black's format, to save its time."""
    if not rows:
        return text
    first, table = ("".join(f"    {row},\n" for row in some) for some in (rows[:1], rows))
    if text.count(first) != 1:
        raise AssertionError("the table is not where the template prints it")
    return text.replace(first, table)
