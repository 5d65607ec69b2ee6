"""`tlxgen doctor`: what works here, one line that mends what does not, and the exit status."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tlxgen import cli, doctor
from tlxgen.bench import device as readings
from tlxgen.doctor import NEEDS, checks
from tlxgen.errors import FamilyError, ToolchainError

Run = Callable[..., tuple[int, str, str]]
H200 = {"version": "2.13.0", "cuda": "12.9", "names": ["NVIDIA H200"], "at": [[9, 0]]}
CPU = {"version": "2.13.0+cpu", "cuda": None, "names": [], "at": []}
LISTED = (readings.Listed("0", "GPU-1", "NVIDIA H200", "580.1"),)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The verb on a machine with everything but a GPU."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(checks, "_torch", lambda: CPU)
    monkeypatch.setattr(checks, "_toolchains", lambda: iter(()))
    monkeypatch.setattr(checks, "check_triton", lambda: "3.7.4+fb")
    monkeypatch.setattr(readings, "listed", lambda: ())
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    ptxas = checks.Check("ptxas", "ok", "there")
    monkeypatch.setattr(checks, "CHECKS", tuple((lambda: ptxas) if c is checks._ptxas else c for c in checks.CHECKS))

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tlxgen", "doctor", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert isinstance(end.value.code, int)
        return end.value.code, *capsys.readouterr()

    return run


def states(output: str) -> dict[str, str]:
    return {check["name"]: check["state"] for check in json.loads(output)["checks"]}


def test_without_a_gpu_nothing_is_at_fault(run: Run) -> None:
    code, output, errors = run()
    assert (code, errors) == (0, "")
    lines = output.splitlines()
    assert lines[-4].startswith("works here: ") and "verify" in lines[-4] and "tune" not in lines[-4]
    assert lines[-3] == "check needs: driver, torch for CUDA, GPU"
    assert run("--for", "verify")[0] == 0
    assert run("--for", "check")[0] == 1


def test_with_a_gpu_all_works(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_torch", lambda: H200)
    monkeypatch.setattr(readings, "listed", lambda: LISTED)
    code, output, _ = run("--json")
    data = json.loads(output)
    assert code == 0 and (data["version"], data["verb"]) == (1, "doctor")
    assert {c["state"] for c in data["checks"]} == {"ok"}
    assert all(verb["works"] and verb["lacking"] == [] for verb in data["verbs"].values())
    assert "NVIDIA H200 (sm90)" in output


def test_a_gpu_that_is_neither_is_no_gpu_for_us(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_torch", lambda: {**H200, "names": ["NVIDIA A100"], "at": [[8, 0]]})
    monkeypatch.setattr(readings, "listed", lambda: LISTED)
    code, output, _ = run("--json")
    assert code == 0 and states(output)["GPU"] == "absent" and "neither sm90 nor sm100" in output


def fail(error: Exception) -> Callable[[], Any]:
    def failing() -> Any:
        raise error

    return failing


@pytest.mark.parametrize(
    ("place", "value", "check", "remedy", "lost"),
    [
        ("check_triton", fail(ToolchainError("stock triton", remedy="run: pip")), "triton", "run: pip", "compile"),
        ("_torch", lambda: ToolchainError("none", remedy="run: pip install torch"), "torch", "pip install", "verify"),
        ("LEAST", (9, 9), "python", "install Python 9.9 or later", "build"),
    ],
)
def test_a_fault_has_a_remedy_and_exit_1(
    run: Run, monkeypatch: pytest.MonkeyPatch, place: str, value: Any, check: str, remedy: str, lost: str
) -> None:
    monkeypatch.setattr(checks, place, value)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    code, output, _ = run("--json")
    data = json.loads(output)
    (found,) = [c for c in data["checks"] if c["name"] == check]
    assert code == 1 and found["state"] == "fault" and remedy in found["remedy"]
    assert check in data["verbs"][lost]["lacking"]
    assert run("--for", lost)[0] == 1 and (lost == "build" or run("--for", "list")[0] == 0)


def test_elsewhere_than_on_linux_it_says_where_fbtriton_runs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "check_triton", fail(ToolchainError("triton is not installed", remedy="run: pip")))
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert "is for Linux: use a container or WSL 2" in run()[1]


def test_a_gpu_that_torch_does_not_see_is_a_fault(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "listed", lambda: LISTED)
    code, output, _ = run("--json")
    assert code == 1 and {states(output)[n] for n in ("GPU", "torch for CUDA")} == {"fault"}


def test_a_cache_folder_that_cannot_be_written(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    code, output, _ = run()
    assert code == 1 and "set TLXGEN_CACHE_DIR to a folder" in output
    assert run("--for", "build")[0] == 0  # which does without


def test_a_plug_in_that_does_not_load_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = FamilyError("the kernel family 'odd' of odd-kernels does not load: no module")
    monkeypatch.setattr(checks.families, "loaded", lambda: ({}, {"odd": broken}))
    code, output, _ = run()
    assert code == 1 and "fault   plug-in odd" in output and broken.message in output


def test_an_unknown_verb(run: Run) -> None:
    code, output, errors = run("--for", "bild")
    assert (code, output) == (2, "") and "no verb 'bild'" in errors


def test_every_verb_says_what_it_needs() -> None:
    names = {command.name or command.callback.__name__ for command in cli.app.registered_commands if command.callback}
    assert set(NEEDS) == names


def test_every_need_is_checked(run: Run) -> None:
    assert {need for needs in NEEDS.values() for need in needs} <= set(states(run("--json")[1]))


def test_torch_is_asked_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that dies as it is imported is a fault with its last line, not our end."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('libcudart.so.12: cannot open')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = checks._torch()
    assert isinstance(found, ToolchainError) and "libcudart.so.12: cannot open" in found.message
    assert doctor.lacking("verify", list(checks._of_torch(found))) == ["torch"]
