"""What the runs of a module are given: which changes keep a record a proof, and which ask for new runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.build.project import TWO  # noqa: E402
from tlxgen.families.gemm import problem  # noqa: E402
from tlxgen.proof import Simulator  # noqa: E402
from tlxgen.proof.given import given_to, kernels_of_text  # noqa: E402

from .conftest import Lab, rendered  # noqa: E402
from .test_changed import CHANGED, A, B, proven  # noqa: E402, F401

ROOT = Path(__file__).parents[2]
SPEC, NAME = ROOT / "specs" / "hopper_gemm.yaml", "hopper_gemm_cooperative"
WAYS = (("random", 0), ("lazy", 0), ("delays", 0))


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "hopper_gemm"
    shutil.copytree(ROOT / "generated" / "hopper_gemm", folder)
    return folder / f"{NAME}.py"


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    path.write_text(text.replace(old, new))


def told(module: Path) -> str:
    found = given_to(SPEC, NAME, module, WAYS)  # type: ignore[arg-type]
    assert len(found) == 64
    return found


def test_a_host_function_that_launches_the_same_gives_the_same(module: Path) -> None:
    before, kernels = told(module), kernels_of_text(module.read_text())
    change(module, "    block_m = config.kwargs", "    once, again = 1, 2  # nobody asks\n    block_m = config.kwargs")
    assert (told(module), kernels_of_text(module.read_text())) == (before, kernels)


OF_SOFTMAX = """
from pathlib import Path
from tlxgen.proof.given import given_to
folder = Path("generated/hopper_attention_fwd")
name = "hopper_attention_fwd_none"
print(given_to(Path("specs/hopper_attention_fwd.yaml"), name, folder / f"{name}.py", [("delays", 0)]))
"""


def test_another_processor_computes_the_same_reference() -> None:
    """MKL has a path of its own for each kind, whose sums differ in the last bit."""
    found = []
    for kind in ({}, {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ATEN_CPU_CAPABILITY": "avx2", "OMP_NUM_THREADS": "1"}):
        environment = {"PYTHONPATH": str(ROOT), **os.environ, **kind}
        environment.pop("MKL_CBWR", None)  # this process has it from `given`
        run = subprocess.run(
            [sys.executable, "-c", OF_SOFTMAX], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        found.append(run.stdout.strip())
    assert len(found[0]) == 64 and found[0] == found[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    block_m = config.kwargs[", "    m += 1\n    block_m = config.kwargs["),  # an extent
        ("    block_m = config.kwargs[", "    a[0, 0] = 3\n    block_m = config.kwargs["),  # a value
        ("    block_n = config.kwargs[", "    block_n = 2 * config.kwargs["),  # a descriptor, and the grid
    ],
)
def test_another_launch_is_seen(module: Path, old: str, new: str) -> None:
    before = told(module)
    change(module, old, new)
    assert told(module) != before


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("reference", lambda of: lambda *a: {k: (2 * x, s) for k, (x, s) in of(*a).items()}),
        ("tolerance", lambda of: lambda *a: 2 * of(*a)),
        ("inputs", lambda of: lambda *a: {k: x.neg_() for k, x in of(*a).items()}),
        ("simulated_shapes", lambda of: lambda *a: (*of(*a), (8, 8, 8))),
    ],
)
def test_what_a_family_gives_counts(
    module: Path, monkeypatch: pytest.MonkeyPatch, name: str, changed: Callable[[Any], Any]
) -> None:
    before = told(module)
    monkeypatch.setattr(problem, name, changed(getattr(problem, name)))
    assert told(module) != before


def test_a_host_function_that_fails_gives_nothing(module: Path) -> None:
    change(module, "    block_m = config.kwargs", "    raise ValueError\n    block_m = config.kwargs")
    assert given_to(SPEC, NAME, module, WAYS) == ""  # type: ignore[arg-type]


def test_kernels_are_what_the_simulator_executes() -> None:
    text = (ROOT / "generated" / "hopper_gemm" / f"{NAME}.py").read_text()
    same = kernels_of_text(text)
    assert kernels_of_text(text.replace("def pick_config(", "def pick_another(")) == same
    for old, new in (
        ("\nCONFIGS = [", "\n\nCONFIGS = ["),  # lines, which findings name
        ("\n        STAGES: tl.constexpr", "\n        STAGES: tl.constexpr  # a comment"),
        ('"GROUP_M": 8', '"GROUP_M": 7'),
        ("import triton.language as tl", "import triton.language.core as tl"),
        ("phase ^ 1", "phase"),
    ):
        changed = text.replace(old, new, 1)
        comment = "# a comment" in new
        assert (kernels_of_text(changed) == same) is (changed == text or comment), old


def another(lab: Lab, monkeypatch: pytest.MonkeyPatch, core: str) -> None:
    """A simulator of which all differs but, maybe, the code that runs and judges alone."""
    record = lab.entry(A)["verified"]
    other = Simulator("0" * 64, record["libraries"], "1" * 64, core)
    for place in ("tlxgen.verbs.proofs", "tlxgen.proof"):
        monkeypatch.setattr(f"{place}.simulator_of", lambda *judges: other)


def core_of(lab: Lab) -> str:
    from tlxgen.families import kernels_of
    from tlxgen.proof import simulator_of

    found = simulator_of(*kernels_of(lab.project.root / "specs" / "k.yaml").family.judged_by)
    assert found
    return found.core


def give(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """The modules of a lab have no host functions: what they would give."""
    monkeypatch.setattr("tlxgen.proof.given.given_to", lambda *module: what)


def test_a_record_says_what_was_given_and_is_told_of_another_simulator(
    proven: Lab,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    give(monkeypatch, "7" * 64)
    proven.invoke(*CHANGED)
    record = proven.entry(A)["verified"]
    assert proven.names == [] and (record["given"], len(record["kernels"])) == ("7" * 64, 64)
    another(proven, monkeypatch, core_of(proven))
    result = proven.invoke(*CHANGED)
    assert proven.names == [] and "2 modules of 2 proven already" in result.output
    now = proven.entry(A)["verified"]
    assert now["simulator"] == "0" * 64 and now["cases_by"] == "1" * 64 and now["given"] == record["given"]


@pytest.mark.parametrize(("core", "gives"), [("2", "7"), ("", "8"), ("", "")])
def test_another_way_to_run_or_to_judge_and_other_launches_ask_for_runs(
    proven: Lab,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    core: str,
    gives: str,
) -> None:
    give(monkeypatch, "7" * 64)
    proven.invoke(*CHANGED)
    another(proven, monkeypatch, core * 64 or core_of(proven))
    give(monkeypatch, gives * 64)
    proven.invoke(*CHANGED)
    assert proven.names == [A, B]
    assert proven.entry(A)["verified"].get("given", "") == gives * 64


def test_a_record_that_does_not_say_what_was_given_is_of_its_simulator_alone(
    proven: Lab,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    give(monkeypatch, "7" * 64)
    another(proven, monkeypatch, core_of(proven))
    proven.invoke(*CHANGED)
    assert proven.names == [A, B]


def test_a_build_keeps_a_record_where_the_host_alone_has_changed(proven: Lab, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Kernels and launches are the same, so that the record may be told of the new module."""
    give(monkeypatch, "7" * 64)
    proven.invoke(*CHANGED)
    before = proven.entry(A)
    monkeypatch.setattr("tlxgen.build._Job.render", lambda job: rendered(job) + "def host(): pass\n")
    proven.project.spec("k", TWO + "# so that it is built again\n")
    proven.project.build("k")
    entry = proven.entry(A)
    assert entry["subject"] != before["subject"] and entry["verified"]["subject"] == before["subject"]
    assert proven.invoke(*CHANGED).output == "2 modules of 2 proven already: not run again\n" and proven.names == []
    assert proven.entry(A)["verified"]["subject"] == entry["subject"]


def test_a_build_drops_a_record_of_other_kernels(proven: Lab, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    give(monkeypatch, "7" * 64)
    proven.invoke(*CHANGED)
    monkeypatch.setattr(
        "tlxgen.build._Job.render", lambda job: rendered(job) + "import triton\n@triton.jit\ndef f(): pass\n"
    )
    proven.project.spec("k", TWO + "# so that it is built again\n")
    proven.project.build("k")
    proven.invoke(*CHANGED)
    assert proven.names == [A, B]
