"""The table of exit status in docs/cli.md, held against what the verbs do, cell by cell."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tlxgen import cli
from tlxgen.build import build
from tlxgen.doctor import checks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text()
ROWS = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
CELLS = {(verb, status) for verb, *cells in ROWS for status, cell in enumerate(cells) if cell.strip() != "-"}

GOOD = "kernel: norm_fwd\nname: good\narch: sm90\ntile: {n: 256}\n"
RACE = """
import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + tl.arange(0, 16), tl.program_id(0).to(tl.float32))


def run():
    x = torch.zeros(16, device="cuda")
    kernel[(2,)](x)
"""
DEFINITION = """{
  "name": "rmsnorm_h64",
  "op_type": "rmsnorm",
  "axes": {"batch_size": {"type": "var"}, "hidden_size": {"type": "const", "value": 64}},
  "inputs": {
    "hidden_states": {"shape": ["batch_size", "hidden_size"], "dtype": "bfloat16"},
    "weight": {"shape": ["hidden_size"], "dtype": "bfloat16"}
  },
  "outputs": {"output": {"shape": ["batch_size", "hidden_size"], "dtype": "bfloat16"}},
  "reference": "def run(hidden_states, weight, eps=1e-6): ...\\n\\nrun(1, 2, eps=1e-6)"
}"""
SCENARIOS = {
    ("build", 0): "build good.yaml",
    ("build", 1): "build --check good.yaml",
    ("build", 2): "build bad.yaml",
    ("list", 0): "list good.yaml",
    ("list", 2): "list bad.yaml",
    ("show", 0): "show good.yaml",
    ("show", 2): "show bad.yaml",
    ("compile", 0): "compile good.yaml",
    ("compile", 1): "compile slow.yaml --no-cache --timeout 1",
    ("compile", 2): "compile bad.yaml",
    ("package", 0): "package good.yaml --out packed",
    ("package", 2): "package good.yaml",
    ("export", 0): "export rms.yaml --definition rms.json --out solution.json",
    ("export", 2): "export good.yaml --definition none.json --out solution.json",
    ("verify", 0): "verify good.yaml --seeds 1",
    ("verify", 1): "verify race.py:run --seeds 1",
    ("verify", 2): "verify bad.yaml",
    ("check", 2): "check good.yaml",
    ("bench", 2): "bench good.yaml",
    ("tune", 2): "tune good.yaml",
    ("diff", 0): "diff good.yaml slow.yaml",
    ("diff", 1): "diff good.yaml slow.yaml --exit-code",
    ("diff", 2): "diff good.yaml none.yaml",
    ("review", 0): "review . . --markdown",
    ("review", 2): "review . none.yaml --markdown",
    ("profile", 0): "profile good.yaml",
    ("profile", 1): "profile generated/stuck/stuck.py",
    ("profile", 2): "profile bad.yaml",
    ("watch", 2): "watch none.yaml --no-verify",
    ("init", 0): "init --name new",
    ("init", 2): "init --kernel nothing",
    ("explain", 0): "explain leader",
    ("explain", 2): "explain xyzzy",
    ("doctor", 0): "doctor --for build",
    ("doctor", 1): "doctor --for check",
    ("doctor", 2): "doctor --for nothing",
    ("schema", 0): "schema",
}
ON_A_GPU = {("check", 0), ("check", 1), ("bench", 0), ("bench", 1), ("tune", 0), ("tune", 1)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(GOOD + "tiles: 3\n")
    (tmp_path / "slow.yaml").write_text("kernel: attention_bwd\nname: slow\narch: sm90\n")
    (tmp_path / "race.py").write_text(RACE)
    (tmp_path / "rms.yaml").write_text(GOOD + "problem: {norm: rms}\n")
    (tmp_path / "rms.json").write_text(DEFINITION)
    return tmp_path


@pytest.fixture(scope="module", autouse=True)
def torch_says_it_once() -> Iterator[None]:
    """`doctor` asks torch in a process that imports it, seconds each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "_torch", functools.cache(checks._torch))
        yield


def write_stuck(folder: Path) -> None:
    """A built module, edited so that its barriers expect no bytes: nobody's tile ever comes."""
    (folder / "stuck.yaml").write_text("kernel: gemm\nname: stuck\narch: sm90\n")
    module = build(folder / "stuck.yaml").folder / "stuck.py"
    text, edits = re.subn(r"tlx\.barrier_expect_bytes\(.*\)", "pass", module.read_text())
    assert edits
    module.write_text(text)


def test_every_cell_is_tried_or_needs_a_gpu() -> None:
    assert {*SCENARIOS, *ON_A_GPU} == CELLS


def test_every_verb_has_a_row() -> None:
    names = {command.name or command.callback.__name__ for command in cli.app.registered_commands if command.callback}
    assert {verb for verb, *_ in ROWS} == names


@pytest.mark.compiles
@pytest.mark.parametrize(("verb", "status"), SCENARIOS, ids=lambda value: str(value))
def test_a_verb_ends_with_the_status_of_the_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str, status: int
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("triton.language.extra.tlx")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("tlxgen.tune.space._processes", lambda: None)  # which a spec of one module does without
    if "stuck" in SCENARIOS[verb, status]:
        write_stuck(folder)
    monkeypatch.setattr(sys, "argv", ["tlxgen", *SCENARIOS[verb, status].split()])
    with pytest.raises(SystemExit) as end:
        cli.main()
    output, errors = capsys.readouterr()
    assert end.value.code == status, output + errors
    assert status != 2 or errors.startswith(("error: ", "bad.yaml:", "none.yaml:")), errors


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("tlxgen.verbs.schema.run", interrupted)
    monkeypatch.setattr(sys, "argv", ["tlxgen", "schema"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130


def test_the_records_begin_as_the_page_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    rows = re.findall(r"^\| `(\w+)` \| (`\w+`.*) \|$", PAGE[PAGE.index("additional keys") :], re.MULTILINE)
    assert {verb for verb, _ in rows} >= {"explain", "doctor"}
    commands = {"explain": "explain leader --json", "doctor": "doctor --json"}
    monkeypatch.chdir(folder)
    for verb, keys in rows:
        if verb not in commands:
            continue
        monkeypatch.setattr(sys, "argv", ["tlxgen", *commands[verb].split()])
        with pytest.raises(SystemExit):
            cli.main()
        record = json.loads(capsys.readouterr().out)
        assert list(record)[:3] == ["version", "tlxgen", "verb"] and record["verb"] == verb
        assert set(list(record)[3:]) <= set(re.findall(r"`(\w+)`", keys))


def test_the_hook_runs_a_verb_that_is_there() -> None:
    (hook,) = YAML(typ="safe", pure=True).load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert f"id: {hook['id']}" in PAGE
    tool, verb, option = hook["entry"].split()
    assert (tool, verb, option) == ("tlxgen", "build", "--check") and hook["pass_filenames"] is False
    for path in ("specs/a.yaml", "sub/generated/a/a.py", "tuned/h200/a.yaml"):
        assert re.search(hook["files"], path)
