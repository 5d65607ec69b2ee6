"""Arguments as data: one list gives a kernel's signature, its launch and what is compiled offline."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tlxgen import families
from tlxgen.families import Structure
from tlxgen.loading import HOST
from tlxgen.plan import KernelArgument, Plan
from tlxgen.plan.arguments import address, descriptor, scalar
from tlxgen.plan.size import Size
from tlxgen.render.module import render
from tlxgen.spec import load
from tlxgen.stamp import templates

ROOT = Path(__file__).parents[2]
SPECS = sorted(p.stem for p in (ROOT / "specs").glob("*.yaml") if "tuned" not in p.stem)
ORDER = ("descriptor", "address", "scalar")
WORKSPACE = {"sums", "words"}  # as _host.py names them


@cache
def structures(name: str) -> tuple[Structure, ...]:
    """The first and the last of a spec."""
    document = load(ROOT / "specs" / f"{name}.yaml")
    found = families.of(document).kernels(document).structures
    return (found[0], found[-1])


def text_of(structure: Structure, plan: Plan | None = None) -> str:
    structure = replace(structure, plan=plan) if plan else structure
    template = families.load(structure.plan.family).template
    return render(structure, title="", provenance={}, templates=templates(), template=template, for_people=False)


@cache
def trees(name: str) -> list[tuple[Structure, ast.Module]]:
    """A structure of a spec with its module's syntax tree: the last one has more options than the first. It is the
    module that ships, which tests/build/test_shipped.py holds against the plan."""
    last = structures(name)[-1]
    return [(last, ast.parse((ROOT / "generated" / name / f"{last.name}.py").read_text()))]


def launches_of(tree: ast.Module) -> dict[str, ast.Call]:
    """The host's launches by the name of their kernel."""
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "Launch")
    return {ast.unparse(call.args[0]): call for call in calls}


def made_by(tree: ast.Module) -> set[str]:
    """Names of the tensors that `prepare` makes."""
    keys = (n.slice for n in ast.walk(tree) if isinstance(n, ast.Subscript) and ast.unparse(n.value) == "made")
    return {str(k.value) for k in keys if isinstance(k, ast.Constant)}


def everything() -> Iterator[tuple[Structure, Plan]]:
    for name in SPECS:
        for structure in structures(name):
            yield structure, structure.plan


def test_descriptors_come_before_addresses_and_addresses_before_scalars() -> None:
    seen = set()
    for structure, plan in everything():
        for launch in plan.launches:
            kinds = [ORDER.index(a.kind) for a in launch.arguments]
            assert kinds == sorted(kinds), f"{structure.name}: {launch.kernel}"
            names = [a.name for a in launch.arguments]
            assert len(names) == len(set(names)), f"{structure.name}: {launch.kernel}"
            seen |= set(kinds)
    assert seen == {0, 1, 2}


def test_a_scalar_has_a_value_and_what_varies_is_an_argument_of_the_host_and_comes_last() -> None:
    varying = 0
    for structure, plan in everything():
        for launch in plan.launches:
            scalars = launch.of_kind("scalar")
            assert all(a.value for a in scalars), f"{structure.name}: {launch.kernel}"
            late = [a.name for a in scalars if a.name in plan.host.varying]
            assert [a.name for a in scalars][len(scalars) - len(late) :] == late
            varying += len(late)
        assert set(plan.host.varying) <= {a.name for a in plan.host.inputs}, structure.name
    assert varying


@pytest.mark.parametrize("name", SPECS)
def test_what_a_kernel_takes_is_an_argument_or_made_or_workspace(name: str) -> None:
    for structure, tree in trees(name):
        plan = structure.plan
        known = {*plan.host.tensors, *made_by(tree), *plan.host.variables, *WORKSPACE}
        for launch in plan.launches:
            of = {a.of for a in (*launch.of_kind("descriptor"), *launch.of_kind("address"))}
            assert of and of <= known, f"{structure.name}: {launch.kernel}"


@pytest.mark.parametrize("name", SPECS)
def test_a_kernel_is_declared_and_launched_as_its_list_says(name: str) -> None:
    for structure, tree in trees(name):
        functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        launched = launches_of(tree)
        for launch in structure.plan.launches:
            names = [a.name for a in launch.arguments]
            declared = [a.arg for a in functions[launch.kernel].args.args]
            assert declared[: len(names)] == names, launch.kernel
            assert {a for a in declared[len(names) :] if not a.isupper()} == set(), launch.kernel  # constexprs follow
            if launch.kernel not in launched:
                assert not launch.launched
                continue
            _, _, described, addressed, scalars, _ = launched[launch.kernel].args
            assert (
                isinstance(described, ast.List) and isinstance(addressed, ast.List) and isinstance(scalars, ast.Tuple)
            )
            counts = [len(launch.of_kind(kind)) for kind in ORDER]
            varying = sum(a.name in structure.plan.host.varying for a in launch.arguments)
            assert [len(x.elts) for x in (described, addressed, scalars)] == [*counts[:2], counts[2] - varying]


def swapped(plan: Plan, one: str, two: str) -> Plan:
    """The plan with two arguments of its main kernel in each other's place."""
    first, *rest = plan.launches
    arguments = list(first.arguments)
    i, j = ([a.name for a in arguments].index(name) for name in (one, two))
    arguments[i], arguments[j] = arguments[j], arguments[i]
    return replace(plan, launches=(replace(first, arguments=tuple(arguments)), *rest))


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [("hopper_gemm", "M", "N"), ("hopper_gemm", "a_desc", "b_desc"), ("hopper_attention_fwd", "N_Q", "H")],
)
def test_two_arguments_that_change_places_do_so_in_signature_and_launch(name: str, one: str, two: str) -> None:
    structure = structures(name)[0]
    (kernel, *_) = structure.plan.launches
    by_name = {a.name: a for a in kernel.arguments}

    def orders(plan: Plan) -> tuple[list[str], list[str]]:
        tree = ast.parse(text_of(structure, plan))
        (function,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == kernel.kernel)
        _, _, described, _, scalars, _ = launches_of(tree)[kernel.kernel].args
        assert isinstance(described, ast.List) and isinstance(scalars, ast.Tuple)
        told = [ast.literal_eval(d.elts[0]) for d in described.elts if isinstance(d, ast.Tuple)]
        return [a.arg for a in function.args.args], told + [ast.unparse(x) for x in scalars.elts]

    def exchanged(names: list[str], x: str, y: str) -> list[str]:
        return [y if n == x else x if n == y else n for n in names]

    (declared, told), (other, retold) = orders(structure.plan), orders(swapped(structure.plan, one, two))
    assert other == exchanged(declared, one, two) != declared
    x, y = ((a.of or a.value) for a in (by_name[one], by_name[two]))
    assert retold == exchanged(told, x, y) != told


def test_kinds_follow_from_types() -> None:
    made = descriptor("a_desc", "bf16", (Size.of("BLOCK_M", 128) // 2, 64), "a", view="t.T")
    assert (made.kind, made.type, made.box) == ("descriptor", "tensordesc<bf16[64, 64]>", ("block_m // 2", "64"))
    assert (address("c_ptr", "fp32", "out").kind, address("c_ptr", "fp32", "out").type) == ("address", "*fp32")
    assert (scalar("M", "m").kind, scalar("s", "scale", "fp32").type) == ("scalar", "fp32")


def test_what_is_not_specialized_is_not_taken_for_a_multiple_of_16() -> None:
    assert scalar("M", "m", divisible=True).divisible
    assert not scalar("M", "m", divisible=True, specialized=False).divisible
    assert not KernelArgument("d", "tensordesc<bf16[8]>", "a", divisible=False).divisible


def test_names_of_the_workspace_are_those_of_the_shared_host() -> None:
    text = (templates() / "lib" / HOST).read_text()
    assert all(f'"{name}"' in text for name in WORKSPACE)
