"""The pool gives every job an outcome, whatever the job does to its worker."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tlxgen.compile import Argument, Outcome, batch, compile_all, environments

from .conftest import KERNELS, add_one

Write = Callable[[str, str], Path]
TINY = (KERNELS / "tiny.py").read_text()

pytestmark = pytest.mark.compiles


def test_a_kernel_compiles_to_resources() -> None:
    sm90 = add_one(id="sm90")
    sm100 = dataclasses.replace(sm90, id="sm100", arch="sm100")
    outcomes = compile_all([sm90, sm100])
    assert [o.job for o in outcomes] == ["sm90", "sm100"]
    for outcome in outcomes:
        found = outcome.resources
        assert found is not None, outcome.detail
        assert (found.warps, found.spill_store_bytes, found.smem_bytes, found.mbarriers) == (4, 0, 0, 0)
        assert found.maxnreg is None and found.setmaxnreg == ()
        assert 0 < found.registers < 32
        assert found.sass is not None and found.sass["LDG"] >= 1 and found.sass["STG"] >= 1
        assert sum(v for k, v in found.sass.items() if k != "total") < found.sass["total"]
        assert outcome.seconds > 0 and not outcome.cached and not outcome.error
    assert outcomes[0].resources != outcomes[1].resources


def test_failures_of_all_kinds_leave_the_others_alone(write: Write, tmp_path: Path) -> None:
    """One worker takes them all, so each failure is followed by a job that has to work. Without SASS, which is slow."""
    crash = write("crash.py", "import os, signal\nos.write(2, b'about to go')\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    leave = write("leave.py", "import os\nos._exit(7)\n")
    exits = write("exits.py", "import sys\nsys.exit('no thanks')\n")
    syntax = write("syntax.py", "x = 1\ndef f(:\n")
    noise = (
        "import os\nprint('{\"outcome\": 1}', flush=True)\nos.write(1, b'raw noise')\nos.system('echo of a child')\n"
    )
    good = [write(f"good{i}.py", f"{noise}{TINY}\n# {i}\n") for i in range(3)]
    jobs = [
        *(add_one(crash, id="crash"), add_one(good[0], id="good0")),
        *(add_one(leave, id="leave"), add_one(good[1], id="good1")),
        *(add_one(exits, id="exits"), add_one(syntax, id="syntax"), add_one(good[2], id="good2")),
        *(
            add_one(block=100, id="block"),
            add_one(kernel="nothing", id="nothing"),
            add_one(Path("/gone.py"), id="gone"),
        ),
        dataclasses.replace(add_one(id="types"), arguments=(Argument("x", "*fp32"), Argument("y", "i32"))),
    ]
    outcomes = {o.job: o for o in compile_all(jobs, workers=1, keep=tmp_path)}
    assert {name for name, o in outcomes.items() if o.ok} == {"good0", "good1", "good2"}
    assert "crashed with SIGSEGV" in outcomes["crash"].error
    assert "about to go" in outcomes["crash"].detail and "crash.py" in outcomes["crash"].detail
    assert "status 7" in outcomes["leave"].error
    assert outcomes["exits"].error == "SystemExit: no thanks (exits.py:2)"
    assert outcomes["syntax"].error.startswith("SyntaxError") and outcomes["syntax"].error.endswith("(syntax.py:2)")
    line = 1 + next(i for i, text in enumerate(TINY.splitlines()) if "tl.arange" in text)
    assert outcomes["block"].error == f"ValueError: arange's range must be a power of 2 (tiny.py:{line})"
    assert outcomes["nothing"].error == "AttributeError: tiny.py has no kernel 'nothing'"
    assert "FileNotFoundError" in outcomes["gone"].error
    assert outcomes["types"].error == "TypeError: the job for add_one lacks a type or value for n"
    assert all("\n" not in o.error for o in outcomes.values())


def test_what_mlir_and_ptxas_say_is_in_the_line(write: Write) -> None:
    text = """
@triton.jit
def bogus(x):
    tl.inline_asm_elementwise("bogus.op $0, $1;", "=r,r", [tl.program_id(0)], tl.int32, is_pure=False, pack=1)

@triton.jit
def three_warps(x):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x, 1)
        with tlx.async_task(num_warps=3):
            tl.store(x, 2)

@triton.jit
def helper(X: tl.constexpr):
    tl.static_assert(X > 3, "too small")

@triton.jit
def calls(x):
    helper(1)
"""
    path = write("wrong.py", TINY + text)
    base = dataclasses.replace(add_one(path), arguments=(Argument("x", "*fp32"),), constants={}, divisible=())
    kernels = ("bogus", "three_warps", "calls")
    ptxas, mlir, call = (o.error for o in compile_all([dataclasses.replace(base, kernel=k) for k in kernels]))
    assert ptxas.startswith("PTXASError: ") and ptxas.endswith("Unknown modifier '.op'")
    assert mlir.startswith("RuntimeError: PassManager::run failed") and mlir.count("must be a power of 2") == 1
    line = 1 + next(i for i, text in enumerate(path.read_text().splitlines()) if "static_assert" in text)
    assert call == f"CompileTimeAssertionFailure: too small (wrong.py:{line})"


def test_a_job_over_time_is_killed_with_its_children(write: Write, tmp_path: Path) -> None:
    start_child = "import subprocess\np = subprocess.Popen(['sleep', '1000'])\n"
    tell = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid))\n"
    hang = write("hang.py", f"{start_child}{tell}while True: pass\n")
    late, good = compile_all([add_one(hang, id="hang"), add_one()], workers=1, timeout_s=3, keep=tmp_path)  # no SASS
    assert late.error == "timed out after 3 s" and late.seconds >= 3
    assert good.ok, good.detail
    assert not alive(int((tmp_path / "pid").read_text()))


def test_an_interrupt_kills_every_worker(write: Write, tmp_path: Path) -> None:
    tell = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
    hang = write("hang.py", f"import os, time\n{tell}time.sleep(1000)\n")
    done = write("done.py", "x = 1\n")

    def interrupt(outcome: Outcome) -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.02)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_all([add_one(hang), add_one(done)], workers=2, on_done=interrupt)
    assert not alive(int((tmp_path / "pid").read_text()))


def alive(pid: int) -> bool:
    """Whether a process still runs; a zombie that some init has yet to reap does not."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state in "ZX":
            return False
        time.sleep(0.02)
    return True


def test_the_cache_knows_content_only(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    first = compile_all([add_one(write("a.py", TINY), id="a")], cache=cache)[0]
    with monkeypatch.context() as patch:  # hits start no worker
        patch.setattr(batch, "Child", None)
        again = compile_all([add_one(write("b.py", TINY), id="b")], cache=cache)[0]
    assert first.ok and not first.cached
    assert again.cached and again.job == "b" and again.resources == first.resources

    (entry,) = cache.rglob("*.json")
    intact = entry.read_text()
    entry.write_text(intact[:-20])
    changed = add_one(write("c.py", TINY.replace("+ 1", "+ 2")), id="c")
    repaired, other = compile_all([add_one(id="d"), changed], cache=cache)
    assert not repaired.cached and repaired.resources == first.resources
    assert entry.read_text() == intact
    assert not other.cached and other.ok and other.resources != first.resources


def test_what_has_no_fingerprint_is_not_kept(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    foreign = TINY.replace("import torch", "import torch, _pytest")
    monkeypatch.setattr(environments.Toolchain, "fingerprint", lambda self: None)
    assert compile_all([add_one()], cache=cache)[0].ok
    monkeypatch.undo()
    assert compile_all([add_one(write("foreign.py", foreign))], cache=cache)[0].ok
    assert not cache.exists()


def test_equal_jobs_compile_once_and_order_is_kept(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two" / "deeper"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "tiny.py").write_text(TINY)
    jobs = [add_one(folders[i % 2] / "tiny.py", id=str(i), block=64 << (i % 3)) for i in range(6)]
    seen: list[str] = []
    outcomes = compile_all(jobs, on_done=lambda o: seen.append(o.job))
    assert [o.job for o in outcomes] == [job.id for job in jobs]
    assert sorted(seen) == [job.id for job in jobs]
    assert sum(not o.cached for o in outcomes) == 3
    for i in range(3):
        assert outcomes[i].resources == outcomes[i + 3].resources


def test_bytes_do_not_depend_on_the_folder_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = []
    for name, knobs in (("a", {}), ("a much longer name/b", {"PTXAS_OPTIONS": "-O0", "TRITON_DISABLE_LINE_INFO": "0"})):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        path = folder / f"tiny_{len(name)}.py"
        path.write_text("# moved down\n" * len(name) + TINY)
        for key, value in knobs.items():
            monkeypatch.setenv(key, value)
        found = compile_all([add_one(path)])[0].resources
        assert found is not None
        digests.append((found.ptx_sha256, found.sass_sha256, found.cubin_sha256))
    assert digests[0] == digests[1]


def test_digests_of_what_is_executed_do_not_depend_on_names(write: Write) -> None:
    """Helpers are inlined, so that the name of the kernel is the only one in PTX and SASS."""
    helper = "@triton.jit\ndef {0}_plus(x):\n    return x + 1\n\n\n"
    texts = [
        TINY.replace("@triton.jit", helper.format(name) + "@triton.jit", 1)
        .replace("def add_one", f"def {name}_add_one")
        .replace("+ 1, at", f"* {name}_plus(1), at")
        for name in ("a", "another")
    ]
    assert texts[1].count("another_plus") == 2
    paths = [write(f"tiny{i}.py", text) for i, text in enumerate(texts)]
    jobs = [add_one(p, id=n, kernel=f"{n}_add_one") for p, n in zip(paths, ("a", "another"), strict=True)]
    one, other = (o.resources for o in compile_all(jobs))
    assert one and other
    assert (one.ptx_sha256, one.sass_sha256) == (other.ptx_sha256, other.sass_sha256)
    assert one.cubin_sha256 != other.cubin_sha256  # it holds the name


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert compile_all([add_one()])[0].ok
    assert os.listdir(tmp_path) == []


def test_no_jobs_is_no_work() -> None:
    assert compile_all([]) == []
