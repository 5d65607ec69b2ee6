"""What the simulator takes for granted: the compiler syncs a task's warps between accesses to one place in SMEM."""

from __future__ import annotations

from itertools import product

import pytest

from tlxgen.compile import Argument, Job, compile_all

from .conftest import KERNELS

pytestmark = pytest.mark.compiles


@pytest.mark.parametrize("arch", ["sm90", "sm100"])
def test_a_task_syncs_between_its_accesses_to_aliased_buffers(arch: str) -> None:
    jobs = [
        Job(
            id=f"{mode} {aliased}",
            module=str(KERNELS / "aliased.py"),
            kernel="aliased",
            arch=arch,  # type: ignore[arg-type]
            arguments=(Argument("x_ptr", "*fp16"), Argument("y_ptr", "*fp32")),
            constants={"MODE": mode, "ALIASED": aliased},
            divisible=("x_ptr", "y_ptr"),
        )
        for mode, aliased in product((0, 1, 2), (True, False))
    ]
    found = {o.job: o.resources for o in compile_all(jobs)}
    syncs = {name: r.sass["BAR"] for name, r in found.items() if r is not None and r.sass is not None}
    assert all(syncs[f"{mode} True"] == syncs[f"{mode} False"] + 1 for mode in (0, 1, 2)), syncs
