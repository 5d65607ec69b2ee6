"""Reads the steps of each task from its rendered source, and compares them with those that the plan declares."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping

from tlxgen.errors import StepError
from tlxgen.plan import Plan, Role, Step
from tlxgen.plan.steps import Kind, compared, merged
from tlxgen.render.lines import UnusualError
from tlxgen.render.statements import statements

SUFFIXES: dict[str, tuple[Kind, Kind]] = {  # suffix of a barrier's name -> steps of a wait and of an arrival
    "_full": ("wait", "publish"),
    "_empty": ("acquire", "release"),
    "_ready": ("rendezvous", "rendezvous"),
}


def check(source: str, plan: Plan, constants: Mapping[str, int | bool]) -> None:
    """Raises StepError for the first step of a task in which the source and `plan` differ.

    `constants` has the values of the guards that are constants of the source.
    """
    roles = [r for r in plan.roles if r.guard is None or constants.get(r.guard, True)]
    found = tasks(source, plan)
    if len(found) != len(roles):
        raise StepError(f"{plan.name}: {len(found)} tasks in the source, {len(roles)} roles in the plan")
    for role, task in zip(roles, found, strict=True):
        _compare(plan.name, role, compared(role.steps, constants), read(task, plan, role))


def _compare(name: str, role: Role, declared: tuple[Step, ...], found: tuple[Step, ...]) -> None:
    if declared == found:
        return
    same = next((i for i, pair in enumerate(itertools.zip_longest(declared, found)) if pair[0] != pair[1]))
    planned, written = (repr(str(s[same])) if same < len(s) else "its end" for s in (declared, found))
    before = f"after {str(found[same - 1])!r}" if same else "first"
    raise StepError(
        f"{name}: step {same + 1} of role {role.name}, {before}: {planned} in the plan, {written} in the source"
    )


def read(task: ast.AST, plan: Plan, role: Role) -> tuple[Step, ...]:
    """The steps of a task in the order of its source. Equal neighbours are merged."""
    calls = [node for node in ast.walk(task) if isinstance(node, ast.Call)]
    targets = {id(n.value): ast.unparse(n.targets[0]) for n in ast.walk(task) if isinstance(n, ast.Assign)}
    calls.sort(key=lambda node: (node.lineno, node.col_offset))
    return merged(tuple(step for call in calls for step in _steps(call, targets.get(id(call), ""), plan, role)))


def tasks(source: str, plan: Plan) -> list[ast.AST]:
    """The tasks of the plan's first kernel, in the order of the source. Raises StepError if there is no such kernel."""
    name = plan.launches[0].kernel
    kernel = next((n for n in _body(source, name) if isinstance(n, ast.FunctionDef) and n.name == name), None)
    if kernel is None:
        raise StepError(f"{plan.name}: no kernel {name} in the source")
    if not plan.specialized:
        return [kernel]
    found = [n for n in ast.walk(kernel) if isinstance(n, ast.With) and _named(n.items[0].context_expr) == "async_task"]
    return [*sorted(found, key=lambda n: n.lineno)]


def _body(source: str, name: str) -> list[ast.stmt]:
    """The statements of a module that may define `name`."""
    try:
        texts = [text for text in statements(source) if f"def {name}(" in text]
    except UnusualError:
        texts = [source]
    return [node for text in texts for node in ast.parse(text).body]


def _named(node: ast.AST) -> str:
    """The name of the called function, if it is one of tlx or of the module."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _steps(call: ast.Call, target: str, plan: Plan, role: Role) -> Iterator[Step]:
    name, first = _named(call), ast.unparse(call.args[0]) if call.args else ""
    if name in ("barrier_wait", "barrier_arrive", "tcgen05_commit"):
        yield _barrier(first, name == "barrier_wait", plan)
    elif name in ("named_barrier_wait", "named_barrier_arrive"):
        yield _named_barrier(first, name == "named_barrier_wait", plan)
    elif name in ("async_dot", "async_dot_scaled", "narrow_dot", "whole_dot"):
        yield Step("multiply", target or _array(call.args[2]).removesuffix("_tiles"))
        for keyword in call.keywords:
            if keyword.arg == "mBarriers" and isinstance(keyword.value, ast.List):
                yield from (_barrier(ast.unparse(e), False, plan) for e in keyword.value.elts)
    elif name in ("async_dot_wait", "whole_wait"):
        yield Step("wgmma_wait", ast.unparse(call.args[1]), first)
    elif name == "async_descriptor_store_wait":
        yield Step("store_wait", under_way=first)
    elif name in SIMPLE:
        yield Step(SIMPLE[name], _subject(name, call))
    elif name.startswith("prefetch_"):
        yield Step("prefetch", first.removesuffix("_ptr"))
    elif _unknown(call, name) and (plan.specialized or not _meets(call, name)):
        raise StepError(f"{plan.name}, role {role.name}: {ast.unparse(call.func)} is not a step of a plan")
    else:
        yield from _signals(call, plan, role)


SIMPLE: dict[str, Kind] = {
    "barrier_expect_bytes": "expect",
    "async_descriptor_load": "load",
    "async_load": "load",
    "async_load_wait_group": "load_wait",
    "async_descriptor_store": "store",
    "async_remote_shmem_store": "send",
    "async_remote_shmem_copy": "send",
    "tmem_copy": "copy",
    "fence": "fence",
    "clc_producer": "ask",
    "clc_consumer": "next",
    "draw_item": "ask",
    "reset_counter": "reset",
    "gdc_wait": "start",
}


WITHOUT_SUBJECT = frozenset(
    ["fence", "clc_producer", "clc_consumer", "draw_item", "reset_counter", "gdc_wait", "async_load_wait_group"]
)

# Functions of tlx that declare, name, move or compute, and do not synchronise.
SILENT = frozenset(
    [
        "alloc_barriers",
        "alloc_warp_barrier",
        "async_load_commit_group",
        "async_task",
        "async_task_replica_id",
        "async_tasks",
        "clc_create_context",
        "cluster_cta_rank",
        "dtype_of",
        "local_alloc",
        "local_load",
        "local_reinterpret",
        "local_slice",
        "local_store",
        "local_trans",
        "prefetch",
        "reuse_group",
        "stoch_round",
        "storage_alias_spec",
    ]
)
BEFORE_TASKS = frozenset({"cluster_barrier", "fence_mbarrier_init_cluster"})  # after the allocation of barriers
CLUSTER_BARRIER = "barrier.cluster."  # PTX of its halves
HANDS_ON = re.compile(r"atomic_|debug_barrier|inline_asm")  # functions of triton.language that may synchronise


def _unknown(call: ast.Call, name: str) -> bool:
    """Whether a call without a step may synchronise. An unknown function may."""
    root = _root(call.func)
    if root == "tl" and HANDS_ON.match(name):
        return not _is_pure(call)
    return root == "tlx" and name not in SILENT


def _meets(call: ast.Call, name: str) -> bool:
    """Whether the CTAs of a cluster meet by a call, or by halves of it, before they use each other's barriers."""
    return name in BEFORE_TASKS or bool(call.args) and CLUSTER_BARRIER in ast.unparse(call.args[0])


def _is_pure(call: ast.Call) -> bool:
    """Whether a call states `is_pure=True`, that is, that it only computes its result."""
    return any(k.arg == "is_pure" and ast.unparse(k.value) == "True" for k in call.keywords)


def _root(function: ast.AST) -> str:
    """The module that a function belongs to; empty for a method of another call's result."""
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else ""


def _subject(name: str, call: ast.Call) -> str:
    if name in WITHOUT_SUBJECT:
        return ""
    array = _array(call.args[1 if name == "async_load" else 0])
    return array.removesuffix("_full").removesuffix("_desc").removesuffix("_tiles")


def _array(node: ast.AST) -> str:
    """The name of an array, without its index and the methods called on it; the first of those that a replica chooses
    from."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Tuple) and node.elts:
            node = node.elts[0]
            continue
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            node = node.value
        elif isinstance(node, ast.Call) and node.args:
            node = node.args[0]
        else:
            return ast.unparse(node)
    return node.id


def _barrier(text: str, waits: bool, plan: Plan) -> Step:
    array = text.partition("[")[0]
    for suffix, kinds in SUFFIXES.items():
        if array.endswith(suffix):
            return Step(kinds[0 if waits else 1], array.removesuffix(suffix))
    return Step("take" if waits else "hand", array)


def _named_barrier(number: str, waits: bool, plan: Plan) -> Step:
    for meeting in plan.meetings:
        if number == str(meeting.id):
            return Step("meet", meeting.name)
    for turn in plan.turns:
        if int(number.partition(" ")[0].strip("(")) in range(turn.first_id, turn.first_id + turn.replicas):
            return Step("take" if waits else "hand", turn.name)
    return Step("take" if waits else "hand", number)


def _signals(call: ast.Call, plan: Plan, role: Role) -> Iterator[Step]:
    """The step of a call of a module's function that is given a signal's word: it signals or waits."""
    for signal in plan.signals if isinstance(call.func, ast.Name) else ():
        names = {n.id for a in call.args for n in ast.walk(a) if isinstance(n, ast.Name)}
        if signal.pointer in names:
            waits = _named(call).startswith("await") if signal.by == signal.to else role.name != signal.by
            yield Step("await" if waits else "signal", signal.name)
