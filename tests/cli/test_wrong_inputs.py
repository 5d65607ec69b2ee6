"""Wrong inputs of every verb: one message, exit status 2, nothing written, nothing lost, no traceback."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tlxgen import cli

SPEC = "kernel: norm_fwd\nname: good\narch: sm90\ntile: {n: 256}\n"
CASES = """kernel: k
grid: [1]
args: {y: {output: [N], dtype: int8}, N: 16}
constexprs: {BLOCK: 16}
reference: y * 0 + 1
"""
KERNEL = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(y, N, BLOCK: tl.constexpr):\n    pass\n"
LONG = "x" * 300
Change = Callable[[Path], object]


def below(folder: Path) -> dict[str, bytes | str]:
    """What lies there: files with their bytes, links with where they lead."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "no file"
        found[str(path.relative_to(folder))] = kind
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a spec, its generated folder, and a kernel with its cases."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "specs").mkdir()
    (folder / "specs" / "good.yaml").write_text(SPEC)
    (folder / "k.py").write_text(KERNEL)
    (folder / "k.verify.yaml").write_text(CASES)
    from tlxgen.build import build

    build(folder / "specs" / "good.yaml")
    return folder


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return folder


Run = Callable[..., tuple[int | str | None, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.setattr(sys, "argv", ["tlxgen", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, *capfd.readouterr()

    return run


def nothing(folder: Path) -> None:
    """What a project needs to be changed where only the command line is wrong."""


def write(path: str, text: str | bytes) -> Change:
    def change(folder: Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text if isinstance(text, bytes) else text.encode())

    return change


def append(path: str, text: str) -> Change:
    return lambda folder: (folder / path).write_text((folder / path).read_text() + text)


def link(path: str, target: str) -> Change:
    def change(folder: Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).unlink(missing_ok=True)
        (folder / path).symlink_to(target)

    return change


def instead(path: str, make: Callable[[Path], object]) -> Change:
    def change(folder: Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).unlink(missing_ok=True)
        make(folder / path)

    return change


MODULE, LOCK = "generated/good/good.py", "generated/good/lock.json"
ONE_SPEC = ("build", "list", "show", "compile", "verify", "bench")
# arguments, what is changed before, words of the message
WRONG: list[tuple[str, Change, str]] = [
    *[(f"{verb} loop.yaml", link("loop.yaml", "loop.yaml"), "Too many levels of symbolic links") for verb in ONE_SPEC],
    *[(f"{verb} {LONG}.yaml", nothing, "File name too long") for verb in (*ONE_SPEC, "check", "diff specs/good.yaml")],
    *[(f"{verb} ''", nothing, "an empty argument") for verb in (*ONE_SPEC, "check", "tune", "diff", "init", "explain")],
    *[(f"{verb} specs/good.yaml --out=", nothing, "an empty argument --out") for verb in ("build", "tune")],
    ("build specs/good.yaml --out loop", link("loop", "loop"), "Too many levels of symbolic links"),
    ("build specs/good.yaml --out k.py", nothing, "cannot write k.py/good: Not a directory"),
    ("build specs/good.yaml", instead(LOCK, os.mkfifo), "this is not a lock that tlxgen wrote: it is a pipe"),
    ("build specs/good.yaml", write(LOCK, '{"version": ' + "9" * 5000 + "}"), "this is not a lock that tlxgen wrote"),
    ("build --check specs/good.yaml", write(LOCK, "[" * 100_000), "it is nested too deep"),
    ("build --prune specs", write(LOCK, bytes(range(256))), "this is not a lock that tlxgen wrote: it is not UTF-8"),
    ("list specs/good.yaml specs/good.yaml", nothing, "list takes one spec, and a rule only with --rejected"),
    ("list specs/good.yaml --rejected xyzzy", nothing, "no variant is rejected by a rule 'xyzzy'"),
    (f"list {MODULE}", nothing, "not valid YAML"),
    ("show specs/good.yaml --set x=", nothing, "unknown axis 'x'"),
    ("show specs/good.yaml --set tile.z=~", nothing, "unknown axis 'tile.z'"),
    ("show specs/good.yaml --set tile.n=[", nothing, "--set:4:1: not valid YAML"),
    ("show specs/good.yaml --set tile.n=256 --set tile.n=512", nothing, "--set: tile.n is given twice"),
    ("show specs/good.yaml --structure nope", nothing, "no structure 'nope'"),
    ("compile specs/good.yaml --timeout inf", nothing, "Invalid value for '--timeout'"),
    ("compile specs/good.yaml --timeout nan", nothing, "Invalid value for '--timeout'"),
    (f"compile {MODULE}", append(MODULE, "def (:\n"), "not Python: invalid syntax"),
    (f"compile {MODULE}", append(MODULE, "CONFIGS = []\n"), "the table CONFIGS is empty"),
    (f"compile {MODULE}", instead(MODULE, os.mkfifo), "good.py:1:1: this is a pipe or a device, not a Python file"),
    (f"compile {MODULE}", instead(MODULE, os.mkdir), "good.py:1:1: this is a folder, not a Python file"),
    ("compile generated/good/nope.py", nothing, "nope.py:1:1: no such file"),
    (f"verify {MODULE}", instead(MODULE, os.mkdir), "good.py:1:1: this is a folder, not a Python file"),
    (f"verify {MODULE}", link(MODULE, "nowhere"), "good.py:1:1: no such file; valid files: __init__.py, _host.py"),
    ("verify specs/good.yaml --timeout 1e300", nothing, "Invalid value for '--timeout'"),
    ("verify k.py --memory inf", nothing, "Invalid value for '--memory'"),
    ("verify k.py --json k.py", nothing, "--json would overwrite k.py, which is a source"),
    ("verify k.py --trace k.verify.yaml", nothing, "--trace would overwrite k.verify.yaml, which is a source"),
    ("verify specs/good.yaml --json specs/../specs/good.yaml", nothing, "which is a source"),
    ("verify k.py --json o --trace ./o", nothing, "--json and --trace name one file"),
    ("verify k.py:k --skeleton", nothing, "k.verify.yaml is there already: nothing is written"),
    ("verify k.py:k:k", nothing, "no such file"),
    ("verify :k", nothing, "no such file"),
    ("check specs/good.yaml --json specs/good.yaml", nothing, "--json would overwrite specs/good.yaml"),
    ("check specs/good.yaml --json specs", nothing, "specs cannot be written: Is a directory"),
    ("check specs/good.yaml --timeout inf", nothing, "Invalid value for '--timeout'"),
    ("bench specs/good.yaml --json k.py/x", nothing, "k.py/x cannot be written: Not a directory"),
    ("bench specs/good.yaml --csv x --json x", nothing, "--json and --csv name one file"),
    ("bench specs/good.yaml --tritonbench k.py", nothing, "--tritonbench would overwrite k.py"),
    ("bench specs/good.yaml --markdown specs/good.yaml", nothing, "--markdown would overwrite specs/good.yaml"),
    ("bench specs/good.yaml --baseline nope", nothing, "no baseline 'nope' here"),
    ("bench specs/good.yaml --shapes 4x4x4", nothing, "a shape has 2 extents, M x N, and this has 3"),
    ("tune specs/good.yaml --dask nope", nothing, "no Dask scheduler answers at nope"),
    ("tune specs/good.yaml --dry-run --out o", nothing, "--out has no effect beside --dry-run"),
    ("tune specs/good.yaml --dry-run --budget 3s", nothing, "--budget has no effect beside --dry-run"),
    ("tune specs/good.yaml --dry-run --dask x", nothing, "--dask has no effect beside --dry-run"),
    ("tune specs/good.yaml --exhaustive --candidates 3", nothing, "--candidates has no effect beside --exhaustive"),
    ("tune specs/good.yaml --budget 1e400s", nothing, "'1e400s' is not a time"),
    ("tune specs/good.yaml --out specs", nothing, "cannot write specs: Is a directory"),
    ("diff specs/good.yaml specs/good.yaml --json --format markdown", nothing, "--json and --format markdown"),
    (f"diff specs/good.yaml {MODULE}", nothing, "is a spec, generated/good/good.py is a generated module"),
    ("diff a b c d", nothing, "4 things cannot be compared"),
    ("diff HEAD...HEAD", nothing, "three dots are not known here"),
    ("diff specs/good.yaml /dev/null", nothing, "no spec, generated module or generated folder '/dev/null'"),
    ("init --name json", nothing, "a kernel cannot be called 'json'"),
    ("init --name ../x", nothing, "a kernel cannot be called '../x'"),
    ("init --like hopper_gemm --arch sm100", nothing, "--arch has no effect beside --like"),
    ("init --like hopper_gemm --kernel gemm", nothing, "--kernel has no effect beside --like"),
    ("init --like hopper_gemm_cluster --name hopper_gemm", nothing, "hopper_gemm_cluster extends hopper_gemm"),
    ("init k.py", nothing, "cannot write k.py/specs/my_gemm.yaml: Not a directory"),
    (f"init {LONG}", nothing, "File name too long"),
    ("init", instead("specs/spec.schema.json", os.mkdir), "specs/spec.schema.json is in the way: it is a folder"),
    ("init", instead("specs/spec.schema.json", os.mkfifo), "specs/spec.schema.json is in the way: it is a pipe"),
    ("init", link("specs/spec.schema.json", "nowhere"), "specs/spec.schema.json is in the way"),
    ("init", link("specs/my_gemm.yaml", "nowhere"), "specs/my_gemm.yaml is there already"),
    ("explain [(", nothing, "nothing is called '[(' here"),
    ("explain --kernel nope tile.n", nothing, "no kernel family 'nope'"),
    ("doctor --for nope --json", nothing, "no verb 'nope'"),
    ("schema x", nothing, "unexpected extra argument"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "change", "words"), WRONG, ids=[f"{c[:50]}, {w[:30]}" for c, _, w in WRONG])
def test_a_wrong_input_is_one_message(project: Path, run: Run, command: str, change: Change, words: str) -> None:
    if command.split()[0] in ("compile", "verify", "check", "bench", "tune"):
        pytest.importorskip("triton.language.extra.tlx")
    change(project)
    before = below(project)
    code, output, errors = run(*(word.replace("''", "") for word in command.split()))
    assert (code, output) == (2, ""), output + errors
    assert words in " ".join(errors.split()), errors
    assert "Traceback" not in errors
    assert below(project) == before


DECLARED: list[tuple[str, str, str]] = [
    ("dtype: int8", "dtype: int8, fill: 9999", "k.verify.yaml:3:38: int8 has no value 9999.0"),
    ("dtype: int8", "dtype: uint8, fill: -1", "uint8 has no value -1.0"),
    ("dtype: int8", "dtype: int32, fill: 0.5", "int32 has no value 0.5"),
    ("dtype: int8", "dtype: int8, range: [3, 1]", "a range is [low, high], and 3.0 is more than 1.0"),
    ("grid: [1]", "grid: [1]\nnum_warps: 3", "k.verify.yaml:3:1: a CTA has a power of two of warps, not 3"),
    ("grid: [1]", "grid: [1]\nctas_per_cga: [0, 1, 1]", "a cluster has 1 to 16 CTAs, and none of its extents is 0"),
    ("grid: [1]", "grid: [1]\nctas_per_cga: [8, 8, 1]", "a cluster has 1 to 16 CTAs"),
    ("grid: [1]", "grid: [true]", "expected an integer or text, got true"),
    ("grid: [1]", "grid: ['9**9**9']", "the exponent is too large"),
    ("output: [N]", "output: [-3]", "-3 is -3; a whole number from 1 is needed"),
    ("output: [N]", "output: [N], tensor: [N]", "an argument is one of tensor, output, value, not several"),
    ("reference: y * 0 + 1", "reference: import os", "the reference is not a Python expression"),
    ("reference: y * 0 + 1", "cases: {a: 3}", "a case must be a mapping of the keys that it changes"),
]


@pytest.mark.parametrize(("old", "new", "words"), DECLARED, ids=[new for _, new, _ in DECLARED])
def test_a_wrong_declaration_is_one_message(project: Path, run: Run, old: str, new: str, words: str) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    assert old in CASES
    (project / "k.verify.yaml").write_text(CASES.replace(old, new))
    before = below(project)
    code, output, errors = run("verify", "k.verify.yaml")
    assert (code, output) == (2, ""), output + errors
    assert errors.startswith("k.verify.yaml:") and words in errors
    assert below(project) == before


@pytest.mark.parametrize("edit", ["CONFIGS = []\n", "del CONFIGS\n", "CONFIGS.clear()\n", "CONFIGS[0] = 3\n"])
def test_a_table_without_rows_is_not_clean(project: Path, run: Run, edit: str) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    append(MODULE, edit)(project)
    code, output, errors = run("verify", MODULE)
    assert code == 2 and "CONFIGS" in output + errors and "generated/good/good.py:" in output + errors, output + errors
    assert "AttributeError" not in output + errors


UNFIT: list[tuple[str, str, str]] = [
    ("grid: [1]", "grid: [1000000, 3]", "k is launched on 3000000 CTAs; the simulator takes at most 1000000"),
    ("grid: [1]", "grid: [1]\nconfig: 3", "no config 3: k is not autotuned"),
    ("reference: y * 0 + 1", "reference: y[:5, None]", "k.verify.yaml:5:12: the reference for y has the shape 5 x 1"),
]


@pytest.mark.parametrize(("old", "new", "words"), UNFIT, ids=[new for _, new, _ in UNFIT])
def test_a_case_that_does_not_fit_its_kernel_has_no_verdict(
    project: Path, run: Run, old: str, new: str, words: str
) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    (project / "k.verify.yaml").write_text(CASES.replace(old, new))
    code, output, errors = run("verify", "k.verify.yaml")
    assert code == 2 and words in output and "0 findings" in output, output + errors


@pytest.mark.parametrize("command", ["verify k.py --config 7", "compile k.py --config 7"])
def test_a_config_of_a_kernel_that_has_none(project: Path, run: Run, command: str) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    code, output, errors = run(*command.split())
    assert code == 2 and "no config 7: k is not autotuned" in output, output + errors


def test_an_exception_that_cannot_say_what_it_is(project: Path, run: Run) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    (project / "b.py").write_text(
        "class Bad(Exception):\n    def __str__(self):\n        1 / 0\n\ndef f():\n    raise Bad\n"
    )
    code, output, errors = run("verify", "b.py:f")
    assert code == 2 and "b.py:6:5: the host code raised Bad" in output, output + errors


@pytest.mark.parametrize("edit", ["import nowhere\n", "del good_kernel\n"])
def test_a_module_that_cannot_be_compiled(project: Path, run: Run, edit: str) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    append(MODULE, edit)(project)
    code, output, errors = run("compile", MODULE)
    assert code == 2 and ("No module named 'nowhere'" in output or "no kernel 'good_kernel'" in output), output + errors


def test_folders_of_which_one_has_a_broken_lock(project: Path, run: Run) -> None:
    shutil.copytree("generated/good", "other")
    (project / "other" / "lock.json").write_text("{broken")
    code, output, _ = run("diff", "generated/good", "other")
    assert code == 0
    assert output.startswith("no difference\nnote: other: figures of the lock left out: other/lock.json:1:2")


def test_bytes_that_host_code_prints_are_prints(project: Path, run: Run) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    (project / "b.py").write_text("import sys\n\ndef f():\n    sys.stdout.buffer.write(b'\\xff\\n')\n    1 / 0\n")
    code, output, _ = run("verify", "b.py:f", "--schedule", "lazy")
    assert code == 2 and "b.py:5:5: the host code raised ZeroDivisionError" in output


def test_a_shape_that_no_variant_can_run_is_ranked_as_such() -> None:
    """Where there is no cluster, no CTA holds a row of the family's own shapes."""
    from types import SimpleNamespace
    from typing import Any

    from tlxgen import families
    from tlxgen.verbs.tune import _ranking

    family = SimpleNamespace(problem_extents=families.load("norm_fwd").problem_extents)
    candidates = [SimpleNamespace(key=str(c), label=str(c)) for c in range(2)]
    outcomes: Any = {c.key: SimpleNamespace(ok=True, resources=None, error="") for c in candidates}
    for clocks, expected in (((5.0, float("inf")), [5, "cannot run it"]), ((float("inf"),) * 2, ["cannot run it"] * 2)):
        line: Any = [SimpleNamespace(candidate=c, clocks=n) for c, n in zip(candidates, clocks, strict=True)]
        space: Any = SimpleNamespace(family=family)
        records = _ranking(space, (1, 1), "", line, outcomes).records
        assert [[*row.values()][1] for row in records] == expected
