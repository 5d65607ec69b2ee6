"""What `build` makes of a tuned spec: tables in the modules, and a package that chooses among them and runs."""

from __future__ import annotations

import json
import re
import shutil
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
from tlxgen.errors import SpecError  # noqa: E402
from tlxgen.families.gemm.model import Gpu  # noqa: E402
from tlxgen.files import write_atomic  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402
from tlxgen.sim import DEVICE, Session, verify  # noqa: E402
from tlxgen.tune.lab import Device  # noqa: E402
from tlxgen.tune.results import Result  # noqa: E402
from tlxgen.tune.search import Outcome  # noqa: E402
from tlxgen.tune.space import Candidate  # noqa: E402
from tlxgen.tune.table import Won, render  # noqa: E402
from tlxgen.verbs import tune as verb  # noqa: E402

GPU = Gpu("Fake H200", 132)
TABLE = "tuned: tuned/fake_h200/g.yaml\n"
SHAPES = ((64, 64, 64), (200, 72, 64), (64, 304, 128), (128, 128, 512))


def winners(project: Project) -> dict[tuple[int, ...], Candidate]:
    """From both structures, whichever are the fastest."""
    candidates = project.space.candidates
    return {shape: candidates[i] for shape, i in zip(SHAPES, (0, 9, len(candidates) - 1, 3), strict=True)}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the project of the first test that needs one is kept as it was built."""
    return tmp_path_factory.mktemp("built") / "project"


@pytest.fixture
def folder(project: Project, kept: Path) -> Path:
    """The modules of a spec of which a tuned file says that `winners` won; a copy of those that were built once."""
    if not kept.exists():
        made(project)
        shutil.copytree(project.root, kept)
    else:
        shutil.copytree(kept, project.root, dirs_exist_ok=True)
    return project.root / "generated" / "g"


def made(project: Project) -> None:
    won = []
    for shape, candidate in winners(project).items():
        result = Result(us=10.0, baseline="torch", baseline_us=12.0)
        won.append(Won(shape, (shape,), Outcome([candidate], {candidate.key: {shape: result}})))
    text = render(project.space, Device("Fake H200", 132, (9, 0), {}), "specs/g.yaml", 0, won)
    write_atomic(project.table, text.encode())
    project.spec.write_text(project.spec.read_text() + TABLE)
    build(project.spec)


def modules(package: ModuleType) -> list[ModuleType]:
    """Those that a dispatcher chooses among."""
    names = dict.fromkeys(name for _, name, _ in package.KERNELS)
    return [import_module(f".{name}", package.__package__) for name in names]


def values(config: Any) -> dict[str, int]:
    return {k: v for k, v in config.kwargs.items() if k in ("BLOCK_N", "STAGES", "GROUP_M")}


def test_every_tuned_shape_gets_its_winner_and_no_other_shape_does(project: Project, folder: Path) -> None:
    package = load_file(folder / "_g.py")
    names = {"tile.n": "BLOCK_N", "rings.ab.stages": "STAGES", "schedule.group_m": "GROUP_M"}
    for shape, best in winners(project).items():
        module, config = package.pick(shape, GPU)
        assert module.__name__.endswith(best.structure)
        assert values(config) == {names[p]: v for p, v in best.values.items() if p in names}
    for module in modules(package):
        for shape, index in getattr(module, "TUNED", {}).items():
            _, name, config = package.KERNELS[package.TUNED[shape]]
            assert module.__name__.endswith(name) and config == index
            assert module.pick_config(*shape, GPU) is module.CONFIGS[index]
    assert set(package.TUNED) == set(SHAPES)


def test_an_axis_that_is_newer_than_the_table_leaves_its_winners(project: Project, folder: Path) -> None:
    """They have what the spec says without the axis: here the model's default, and then what the spec itself says."""
    before = json.loads((folder / "lock.json").read_text())
    text = project.spec.read_text()
    project.spec.write_text(
        f"{text}    epilogue.subtiles: [1, 2]\n".replace("tuned: tuned/fake_h200/g.yaml\n", "") + TABLE
    )
    after = json.loads((build(project.spec).folder / "lock.json").read_text())
    winners_of = [{s["device"] for s in entry["structures"].values()} for entry in (before, after)]
    assert winners_of[0] <= winners_of[1]
    project.spec.write_text(project.spec.read_text() + "schedule: {pdl: true}\n")
    project.spec.write_text(project.spec.read_text().replace("epilogue.subtiles: [1, 2]", "schedule.pdl: [false]"))
    with pytest.raises(SpecError, match="no variant of g fits this winner"):
        build(project.spec)


def test_what_the_spec_always_wants_is_generated_beside_the_winners(project: Project, folder: Path) -> None:
    text = project.spec.read_text().replace(TABLE, "")
    asked = "{tasks.mma.split: pingpong, tile.n: 128, rings.ab.stages: 5, schedule.group_m: 16}"
    project.spec.write_text(f"{text}  always: [{asked}]\n{TABLE}")
    folder = build(project.spec).folder
    rows = (folder / "g_pingpong.py").read_text().partition("CONFIGS")[2]
    assert '"BLOCK_N": 128, "BLOCK_K": 64, "STAGES": 5, "C_STAGES": 1, "GROUP_M": 16}' in rows
    project.spec.write_text(f"{text}  always: [{{tile.n: 128}}, {{tile.n: 64}}]\n{TABLE}")
    with pytest.raises(SpecError, match=r"g.yaml:\d+:\d+: no variant is as this says"):
        build(project.spec)


def least(package: ModuleType, shape: tuple[int, ...], gpu: Gpu, pitches: Any = None) -> tuple[Any, Any]:
    """Of the kernels of a package the first of those that its model expects to take least."""
    _, name, config = package.KERNELS[package.TIMES.least(shape, gpu, pitches)]
    module = import_module(f".{name}", package.__package__)
    return module, module.CONFIGS[config]


@pytest.mark.parametrize("shape", [(5000, 5000, 5000), (63, 63, 63), (65, 64, 64), (128, 128, 511)])
def test_a_shape_that_was_not_tuned_gets_the_least_estimate_however_near(folder: Path, shape: tuple[int, ...]) -> None:
    package = load_file(folder / "_g.py")
    assert package.pick(shape, GPU) == least(package, shape, GPU)


@pytest.mark.parametrize("gpu", [Gpu("Fake H100", 132), Gpu("Fake H200", 66), Gpu("Fake H200", 1), Gpu("", 132)])
def test_on_another_device_the_table_says_nothing(folder: Path, gpu: Gpu) -> None:
    package = load_file(folder / "_g.py")
    for shape in SHAPES:
        assert package.pick(shape, gpu) == least(package, shape, gpu)
        for module in modules(package):
            times = module.TIMES(shape, gpu)
            assert module.pick_config(*shape, gpu) is module.CONFIGS[times.index(min(times))]


def test_rows_that_lie_otherwise_than_those_that_were_tuned_are_estimated(folder: Path) -> None:
    package = load_file(folder / "_g.py")
    for shape in SHAPES:
        assert package.pick(shape, GPU, (16, 16)) == least(package, shape, GPU, (16, 16))


def test_a_shape_is_estimated_once_and_each_kernel_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pick costs: an estimate of each kernel for a new shape, a look into a table for one that is known."""
    package = load_file(folder / "_g.py")
    model = sys.modules[type(package.TIMES).__module__]
    asked: list[str] = []
    clocks, python = model.Clocks.microseconds, "one a kernel, in Python"
    monkeypatch.setattr(model.Clocks, "microseconds", lambda *given: asked.append(python) or clocks(*given))
    in_c = model.compiled()
    monkeypatch.setattr(model, "compiled", lambda: None)
    for shape in ((100, 200, 300), (100, 200, 301), (100, 200, 301), (100, 200, 301)):
        package.pick(shape, GPU)
    assert len(asked) == 2 * len(package.KERNELS)
    package.pick((100, 200, 301), GPU, (16, 0))
    assert len(asked) == 3 * len(package.KERNELS)
    if in_c is not None:
        monkeypatch.setattr(model, "compiled", lambda: asked.append("in C") or in_c)
        for _ in range(3):
            package.pick((100, 200, 302), GPU)
        assert asked[3 * len(package.KERNELS) :] == ["in C"]


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
        module, _ = package.pick(shape, GPU)
        _, name, _ = package.KERNELS[package.TUNED[shape]]
        assert loaded() - before <= {name, *before}
        before = loaded()
        assert module.__name__.endswith(name)


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
    assert re.search(r"\d of \d compile; nothing was measured", shown)
    assert "4096x4096x4096" in shown and "128x128x8192" in shown
