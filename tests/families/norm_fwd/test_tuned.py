"""A tuned norm: a package that chooses among its schedules, and among those that can take a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.build import build  # noqa: E402
from tlxgen.families.gemm.model import Gpu  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402
from tlxgen.sim import DEVICE, Session  # noqa: E402
from tlxgen.spec import load  # noqa: E402
from tlxgen.tune.lab import Device  # noqa: E402
from tlxgen.tune.results import Result  # noqa: E402
from tlxgen.tune.search import Outcome  # noqa: E402
from tlxgen.tune.space import Candidate, space_of  # noqa: E402
from tlxgen.tune.table import Won, render  # noqa: E402

SPEC = """\
kernel: norm_fwd
name: rms
arch: sm90
problem: {norm: rms}
variants:
  axes: {schedule.kind: [grid, staged], tile.n: [512, 1024]}
"""
GPU = Gpu("Fake", 132)
WINNERS = {(8, 512): ("staged", 512), (8, 1024): ("grid", 1024), (8, 256): ("staged", 1024)}


@pytest.fixture
def package(tmp_path: Path) -> Any:
    spec, table = tmp_path / "specs" / "rms.yaml", tmp_path / "tuned" / "fake" / "rms.yaml"
    for path in (spec, table):
        path.parent.mkdir(parents=True)
    spec.write_text(SPEC)
    space = space_of(load(spec, tuned=False))
    won = [_won(shape, space.candidates, *values) for shape, values in WINNERS.items()]
    table.write_text(render(space, Device("Fake", 132, (9, 0), {}), "specs/rms.yaml", 0, won))
    spec.write_text(SPEC + "tuned: tuned/fake/rms.yaml\n")
    return load_file(build(spec).folder / "_rms.py")


def _won(shape: tuple[int, int], candidates: Any, kind: str, n: int) -> Won:
    best: Candidate = next(c for c in candidates if (c.values["schedule.kind"], c.values["tile.n"]) == (kind, n))
    result = Result(us=10.0, baseline="torch", baseline_us=12.0)
    return Won(shape, (shape,), Outcome([best], {best.key: {shape: result}}))


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((8, 512), "staged"), ((7, 257), "grid"), ((8, 1024), "grid"), ((8, 256), "staged")],
)
def test_a_package_picks_what_was_tuned_for_just_this_shape_and_else_by_estimate(
    package: Any, shape: tuple[int, int], kind: str
) -> None:
    package.gpu_of = lambda index: GPU
    assert package.pick(shape, GPU)[0].__name__.endswith(kind)
    with Session("eager", 0).active():
        x, one = torch.randn(shape, device=DEVICE).bfloat16(), torch.ones(shape[1], device=DEVICE).bfloat16()
        y = package.rms(x, one)
    wanted = torch.nn.functional.rms_norm(x.double().cpu(), shape[1:], eps=1e-5)
    assert (y.double().cpu() - wanted).abs().max() < 0.02
