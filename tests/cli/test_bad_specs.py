"""A bad spec is one clear error with its place, exit status 2, and not a byte written."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tlxgen import cli

HEAD = "kernel: gemm\nname: bad\narch: sm90\n"
ERROR = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+):(?P<column>\d+): (?P<message>.+)$")
EXPLODING = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(12)
)

# name -> (text of the file, "line:column" of the error, words of its message)
BAD: dict[str, tuple[str | bytes, str, str]] = {
    "unknown key": (HEAD + "tiles: {m: 128}\n", "4:1", "unknown key 'tiles'; did you mean 'tile'?"),
    "unknown key inside": (HEAD + "tile:\n  m: 128\n  q: 1\n", "6:3", "unknown key 'q' in tile"),
    "duplicate key": (HEAD + "tile: {m: 128}\ntile: {m: 64}\n", "5:1", "duplicate key 'tile', first given on line 4"),
    "text for a number": (HEAD + "tile: {m: wide}\n", "4:11", "expected an integer, got the text 'wide'"),
    "a list for a mapping": (HEAD + "tile: [128, 256]\n", "4:7", "expected a mapping"),
    "a number for true or false": (HEAD + "tasks: {specialized: 1}\n", "4:22", "expected true or false"),
    "SMEM over budget": (HEAD + "rings: {ab: {stages: 9}}\n", "4:22", "of 232448 B"),
    "replicate 4": (HEAD + "tasks: {mma: {replicate: 4}}\n", "4:26", "expected a number of at most 3"),
    "replicate 4 with pingpong": (
        HEAD + "tasks: {mma: {split: pingpong, replicate: 4}}\n",
        "4:43",
        "expected a number of at most 3, got the integer 4",
    ),
    "replicate 1 with pingpong": (
        HEAD + "tasks: {mma: {split: pingpong, replicate: 1}}\n",
        "4:32",
        "pingpong is played by 2 replicas, not 1",
    ),
    "no stage": (HEAD + "rings: {ab: {stages: 0}}\n", "4:22", "expected a number of at least 1"),
    "stages below zero": (HEAD + "rings: {ab: {stages: -1}}\n", "4:22", "expected a number of at least 1"),
    "two and a half stages": (HEAD + "rings: {ab: {stages: 2.5}}\n", "4:22", "expected an integer, got the number 2.5"),
    "stages in quotes": (HEAD + "rings: {ab: {stages: '4'}}\n", "4:22", "expected an integer, got the text '4'"),
    "a hundred stages": (HEAD + "rings: {ab: {stages: 100}}\n", "4:22", "expected a number of at most 64"),
    "one stage with a wgmma in flight": (HEAD + "rings: {ab: {stages: 1}}\n", "4:22", "no slot is left to load into"),
    "one stage without a producer": (
        HEAD + "tasks: {specialized: false, mma: {warps: 8, in_flight: 0}}\nrings: {ab: {stages: 1}}\n",
        "5:22",
        "loads a slot ahead",
    ),
    "guard on the default role": (HEAD + "tasks: {load: {guard: LOAD_TASK}}\n", "4:16", "unknown key 'guard'"),
    "guard of the default role": (HEAD + "guards: {LOAD_TASK: keep}\n", "4:10", "no task is guarded by LOAD_TASK"),
    "registers on the default role": (HEAD + "tasks: {load: {registers: 40}}\n", "4:16", "unknown key 'registers'"),
    "an axis value that no field takes": (
        HEAD + "variants: {axes: {tile.n: [128, x]}}\n",
        "4:33",
        "expected an integer, got the text 'x' (tile.n)",
    ),
    "an unknown axis": (HEAD + "variants: {axes: {tile.o: [128]}}\n", "4:19", "unknown axis 'tile.o'"),
    "every variant over SMEM": (
        HEAD + "variants: {axes: {rings.ab.stages: [20, 30], tile.n: [128, 256]}}\n",
        "4:19",
        "all 4 variants of bad are rejected",
    ),
    "a condition that no variant meets": (
        HEAD + "variants: {axes: {tile.n: [128, 256]}, require: [tile.n > 256]}\n",
        "4:50",
        "all 2 variants of bad are rejected",
    ),
    "a fault that no axis touches": (
        HEAD + "tasks: {mma: {warps: 1}}\nvariants: {axes: {tile.n: [128, 256], rings.ab.stages: [2, 3]}}\n",
        "4:15",
        "wgmma is issued by warpgroups: 4 or 8 warps, not 1",
    ),
    "too much SMEM whatever the axes": (
        HEAD + "rings: {ab: {stages: 9}}\nvariants: {axes: {schedule.group_m: [4, 8], cache.a: [none, evict_first]}}\n",
        "4:22",
        "in any of its 4 variants: smem: needs",
    ),
    "the file's own control characters": (HEAD + 'description: "a\x1b[31mb\n', "4:16", "U+001B"),
    "an escaped control character": (HEAD + '"\\e[31mred": 1\n', "4:1", r"unknown key '\x1b[31mred'"),
    "empty": ("", "1:1", "the spec is empty"),
    "only a comment": ("# soon\n", "1:1", "the spec is empty"),
    "a list at the top": ("- kernel: gemm\n", "1:1", "a spec is a mapping of keys, this is a list"),
    "text at the top": ("gemm\n", "1:1", "a spec is a mapping of keys, this is text"),
    "ten megabytes": (HEAD + "description: " + "x" * 10_000_000 + "\n", "1:1", "larger than 256 KiB"),
    "exploding aliases": (EXPLODING, "5:", "values with aliases expanded"),
    "a tab": (HEAD + "tile:\n\tm: 128\n", "5:1", "a tab is used for indentation"),
    "not UTF-8": (HEAD.encode() + b"description: caf\xe9\n", "4:17", "not UTF-8 (byte 0xe9)"),
    "a control character": (HEAD + "description: a\x00b\n", "4:15", "U+0000"),
    "not YAML": (HEAD + "tile: {m: 128\n", "", "not valid YAML"),
    "two documents": (HEAD + "---\n" + HEAD, "4:1", "more than one YAML document"),
    "no kernel": ("name: bad\narch: sm90\n", "1:1", "missing key 'kernel'"),
    "unknown kernel": (HEAD.replace("gemm", "gem"), "1:9", "no kernel family 'gem'; did you mean 'gemm'?"),
    "a number for the kernel": (HEAD.replace("gemm", "3"), "1:9", "no kernel family 3"),
    "a list for the kernel": (HEAD.replace("gemm", "[gemm]"), "1:9", "no kernel family ['gemm']"),
    "unknown arch": (HEAD.replace("sm90", "sm80"), "3:7", "expected 'sm90' or 'sm100'"),
    "what only the other arch has": (HEAD + "schedule: {kind: clc}\n", "4:12", "of sm100"),
    "no name": ("kernel: gemm\narch: sm90\n", "1:1", "missing key 'name'"),
    "a name that is no name": (HEAD.replace("bad", "Bad-1"), "2:7", "text that matches"),
    "a missing parent": ("extends: nowhere.yaml\n" + HEAD, "1:10", "cannot extend nowhere.yaml: no such file"),
    "its own parent": ("extends: bad.yaml\n" + HEAD, "1:10", "extends goes in a circle"),
    "a wrong expression": (HEAD + "variants: {require: ['tile.m >']}\n", "4:", "not an expression"),
    "an unknown name": (HEAD + "variants: {require: ['tile.x > 1']}\n", "4:23", "unknown name 'tile.x'"),
    "text without quotes": (
        HEAD + "variants: {require: [tasks.mma.split == cooperative]}\n",
        "4:41",
        "unknown name 'cooperative'; text needs quotes: tasks.mma.split == 'cooperative'",
    ),
    "text that ends at its second quote": (
        HEAD + "variants:\n  require:\n    - 'bias' in epilogue.ops\n",
        "6:14",
        """Put quotes around all of it: "'bias' in epilogue.ops\"""",
    ),
    "a NUL in the description": (HEAD + 'description: "a\\0b"\n', "4:14", r"the character \x00 is not for a docstring"),
    "an escape in the description": (HEAD + 'description: "a\\e[31m"\n', "4:14", r"the character \x1b"),
    "letters turned round": (HEAD + "description: a\u202eb\n", "4:14", r"the character \u202e"),
    "a line separator in the description": (HEAD + 'description: "a\\Lb"\n', "4:14", r"the character \u2028"),
    "a space that is none": (HEAD + "tile:\xa0{m: 3}\n", "4:1", r"unknown key 'tile:\xa0{m'; did you mean 'tile'?"),
    "a merge conflict": (
        HEAD + "<<<<<<< HEAD\ntile: {m: 64}\n=======\ntile: {m: 128}\n>>>>>>> there\n",
        "4:1",
        "a merge has left a conflict here",
    ),
    "a shape of two extents": (
        HEAD + "check: {shapes: [[64, 64]]}\n",
        "4:18",
        "a shape has 3 extents, M x N x K, and this has 2",
    ),
    "an extent beyond 32 bits": (HEAD + "check: {shapes: [[99999999999, 2, 3]]}\n", "4:19", "at most 2147483647"),
    "all extents beyond 32 bits": (
        HEAD + "check: {shapes: [[1, 2, 3], [99999999999]]}\n",
        "4:30",
        "at most 2147483647",
    ),
    "not a number": (HEAD + "check: {rtol: .nan}\n", "4:15", "expected a finite number or 'auto', got the number nan"),
    "a number beyond all": (HEAD + "rings: {ab: {stages: 1e400}}\n", "4:22", "expected an integer, got the number inf"),
    "an integer beyond 64 bits": (HEAD + "tile: {m: 18446744073709551616}\n", "4:11", "does not fit 64 bits"),
    "digits in groups": (HEAD + "rings: {ab: {stages: 1_0}}\n", "4:22", "expected an integer, got the text '1_0'"),
    "YAML 1.1's truth": (HEAD + "tasks: {specialized: yes}\n", "4:22", "expected true or false, got the text 'yes'"),
    "a merge key": (HEAD + "rings: &r {ab: {stages: 3}}\ntile: {<<: *r}\n", "5:8", "merge keys (<<) are not supported"),
    "an alias of itself": (HEAD + "tile: &t {m: *t}\n", "4:14", "the alias *t contains itself"),
    "a tag of Python's": (HEAD + "tile: !!python/tuple [1]\n", "4:7", "the tag !!python/tuple is not supported"),
    "a tag on text": (HEAD + "tile: {m: !!str 128}\n", "4:11", "expected an integer, got the text '128'"),
    "very deep": (HEAD + "a: " + "{b: " * 3000, "4:256", "nested more than 64 levels deep"),
    "UTF-16": (HEAD.encode("utf-16"), "1:1", "not UTF-8 (byte 0xff)"),
    "a keyword for a name": (HEAD.replace("bad", "class"), "2:7", "'class' is a Python keyword"),
    "a builtin for a name": (HEAD.replace("bad", "print"), "2:1", "the module needs the name print"),
    "torch for a name": (HEAD.replace("bad", "torch"), "2:1", "the module needs the name torch"),
    "a name that is not ASCII": (HEAD.replace("bad", "größe"), "2:7", "text that matches"),
    "a folder for a parent": ("extends: .\n" + HEAD, "1:10", "cannot extend .: is a folder"),
    "a parent of a long name": ("extends: " + "a" * 5000 + "\n" + HEAD, "1:10", "aaa...: File name too long"),
    "a parent of a strange name": ('extends: "a\\0b"\n' + HEAD, "1:10", "embedded null byte"),
    "a tuned file that is not there": (HEAD + "tuned: no.yaml\n", "4:8", "tuned: no file no.yaml"),
    "a tuned file of a long name": (HEAD + "tuned: " + "a" * 5000 + "\n", "4:8", "aaa...: File name too long"),
    "a spec for a tuned file": (HEAD + "tuned: bad.yaml\n", "1:9", "this is the table of gemm, not of bad"),
    "an axis for the tuned file": (HEAD + "variants: {axes: {tuned: [a]}}\n", "4:19", "unknown axis 'tuned'"),
    "the same key twice in bake": (HEAD + "bake: [tile.m, tile.m]\n", "4:16", "in the list already"),
    "a key in bake and in keep": (HEAD + "bake: [tile.m]\nkeep: [tile.m]\n", "5:8", "tile.m is in bake, too"),
    "a guard of no task on an axis": (
        HEAD + "variants: {axes: {guards.EPILOGUE_TASK: [true, keep]}}\n",
        "4:19",
        "no task is guarded by EPILOGUE_TASK",
    ),
    "an assignment in a condition": (HEAD + "variants: {require: ['(x := 3) > 1']}\n", "4:24", ":= is not part"),
    "bake of a structure axis": (HEAD + "bake: [schedule.kind]\n", "4:8", "not an axis that only changes constants"),
}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the console script in an empty folder; gives exit status, output and errors."""
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tlxgen", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        code = end.value.code
        assert isinstance(code, int)
        return code, *capsys.readouterr()

    return run


def write(folder: Path, text: str | bytes) -> None:
    (folder / "bad.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())


def errors(text: str) -> list[re.Match[str]]:
    return [match for line in text.splitlines() if (match := ERROR.match(line))]


def below(folder: Path) -> dict[str, bytes | None]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_spec_is_one_error_at_its_place_and_nothing_is_written(tmp_path: Path, run: Run, name: str) -> None:
    text, place, words = BAD[name]
    write(tmp_path, text)
    before = below(tmp_path)

    code, output, stderr = run("build", "bad.yaml")

    assert code == 2
    assert output == ""
    assert "Traceback" not in stderr
    (error,) = errors(stderr)
    assert stderr.startswith(error[0])  # the error comes first; what follows explains it
    assert error["file"] == "bad.yaml"
    assert words in stderr
    assert f"{error['line']}:{error['column']}".startswith(place)
    assert len(stderr) < 2000
    assert all(character.isprintable() for character in stderr.replace("\n", ""))
    assert below(tmp_path) == before


@pytest.mark.parametrize("command", [["build", "--check"], ["list"], ["show"]], ids=lambda command: command[-1])
@pytest.mark.parametrize("name", ["unknown key", "duplicate key", "empty", "unknown kernel", "not UTF-8"])
def test_every_command_tells_it_the_same_way(tmp_path: Path, run: Run, name: str, command: list[str]) -> None:
    write(tmp_path, BAD[name][0])
    told = run("build", "bad.yaml")
    before = below(tmp_path)
    assert run(*command, "bad.yaml") == told
    assert below(tmp_path) == before


@pytest.mark.parametrize("command", ["build", "list", "show"])
def test_a_missing_file_is_named(tmp_path: Path, run: Run, command: str) -> None:
    assert run(command, "none.yaml") == (2, "", "none.yaml:1:1: no such file\n")
    assert below(tmp_path) == {}


def test_a_folder_without_specs_is_an_error(tmp_path: Path, run: Run) -> None:
    (tmp_path / "empty").mkdir()
    assert run("build", "empty") == (2, "", "error: no spec in the folder empty: it has no *.yaml\n")
    assert below(tmp_path) == {"empty": None}


def test_the_offending_line_is_shown_with_a_caret_under_the_place(tmp_path: Path, run: Run) -> None:
    write(tmp_path, HEAD + "tile: {m: wide}\n")
    _, _, stderr = run("build", "bad.yaml")
    assert stderr.splitlines()[1:] == ["    tile: {m: wide}", "              ^"]


def test_smem_over_budget_says_need_limit_excess_and_parts(tmp_path: Path, run: Run) -> None:
    write(tmp_path, HEAD + "rings: {ab: {stages: 9}}\n")
    _, _, stderr = run("build", "bad.yaml")
    ring, staging = 9 * (128 + 256) * 64 * 2, 128 * 128 * 2
    need = ring + staging + 18 * 8 + 256
    assert f"smem: needs {need} of 232448 B, {need - 232448} too many (ring ab {ring}, ring c {staging}, " in stderr


def test_when_every_variant_is_over_budget_each_is_explained(tmp_path: Path, run: Run) -> None:
    write(tmp_path, BAD["every variant over SMEM"][0])
    _, _, stderr = run("build", "bad.yaml")
    lines = [line for line in stderr.splitlines() if "smem: needs" in line]
    assert len(lines) == 4
    assert "rings.ab.stages=20, tile.n=128: smem: needs " in lines[0]


def test_reasons_that_variants_share_are_told_once(tmp_path: Path, run: Run) -> None:
    axes = "{tile.n: [128, 256], rings.ab.stages: [9, 10], schedule.group_m: [2, 4, 8]}"
    write(tmp_path, HEAD + f"variants: {{axes: {axes}, exclude: [tile.n == 128]}}\n")
    _, _, stderr = run("build", "bad.yaml")
    lines = stderr.splitlines()
    assert lines[0] == "bad.yaml:2:7: all 12 variants of bad are rejected"
    assert [" and 5 more: exclude: " in lines[3], " and 2 more: smem: " in lines[4]] == [True, True] and len(lines) == 6


def test_a_caret_stands_under_its_place_behind_what_is_escaped(tmp_path: Path, run: Run) -> None:
    write(tmp_path, HEAD + "description: \x1b[31m\n")
    _, _, stderr = run("build", "bad.yaml")
    _, line, caret = stderr.splitlines()
    assert line == r"    description: \x1b[31m" and line[caret.index("^")] == "\\"
    write(tmp_path, (HEAD + "description: \x85\x07").encode("latin-1"))
    _, _, stderr = run("build", "bad.yaml")
    assert "not UTF-8" in stderr and all(c.isprintable() or c == "\n" for c in stderr)


def test_list_shows_the_variants_of_a_spec_of_which_none_fits(tmp_path: Path, run: Run) -> None:
    write(tmp_path, BAD["every variant over SMEM"][0])
    code, output, stderr = run("list", "bad.yaml")
    assert code == 2 and stderr.startswith("bad.yaml:4:19: all 4 variants of bad are rejected\n")
    assert "4 rejected" in output and output.count("smem: needs") == 1
    code, output, _ = run("list", "bad.yaml", "--rejected", "smem")
    assert code == 2 and output.count("smem: needs") == 4


def test_all_faults_of_a_spec_are_told_in_one_run_in_the_order_of_its_lines(tmp_path: Path, run: Run) -> None:
    write(tmp_path, HEAD + "tile: {m: 96}\nrings: {ab: {stages: 0}}\ntiles: 3\n")
    _, _, stderr = run("build", "bad.yaml")
    assert [e["line"] for e in errors(stderr)] == [
        "5",
        "6",
    ]  # the combination of m is looked at when the fields are right


@pytest.mark.parametrize("sms", ["x", "[1]", "0", "-3", "1.5", "true", "99999999"])
def test_a_tuned_file_without_a_number_of_sms(tmp_path: Path, run: Run, sms: str) -> None:
    write(tmp_path, HEAD + "tuned: table.yaml\n")
    (tmp_path / "table.yaml").write_text(f"kernel: bad\nsms: {sms}\nclasses: []\n")
    code, _, stderr = run("build", "bad.yaml")
    assert code == 2 and stderr.startswith("table.yaml:2:6: the SMs of a device are a number in 1..10000\n")


def test_faults_of_fields_values_and_constants_are_told_together(tmp_path: Path, run: Run) -> None:
    write(tmp_path, HEAD + "tile: {m: x}\nvariants: {axes: {tile.n: [128, y]}}\nbake: [schedule.kind]\n")
    _, _, stderr = run("build", "bad.yaml")
    assert [e["line"] for e in errors(stderr)] == ["4", "5", "6"]


def test_a_fault_in_a_parent_is_placed_in_the_parent(tmp_path: Path, run: Run) -> None:
    (tmp_path / "parent.yaml").write_text(HEAD + "tile: {m: wide}\n")
    write(tmp_path, "extends: parent.yaml\nname: child\n")
    _, _, stderr = run("build", "bad.yaml")
    assert stderr.startswith("parent.yaml:4:11: expected an integer")


def test_good_specs_beside_a_bad_one_are_built_and_the_bad_one_is_told(tmp_path: Path, run: Run) -> None:
    write(tmp_path, HEAD + "tiles: 3\n")
    (tmp_path / "good.yaml").write_text(HEAD.replace("bad", "good") + "tile: {n: 128}\n")
    code, output, stderr = run("build", "bad.yaml", "good.yaml")
    assert code == 2
    assert output == "good.yaml: 6 files written to generated/good (1 module, 1 variant, 0 rejected)\n"
    assert len(errors(stderr)) == 1
    assert sorted(p.name for p in (tmp_path / "generated").iterdir()) == ["good"]


def test_a_value_of_an_axis_without_a_variant_is_a_warning(tmp_path: Path, run: Run) -> None:
    write(tmp_path, HEAD + "variants: {axes: {rings.ab.stages: [2, 9], tile.n: [128]}}\n")
    code, output, stderr = run("build", "bad.yaml")
    assert (code, output) == (0, "bad.yaml: 6 files written to generated/bad (1 module, 1 variant, 1 rejected)\n")
    assert stderr.startswith("warning: bad.yaml:4:40: no variant is left with rings.ab.stages=9: smem: needs ")
    assert stderr.count("\n") == 1


def test_two_bad_specs_are_both_told(tmp_path: Path, run: Run) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(HEAD + "tiles: 3\n")
    code, _, stderr = run("build", "one.yaml", "two.yaml")
    assert code == 2
    assert [(e["file"], e["line"]) for e in errors(stderr)] == [("one.yaml", "4"), ("two.yaml", "4")]


def test_two_specs_that_would_share_a_folder_are_refused_before_either_is_built(tmp_path: Path, run: Run) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.yaml").write_text(HEAD.replace("bad", "k"))
    before = below(tmp_path)
    code, output, stderr = run("build", "a", "b", "--out", "made")
    assert (code, output) == (2, "")
    assert stderr == "b/k.yaml:1:1: both this and a/k.yaml would be built into made/k\n"
    assert below(tmp_path) == before


@pytest.mark.parametrize("arguments", [["build"], ["build", "--nope", "x.yaml"], ["nope"], ["show", "a", "b"]])
def test_a_wrong_command_line_is_exit_2(run: Run, arguments: list[str]) -> None:
    code, _, stderr = run(*arguments)
    assert code == 2
    assert "Traceback" not in stderr and "Error: " in stderr


def test_the_installed_command_behaves_as_the_function_does(tmp_path: Path) -> None:
    write(tmp_path, BAD["unknown key"][0])
    command = [sys.executable, "-m", "tlxgen", "build", "bad.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("bad.yaml:4:1: unknown key 'tiles'")
    assert sorted(below(tmp_path)) == ["bad.yaml"]
