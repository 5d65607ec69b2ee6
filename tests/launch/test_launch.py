"""How a generated host function launches, on Triton's own launcher with a stand-in for NVIDIA's driver under it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

pytestmark = [
    pytest.mark.compiles,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch"),
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="no triton"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="Triton builds its launcher with gcc"),
    pytest.mark.skipif(not Path(sysconfig.get_path("include"), "Python.h").is_file(), reason="no Python.h"),
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    spec = importlib.util.find_spec("triton")
    assert spec and spec.origin
    include = Path(spec.origin).parent / "backends" / "nvidia" / "include"
    folder = tmp_path_factory.mktemp("driver")
    library = folder / "libcuda.so.1"
    command = ["gcc", "-O1", "-w", "-shared", "-fPIC", f"-I{include}", str(HERE / "libcuda.c"), "-o", library]
    subprocess.run(command, check=True, timeout=1800)
    shutil.copy(library, folder / "libcuda.so")
    module = ROOT / "generated" / "hopper_gemm" / "hopper_gemm_cooperative.py"
    environment = os.environ | {
        "LD_LIBRARY_PATH": str(folder),
        "TRITON_LIBCUDA_PATH": str(folder),
        "TRITON_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
    }
    command = [sys.executable, str(HERE / "host.py"), str(module), "hopper_gemm", str(folder)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800)
    assert run.returncode == 0, run.stderr[-3000:]
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def test_every_call_launches_once_on_the_current_stream_with_its_own_addresses(seen: dict[str, Any]) -> None:
    calls = [v for v in seen.values() if isinstance(v, dict)]
    assert len(calls) == 14
    assert {c["launches"] for c in calls} == {1}
    assert {name for name, c in seen.items() if isinstance(c, dict) and c["stream"] != 77} == {"other stream"}
    assert seen["other stream"]["stream"] == 78
    assert all(c["addresses"] for c in calls)


def test_a_repeated_call_encodes_nothing(seen: dict[str, Any]) -> None:
    """The first goes through Triton, the second encodes to keep, the third finds all that it needs."""
    assert [seen[name]["encodes"] for name in ("first", "second", "third")] == [3, 3, 0]


def test_another_address_of_the_same_layout_costs_one_descriptor_and_the_old_ones_stay(seen: dict[str, Any]) -> None:
    assert seen["other pointer"]["encodes"] == 1
    assert seen["back"]["encodes"] == 0


def test_the_fast_launch_passes_what_triton_passes(seen: dict[str, Any]) -> None:
    for what in ("grid", "extents", "box"):
        assert seen["first"][what] == seen["third"][what] == seen["profiled"][what]
    assert seen["third"]["extents"] == [[512, 256], [384, 512], [384, 256]]


def test_another_shape_or_config_is_another_launch(seen: dict[str, Any]) -> None:
    assert seen["other shape"]["extents"][0] == [512, 1024]
    assert seen["other shape"]["grid"] > seen["third"]["grid"]
    assert seen["other config"]["box"] != seen["third"]["box"] or seen["other config"]["grid"] != seen["third"]["grid"]


def test_c_is_allocated_the_quick_way_once_its_launch_is_bound_and_its_gpu_is_current(seen: dict[str, Any]) -> None:
    made = {name: c["made"] for name, c in seen.items() if isinstance(c, dict)}
    assert {name: n for name, n in made.items() if n} == {"allocated": 1, "padded again": 1, "one of several": 1}
    allocated = ("other shape", "allocated", "one of several", "not the current one")
    assert all(seen[name]["c"] == [1024, 384, 384, 1, "torch.bfloat16"] for name in allocated)
    assert seen["padded"]["c"] == seen["padded again"]["c"] == [256, 377, 384, 1, "torch.bfloat16"]


def test_a_profilers_hook_sees_the_launch(seen: dict[str, Any]) -> None:
    assert seen["hooked"] == [True]


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("misaligned", "a: data_ptr() is 2 bytes past"),
        ("like others", "a: data_ptr() is 2 bytes past"),
        ("wrong type", "a: torch.float32, expected"),
    ],
)
def test_what_the_kernel_cannot_take_is_refused_each_time(seen: dict[str, Any], what: str, text: str) -> None:
    assert len(seen[what]) == 2
    assert all(message.startswith(text) for message in seen[what])


def test_what_is_kept_is_bounded(seen: dict[str, Any]) -> None:
    assert 0 < seen["kept"] <= 1024


def test_a_launch_takes_little_of_the_host(seen: dict[str, Any]) -> None:
    """Python and Triton's launcher alone; through Triton the same call takes ten times as long on the same machine."""
    assert seen["us"] < 120
