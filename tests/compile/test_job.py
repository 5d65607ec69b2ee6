"""Jobs and outcomes keep their value through JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tlxgen.compile import Argument, Job, Outcome, Resources
from tlxgen.compile.compiler import outcome_of


def job() -> Job:
    return Job(
        "gemm-1",
        "/x/gemm.py",
        "gemm",
        "sm100",
        (Argument("a", "tensordesc<bf16[64, 64]>"), Argument("m", "i32"), Argument("GUARD", "constexpr")),
        {"GUARD": True, "STAGES": 4, "SCALE": 0.5, "ACT": "relu", "NOTHING": None},
        ("m",),
        8,
        2,
        (2, 1, 1),
    )


def resources(**changes: Any) -> Resources:
    fields: dict[str, Any] = {
        "registers": 168,
        "stack_bytes": 8,
        "spill_store_bytes": 4,
        "spill_load_bytes": 4,
        "smem_bytes": 1024,
        "tmem_columns": 0,
        "named_barriers": 2,
        "mbarriers": 8,
        "warps": 12,
        "cluster": (1, 2, 1),
        "maxnreg": None,
        "setmaxnreg": (("dec", 40), ("inc", 232)),
        "sass": {"HGMMA": 8, "total": 100},
        "cubin_bytes": 1,
        "ptx_sha256": "p",
        "sass_sha256": "s",
        "cubin_sha256": "c",
        "loops": ({"HGMMA": 4, "total": 20},),
        "releases": {"loads": 2, "releases": 3, "early": []},
    } | changes
    return Resources(**fields)


def through_json(value: dict[str, Any]) -> Any:
    return json.loads(json.dumps(value))


def test_a_job_comes_back_equal() -> None:
    back = Job.from_json(through_json(job().to_json()))
    assert back == job()
    assert [type(v) for v in back.constants.values()] == [bool, int, float, str, type(None)]


@pytest.mark.parametrize("found", [resources(), resources(sass=None, sass_sha256=None, maxnreg=128), None])
def test_an_outcome_comes_back_equal(found: Resources | None) -> None:
    outcome = Outcome("gemm-1", found, "" if found else "ValueError: no", "log", 1.5, True)
    assert Outcome.from_json(through_json(outcome.to_json())) == outcome
    assert outcome.ok == (found is not None)


@pytest.mark.parametrize("damage", [{"cluster": [1, 2]}, {"loops": None}, {"setmaxnreg": 3}, {"unknown": 1}])
def test_damaged_resources_are_refused(damage: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)):
        Resources.from_json(through_json(resources().to_json()) | damage)


def test_resources_from_before_the_rule_on_releases() -> None:
    old = through_json(resources().to_json())
    del old["releases"]
    assert Resources.from_json(old) == resources(releases=None)


def test_a_compile_that_left_an_operation_out_has_no_resources(tmp_path: Path) -> None:
    """triton-utlx prints an error of an operation that its Triton lacks, and compiles the rest."""
    log = tmp_path / "log"
    log.write_text("error: uTLX: of an earlier job\n")

    def compiling() -> Resources:
        with log.open("a") as file:
            file.write("k.py:7:4: error: uTLX: 'ttg.async_remote_shmem_store' is not registered in this Triton build\n")
        return resources()

    found = outcome_of("a job", "k.py", compiling, log)
    assert not found.ok and found.resources is None
    assert found.error == "uTLX: 'ttg.async_remote_shmem_store' is not registered in this Triton build"
    assert outcome_of("another", "k.py", resources, log).ok
