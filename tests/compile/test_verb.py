"""`tlxgen compile` for people: registers at launch beside those of the tasks, with a word on why they differ."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton.language.extra.tlx")

from tlxgen.compile import Outcome, Resources
from tlxgen.families import kernels_of
from tlxgen.launched import Compiled, Kernel
from tlxgen.verbs import compile as verb
from tlxgen.verbs import launched
from tlxgen.working import Working

HEAD = "kernel: gemm\nname: k\narch: sm90\n"


def kernels_in(folder: Path, text: str) -> list[verb.Kernel]:
    """The main kernels of a spec."""
    spec = folder / "k.yaml"
    spec.write_text(HEAD + text)
    structure, work = kernels_of(spec).structures[0], Working(spec, folder, folder, {})
    return [
        verb.Kernel(work, structure.name, v, launch, verb.job_of(folder / "k.py", v, launch))
        for v in structure.variants
        for launch in (v.plan.launches[:1] if v.plan else ())
    ]


def resources(**figures: Any) -> Resources:
    """Those of a kernel that takes 168 registers at launch, and nothing else."""
    none: dict[str, Any] = {f.name: 0 for f in fields(Resources) if f.default is f.default_factory is MISSING}
    moves = (("dec", 40), ("inc", 232))
    return Resources(**{**none, "registers": 168, "sass": {}, "setmaxnreg": moves, **figures})


def printed(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The table of a spec whose kernels all take 168 registers at launch."""
    kernels = kernels_in(folder, text)
    verb._print(kernels, [Outcome(kernel.job.id, resources()) for kernel in kernels], [])
    return capsys.readouterr().out


def test_registers_at_launch_stand_beside_those_of_the_tasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed("", tmp_path, capsys)
    assert "registers at launch" in out and "168" in out and "load 40, mma 232" in out
    assert "takes or gives back some by setmaxnreg" in out


def test_without_setmaxnreg_there_is_nothing_to_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed("tasks: {mma: {registers: null}}\n", tmp_path, capsys)
    assert "168 a thread" in out and "takes or gives back" not in out


EARLY = {
    "at": "0110", "release": "@!P0 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R0+URZ+0x8], RZ", "how": "arrive",
    "load_at": "00b0", "load": "LDTM.x4 R4, tmem[UR4]", "scoreboard": 2, "where": "in flight",
}  # fmt: skip
TOLD = (
    "arrive at 0110 (@!P0 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R0+URZ+0x8], RZ) may give a slot back too early: the load at "
    "00b0 (LDTM.x4 R4, tmem[UR4]) is in flight, on scoreboard 2"
)


def test_a_slot_that_is_given_back_too_early_fails_the_command(tmp_path: Path) -> None:
    kernel = kernels_in(tmp_path, "")[0]
    found = resources(cluster=(1, 1, 1), releases={"loads": 1, "releases": 1, "early": [EARLY]})
    findings = {f.text: f.hard for f in verb.judge(kernel, Outcome(kernel.job.id, found))}
    assert findings[TOLD] is True
    assert verb._figures(found)["releases"]["early"] == [EARLY]  # in the lock, and of --json


def test_what_the_rule_could_not_follow_is_said_and_fails_strict_only(tmp_path: Path) -> None:
    kernel = kernels_in(tmp_path, "")[0]
    found = resources(releases={"unknown": "0010 BRX R4 -0x10: its targets are not known"})
    findings = {f.text: f.hard for f in verb.judge(kernel, Outcome(kernel.job.id, found))}
    assert (
        findings["whether a slot is given back too early is not known: 0010 BRX R4 -0x10: its targets are not known"]
        is False
    )


def test_the_same_of_a_hand_written_kernel() -> None:
    about = Kernel("k", "copy", "k.py", 1, "sm100", {}, {}, (), {})
    found = resources(releases={"loads": 1, "releases": 1, "early": [EARLY]})
    compiled = launched.Launched(compiled=[Compiled(about, Outcome("k", found))])
    assert list(launched.findings(compiled.compiled[0])) == [(TOLD, True)] and compiled.exit_code(False) == 1
