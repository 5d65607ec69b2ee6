"""What the simulator says of kernels beside what a Hopper GPU does with them.

    python -m tests.sim.mutation --agreement CASES.json          (anywhere: chooses and writes the cases)
    python benchmarks/simulator_agreement.py CASES.json --json RESULT.json [--consan]          (on the GPU)

A case is a generated module, unmutated or with a fault in it. Each runs in a process of its own: it compiles beside
others, then has the GPU to itself for a number of launches on fresh random inputs and poisoned outputs, each compared
with the reference; past its time limit it is killed. RESULT.json is written after each case, with tables beside it as
RESULT.md, and says what is already known when it is there: so a run that was cut off goes on where it was.

What must not happen: a kernel that the simulator finds clean and that is wrong on the hardware. The reverse proves
nothing: a race that the hardware happens to win is one still. Exit status 1 when it happens, else 0.
--consan runs each case again under the compiler's own sanitizer; --dry-run has the simulator in the place of the GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.sim.mutation.mutant import Edit, apply  # noqa: E402
from tlxgen.files import write_atomic  # noqa: E402
from tlxgen.loading import HOST, MODEL  # noqa: E402

Result = dict[str, Any]
WRONG = ("wrong", "crash", "hang")
CONSAN_LAUNCHES = 2


@dataclass(frozen=True)
class Limits:
    """Seconds for compiling, for the launches, and until no case is started any more; launches a case."""

    compile: float
    launch: float
    wall: float
    launches: int


def main() -> None:
    if sys.argv[1:] == ["--child"]:
        child()
        return
    options = _arguments()
    cases = json.loads(options.cases.read_text())["cases"]
    limits = Limits(options.seconds, options.seconds, options.wall, options.launches)
    known = json.loads(options.json.read_text())["cases"] if options.json.exists() else {}
    record = Record(options.json, {c["name"]: c for c in cases}, known, _head(options))
    passes = ["plain", "consan"] if options.consan else ["plain"]
    for kind in passes:
        mode = "dry" if options.dry_run else kind
        todo = [c for c in cases if kind not in record.results.get(c["name"], {})]
        run_all(todo, mode, limits, options.workers, partial(record.add, kind))
    record.write()
    for name in record.contradictions():
        print(f"CLEAN IN THE SIMULATOR AND NOT RIGHT HERE: {name}")
    print(record.summary())
    sys.exit(bool(record.contradictions()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--json", type=Path, required=True, metavar="RESULT.json")
    parser.add_argument("--launches", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=40.0, help="for a case's compilation, and for its launches")
    parser.add_argument("--workers", type=int, default=8, help="processes that compile at a time")
    parser.add_argument("--wall", type=float, default=1200.0, help="seconds after which no case is started")
    parser.add_argument("--consan", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    return parser.parse_args()


def _head(options: argparse.Namespace) -> Result:
    device = "the simulator"
    if not options.dry_run:
        import torch

        device = torch.cuda.get_device_name()
    return {"device": device, "launches": options.launches, "seconds": options.seconds}


class Record:
    """The results so far, in memory and on disk; threads may add."""

    def __init__(self, path: Path, cases: dict[str, Result], known: dict[str, Result], head: Result) -> None:
        self._path, self._cases, self._head = path, cases, head
        self.results = {name: result for name, result in known.items() if name in cases}
        self._lock = threading.Lock()

    def add(self, kind: str, case: Result, result: Result) -> None:
        """Takes in the result of one pass of a case, and writes the file."""
        with self._lock:
            simulator: Result = {"simulator": case["simulator"], "ids": case["ids"]}
            self.results.setdefault(case["name"], simulator)[kind] = result
            print(f"{kind} {case['name']}: {result['verdict']}", flush=True)
            self.write()

    def contradictions(self) -> list[str]:
        """Cases that the simulator finds clean and the hardware does not."""
        return [
            name
            for name, r in self.results.items()
            if r["simulator"] == "clean" and r.get("plain", {}).get("verdict") in WRONG
        ]

    def summary(self) -> str:
        pairs = Counter((r["simulator"], r["plain"]["verdict"]) for r in self.results.values() if "plain" in r)
        text = "; ".join(f"{n} {says} in the simulator and {does} here" for (says, does), n in sorted(pairs.items()))
        return f"{len(self.results)} of {len(self._cases)} cases: {text}"

    def write(self) -> None:
        rows = ",\n  ".join(f"{json.dumps(n)}: {json.dumps(r)}" for n, r in self.results.items())
        head = {**self._head, "contradictions": self.contradictions()}
        text = json.dumps(head, indent=1)[:-2] + ',\n "cases": {\n  ' + rows + "\n }\n}\n"
        write_atomic(self._path, text.encode())
        write_atomic(self._path.with_suffix(".md"), self._markdown().encode())

    def _markdown(self) -> str:
        lines = [
            f"# The simulator beside {self._head['device']}",
            "",
            f"{self.summary()}. Clean in the simulator and not right here: {len(self.contradictions())}.",
            "",
            "| case | simulator | here | right of launches | sanitizer |",
            "|---|---|---|---|---|",
        ]
        for name, r in self.results.items():
            plain, consan = r.get("plain", {}), r.get("consan", {})
            right = f"{plain['right']}/{plain['launches']}" if "right" in plain else ""
            said = f"{r['simulator']} {' '.join(r.get('ids', []))}".strip()
            second = f"{consan.get('verdict', '')} {consan.get('text', '')[:80]}".strip()
            cells = (name, said, plain.get("verdict", ""), right, second)
            lines.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
        return "\n".join(lines) + "\n"


# The parent: processes, time limits, and the GPU for one at a time.


def run_all(
    cases: list[Result], mode: str, limits: Limits, workers: int, done: Callable[[Result, Result], None]
) -> None:
    """Runs the cases in child processes; `done` gets each result as it comes; none starts past the wall limit."""
    gpu = threading.Lock()
    end = time.monotonic() + limits.wall

    def one(case: Result) -> None:
        if time.monotonic() < end:
            done(case, run_one(case, mode, limits, gpu))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, cases))


def run_one(case: Result, mode: str, limits: Limits, gpu: threading.Lock) -> Result:
    """One case in a child process: it compiles, says so, waits to be let go on, and launches."""
    command = [sys.executable, str(Path(__file__).resolve()), "--child"]
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "stderr").open("w+b") as errors:
        environment = {**os.environ, "TRITON_CACHE_DIR": str(Path(folder) / "cache")}
        if mode == "consan":
            environment["TRITON_INSTRUMENTATION_MODE"] = "consan"
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, env=environment, cwd=ROOT)
        try:
            launches = min(limits.launches, CONSAN_LAUNCHES) if mode == "consan" else limits.launches
            _send(process, {**case, "mode": mode, "launches": launches})
            result = _answer(process, limits.compile, "compile-hang")
            if result.get("verdict") is None:
                with gpu:
                    _send(process, {"go": True})
                    result = _answer(process, limits.launch, "hang")
                    process.kill()
                    process.wait()  # the GPU is free when the process has gone
        finally:
            process.kill()
            process.wait()
        if result["verdict"] == "crash":
            result["text"] = _reason(Path(folder) / "stderr")
    return result


def _send(process: subprocess.Popen[bytes], message: Result) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it has died: the answer will say so


def _answer(process: subprocess.Popen[bytes], seconds: float, late: str) -> Result:
    """The child's next line, or what its silence means."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        ready = selector.select(seconds)
    line = process.stdout.readline() if ready else b""
    if line.endswith(b"\n"):
        found: Result = json.loads(line)
        return found
    return {"verdict": "crash" if ready else late}


def _reason(errors: Path) -> str:
    """The line of a child's stderr that says most, without the folders of files: a device's assertion or an error if
    there is one, else the last."""
    lines = [line.strip() for line in errors.read_text(errors="replace").splitlines() if line.strip()]
    said = [line for mark in ("Assertion ", "Error: ") for line in lines if mark in line]
    return re.sub(r"(/[\w.-]+)+/", "", (said or lines[-1:] or ["died without a word"])[0])[:300]


# The child.


def child() -> None:
    """Reads a case, compiles it, answers, waits for the word, launches, answers."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    case = json.loads(sys.stdin.readline())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{case['at'].split('/')[1]}.py"
        original = ROOT / "generated" / f"{case['at']}.py"
        for shared in filter(Path.exists, map(original.with_name, (HOST, MODEL))):
            shutil.copy(shared, folder)
        path.write_text(apply(original.read_text(), [Edit(*e) for e in case["edits"]]))
        try:
            launches = dry(path, case) if case["mode"] == "dry" else on_gpu(path, case)
            next(launches)  # compiles
        except Exception as error:
            traceback.print_exc()
            print(
                json.dumps({"verdict": "does not compile", "text": f"{type(error).__name__}: {error}"[:300]}), file=out
            )
            return
        print(json.dumps({"compiled": True}), file=out)
        sys.stdin.readline()
        print(json.dumps(count(launches, case["launches"])), file=out)


def count(launches: Iterator[str | None], number: int) -> Result:
    """Takes `number` launches, each nothing or what is wrong with its result. What raises ends the process: the GPU may
    be beyond use."""
    said = [next(launches) for _ in range(number)]
    wrong = [text for text in said if text is not None]
    found: Result = {"verdict": "wrong" if wrong else "right", "launches": number, "right": number - len(wrong)}
    return {**found, "text": wrong[0][:300]} if wrong else found


def _subject(case: Result) -> tuple[Any, Any]:
    """The problem of a case's family, and the spec of its config."""
    from tlxgen import families
    from tlxgen.spec import load

    name, structure = case["at"].split("/")
    document = load(ROOT / "specs" / f"{name}.yaml")
    family = families.of(document)
    variants = next(s for s in family.kernels(document).structures if s.name == structure).variants
    return family.problem(), variants[case["config"]].spec


def on_gpu(path: Path, case: Result) -> Iterator[str | None]:
    """Compiles for all shapes, yields, then launches: nothing, or what is wrong with the result."""
    import torch
    import triton

    from tlxgen.check import numerics
    from tlxgen.loading import load_file

    problem, spec = _subject(case)
    device = torch.device("cuda")
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    module = load_file(path)
    config = module.CONFIGS[case["config"]]
    shapes = [tuple(s) for s in case["shapes"]]
    with _compiling():
        for shape in shapes:
            problem.launch(module, spec, shape, problem.inputs(spec, shape, device), config)
    yield None
    seed = 0
    while True:
        shape = shapes[seed % len(shapes)]
        torch.manual_seed(seed)
        tensors = problem.inputs(spec, shape, device)
        outputs, strays = problem.launch(module, spec, shape, tensors, config)
        reference = problem.reference(spec, tensors)
        verdicts = {n: numerics.compare(o, *reference[n], problem.tolerance(spec, n)) for n, o in outputs.items()}
        wrong = [f"{name}: {verdict.text}" for name, verdict in verdicts.items() if not verdict.passed]
        seed += 1
        if strays:
            yield f"{shape}: {strays} elements written outside of the outputs"
        else:
            yield f"{shape}: {wrong[0]}" if wrong else None


@contextmanager
def _compiling() -> Iterator[None]:
    """Kernels are compiled and not launched."""
    from triton.runtime.jit import JITFunction

    run = JITFunction.run

    def compile_only(kernel: Any, *arguments: Any, **options: Any) -> Any:
        return run(kernel, *arguments, **{**options, "warmup": True})

    with mock.patch.object(JITFunction, "run", compile_only):
        yield


def dry(path: Path, case: Result) -> Iterator[str | None]:
    """The same with the simulator: what a run finds is what is wrong with it."""
    from tlxgen.check import numerics
    from tlxgen.sim import load_module, verify_case

    problem, spec = _subject(case)
    module: ModuleType = load_module(path)
    yield None
    seed = 0
    while True:
        shape = tuple(case["shapes"][seed % len(case["shapes"])])
        arguments = (spec, shape, module.CONFIGS[case["config"]], numerics.compare)
        report = verify_case(problem, module, *arguments, (("random", seed),))
        seed += 1
        yield str(report.seen[0]) if report.seen else None


if __name__ == "__main__":
    main()
