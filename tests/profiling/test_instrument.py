"""A twin is its plain module and stamps: whole lines, at each operation, of each task."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import pytest

from tests.profiling.conftest import plain_of, source, structures, twin
from tlxgen.errors import ProfileError
from tlxgen.profile.instrument import Twin, instrument

# Structures with what sets sources apart: families, work lists, guards, replicas, signals, clusters, PDL.
CHOSEN = [
    ("hopper_gemm", "hopper_gemm_cooperative"),
    ("hopper_gemm", "hopper_gemm_pingpong"),
    ("hopper_gemm_split_k", None),
    ("hopper_gemm_helped", None),
    ("hopper_gemm_cluster_k", None),
    ("hopper_gemm_pdl", None),
    ("hopper_gemm_store_task", None),
    ("hopper_gemm_prefetch", None),
    ("hopper_attention_fwd", "hopper_attention_fwd_causal"),
    ("hopper_attention_bwd", "hopper_attention_bwd_causal_together"),
    ("hopper_attention_bwd_dq", None),
    ("hopper_rms_norm", "hopper_rms_norm_staged"),
    ("hopper_layer_norm_bwd", None),
    ("hopper_grouped_gemm", None),
    ("blackwell_gemm_clc", None),
    ("blackwell_gemm_2cta", None),
    ("blackwell_attention_fwd", "blackwell_attention_fwd_causal"),
    ("blackwell_mx_gemm", None),
]


def name_of(spec: str, name: str | None) -> str:
    return name or next(iter(structures(spec)))


@pytest.mark.parametrize(("spec", "name"), CHOSEN)
def test_without_its_stamps_a_twin_is_the_plain_module_to_the_byte(spec: str, name: str | None) -> None:
    name = name_of(spec, name)
    made, plain = twin(spec, name), source(spec, name)
    assert plain_of(made.text) == plain
    structure = structures(spec)[name]
    assert made.tasks and len(made.tasks) == sum(r.replicas for r in structure.plan.roles)
    check_stamps(made)
    check_sites(made, plain)


@pytest.mark.parametrize(("spec", "name"), [CHOSEN[0], CHOSEN[8], CHOSEN[9], CHOSEN[14]])
def test_with_waits_alone_there_are_fewer_stamps(spec: str, name: str | None) -> None:
    name = name_of(spec, name)
    structure, plain = structures(spec)[name], source(spec, name)
    whole, made = twin(spec, name), instrument(plain, structure.plan, structure.baked, waits=True)
    assert plain_of(made.text) == plain
    check_stamps(made)
    assert {site.kind for site in made.sites} == {"wait", "rest"}
    waits = [[(s.task, s.what, s.whom, s.line) for s in t.sites if s.kind == "wait"] for t in (whole, made)]
    assert waits[0] == waits[1] and len(made.sites) < len(whole.sites)


def check_stamps(made: Twin) -> None:
    """Numbers of a task go from 1 on, one row goes from one place in the buffer on, and each task begins and ends."""
    found = re.findall(
        r"= stamp\(stamps_lane, stamps_row, (\d+), (\d+)\)|(stamps_begin|stamps_finish)\(|"
        r"stamps_next\(stamps_ptr, stamps_last, stamps_at, stamps_lane, stamps_row, (\d+)",
        made.text,
    )
    numbers, place, open_task, total = 0, 0, False, 0
    for offset, number, edge, moved in found:
        if edge == "stamps_begin":
            assert not open_task
            open_task, numbers = True, 0
        elif edge:
            assert open_task and place == 0
            open_task = False
        elif moved:
            assert place == int(moved) <= 64
            place = 0
        else:
            assert (int(offset), int(number)) == (place, numbers + 1)
            place, numbers, total = place + 1, numbers + 1, total + 1
    assert not open_task
    assert total == len(made.sites) == sum(count for _, _, count in made.rows)


WAITS = re.compile(r"tlx\.(named_)?barrier_wait|async_dot_wait|store_wait")


def check_sites(made: Twin, plain: str) -> None:
    """Each wait of the source has a site of that class at its line, which says who is waited for."""
    lines = plain.splitlines()
    waits = {site.line for site in made.sites if site.kind == "wait"}
    written = {i for i, line in enumerate(lines, 1) if WAITS.search(line.partition("#")[0])}
    assert written <= waits
    for site in made.sites:
        assert site.kind != "wait" or site.whom, site
        assert (site.kind == "rest") == (not site.what)
    products = {i for i, line in enumerate(lines, 1) if re.search(r"tlx\.async_dot(_scaled)?\(", line)}
    assert products <= {s.line for s in made.sites if s.kind == "product"}


def test_the_twin_is_python_and_its_table_says_what_its_stamps_are() -> None:
    made = twin("hopper_gemm", "hopper_gemm_cooperative")
    ast.parse(made.text)
    assert made.tasks == ("load", "mma 0", "mma 1")
    assert made.roles == (0, 1, 1)
    named = {(s.what, s.kind, s.whom) for s in made.sites}
    assert ("acquire ab", "wait", "mma x 2 replicas") in named
    assert ("wait ab", "wait", "the TMA loads of load") in named
    assert ("multiply acc", "product", "") in named
    assert ("store c", "store", "") in named


def test_one_stamp_stands_between_operations_that_follow_each_other() -> None:
    made = twin("hopper_gemm", "hopper_gemm_cooperative").text
    inside = made[made.index("tlx.barrier_wait(ab_full[slot], phase)") :].splitlines()
    assert inside[1].strip().startswith("stamps_row = stamp(")
    assert inside[2].strip().startswith("acc = tlx.async_dot(")


def test_an_operation_that_somebody_adds_gets_stamps_too() -> None:
    structure, text = (
        structures("hopper_gemm")["hopper_gemm_cooperative"],
        source("hopper_gemm", "hopper_gemm_cooperative"),
    )
    edited = text.replace("                count = 0\n", "", 0).replace(
        "            tlx.async_descriptor_store_wait(0)\n",
        "            tlx.barrier_wait(ab_full[0], 0)\n            tlx.async_descriptor_store_wait(0)\n",
    )
    made = instrument(edited, structure.plan, structure.baked)
    assert len(made.sites) == len(twin("hopper_gemm", "hopper_gemm_cooperative").sites) + 1
    assert plain_of(made.text) == edited


def test_what_is_no_source_of_the_plan_is_refused() -> None:
    structure, text = (
        structures("hopper_gemm")["hopper_gemm_cooperative"],
        source("hopper_gemm", "hopper_gemm_cooperative"),
    )
    stamped = twin("hopper_gemm", "hopper_gemm_cooperative").text
    with pytest.raises(ProfileError, match="has the word 'stamp' already"):
        instrument(stamped, structure.plan, structure.baked)
    with pytest.raises(ProfileError, match="1 tasks in the source, 2 roles in the plan"):
        instrument(text.replace('with tlx.async_task("default"):', "if True:"), structure.plan, structure.baked)
    with pytest.raises(ProfileError, match="no kernel"):
        instrument(text.replace("def hopper_gemm_cooperative_kernel", "def other"), structure.plan, structure.baked)
    with pytest.raises(ProfileError, match="not Python"):
        instrument(text + "\n)", structure.plan, structure.baked)


def test_a_fence_is_one_with_what_it_is_for_and_an_index_with_what_is_before_it() -> None:
    made = twin("hopper_attention_bwd", "hopper_attention_bwd_none_together")
    lines = [line.strip() for line in made.text.splitlines()]
    fence = next(i for i, line in enumerate(lines) if line.startswith('tlx.fence("async_shared")'))
    assert lines[fence - 1].endswith("# publish ds")
    assert lines[fence + 1].startswith("tlx.barrier_arrive(ds_full")
    index = next(i for i, line in enumerate(lines) if line.startswith("next_slot, next_phase = ring_slot("))
    assert lines[index - 1].startswith("tlx.barrier_arrive(do_empty")
    assert lines[index + 1].endswith("# wait q")
    assert not any(site.what == "fence" for site in made.sites)


def test_a_row_is_no_longer_than_the_slack_of_the_buffer() -> None:
    structure, text = (
        structures("hopper_gemm")["hopper_gemm_cooperative"],
        source("hopper_gemm", "hopper_gemm_cooperative"),
    )
    line = "            tlx.async_descriptor_store_wait(0)\n"
    check_stamps(instrument(text.replace(line, line * 150), structure.plan, structure.baked))


def test_a_signature_on_one_line_gets_the_arguments_before_the_constants() -> None:
    structure = structures("hopper_rms_norm")["hopper_rms_norm_grid"]
    text = source("hopper_rms_norm", "hopper_rms_norm_grid")
    start = text.index("def hopper_rms_norm_grid_kernel(")
    end = text.index("):", start)
    one_line = " ".join(text[start:end].replace("(\n", "(").split()).replace("( ", "(").removesuffix(",")
    made = instrument(text[:start] + one_line + text[end:], structure.plan, structure.baked)
    kernel = next(n for n in ast.parse(made.text).body if getattr(n, "name", "") == "hopper_rms_norm_grid_kernel")
    names = [a.arg for a in kernel.args.args]  # type: ignore[attr-defined]
    assert names[names.index("eps") + 1 :][:3] == ["stamps_ptr", "stamps_last", "BLOCK_M"]


def test_replicas_of_a_guarded_role_count_only_where_the_guard_lets_it_be() -> None:
    structure = structures("blackwell_gemm_clc")[name_of("blackwell_gemm_clc", None)]
    made = twin("blackwell_gemm_clc", structure.name)
    assert made.tasks[-1] == "scheduler"
    plan = replace(structure.plan, roles=structure.plan.roles[:-1])
    with pytest.raises(ProfileError, match="4 tasks in the source, 3 roles"):
        instrument(source("blackwell_gemm_clc", structure.name), plan, structure.baked)
