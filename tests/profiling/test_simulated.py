"""Twins in the simulator: the plain kernel's outputs to the bit, times that add up, and a buffer that is never left."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.profiling.conftest import structures
from tlxgen.families import kernels_of
from tlxgen.profile.launches import simulate
from tlxgen.profile.times import times_of
from tlxgen.sim import DEVICE, Session, load_module, verify

SPECS = Path(__file__).parents[2] / "specs"
Folder = Callable[[str, str], Path]

CASES: list[tuple[str, str, tuple[int, ...]]] = [
    ("hopper_gemm", "hopper_gemm_pingpong", (250, 264, 200)),
    ("hopper_gemm_pdl", "", (200, 264, 200)),
    ("hopper_attention_fwd", "hopper_attention_fwd_causal", (1, 2, 1, 200, 200)),
    ("hopper_attention_bwd", "hopper_attention_bwd_causal_together", (1, 2, 1, 140, 140)),
    ("hopper_rms_norm", "hopper_rms_norm_staged", (22, 304)),
    ("hopper_grouped_gemm", "", (3, 135, 128, 72)),
    ("blackwell_gemm_clc", "", (129, 500, 200)),
]


def outputs(module: ModuleType, problem: Any, spec: Any, shape: tuple[int, ...], arch: str) -> dict[str, torch.Tensor]:
    """What one launch on one schedule gives, and it finds nothing."""
    found: dict[str, torch.Tensor] = {}

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        made, strays = problem.launch(module, spec, shape, problem.inputs(spec, shape, DEVICE), module.CONFIGS[0])
        assert not strays
        found.update({name: out.as_subclass(torch.Tensor).clone() for name, out in made.items()})

    report = verify(program, [("random", 3)], arch=arch)
    assert [s for s in report.seen if s.finding.id != "before-grid-wait"] == []
    return found


@pytest.mark.parametrize(("spec", "name", "shape"), CASES)
def test_the_twin_computes_the_same_bits_and_its_times_add_up(
    spec: str, name: str, shape: tuple[int, ...], folder: Folder
) -> None:
    structure = structures(spec)[name or next(iter(structures(spec)))]
    problem, arch = kernels_of(SPECS / f"{spec}.yaml").family.problem(), structure.plan.arch.name
    twins, variant = folder(spec, structure.name), structure.variants[0].spec
    plain, stamped = (load_module(where / f"{structure.name}.py", arch) for where in (twins.parent / "plain", twins))
    expected, made = (outputs(module, problem, variant, shape, arch) for module in (plain, stamped))
    assert expected.keys() == made.keys()
    for output, values in expected.items():
        assert torch.equal(values.contiguous().view(torch.uint8), made[output].contiguous().view(torch.uint8)), output
    path = twins / f"{structure.name}.py"
    recorded, findings = simulate(path, problem, variant, shape, 0, arch, seed=0, records=None)
    assert recorded is not None and not findings
    times = times_of(recorded)
    assert [t.task for t in times] == list(recorded.tasks)
    for task in times:
        assert 0.98 <= task.told <= 1.02
        assert sum(o.share for o in task.operations) == pytest.approx(1 if task.clocks else 0)
    if structure.plan.specialized:
        assert all(task.share("wait") > 0 for task in times)
        assert all(o.whom for task in times for o in task.operations if o.kind == "wait")


def test_stamps_come_in_the_order_of_the_program(folder: Folder) -> None:
    twins = folder("hopper_gemm", "hopper_gemm_cooperative")
    structure = structures("hopper_gemm")["hopper_gemm_cooperative"]
    problem = kernels_of(SPECS / "hopper_gemm.yaml").family.problem()
    path, shape = twins / "hopper_gemm_cooperative.py", (128, 128, 192)
    recorded, _ = simulate(path, problem, structure.variants[0].spec, shape, 0, "sm90", seed=1, records=None)
    assert recorded
    (load,) = (r for r in recorded.records if recorded.tasks[r.area] == "load")
    step = ["acquire ab", "expect ab", "load a", "load a", "load b"]
    named = [recorded.sites[n].name for n in load.sites.tolist()]
    assert [n for n in named if n != "rest"] == step * 3
    assert load.clocks.tolist() == sorted(load.clocks.tolist())
    (mma,) = (r for r in recorded.records if recorded.tasks[r.area] == "mma 1")
    named = [recorded.sites[n].what for n in mma.sites.tolist()]
    assert named.count("multiply acc") == 3
    begun, waited = (int(load.clocks[load.sites.tolist().index(n)]) for n in (0, 1))
    assert begun <= waited


def test_records_that_find_no_room_are_told_and_harm_nothing(folder: Folder) -> None:
    twins = folder("hopper_gemm", "hopper_gemm_cooperative")
    structure = structures("hopper_gemm")["hopper_gemm_cooperative"]
    problem = kernels_of(SPECS / "hopper_gemm.yaml").family.problem()
    path, spec, shape = twins / "hopper_gemm_cooperative.py", structure.variants[0].spec, (250, 264, 400)
    recorded, findings = simulate(path, problem, spec, shape, 0, "sm90", seed=0, records=32)
    assert recorded and not findings
    whole, _ = simulate(path, problem, spec, shape, 0, "sm90", seed=0, records=1024)
    assert whole and not whole.full
    assert recorded.full == len(recorded.records)
    for record, full in zip(recorded.records, whole.records, strict=True):
        told = record.clocks.size
        assert record.full and 8 < told < 32
        assert record.sites.tolist() == full.sites[:told].tolist()
        assert record.clocks.tolist() == full.clocks[:told].tolist()


def test_outside_of_collect_launches_are_recorded_for_nobody(folder: Folder) -> None:
    twins = folder("hopper_gemm", "hopper_gemm_cooperative")
    structure = structures("hopper_gemm")["hopper_gemm_cooperative"]
    problem = kernels_of(SPECS / "hopper_gemm.yaml").family.problem()
    module = load_module(twins / "hopper_gemm_cooperative.py")
    outputs(module, problem, structure.variants[0].spec, (128, 128, 64), "sm90")
    assert sys.modules[module.stamped.__module__].COLLECTING == []
    (buffer,) = module.hopper_gemm_cooperative_kernel.buffers.values()
    assert buffer.any()


def test_a_buffer_that_32_bits_do_not_count_is_refused(folder: Folder) -> None:
    twins = folder("hopper_gemm", "hopper_gemm_cooperative")
    module = load_module(twins / "hopper_gemm_cooperative.py")
    kernel = module.hopper_gemm_cooperative_kernel
    with (
        sys.modules[module.stamped.__module__].collect(1 << 20) as launches,
        pytest.raises(ValueError, match="2097152 words for each of 3000 tasks of CTAs are too many for one buffer"),
    ):
        kernel[(10, 10, 10)]()
    assert launches == []


def test_a_problem_with_nothing_to_launch_is_told(folder: Folder) -> None:
    from tlxgen.errors import ProfileError
    from tlxgen.profile.launches import _recorded

    with pytest.raises(ProfileError, match="launched no instrumented kernel"):
        _recorded([], "step")
