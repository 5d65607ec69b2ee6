"""The instrumented twin of a rendered module: the same text, with stamps at each operation of each task."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tlxgen import stamp
from tlxgen.errors import ProfileError, StepError
from tlxgen.plan import Plan, Role, Step
from tlxgen.plan.steps import Kind
from tlxgen.profile.sites import Site, class_of, waited_for
from tlxgen.render import steps
from tlxgen.render.passes.stamps import Area, Operation, StampTasks

STAMPS = "_stamps.py"  # what the twins of a folder import from beside them
WORD = "stamp"  # in every line that a twin has and its plain module has not
ONLY = 1024  # divides the number of a CTA's first thread alone
_FIRST = ("wait", "product", "store", "load", "hand-off", "rest")  # of a statement that does several things


@dataclass(frozen=True)
class Twin:
    """An instrumented module. `tasks` names its areas in the buffer in their order, `roles` says which of the plan's
    roles each is of, `sites` what begins at each stamp. `rows` has the role, the first stamp's number and the length of
    each row of stamps. `threads` is, for each area, what the number of its task's first thread is a multiple of."""

    text: str
    kernel: str
    tasks: tuple[str, ...]
    roles: tuple[int, ...]
    sites: tuple[Site, ...]
    rows: tuple[tuple[int, int, int], ...]
    threads: tuple[int, ...]

    @property
    def table(self) -> str:
        """The text of the file beside the module that says what its stamps are."""
        rows = ",\n  ".join(json.dumps(site.to_json()) for site in self.sites)
        about = {"kernel": self.kernel, "tasks": self.tasks, "roles": self.roles, "threads": self.threads}
        head = json.dumps(about | {"rows": self.rows})[1:-1]
        return "{" + head + f', "sites": [\n  {rows}\n]}}\n'


def table_name(module: str) -> str:
    """The name of the file beside a twin that says what its stamps are."""
    return f"{module}.stamps.json"


def shared_stamps() -> str:
    """What the twins of a folder share: the text of its _stamps.py."""
    return (stamp.templates() / "lib" / STAMPS).read_text(encoding="utf-8")


def instrument(source: str, plan: Plan, constants: Mapping[str, int | bool], *, waits: bool = False) -> Twin:
    """The twin of `source`, a module of `plan` as it was rendered or edited since.

    `constants`: the guards that are constants of the source. `waits`: only waits are told apart, and what lies between
    two of them is one interval. Raises ProfileError for a module whose tasks are not those
    of the plan, or that has stamps.
    """
    if WORD in source:
        text = f"the source has the word {WORD!r} already; an instrumented module cannot be instrumented again"
        raise ProfileError(f"{plan.name}: {text}")
    roles = [r for r in plan.roles if r.guard is None or constants.get(r.guard, True)]
    try:
        tree = ast.parse(source)
        count = len(steps.tasks(source, plan))
    except SyntaxError as error:
        raise ProfileError(f"{plan.name}: not Python: {error.msg}, line {error.lineno}") from None
    except StepError as error:
        raise ProfileError(str(error)) from None
    if count != len(roles):
        raise ProfileError(f"{plan.name}: {count} tasks in the source, {len(roles)} roles in the plan")
    statements = _statements(source, tree)
    readers = [_Reader(plan, role, tree, waits, statements) for role in roles]
    areas, first, total = [], 0, sum(role.replicas for role in roles)
    for role in roles:
        threads = role.warps * 32 if plan.specialized and not role.default else ONLY
        areas.append(Area(first, role.replicas, total, threads))
        first += role.replicas
    kernel = plan.launches[0].kernel
    stamping = StampTasks(kernel, [r.told for r in readers], areas, plan.specialized)
    text = stamping(cst.parse_module(source)).code
    found = zip(stamping.opened, _lines(text), strict=True)
    sites = tuple(readers[task].site(task, told, line) for (task, told), line in found)
    names = tuple(f"{r.name} {i}" if r.replicas > 1 else r.name for r in roles for i in range(r.replicas))
    of = tuple(n for n, r in enumerate(roles) for _ in range(r.replicas))
    return Twin(text, kernel, names, of, sites, tuple(stamping.rows), tuple(areas[n].threads for n in of))


def _statements(source: str, tree: ast.Module) -> list[tuple[int, str]]:
    """The statements that have no others within, each with its line."""
    lines = source.splitlines()
    simple = (node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body"))
    found = [(node.lineno, "\n".join(lines[node.lineno - 1 : node.end_lineno])) for node in simple]
    return sorted(found)


def _lines(twin: str) -> list[int]:
    """For each stamp, the line of the plain module's statement before which it stands."""
    found: list[int] = []
    plain, waiting = 0, 0
    for line in twin.splitlines():
        text = line.strip()
        if WORD in line:
            waiting += "= stamp(" in text
            continue
        plain += 1
        if text and not text.startswith("#"):
            found += [plain] * waiting
            waiting = 0
    return found


class _Reader:
    """Tells the operations of a role's task by their statements."""

    def __init__(
        self, plan: Plan, role: Role, tree: ast.Module, waits: bool, statements: Sequence[tuple[int, str]]
    ) -> None:
        self._plan, self._role, self._waits, self._statements = plan, role, waits, statements
        self._touches = _touching(tree)
        self._told: dict[str, Operation | None] = {}
        self._sites: dict[str, Site] = {"": Site(0)}

    def told(self, statement: str) -> Operation | None:
        """The operation that a statement is, in the words of a step; None for one that only computes, and, where
        waits alone are told apart, for all others. A fence leads, as the operation after it hands on what it makes
        visible."""
        if statement not in self._told:
            found = [self._site(step) for step in self._steps(ast.parse(statement.strip()))]
            first = min(found, key=lambda site: _FIRST.index(site.kind), default=None)
            self._told[statement] = None
            if first and (first.kind == "wait" or not self._waits):
                self._told[statement] = Operation(
                    first.what, first.what == "fence", first.kind == "wait", first.kind == "product"
                )
                self._sites[first.what] = first
        return self._told[statement]

    def site(self, task: int, told: str, line: int) -> Site:
        """What begins at a stamp before `line`: an operation is at that line, or behind what leads to it."""
        known = self._sites[told]
        if told:
            later = (at for at, text in self._statements if at >= line and self._is(told, text))
            line = next(later, line)
        return Site(task, known.what, known.kind, known.whom, line)

    def _is(self, told: str, statement: str) -> bool:
        found = self.told(statement)
        return found is not None and found.what == told

    def _site(self, step: Step) -> Site:
        return Site(0, str(step), class_of(step.kind), waited_for(step, self._plan, self._role))

    def _steps(self, tree: ast.AST) -> list[Step]:
        try:
            found = list(steps.read(tree, self._plan, self._role))
        except StepError:
            found = []  # of an edited module: what no plan can have is part of what lies between
        return found or [step for call in ast.walk(tree) for step in self._touched(call)]

    def _touched(self, node: ast.AST) -> Sequence[Step]:
        """A load or store of global memory by addresses, or by a function of the module that makes some."""
        if not isinstance(node, ast.Call) or not node.args:
            return ()
        kind = self._touches.get(ast.unparse(node.func))
        if not kind:
            return ()
        names = [n.id for n in ast.walk(node.args[0]) if isinstance(n, ast.Name)]
        on = next((n for n in names if n.endswith(("_ptr", "_ptrs"))), names[0] if names else "")
        return (Step(kind, on.removesuffix("s").removesuffix("_ptr")),)


def _touching(tree: ast.Module) -> Mapping[str, Kind]:
    """The functions that load or store by addresses, by their names, and which of it they do."""
    own: dict[str, Kind] = {"tl.load": "load", "tl.store": "store"}
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            called = {ast.unparse(n.func) for n in ast.walk(function) if isinstance(n, ast.Call)}
            if called & own.keys() and any("triton.jit" in ast.unparse(d) for d in function.decorator_list):
                own[function.name] = "store" if "tl.store" in called else "load"
    return own
