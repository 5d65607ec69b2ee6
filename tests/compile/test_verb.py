"""`tlxgen compile` for people: registers at launch beside those of the tasks, with a word on why they differ."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton.language.extra.tlx")

from tlxgen.compile import Outcome, Resources
from tlxgen.families import kernels_of
from tlxgen.verbs import compile as verb
from tlxgen.working import Working

HEAD = "kernel: gemm\nname: k\narch: sm90\n"


def printed(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The table of a spec whose kernels all take 168 registers at launch."""
    spec = folder / "k.yaml"
    spec.write_text(HEAD + text)
    none: dict[str, Any] = {f.name: 0 for f in fields(Resources) if f.default is f.default_factory is MISSING}
    structure, work = kernels_of(spec).structures[0], Working(spec, folder, folder, {})
    kernels = [
        verb.Kernel(work, structure.name, v, launch, verb.job_of(folder / "k.py", v, launch))
        for v in structure.variants
        for launch in (v.plan.launches[:1] if v.plan else ())
    ]
    found = Resources(**{**none, "registers": 168, "sass": {}, "setmaxnreg": (("dec", 40), ("inc", 232))})
    verb._print(kernels, [Outcome(kernel.job.id, found) for kernel in kernels], [])
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
