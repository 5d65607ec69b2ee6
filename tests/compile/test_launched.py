"""`tlxgen compile` of hand-written kernels: what their host code launches is recorded, and compiled as Triton would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

import torch

from tlxgen.cli import app
from tlxgen.errors import TlxgenError
from tlxgen.launched.recorder import Recorder
from tlxgen.sim import DEVICE, load_module

KERNELS = Path(__file__).parent / "kernels"
MINE = KERNELS / "by_hand.py"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the file of kernels, and its cases."""
    for name in ("by_hand.py", "by_hand.verify.yaml"):
        (tmp_path / name).write_text((KERNELS / name).read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["compile", *arguments])
    if isinstance(result.exception, Exception) and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def compiled(*arguments: str, status: int = 0) -> dict[str, Any]:
    result = invoke(*arguments, "--json")
    assert result.exit_code == status, result.output
    return json.loads(result.output)  # type: ignore[no-any-return]


def recorded(function: str, **options: Any) -> Recorder:
    """What a function of the file launches."""
    module = load_module(MINE)
    recorder = Recorder(**options)
    with recorder.active():
        getattr(module, function)()
    return recorder


def test_a_launch_is_specialised_as_triton_does_and_executes_nothing() -> None:
    module = load_module(MINE)
    recorder = Recorder()
    with recorder.active():
        y = torch.zeros(1000, dtype=torch.bfloat16, device=DEVICE)
        module.fill[(8,)](y, 960, 0.5, BLOCK=128, num_warps=8, maxnreg=64, ctas_per_cga=(2, 1, 1))
        module.fill[(8,)](y[1:], 1 << 40, 2, BLOCK=128)
    first, second = (found.kernel for found in recorder.recorded.values())
    assert first.types == {"y": "*bf16", "n": "i32", "value": "fp32", "BLOCK": "constexpr"}
    assert first.constants == {"BLOCK": 128} and first.divisible == ("y", "n")
    assert first.options == {"num_warps": 8, "num_stages": 3, "num_ctas": 1, "maxnreg": 64, "cluster": [2, 1, 1]}
    assert (second.types["n"], second.types["value"], second.divisible) == ("i64", "i32", ("n",))
    assert not y.any()
    assert Path(first.path) == MINE
    assert MINE.read_text().splitlines()[first.line - 1].startswith("def fill(")


def test_launches_that_share_a_specialisation_are_one_kernel() -> None:
    recorder = recorded("test_alike")
    assert recorder.launches == 3
    assert [found.kernel.divisible for found in recorder.recorded.values()] == [("y",), ("y", "n")]


def test_a_one_becomes_a_constant() -> None:
    module = load_module(MINE)
    recorder = Recorder()
    with recorder.active():
        module.fill[(1,)](torch.zeros(16, device=DEVICE), 1, 0.5, BLOCK=16)
    (found,) = recorder.recorded.values()
    assert found.kernel.types["n"] == "constexpr" and found.kernel.constants == {"n": 1, "BLOCK": 16}


def test_each_config_that_the_pruning_of_an_autotuned_kernel_leaves_is_recorded_or_one() -> None:
    every = [found.kernel for found in recorded("test_tuned").recorded.values()]
    assert [(k.config, k.configs, k.constants["BLOCK"], k.options["num_warps"]) for k in every] == [
        (0, 2, 128, 4),
        (1, 2, 256, 8),
    ]
    assert [k.constants["EVEN"] for k in every] == [False, False]  # of the heuristics inside
    (one,) = [found.kernel for found in recorded("test_tuned", only=1).recorded.values()]
    assert one.config == 1
    with pytest.raises(TlxgenError, match=r"no config 2: tuned has 2 configs \(0 to 1\)"):
        recorded("test_tuned", only=2)


@pytest.mark.compiles
def test_a_function_gives_the_resources_of_what_it_launches(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")  # and yet nothing is left beside the file
    (row,) = compiled("by_hand.py:test_copy")["kernels"]
    assert (row["kernel"], row["targets"], row["file"]) == ("copy", ["by_hand.py:test_copy"], "by_hand.py")
    assert row["types"]["x_desc"] == "tensordesc<fp16[64, 64]>"
    found = row["resources"]
    assert found["smem_bytes"] >= 2 * 64 * 64 * 2 and found["mbarriers"] == 4
    assert found["setmaxnreg"].startswith("dec 24, inc ") and found["spill_store_bytes"] == 0
    assert found["sass"]["UTMALDG"] == 1 and found["sass"]["UTMASTG"] == 1
    assert found["releases"]["loads"] > 0 < found["releases"]["releases"]
    assert found["releases"]["early"] == row["findings"] == []
    assert not (here / "lock.json").exists() and sorted(p.name for p in here.iterdir()) == [
        "by_hand.py",
        "by_hand.verify.yaml",
    ]


@pytest.mark.compiles
def test_cases_of_a_file_compile_once_what_several_launch(here: Path) -> None:
    out = compiled("by_hand.verify.yaml")
    assert [row["targets"] for row in out["kernels"]] == [
        ["by_hand.py:even", "by_hand.py:host"],
        ["by_hand.py:ragged"],
    ]
    printed = invoke("by_hand.py").output
    assert "by_hand.py:even, by_hand.py:host" in printed and "2 of 2 kernels compiled" in printed
    assert "N i32 divisible by 16" in printed  # what tells the two apart


@pytest.mark.compiles
def test_the_architecture_is_that_of_the_option_for_a_function(here: Path) -> None:
    (row,) = compiled("by_hand.py:test_copy", "--arch", "sm100")["kernels"]
    assert row["arch"] == "sm100" and row["resources"]["sass"]["UTMALDG"] == 1
    with pytest.raises(TlxgenError, match="--arch is of FILE.py:function"):
        invoke("by_hand.verify.yaml", "--arch", "sm100")


@pytest.mark.compiles
def test_a_kernel_that_does_not_compile_is_one_line_with_its_place_and_the_others_are_compiled(here: Path) -> None:
    out = compiled("by_hand.py:test_bad", status=1)
    bad, fill = out["kernels"]
    line = next(i for i, text in enumerate(MINE.read_text().splitlines(), 1) if "BLOCK + 1" in text)
    assert bad["error"] == f"ValueError: arange's range must be a power of 2 (by_hand.py:{line})"
    assert bad["resources"] is None and fill["resources"]["registers"] > 0
    assert "1 of 2 kernels compiled" in invoke("by_hand.py:test_bad").output


@pytest.mark.compiles
def test_a_kernel_that_calls_what_triton_does_not_know_is_no_fault_of_its_host_code(here: Path) -> None:
    (unknown,) = compiled("by_hand.py:test_unknown", status=1)["kernels"]
    assert "Cannot access global variable plain" in unknown["error"]


@pytest.mark.compiles
def test_a_compiler_that_crashes_takes_no_other_kernel_with_it(here: Path) -> None:
    crash, fill = compiled("by_hand.py:test_crash", status=1)["kernels"]
    assert "crashed with SIGABRT" in crash["error"] and fill["resources"]["registers"] > 0


@pytest.mark.compiles
def test_a_check_of_the_file_that_fails_is_said_and_fails_nothing(here: Path) -> None:
    out = compiled("by_hand.py:test_checks")
    (note,) = out["notes"]
    assert "the host code's own check failed, because nothing was computed" in note and len(out["kernels"]) == 1


@pytest.mark.compiles
@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("test_nothing", "it launched no kernel: there is nothing to compile"),
        ("test_raises", "the host code raised ValueError: so"),
        ("test_option", "num_wraps was specified but unrecognised"),
        ("test_leaves", "ended the process with status 3"),
        ("test_nowhere", "no 'test_nowhere' here"),
        ("fill", "fill is a kernel: its launch must be declared"),
    ],
)
def test_host_code_that_cannot_be_run_is_an_error(here: Path, function: str, message: str) -> None:
    out = compiled(f"by_hand.py:{function}", status=2)
    (error,) = out["errors"]
    assert message in error["message"] and error["target"] == f"by_hand.py:{function}"


def test_options_and_files_that_are_not_there_are_refused(here: Path) -> None:
    with pytest.raises(TlxgenError, match="nothing.py:1:1: no such file"):
        invoke("nothing.py")
    with pytest.raises(TlxgenError, match="--config is of hand-written kernels"):
        invoke("some.yaml", "--config", "1")
