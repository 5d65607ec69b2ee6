"""No family spells a piece of a protocol: a phase, a slot, a count, bytes, a fence, or how much is under way.

Every module's device code is rendered with the macros of rings, signals, turns, products and work lists replaced by
opaque words, and with opaque names of counters; what is then left is the families' own text.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
import pytest

import tlxgen.families
from tlxgen import families, stamp
from tlxgen.families import Structure
from tlxgen.plan import Cursor, Plan
from tlxgen.render import environment, module
from tlxgen.spec import load

SPECS = sorted(p for p in (Path(__file__).parents[2] / "specs").glob("*.yaml") if "tuned" not in p.name)
PROTOCOL = ("ring", "stage", "products", "signal", "ordered", "meeting", "turns", "declare", "work")
HOST = ("launch", "host", "autograd")  # not device code
MACRO = re.compile(r"\{% macro (\w+)\(")
OPAQUE = (
    "{{% macro {name}() -%}}\n"
    "opaque({{% for x in varargs if x is string %}}{{{{ x }}}} {{% endfor %}}"
    "{{% for x in kwargs.values() if x is string %}}{{{{ x }}}} {{% endfor %}})"
    "{{{{ caller() if caller is defined }}}}\n"
    "{{%- endmacro %}}\n"
)
SPELT = re.compile(
    r"phase|slot|_(?:full|empty|ready)\b|barrier|fence|expect|arrive|wait\(|commit|atomic|alloc\w*\(|mBarriers|"
    r"async_descriptor|async_dot_wait|async_remote|tx_count|[&^]=? ?1\b|remote_cta_rank|cp\.async|\bclc\b|\bturns?\b"
)
ALLOWED_IN_FAMILIES = {
    # A factor that is the last of an item is not sent after scores that follow the factor before: see `_round`.
    "attention_fwd/blackwell.py: Ring 2",
}


def stub(source: str, *, prose: bool = False) -> str:
    """A template with the macros of `source`, each of which prints its texts as arguments, and its caller's body.

    `prose`: its texts become comments, and are not printed.
    """
    text = "\n".join(OPAQUE.format(name=name) for name in dict.fromkeys(MACRO.findall(source)))
    return text.replace("if x is string", "if false") if prose else text


class Opaque(jinja2.BaseLoader):
    """The templates, but for the library of protocols and for what runs on the host."""

    def __init__(self, root: Path) -> None:
        self.files = jinja2.FileSystemLoader([root, stamp.templates()])

    def get_source(self, env: jinja2.Environment, name: str) -> tuple[str, str | None, Callable[[], bool] | None]:
        source, path, current = self.files.get_source(env, name)
        folder, _, stem = name.removesuffix(".j2").rpartition("/")
        if name == "lib/work.j2":  # the choice of a file is kept
            return source, path, current
        if folder.startswith("lib") and stem in PROTOCOL or folder == "lib/work" or stem in HOST:
            return stub(source, prose=stem == "turns"), path, current
        return source, path, current


def opaque_names(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Makes every cursor's names opaque; the names that it would have had are added to what is returned."""
    made, plain = set[str](), Plan.cursor

    def cursor(self: Plan, ring: str, counter: str = "count", prefix: str = "", bank: Any = "", **more: Any) -> Cursor:
        made.add(counter)
        return replace(plain(self, ring, counter, prefix, bank, **more), counter="opaque", prefix="opaque")

    monkeypatch.setattr(Plan, "cursor", cursor)
    return made


@functools.cache
def opaque_environment(root: Path) -> jinja2.Environment:
    env = environment.environment.__wrapped__(root)
    env.loader = Opaque(root)
    return env


def own_text(structure: Structure, template: str, root: Path) -> str:
    """What a family's templates say themselves in the device code of a structure, without comments and docstrings."""
    told: dict[str, Any] = module.context(structure)
    told["module"] = replace(told["module"], asserts=())  # the plan's rules, in the plan's words
    text = environment.render(opaque_environment(root), template, told).replace(structure.name, "name")
    text = text.partition("\n\n\ndef ")[
        0
    ]  # no kernel: the first host function where those have no template of their own
    text = re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
    return "\n".join(line.partition("#")[0] for line in text.splitlines())


def apart(structures: Sequence[Structure]) -> Iterator[Structure]:
    """Those that have a value of an axis, or a combination of values that are no numbers, which none before has."""
    seen: set[str] = set()
    for structure in structures:
        words = {path: value for path, value in structure.values.items() if type(value) is not int}
        new = {repr(words), *map(repr, structure.values.items())}
        if not new <= seen:
            yield structure
        seen |= new


@pytest.mark.parametrize("spec", SPECS, ids=lambda p: p.stem)
def test_a_familys_templates_spell_no_protocol(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counters = opaque_names(monkeypatch)
    document = load(spec)
    family = families.of(document)
    for structure in apart(family.kernels(document).structures):
        text = own_text(structure, family.template, families.templates(family))
        assert "tlx.async_task" in text or not structure.plan.specialized
        found = [line.strip() for line in text.splitlines() if SPELT.search(line)]
        assert not found, (structure.name, found)
        counted = re.compile(rf"\b({'|'.join(sorted(counters))})\b *(\+=|=(?!=)|%)")
        assert not counters or not [line for line in text.splitlines() if counted.search(line)], structure.name


def test_what_is_spelt_is_found() -> None:
    for line in ("tlx.barrier_wait(q_full[0], 0)", "slot = 1", "x = a ^ 1", 'tlx.fence("async_shared")'):
        assert SPELT.search(line), line
    text = stub("{% macro wait(at, x='') -%}\ntlx.barrier_wait()\n{%- endmacro %}")
    env = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    assert env.from_string(text + '{{ wait(1, "k + slot", x="b") }}').render().strip() == "opaque(k + slot b )"


def protocol_literals() -> Iterator[str]:
    """Numbers but 0 and 1 that a family's Python puts into rings, fills, drains and hand-offs."""
    root = Path(tlxgen.families.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
            if isinstance(call, ast.Call) and name in ("Ring", "Fill", "Drain", "Barrier", "Turn", "Meeting", "Signal"):
                for node in (n for value in (*call.args, *(k.value for k in call.keywords)) for n in ast.walk(value)):
                    if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 1:
                        yield f"{path.relative_to(root).as_posix()}: {name} {node.value}"


def test_families_put_no_number_into_a_protocol() -> None:
    assert set(protocol_literals()) == ALLOWED_IN_FAMILIES


def test_families_spell_no_protocol_in_their_python() -> None:
    root = Path(tlxgen.families.__file__).parent
    calls = re.compile(r"tlx\.\w*(?:barrier|fence|commit|alloc|async_)\w*\(|barrier_(?:wait|arrive|expect)")
    for path in root.rglob("*.py"):
        assert not calls.search(path.read_text()), path
