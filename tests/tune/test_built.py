"""What `build` makes of a tuned spec: tables in the modules, and a package that chooses among them and runs."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.tune.conftest import Project  # noqa: E402
from tlxgen.build import PACKAGE, build  # noqa: E402
from tlxgen.files import write_atomic  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402
from tlxgen.sim import DEVICE, Session, verify  # noqa: E402
from tlxgen.tune.classes import class_of  # noqa: E402
from tlxgen.tune.lab import Device  # noqa: E402
from tlxgen.tune.results import Result  # noqa: E402
from tlxgen.tune.search import Outcome  # noqa: E402
from tlxgen.tune.space import Candidate  # noqa: E402
from tlxgen.tune.table import Won, render  # noqa: E402
from tlxgen.verbs import tune as verb  # noqa: E402

SHAPES = ((64, 64, 64), (200, 72, 64), (64, 304, 128), (128, 128, 512))


def winners(project: Project) -> dict[tuple[int, ...], Candidate]:
    """From both structures, whichever are the fastest."""
    candidates = project.space.candidates
    return {shape: candidates[i] for shape, i in zip(SHAPES, (0, 9, len(candidates) - 1, 3), strict=True)}


@pytest.fixture
def folder(project: Project) -> Path:
    """The modules of a spec of which a tuned file says that `winners` won."""
    won = []
    for shape, candidate in winners(project).items():
        result = Result(us=10.0, baseline="torch", baseline_us=12.0)
        won.append(Won(class_of(shape), (shape,), Outcome([candidate], {candidate.key: {shape: result}})))
    text = render(project.space, Device("Fake H200", 132, (9, 0), {}), "specs/g.yaml", 0, won)
    write_atomic(project.table, text.encode())
    project.spec.write_text(project.spec.read_text() + "tuned: tuned/fake_h200/g.yaml\n")
    return build(project.spec).folder


def modules(package: ModuleType) -> list[ModuleType]:
    """Those that a dispatcher chooses among."""
    return [import_module(f".{name}", package.__package__) for name in package.MODULES]


def values(config: Any) -> dict[str, int]:
    return {k: v for k, v in config.kwargs.items() if k in ("BLOCK_N", "STAGES", "GROUP_M")}


def test_every_class_gets_its_winner_and_every_shape_something(project: Project, folder: Path) -> None:
    package = load_file(folder / "_g.py")
    names = {"tile.n": "BLOCK_N", "rings.ab.stages": "STAGES", "schedule.group_m": "GROUP_M"}
    for shape, best in winners(project).items():
        module, config = package.pick(shape, 132)
        assert module.__name__.endswith(best.structure)
        assert values(config) == {names[p]: v for p, v in best.values.items() if p in names}
    for name, module in zip(package.MODULES, modules(package), strict=True):
        for shape, index in getattr(module, "TUNED", {}).items():
            assert package.TUNED[shape] == (name, index)
            assert module.pick_config(*shape, 132) is module.CONFIGS[index]
    assert len(package.TUNED) == len(SHAPES)


def test_a_shape_outside_of_all_classes_gets_the_least_estimate(folder: Path) -> None:
    package = load_file(folder / "_g.py")
    module, config = package.pick((5000, 5000, 5000), 132)
    clocks = [(m.clocks(c, 5000, 5000, 5000, 132), m, c) for m in modules(package) for c in m.CONFIGS]
    assert module.clocks(config, 5000, 5000, 5000, 132) == min(c for c, _, _ in clocks)


def test_the_package_multiplies(folder: Path) -> None:
    """In the simulator, as it stands: by one module or another."""
    package = load_file(folder / "_g.py")

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        for m, n, k in SHAPES[:3]:
            a, b = (torch.randn(*s, device=DEVICE).to(torch.bfloat16) for s in ((m, k), (k, n)))
            out = package.g(a, b)
            plain = [t.as_subclass(torch.Tensor).double() for t in (a, b, out)]
            assert torch.allclose(plain[0] @ plain[1], plain[2], rtol=2e-2, atol=2e-1)

    report = verify(program, (("random", 0),))
    assert (report.seen, report.runs) == ([], 1)


def test_the_package_refuses_what_no_module_can_take(folder: Path) -> None:
    package = load_file(folder / "_g.py")
    with pytest.raises(ValueError, match="expected a CUDA device"):
        package.g(torch.zeros(8, 8), torch.zeros(8, 8))
    with Session("eager", 0).active():
        a, b = (torch.zeros(rows, 8, device=DEVICE) for rows in (8, 9))
        with pytest.raises(ValueError, match="expected .M, K. @ .K, N."):
            package.g(a, b)
        with pytest.raises(TypeError, match="a: torch.float32, expected torch.bfloat16"):
            package.g(a, a)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_the_package_is_one_node_to_torch(folder: Path, dynamic: bool) -> None:
    package = load_file(folder / "_g.py")
    package.run = lambda a, b, out: package.outputs(a, b).copy_(torch.mm(a, b))  # in the place of the launches
    call = torch.compile(lambda a, b: package.g(a, b) + 1, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for m in (5, 6):
        a, b = torch.randn(m, 16).bfloat16(), torch.randn(16, 29).bfloat16()
        assert torch.equal(call(a, b), torch.mm(a, b) + 1)
    torch.library.opcheck(package.OPERATOR.node, (a, b))


def test_a_shape_of_the_table_imports_no_other_module(folder: Path) -> None:
    package = load_file(folder / "_g.py")

    def loaded() -> set[str]:
        inside = f"{package.__package__}.g"
        return {name.rpartition(".")[2] for name in sys.modules if name.startswith(inside)}

    before = loaded()
    for shape in SHAPES:
        module, _ = package.pick(shape, 132)
        assert loaded() - before <= {package.TUNED[class_of(shape)][0], *before}
        before = loaded()
        assert module.__name__.endswith(package.TUNED[class_of(shape)][0])


def test_what_people_import_is_the_same_tuned_or_not(project: Project, folder: Path) -> None:
    def imported() -> Any:
        return load_file(folder / PACKAGE).g

    assert "package" in json.loads((folder / "lock.json").read_text())
    tuned = imported()
    project.spec.write_text(project.spec.read_text().replace("tuned: tuned/fake_h200/g.yaml\n", ""))
    build(project.spec)
    assert len(list(folder.glob("g_*.py"))) == 2
    for function in (tuned, imported()):
        assert (function.__name__, function.__module__.rpartition(".")[2]) == ("g", "_g")


def test_a_child_spec_does_not_inherit_what_was_measured_of_its_parent(project: Project, folder: Path) -> None:
    other = project.spec.with_name("h.yaml")
    other.write_text("extends: g.yaml\nname: h\n")
    assert build(other).variants == len(project.space.candidates)


@pytest.mark.compiles
def test_a_dry_run_compiles_what_would_be_measured_first(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    options = verb.Options(shapes=((4096, 4096, 4096), (128, 128, 8192)), candidates=1, workers=1)
    assert verb.dry_run(project.spec, options) == 0
    shown = capsys.readouterr().out
    assert re.search(r"40 variants fit; rejected by the plan, by rule: accumulator \d+, smem \d+", shown)
    assert re.search(r"\d of \d compile; not measured", shown)
    assert "4096x4096x4096" in shown and "128x128x8192" in shown
