"""What `tlxgen verify` does with what it is given: prints, warnings, folders, skeletons, options, outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from typer.testing import CliRunner, Result

from tests.sim.support import ROOT, source
from tlxgen.cli import app
from tlxgen.errors import SpecErrors, TlxgenError
from tlxgen.sim import DEVICE, Session, load_module, verify
from tlxgen.verbs.idle import refuse_idle
from tlxgen.verify import CaseJob, FunctionJob
from tlxgen.verify.parallel import _units

FILE = """
import torch, triton, triton.language as tl
import triton.language.extra.tlx as tlx

@triton.autotune(configs=[triton.Config({"BLOCK": 16})], key=[])
@triton.jit
def ones(y_ptr, factor, BLOCK: tl.constexpr):
    tl.device_print("factor", factor)
    tl.store(y_ptr + tl.arange(0, BLOCK), 1.0)

def scale(x, factor: float, bias=None):
    y = torch.empty(16, device="cuda")
    ones[(1,)](y, factor)
    return x * factor

def main():
    y = torch.zeros(16, device="cuda")
    print("before")
    ones[(1,)](y, 3)
    assert ones.best_config.kwargs == {"BLOCK": 16}
    assert y.sum() == 17, "a check of the host"

@triton.jit
def warns(out):
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    tl.store(out, tl.max(tl.max(tlx.local_load(tile[0]), 0), 0) * 0 + 1)

def warning():
    warns[(1,)](torch.empty(1, device="cuda"))
"""


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["verify", *arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE)
    return tmp_path


def test_prints_are_shown_and_host_assertions_have_a_place(folder: Path) -> None:
    result = invoke("mine.py:main", "--seeds", "1", "-s", "--json", "record.json")
    assert result.exit_code == 1, result.output
    assert "schedule random, seed 0 prints:\n    before\n    CTA 0: factor 3\n" in result.output
    assert result.output.count("prints:") == 1  # all runs print the same
    assert "mine.py:21:5  assert y.sum() == 17" in result.output
    (target,) = json.loads((folder / "record.json").read_text())["targets"]
    assert target["verdict"]["places"] == [{"path": "mine.py", "line": 21}]
    assert "AssertionError: a check of the host" in target["verdict"]["cause"]


def test_warnings_count_where_they_are_to(folder: Path) -> None:
    result = invoke("mine.py:warning", "--schedule", "lazy", "--strict")
    assert result.exit_code == 1 and "warning uninitialised" in result.output, result.output
    assert "prints:" not in result.output and "most likely: " in result.output.splitlines()[1]


def test_a_skeleton_is_written_and_runs_as_it_stands(folder: Path) -> None:
    result = invoke("mine.py", "--skeleton")
    assert result.exit_code == 0 and result.output == "mine.verify.yaml written: tlxgen verify mine.verify.yaml\n"
    text = (folder / "mine.verify.yaml").read_text()
    assert "  ones:\n    kernel: ones\n" in text and "  scale:\n    call: scale\n" in text and "BLOCK" not in text
    again = invoke("mine.py", "--skeleton")
    assert isinstance(again.exception, TlxgenError) and "is there already" in str(again.exception)
    assert (folder / "mine.verify.yaml").read_text() == text
    result = invoke(".", "--schedule", "lazy", "--json", "record.json")  # a folder of cases
    targets = json.loads((folder / "record.json").read_text())["targets"]
    assert [t["target"] for t in targets] == ["mine.py:ones", "mine.py:scale", "mine.py:warns"], result.output
    assert "error" not in {t["status"] for t in targets}


def test_the_cases_of_a_file_share_a_process() -> None:
    def case(file: str, name: str) -> CaseJob:
        return CaseJob(Path(f"{file}.verify.yaml"), Path(f"{file}.py"), name)

    jobs = [case("a", "1"), case("a", "2"), case("a", "3"), FunctionJob(Path("a.py"), "f"), case("b", "1")]
    assert [len(unit) for unit in _units(jobs, 1)] == [3, 1, 1]
    assert [len(unit) for unit in _units(jobs, 2)] == [2, 1, 1, 1]
    assert [job for unit in _units(jobs, 2) for job in unit] == jobs


NOTHING: dict[str, Any] = {"seeds": None, "schedule": None, "arch": None, "exhaustive": False, "replay": None}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seeds": 3, "schedule": "lazy"}, "--seeds has no effect beside --schedule lazy"),
        ({"seeds": 3, "exhaustive": True}, "--seeds has no effect beside --exhaustive"),
        ({"schedule": "lazy", "exhaustive": True}, "--schedule has no effect beside --exhaustive"),
        ({"exhaustive": True, "replay": "x=0:"}, "--exhaustive has no effect beside --replay"),
        ({"arch": "sm100"}, "--arch is of FILE.py:function"),
    ],
)
def test_options_without_effect_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TlxgenError, match=words):
        refuse_idle(["specs/hopper_gemm.yaml"], **{**NOTHING, **given})
    refuse_idle(["x.py:f", "y.yaml"], **{**NOTHING, "arch": "sm100", "seeds": 3, "schedule": "random"})


def test_all_options_without_effect_are_told_at_once() -> None:
    with pytest.raises(SpecErrors) as caught:
        refuse_idle(["y.yaml"], **{**NOTHING, "replay": "x=0:", "seeds": 1, "arch": "sm90"})
    assert len(caught.value.errors) == 2


@pytest.mark.parametrize("option", ["--json", "--trace"])
@pytest.mark.parametrize(
    ("name", "words"), [("folder", "Is a directory"), ("mine.py/x", "Not a directory"), ("/proc/x", "No such file")]
)
def test_outputs_are_looked_at_before_anything_is_run(folder: Path, option: str, name: str, words: str) -> None:
    (folder / "folder").mkdir()
    result = invoke("no_such_file.py:main", option, name)  # would be told if it came to that
    assert isinstance(result.exception, TlxgenError) and words in str(result.exception)
    assert sorted(p.name for p in folder.iterdir()) == ["folder", "mine.py"]


def test_output_that_is_full_is_one_line_and_the_record_is_kept(tmp_path: Path) -> None:
    script = (
        "from tlxgen.cli import main\nfrom tlxgen.verbs import verify as verb\nfrom tlxgen.verify import Result\n"
        "verb.verify_all = lambda *_, **__: (r for r in [Result('x', runs=3)])\n"
        "verb._jobs = lambda *_: ([None], None)\nmain()\n"
    )
    command = [sys.executable, "-c", script, "verify", "x.py", "--json", str(tmp_path / "record.json")]
    with open("/dev/full", "w") as full:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert done.returncode == 2
    assert done.stderr == "error: cannot write the output: No space left on device\n"
    assert json.loads((tmp_path / "record.json").read_text())["targets"][0]["runs"] == 3


@triton.jit
def multiplies(out):
    a = tlx.local_alloc((64, 64), tl.float16, 2)
    tlx.local_store(a[0], tl.zeros((64, 64), tl.float16))
    tlx.local_store(a[1], tl.zeros((64, 64), tl.float16))
    tlx.fence("async_shared")
    acc = tlx.async_dot(a[0], a[1], tl.zeros((64, 64), tl.float32))
    acc = tlx.async_dot_wait(0, acc)
    tl.store(out, tl.max(tl.max(acc, 0), 0))


def test_wgmma_is_of_hopper() -> None:
    def program(session: Session) -> None:
        multiplies[(1,)](torch.zeros(1, device=DEVICE))

    assert not verify(program).seen
    report = verify(program, arch="sm100")
    assert report.ids == {"kernel-error"} and "wgmma, which sm100 has not" in str(report)


def test_memory_that_is_not_there_is_no_fault_of_the_kernel() -> None:
    def program(session: Session) -> None:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory")

    with pytest.raises(MemoryError):
        verify(program)


def test_the_attention_operator_runs_as_it_stands() -> None:
    forward = load_module(source("hopper_attention_fwd/hopper_attention_fwd_causal"))
    backward = load_module(source("hopper_attention_bwd/hopper_attention_bwd_causal_together"))

    def program(session: Session) -> None:
        attend = backward.attention(forward.hopper_attention_fwd)
        leaves = [torch.randn(1, 1, 72, 128).to(torch.bfloat16) for _ in range(3)]
        given = [x.to(DEVICE).requires_grad_() for x in leaves]
        found = torch.autograd.grad(attend(*given, is_causal=True).sum(), given)
        exact = [x.double().requires_grad_() for x in leaves]
        out = torch.nn.functional.scaled_dot_product_attention(*exact, is_causal=True)
        for a, b in zip(found, torch.autograd.grad(out.sum(), exact), strict=True):
            assert float((a.double() - b).norm() / b.norm()) < 1e-2

    assert not verify(program, [("lazy", 0)]).seen


def test_a_run_that_has_no_end_names_its_loop() -> None:
    """By steps alone: there is no clock in a run."""
    from tlxgen.sim import Limits

    def program(session: Session) -> None:
        endless[(1,)](torch.zeros(1, device=DEVICE))

    (seen,) = verify(program, [("lazy", 0)], limits=Limits(steps=100)).seen
    assert seen.finding.id == "no-progress" and seen.finding.message == "still running after 100 steps"
    (place,) = seen.finding.places
    assert Path(place.path) == Path(__file__) and "# no end" in Path(__file__).read_text().splitlines()[place.line - 1]
    assert not hasattr(Limits(), "seconds")


@triton.jit
def endless(out):
    i = 0
    while i >= 0:  # no end
        i = i * 1  # no end
    tl.store(out, i)
