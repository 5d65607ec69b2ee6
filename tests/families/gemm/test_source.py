"""Every module of the matrix, read as text and as a syntax tree, keeps what its barriers, names and style promise."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TypeGuard

import black

from tlxgen import stamp
from tlxgen.families.gemm.axes import AXES
from tlxgen.families.kit import names

from .matrix import SPECS
from .source import Names, Source, blocks, calls, indexed, own_calls, repeated_calls, value

ALLOCATIONS = ("tlx.alloc_barriers", "tlx.alloc_warp_barrier")
IMPORTS = """\
import functools
import itertools
import os
import tempfile
import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton._C.libtriton import ir
""".splitlines()
FOR_WHOLE = {"import os", "import tempfile", "from triton._C.libtriton import ir"}  # what an operation is parsed with


def barriers_of(source: Source) -> dict[str, str]:
    """Name of each barrier array -> the call that makes it."""
    found = {}
    for node in ast.walk(source.kernel):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made_by = ast.unparse(node.value.func)
            if made_by in ALLOCATIONS:
                found[ast.unparse(node.targets[0])] = made_by
    return found


def test_there_is_a_module_for_each_spec(sources: list[Source]) -> None:
    assert {s.name for s in sources} == {spec["name"] for spec in SPECS}


def test_modules_compile(sources: list[Source]) -> None:
    for source in sources:
        compile(source.text, source.path.name, "exec")


def test_no_name_is_undefined_unused_or_defined_twice(rendered: Path) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F,E9,B006,B023"]
    done = subprocess.run([*command, str(rendered)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_function_and_every_parameter_is_used(sources: list[Source]) -> None:
    for source in sources:
        *rest, operator = source.tree.body  # the last statement names what people call
        assert ast.unparse(operator) == f"{source.host.name}.operator = OPERATOR", source.name
        loaded = {n.id for statement in rest for n in ast.walk(statement) if isinstance(n, ast.Name)}
        assert set(source.functions) - loaded == {source.host.name}, source.name
        for name, function in source.functions.items():
            if name in ("shape_of", "outputs"):  # which get every input, as the operator does
                continue
            inside = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            assert {a.arg for a in function.args.args + function.args.kwonlyargs} - inside == set(), source.name


def test_no_name_that_a_module_needs_can_be_that_of_a_spec_or_a_guard(sources: list[Source]) -> None:
    template = names.TEMPLATE.format(kernel="gemm")
    of_modules = names.of_modules(stamp.templates(), template)
    of_kernels = names.of_constants(stamp.templates(), template) | {axis.parameter for axis in AXES}
    for source in sources:
        bound = {
            a.asname or a.name for n in source.tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names
        }
        bound |= set(source.functions) - {source.host.name, source.kernel.name}
        lower = {name.split(".")[0] for name in bound if name[0].islower()}
        assert {n for n in lower if not n.endswith(("_reduce_kernel", "_sum_kernel"))} <= of_modules, source.name
        parameters = {a.arg for f in source.functions.values() for a in f.args.args if a.arg.isupper()}
        assert parameters - {"EPILOGUE_TASK"} <= of_kernels, source.name


def test_modules_import_torch_and_triton_and_nothing_of_ours(sources: list[Source]) -> None:
    for source in sources:
        nodes = [n for n in ast.walk(source.tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
        shared = [n for n in nodes if isinstance(n, ast.ImportFrom) and n.level]
        assert [n.module for n in shared] in (["_host"], ["_host", "_model"]), source.name
        assert nodes[-len(shared) :] == shared, source.name
        imports = [ast.unparse(n) for n in nodes if n not in shared]
        assert set(imports) <= set(IMPORTS), source.name
        assert FOR_WHOLE & set(imports) == (FOR_WHOLE if "smem_address" in source.functions else set()), source.name
        assert imports == sorted(imports, key=IMPORTS.index), source.name


def test_no_branch_is_decided_before_the_kernel_runs(sources: list[Source]) -> None:
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, (ast.If, ast.IfExp, ast.While)):
                names = [n for n in ast.walk(node.test) if isinstance(n, ast.Name)]
                assert names, f"{source.name}:{node.test.lineno}: if {ast.unparse(node.test)}"


def test_no_statement_is_pass(sources: list[Source]) -> None:
    assert not [s.name for s in sources if any(isinstance(n, ast.Pass) for n in ast.walk(s.tree))]


def test_the_default_task_never_asks_for_registers(sources: list[Source]) -> None:
    specialised = 0
    for source in sources:
        tasks = calls(source.kernel, "tlx.async_task")
        default = [t for t in tasks if t.args]
        assert len(default) == (1 if tasks else 0), source.name
        specialised += len(default)
        for task in default:
            assert ast.unparse(task) == "tlx.async_task('default')", source.name
    assert 0 < specialised < len(sources)


def test_tasks_ask_for_registers_all_or_none(sources: list[Source]) -> None:
    for source in sources:
        tasks = [t for t in calls(source.kernel, "tlx.async_task") if not t.args]
        assert len({"registers" in {k.arg for k in t.keywords} for t in tasks}) <= 1, source.name


def test_expected_bytes_are_those_of_the_boxes_loaded_onto_the_barrier(sources: list[Source]) -> None:
    for source in sources:
        for config in source.configs:
            seen = set()
            for block in blocks(source.kernel):
                expected = {
                    indexed(call.args[0]): value(call.args[1], config)
                    for call in own_calls(block, "tlx.barrier_expect_bytes")
                    if indexed(call.args[0]) not in stored_remotely(source)
                }
                coming = dict.fromkeys(expected, 0)
                for call, times in repeated_calls(block, "tlx.async_descriptor_load", config) if expected else ():
                    descriptor = ast.unparse(call.args[0])
                    box = source.boxes(config)[descriptor]
                    item = 4 if descriptor == "rest_desc" else source.item_bytes[descriptor[0]]
                    coming[indexed(call.args[3])] += times * prod(box) * item
                    seen.add(call)
                assert coming == expected, source.name
            assert seen == set(calls(source.kernel, "tlx.async_descriptor_load")) != set(), source.name


def stored_remotely(source: Source) -> set[str]:
    """The barriers that stores from other CTAs complete on."""
    return {indexed(call.args[3]) for call in calls(source.kernel, "tlx.async_remote_shmem_store")}


def test_expected_bytes_are_those_that_the_ctas_of_a_cluster_store(sources: list[Source]) -> None:
    """A tile of fp32 from each CTA: from as many as the loop over the peers has turns."""
    seen = 0
    for source in sources:
        buffers = {
            ast.unparse(node.targets[0]): node.value.args[0]
            for node in ast.walk(source.kernel)
            if isinstance(node, ast.Assign) and allocates(node.value)
        }
        for loop in (n for n in ast.walk(source.kernel) if isinstance(n, ast.For)):
            for store in own_calls(loop.body, "tlx.async_remote_shmem_store"):
                assert isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "tl.static_range"
                for config in source.configs:
                    tile = prod(value(buffers[indexed(store.args[0])], config))
                    for call in calls(source.kernel, "tlx.barrier_expect_bytes"):
                        if indexed(call.args[0]) == indexed(store.args[3]):
                            ctas = value(loop.iter.args[0], config)
                            assert value(call.args[1], config) == 4 * tile * ctas, source.name
                            seen += 1
    assert seen


def allocates(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "tlx.local_alloc"


def test_buffers_have_the_shape_of_the_boxes_that_are_copied_to_or_from_them(sources: list[Source]) -> None:
    for source in sources:
        for config in source.configs:
            shapes = {}
            for node in ast.walk(source.kernel):
                if isinstance(node, ast.Assign) and (made := calls(node, "tlx.local_alloc")):
                    shapes[ast.unparse(node.targets[0])] = tuple(value(made[0].args[0], config))
            for block in blocks(source.kernel):
                views = {
                    ast.unparse(n.targets[0]): n.value
                    for n in block
                    if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
                }
                for name in ("tlx.async_descriptor_load", "tlx.async_descriptor_store"):
                    for call in own_calls(block, name):
                        box = source.boxes(config)[ast.unparse(call.args[0])]
                        buffer = views.get(ast.unparse(call.args[1]), call.args[1])
                        assert shape_of(buffer, shapes, config) == box, f"{source.name}: {ast.unparse(call)}"


def shape_of(buffer: ast.expr, shapes: Mapping[str, tuple[int, ...]], config: Names) -> tuple[int, ...]:
    """Of a slot of a ring, of some rows of it, or of neighbouring buffers seen as one."""
    if not isinstance(buffer, ast.Call):
        return shapes[indexed(buffer)]
    function = ast.unparse(buffer.func)
    assert function in ("tlx.local_slice", "tlx.local_reinterpret")
    return tuple(value(buffer.args[2], config))


def test_loads_complete_on_barriers_that_count_bytes(sources: list[Source]) -> None:
    for source in sources:
        made_by = barriers_of(source)
        for call in calls(source.kernel, "tlx.async_descriptor_load"):
            assert made_by[indexed(call.args[3])] == "tlx.alloc_barriers", source.name


def test_every_barrier_is_waited_on_and_completed(sources: list[Source]) -> None:
    for source in sources:
        made = set(barriers_of(source))
        waited = {indexed(c.args[0]) for c in calls(source.kernel, "tlx.barrier_wait")}
        arrived = {indexed(c.args[0]) for c in calls(source.kernel, "tlx.barrier_arrive")}
        expected = {indexed(c.args[0]) for c in calls(source.kernel, "tlx.barrier_expect_bytes")}
        assert made == waited == arrived | expected, source.name
        assert not arrived & expected, source.name  # completed by bytes or by arrivals, never by both


def test_arrivals_at_a_remote_cta_come_with_one_at_home(sources: list[Source]) -> None:
    """Those of a loop over all CTAs of the cluster, home among them, are `peer`'s."""
    clusters = 0
    for source in sources:
        for block in blocks(source.kernel):
            arrivals = own_calls(block, "tlx.barrier_arrive")
            remote = [ast.unparse(c.args[0]) for c in arrivals if goes_away(c)]
            local = [ast.unparse(c.args[0]) for c in arrivals if not goes_away(c)]
            assert set(remote) <= set(local), source.name
            clusters += len(remote)
    assert clusters


def goes_away(arrival: ast.Call) -> bool:
    return any(k.arg == "remote_cta_rank" and ast.unparse(k.value) != "peer" for k in arrival.keywords)


def test_named_barriers_are_those_that_the_compiler_leaves(sources: list[Source]) -> None:
    used = 0
    for source in sources:
        tasks = calls(source.kernel, "tlx.async_task")
        replicas = sum(value(k.value, {}) for t in tasks for k in t.keywords if k.arg == "replicate")
        for name in ("tlx.named_barrier_wait", "tlx.named_barrier_arrive"):
            for call in calls(source.kernel, name):
                ids = {value(call.args[0], {"replica": r}) for r in range(2)}
                assert ids <= set(range(2 + replicas, 16)), source.name
                used += 1
    assert used


def test_lines_are_short_except_in_tables_of_configs_and_kernels(sources: list[Source]) -> None:
    for source in sources:
        for number, line in enumerate(source.text.splitlines(), 1):
            assert len(line) <= 120 or line.startswith(("    triton.Config(", "    Kernel(")), f"{source.name}:{number}"


def test_black_has_nothing_to_change(sources: list[Source]) -> None:
    mode = black.Mode(line_length=120)
    for source in sources[::2]:  # one of each form: black takes its time
        assert black.format_str(source.text, mode=mode) == source.text, source.name


def test_the_header_says_what_the_module_was_made_of(sources: list[Source]) -> None:
    for source in sources:
        header = ast.get_docstring(source.tree) or ""
        assert header.startswith(f"{source.name}: "), source.name
        for line in (r"spec +specs/\w+\.yaml", r"template +gemm/module\.py\.j2"):
            assert re.search(rf"^{line}$", header, re.MULTILINE), f"{source.name}: {line}"
        assert re.search(r"^Generated by tlxgen \d+\.\d+\.\d+; edit the spec", header, re.MULTILINE), source.name


def test_nothing_of_a_day_or_a_machine_is_in_a_module(sources: list[Source], rendered: Path) -> None:
    foreign = re.compile(
        rf"20\d\d-\d\d|\d\d:\d\d:\d\d|{re.escape(str(rendered.parent))}|(?<![\w.])/(home|root|tmp|work)/"
    )
    for source in sources:
        assert not foreign.search(source.text), source.name
