"""`tlxgen profile` and `build --instrument`: what they print and write, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.profiling.conftest import plain_of
from tlxgen import cli
from tlxgen.build import build

SPEC = """kernel: gemm
name: small
arch: sm90
problem: {a: {dtype: bf16}, b: {dtype: bf16}, c: {dtype: bf16}}
tile: {m: 128, n: 64, k: 64}
tasks: {mma: {split: cooperative}}
rings: {ab: {stages: 3}}
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "specs").mkdir()
    path = tmp_path / "specs" / "small.yaml"
    path.write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return path


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["tlxgen", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0)


def below(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_instrument_writes_twins_and_what_they_import(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build(spec)
    before = {p: p.read_bytes() for p in (tmp_path / "generated").rglob("*") if p.is_file()}
    assert run(monkeypatch, "build", "--instrument", "--out", tmp_path / "twins", spec) == 0
    assert "1 instrumented module, 2" in capsys.readouterr().out
    plain = {p.name for p in before} - {"lock.json"}
    names = {*plain, "_stamps.py", "small.stamps.json"}
    assert below(tmp_path / "twins") == {f"small/{name}" for name in names}
    twin = (tmp_path / "twins" / "small" / "small.py").read_text()
    assert plain_of(twin) == (tmp_path / "generated" / "small" / "small.py").read_text()
    assert {p: p.read_bytes() for p in (tmp_path / "generated").rglob("*") if p.is_file()} == before
    assert run(monkeypatch, "build", "--instrument", "--out", tmp_path / "twins", spec) == 0  # over its own


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "--instrument needs --out"),
        (["--out", "generated"], "is for what build writes"),
        (["--out", "built"], "was written by a build"),
        (["--out", "mine"], "has files that are not instrumented modules"),
        (["--out", "twins", "--check"], "--instrument cannot be combined"),
        (["--out", "twins", "--verify"], "--instrument cannot be combined"),
        (["--out", "file"], "cannot write"),
    ],
)
def test_instrument_refuses_to_write_where_other_files_are(
    words: list[str],
    text: str,
    spec: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    build(spec)
    build(spec, out=tmp_path / "built")
    (tmp_path / "mine" / "small").mkdir(parents=True)
    (tmp_path / "mine" / "small" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("no folder")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert run(monkeypatch, "build", "--instrument", spec, *words) == 2
    err = capsys.readouterr().err
    assert text in err and "Traceback" not in err
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_profile_in_the_simulator_prints_tables_and_writes_a_timeline(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--shapes", "256x128x192", "--trace", tmp_path / "t.json", "--json", tmp_path / "p.json", "--ctas", 2]
    assert run(monkeypatch, "profile", spec, "--simulate", *given) == 0
    out = capsys.readouterr().out
    assert "small, 256x128x192: steps of a CTA" in out
    assert "the TMA loads of load" in out
    data = json.loads((tmp_path / "p.json").read_text())
    assert (data["verb"], data["unit"], data["shape"], data["cost"]) == ("profile", "step", [256, 128, 192], None)
    assert [t["task"] for t in data["tasks"]] == ["load", "mma 0", "mma 1"]
    for task in data["tasks"]:
        assert sum(task["shares"].values()) == pytest.approx(1)
        assert task["told"] == pytest.approx(1, abs=0.02)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {e["pid"] for e in events} == {0, 1}
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} == {"load", "mma 0", "mma 1"}
    assert below(tmp_path) == {"specs/small.yaml", "t.json", "p.json"}  # no source is written


def test_profile_says_that_the_simulator_stands_for_a_gpu(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert run(monkeypatch, "profile", spec, "--shapes", "128x64x64") == 0
    assert capsys.readouterr().out.startswith("no GPU here: in the simulator, whose time is its own")


def test_profile_takes_a_module_that_somebody_edited(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build(spec)
    module = tmp_path / "generated" / "small" / "small.py"
    text = module.read_text()
    line = "            tlx.async_descriptor_store_wait(0)\n"
    assert line in text
    module.write_text(text.replace(line, f"            tlx.barrier_wait(ab_full[0], 0)\n{line}"))
    edited = module.read_bytes()
    assert (
        run(monkeypatch, "profile", module, "--simulate", "--shapes", "128x64x64", "--json", tmp_path / "p.json") == 0
    )
    assert module.read_bytes() == edited
    tasks = json.loads((tmp_path / "p.json").read_text())["tasks"]
    (wait,) = (o for o in tasks[1]["operations"] if o["what"] == "wait ab")
    assert (wait["times"], len(wait["lines"])) == (2, 2)


def test_a_deadlock_is_told_and_nothing_is_written(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build(spec)
    module = tmp_path / "generated" / "small" / "small.py"
    text = module.read_text()
    wait = "tlx.barrier_wait(ab_full[slot], phase)"
    assert wait in text
    module.write_text(text.replace(wait, "tlx.barrier_wait(ab_full[slot], phase ^ 1 ^ (count // STAGES & 0))"))
    words = ("profile", module, "--simulate", "--shapes", "512x64x512", "--trace", tmp_path / "t.json")
    status = run(monkeypatch, *words)
    err = capsys.readouterr().err
    assert status == 1 and "error" in err and "Traceback" not in err
    assert not (tmp_path / "t.json").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--structure", "other"], "no structure 'other'"),
        (["--config", "9"], "--config 9: small.py has 1 config"),
        (["--shapes", "12"], "12"),
        (["--shapes", "0x1x1"], "0"),
        (["--trace", "specs"], "specs"),
        (["--gpu"], "no GPU here"),
        (["--records", "3"], "16"),
    ],
)
def test_profile_refuses(
    words: list[str],
    text: str,
    spec: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    simulated = [] if "--gpu" in words else ["--simulate"]
    assert run(monkeypatch, "profile", spec, *simulated, *words) == 2
    err = capsys.readouterr().err
    assert text in err and "Traceback" not in err


def test_profile_of_another_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.py").write_text("import torch\n")
    assert run(monkeypatch, "profile", "--simulate", tmp_path / "k.py") == 2
    assert "is not a generated module" in capsys.readouterr().err
    assert run(monkeypatch, "profile", "--simulate", tmp_path / "missing.yaml") == 2
