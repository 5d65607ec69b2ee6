"""The Python interface: what it returns, raises and leaves alone, and the example of docs/api.md as it stands."""

from __future__ import annotations

import inspect
import re
import typing
from pathlib import Path

import pytest

import tlxgen
from tlxgen import api, working

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text()
SPEC = "kernel: norm_fwd\nname: my_norm\narch: sm90\nvariants: {axes: {tile.n: [256, 65536]}}\n"
VERBS = [api.plan, api.build, api.verify, api.compile]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "my_norm.yaml").write_text(SPEC)
    return tmp_path


def below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def needs_triton() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("triton.language.extra.tlx")


def test_plan(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = below(folder)
    kernels = api.plan("specs/my_norm.yaml")
    (structure,) = kernels.structures
    assert [v.label for v in structure.variants] == ["tile.n=256"]
    assert [v.label for v in kernels.rejected] == ["tile.n=65536"] and kernels.rejected[0].reasons
    assert below(folder) == before and capfd.readouterr() == ("", "")


def test_build(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stale = api.build(folder / "specs" / "my_norm.yaml", check=True)
    assert not stale.up_to_date and "+def my_norm(" in stale.diff and not (folder / "generated").exists()
    built = api.build("specs/my_norm.yaml")
    assert sorted(built.changed) == sorted(p.name for p in (folder / "generated" / "my_norm").iterdir())
    assert api.build("specs/my_norm.yaml").up_to_date
    api.build("specs/my_norm.yaml", out="elsewhere")
    assert (folder / "elsewhere" / "my_norm" / "lock.json").exists()
    assert capfd.readouterr() == ("", "")


def test_verify_writes_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    needs_triton()
    before = below(folder)
    (result,) = api.verify("specs/my_norm.yaml", seeds=1)
    assert (result.status, result.findings) == ("clean", []) and result.runs > 0
    assert below(folder) == before and capfd.readouterr() == ("", "")


def test_findings_name_the_module_where_it_is_built(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_triton()
    contents = working.contents

    def broken(spec: Path) -> dict[str, bytes]:
        return {n: data.replace(b".element_ty), mask=inside)", b".element_ty))") for n, data in contents(spec).items()}

    monkeypatch.setattr(working, "contents", broken)
    (result,) = api.verify("specs/my_norm.yaml", seeds=1)
    assert result.status == "findings"
    places = [place["path"] for finding in result.findings for place in finding["places"]]
    assert places and {Path(path).resolve() for path in places} == {folder / "generated" / "my_norm" / "my_norm.py"}


@pytest.mark.compiles
def test_compile_writes_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    needs_triton()
    before = below(folder)
    (kernel,) = api.compile("specs/my_norm.yaml")
    assert kernel.ok and kernel.resources and kernel.resources.registers > 0 and kernel.structure == "my_norm"
    assert below(folder) == before and capfd.readouterr() == ("", "")


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, api.SpecError),
        (SPEC + "tiles: 3\n", api.SpecErrors),
        (SPEC.replace("[256, 65536]", "[65536]"), api.NoVariantError),
    ],
    ids=["missing", "faulty", "nothing fits"],
)
def test_errors_are_raised_and_nothing_is_written(
    folder: Path, capfd: pytest.CaptureFixture[str], verb: typing.Any, text: str | None, error: type[Exception]
) -> None:
    if verb in (api.verify, api.compile):
        needs_triton()
    if text is not None:
        (folder / "specs" / "bad.yaml").write_text(text)
    if (verb, error) == (api.plan, api.NoVariantError):
        assert api.plan("specs/bad.yaml").structures == ()
        return
    before = below(folder)
    with pytest.raises(error) as raised:
        verb("specs/bad.yaml")
    assert isinstance(raised.value, api.TlxgenError)
    assert below(folder) == before and capfd.readouterr() == ("", "")


def test_it_is_typed_and_says_what_it_raises() -> None:
    assert (Path(tlxgen.__file__).parent / "py.typed").exists()
    for verb in VERBS:
        hints = typing.get_type_hints(verb)
        assert set(hints) == {*inspect.signature(verb).parameters, "return"}
        assert "Raises" in str(verb.__doc__)
    assert all(hasattr(api, name) for name in api.__all__)


@pytest.mark.compiles
def test_the_example_of_the_page_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs_triton()
    (folder / "specs" / "my_gemm.yaml").write_text(SPEC.replace("my_norm", "my_gemm"))
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(code, "docs/api.md", "exec"), {"__name__": "example"})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("my_gemm tile.n=256 ") and lines[-1].startswith("no such file ")


def test_the_table_of_the_page_has_the_signatures() -> None:
    for verb in VERBS:
        (row,) = re.findall(rf"^\| `{verb.__name__}\((.*?)\)` \|", PAGE, re.MULTILINE)
        assert re.findall(r"\w+", row) == list(inspect.signature(verb).parameters)
