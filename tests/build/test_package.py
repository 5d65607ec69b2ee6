"""A built folder as people import it: functions by names that stay, and modules only when they are needed."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.families.gemm.model import Gpu  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402
from tlxgen.sim import DEVICE, Session, verify  # noqa: E402
from tlxgen.verbs import build as verb  # noqa: E402

GPU = Gpu("", 132)

from .project import Project  # noqa: E402

ATTENTION = "kernel: attention_fwd\nname: f\narch: sm90\nproblem: {head_dim: 64}\n"
MASKS = "variants: {axes: {mask.kind: [none, causal]}}\n"
WAYS = "variants: {axes: {epilogue.store: [tma, direct], schedule.kind: [persistent, grid]}}\n"


@pytest.fixture(autouse=True)
def path(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is generated is on the path, and forgotten afterwards."""
    monkeypatch.syspath_prepend(project.root / "generated")
    yield
    forget()


def forget(name: str = "f") -> None:
    for found in [n for n in sys.modules if n.split(".")[0] == name]:
        del sys.modules[found]
    importlib.invalidate_caches()


def attention(project: Project, text: str = MASKS) -> Path:
    path = project.spec("f", "")
    path.write_text(ATTENTION + text)
    project.build("f")
    forget()
    return path


def gemm(project: Project, text: str = WAYS) -> None:
    project.spec("f", text)
    project.build("f")
    forget()


def loaded() -> set[str]:
    return {name for name in sys.modules if name.startswith("f.") and name != "f._host"}


@pytest.mark.parametrize("text", ["", WAYS, "variants: {axes: {problem.a.layout: [row, col], tile.n: [64, 128]}}\n"])
def test_the_name_is_found_whatever_the_axes_are(project: Project, text: str) -> None:
    gemm(project, text)
    from f import f  # type: ignore[import-not-found]

    assert callable(f) and f.__name__ == "f" and f.operator


def test_nothing_is_imported_before_it_is_needed(project: Project) -> None:
    attention(project)
    package = importlib.import_module("f")
    assert loaded() == set() and {"f", "f_none", "f_causal"} <= {*dir(package)} & {*package.__all__}
    assert package.f_causal.operator.about["mask"] == "causal" and loaded() == {"f.f_causal"}
    assert package.f is package.f_none and package.f.operator.about["mask"] == "none"


@pytest.mark.parametrize("first", ["module", "function"])
def test_a_module_does_not_hide_a_function_of_its_name(project: Project, first: str) -> None:
    """f_causal is both. Which of them comes first makes no difference."""
    attention(project)
    if first == "function":
        assert callable(importlib.import_module("f").f_causal)
    module = importlib.import_module("f.f_causal")
    assert module.CONFIGS and callable(importlib.import_module("f").f_causal)
    from f import f_causal
    from f.f_causal import f as also

    assert f_causal is also is module.f


def test_a_name_that_none_of_several_has_says_which_there_are(project: Project) -> None:
    gemm(project, "variants: {axes: {epilogue.ops: [[bias], [bias, relu]]}}\n")
    from f import f, f_bias, f_bias_relu

    assert callable(f_bias) and callable(f_bias_relu)
    with pytest.raises(TypeError, match="f: the modules here compute different things; one of f_bias, f_bias_relu is"):
        f()
    with pytest.raises(ImportError, match="f_gelu"):
        from f import f_gelu  # noqa: F401


def test_what_else_a_module_has_for_people_goes_by_the_same_names(project: Project) -> None:
    path = project.spec("f", "")
    path.write_text(ATTENTION.replace("attention_fwd", "attention_bwd") + MASKS)
    project.build("f")
    forget()
    from f import attention, attention_causal, f_causal

    assert f_causal.__module__ == attention_causal.__module__ == "f.f_causal"
    assert attention.__module__ == "f.f_none"


def numbers(m: int, n: int, k: int) -> tuple[Any, Any, Any]:
    a, b = (torch.randn(*s, device=DEVICE).to(torch.bfloat16) for s in ((m, k), (k, -(-n // 8) * 8)))
    b = b[:, :n]
    return a, b, a.as_subclass(torch.Tensor).double() @ b.as_subclass(torch.Tensor).double()


def test_it_chooses_by_the_estimates_of_its_modules_and_multiplies(project: Project) -> None:
    """Also where rows of C are padded by one module and not by another: results lie as torch was told."""
    gemm(project)
    from f import f

    chooser = importlib.import_module("f._f")
    names = dict.fromkeys(name for _, name, _ in chooser.KERNELS)
    assert len(names) == 4 and not hasattr(chooser, "TUNED")
    modules = [importlib.import_module(f"f.{name}") for name in names]
    shape = 1000, 2000, 3000
    module, config = chooser.pick(shape, GPU)
    times = chooser.TIMES(shape, GPU)
    _, name, index = chooser.KERNELS[times.index(min(times))]
    assert module.__name__.endswith(name) and config is module.CONFIGS[index] is module.pick_config(*shape, GPU)

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        for one in modules:
            chooser.pick = lambda shape, gpu, one=one: (one, one.CONFIGS[0])
            for shape in ((70, 72, 64), (64, 29, 40)):
                chooser.CALLS.clear()
                a, b, right = numbers(*shape)
                out = f(a, b)
                assert out.stride() == chooser.outputs(a, b).stride()
                assert torch.allclose(out.as_subclass(torch.Tensor).double(), right, rtol=2e-2, atol=2e-1)

    report = verify(program, (("random", 0),))
    assert (report.seen, report.runs) == ([], 1)


@pytest.mark.parametrize("text", ["", WAYS], ids=["one structure", "several"])
def test_it_is_one_node_to_torch_as_it_is_imported(project: Project, text: str) -> None:
    gemm(project, text)
    package = importlib.import_module("f")
    owner: ModuleType = sys.modules[package.f.__module__]
    owner.run = lambda a, b, *rest: owner.outputs(a, b).copy_(torch.mm(a, b))  # type: ignore[attr-defined]
    call = torch.compile(lambda a, b: package.f(a, b) + 1, backend="aot_eager", fullgraph=True, dynamic=True)
    for m in (5, 6):
        a, b = torch.randn(m, 16).bfloat16(), torch.randn(16, 29).bfloat16()
        assert torch.equal(call(a, b), torch.mm(a, b) + 1)


def test_two_copies_of_a_folder_do_not_meet(project: Project) -> None:
    attention(project)
    one, two = (load_file(project.folder("f") / "__init__.py") for _ in range(2))
    assert one.f_causal is not two.f_causal and one.f is one.f_none


def test_a_package_imports_torch_and_triton_only(project: Project) -> None:
    gemm(project)
    script = "import sys; from f import f; assert not [m for m in sys.modules if m.split('.')[0] == 'tlxgen']"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project.root / "generated", capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr


def line(project: Project, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    assert verb.run([project.root / "specs" / "f.yaml"], verb.Options()) == 0
    told = capsys.readouterr()
    return told.out.partition(": ")[2].partition(" (")[0].replace(f" to {project.folder('f')}", ""), told.err


def test_what_is_written_renamed_and_removed_is_told_apart(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project.spec("f", "")
    path.write_text(ATTENTION)
    assert line(project, capsys) == ("4 files written", "")
    path.write_text(ATTENTION + MASKS)  # f.py becomes f_none.py
    assert line(project, capsys) == ("3 files written, 1 renamed", "")
    path.write_text(ATTENTION + MASKS + "description: another\n")
    assert line(project, capsys)[0] == "3 files written"
    path.write_text(ATTENTION + MASKS.replace("none, causal", "causal") + "description: another\n")
    told, notes = line(project, capsys)
    assert told == "2 files written, 1 renamed, 1 removed"
    assert "note: f computes something else now: mask.kind=causal, was none" in notes
    assert "note: there is no longer a function f_none" in notes
    assert line(project, capsys) == ("up to date", "")
