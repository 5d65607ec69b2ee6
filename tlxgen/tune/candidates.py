"""`python -m tlxgen.tune.candidates`: compiles or measures candidates, in a process that may hang, crash or be killed.

Served by tlxgen.bounded. Each answer ends with a message that has "done".

    {"do": "start", family, gpu}       -> {"done": {}}, when the imports for compilation or, with `gpu`, measurement are
                                          done, and those of the family if one is named
    {"do": "rehearse", candidate, ...} -> {"done": {}}, after a measurement without the candidate's kernel
    {"do": "describe"}                 -> {"done": {name, sms, capability, versions}}
    {"do": "compile", candidate, ...}  -> {"done": {fault, text}}
    {"do": "measure", candidates, ...} -> {"begin": key} before each step of a candidate, {"fault": {key: result}} as
                                          they are found, then {"done": {key: result}} with the times of all others

A candidate is {key, source, options, spec}: `source` is the digest of its module in `sources`, `options` the arguments
of its triton.Config (null: the host function picks one), and `spec` its spec as JSON. After an error that leaves the
CUDA context unusable, the child reports it and ends.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import statistics
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from tlxgen import families
from tlxgen.bounded.serve import Say, serve
from tlxgen.compile.toolchain import identity, name_cache
from tlxgen.loading import load_file
from tlxgen.render.module import shared_files

LINK_READINGS = 5
LEAST_US = 0.01  # least difference of two chains' times; the noise between runs is larger

Json = dict[str, Any]


def handle(request: Json, say: Say) -> None:
    """Answers one request."""
    what = {"start": start, "rehearse": rehearse, "describe": describe, "compile": compile_, "measure": measure}
    what[request["do"]](request, say)


def start(request: Json, say: Say) -> None:
    """Does the imports of a compilation or a measurement."""
    if name := request.get("family"):
        family = families.load(name)
        family.problem()
        family.benchmark()
    if request.get("gpu"):
        torch = importlib.import_module("torch")
        importlib.import_module("tlxgen.check.numerics")
        importlib.import_module("tlxgen.bench.timing")
        torch.mm(*torch.zeros(2, 16, 16, device="cuda"))  # loads cuBLAS
        torch.cuda.synchronize()
    say({"done": {}})


def rehearse(request: Json, say: Say) -> None:
    """Makes CUDA load its libraries while the first candidates are still being compiled."""
    from tlxgen.bench.gpu import Gpu

    gpu = Gpu()
    with contextlib.suppress(Exception):  # the measurement will report the error
        Session(request, say, gpu).rehearse(_spec(request, request["candidate"]))
    gpu.release()
    say({"done": {}})


def describe(request: Json, say: Say) -> None:
    """Reports the GPU, and the versions of all software that a time depends on."""
    from tlxgen.bench.gpu import Gpu

    gpu = Gpu()
    torch = importlib.import_module("torch")
    capability = list(torch.cuda.get_device_capability())
    say({"done": {"name": gpu.name, "sms": gpu.sms, "capability": capability, "versions": gpu.versions()}})


class Candidate:
    """A candidate with the module, config and spec for a call of its host function."""

    def __init__(self, data: Json, request: Json) -> None:
        from triton import Config

        self.key: str = data["key"]
        self.spec = _spec(request, data)
        self.module = _module(request["family"], data["source"], request["sources"][data["source"]])
        options = dict(data["options"] or {})
        if "ctas_per_cga" in options:
            options["ctas_per_cga"] = tuple(options["ctas_per_cga"])
        self.config = Config(options.pop("kwargs"), **options) if options else None
        if self.config:
            self.module.CONFIGS.append(self.config)  # a host function accepts only entries of its table


def _spec(request: Json, data: Json) -> Any:
    """A candidate's spec, by the family's model."""
    return families.load(request["family"]).model.model_validate_json(json.dumps(data["spec"]))


_MODULES: dict[str, Any] = {}


def _module(family: str, name: str, text: str) -> Any:
    """Imports a source from a file that stays, since Triton reads functions' text from their files."""
    if name not in _MODULES:
        path = Path(_folder(family)) / f"tuned_{name[:16]}.py"
        path.write_text(text, encoding="utf-8")
        _MODULES[name] = load_file(path)
    return _MODULES[name]


@cache
def _folder(family: str) -> str:
    """The folder of a family's modules, which also has their shared files."""
    folder = tempfile.mkdtemp(prefix="tlxgen-tune-")
    for name, text in shared_files(families.load(family)).items():
        Path(folder, name).write_text(text, encoding="utf-8")
    return folder


def compile_(request: Json, say: Say) -> None:
    """Calls the host function without a launch, so that Triton compiles the kernel into its cache."""
    try:
        candidate = Candidate(request["candidate"], request)
        family = families.load(request["family"])
        shape = tuple(request["shape"])
        with _compiling_only(request["capability"], request["sms"]) as device:
            tensors = family.problem().inputs(candidate.spec, shape, device)
            family.benchmark().call(candidate.module, candidate.spec, shape, tensors, candidate.config)()
    except Exception as error:  # any error of the compiler is the result of this candidate
        say({"done": {"fault": "compile", "text": _one_line(error)}})
    else:
        say({"done": {"fault": None, "text": ""}})


@contextlib.contextmanager
def _compiling_only(capability: int, sms: int) -> Iterator[Any]:
    """A context in which GPU tensors have no memory, and kernels are compiled for `capability` but not launched."""
    import torch
    from triton.runtime.driver import driver
    from triton.runtime.jit import JITFunction

    from tlxgen.compile.compiler import OfflineDriver
    from tlxgen.cudalike import DEVICE

    from .meta import WithoutMemory, properties

    offline: Any = OfflineDriver(capability)
    offline.get_current_stream = lambda device: 0
    compile_and_launch = JITFunction.run

    def run(kernel: Any, *arguments: Any, grid: Any, warmup: bool = False, **options: Any) -> None:
        compile_and_launch(kernel, *arguments, grid=grid, warmup=True, **options)

    driver.set_active(offline)
    with (
        WithoutMemory(),
        mock.patch.object(JITFunction, "run", run),
        mock.patch.object(torch.cuda, "get_device_properties", lambda *_: properties(sms)),
        mock.patch.object(torch.cuda, "device", contextlib.nullcontext),
        mock.patch.object(torch.cuda, "device_count", lambda: 1),
        mock.patch.object(torch.cuda, "synchronize", lambda *_: None),
        mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: False),
    ):
        yield DEVICE


def measure(request: Json, say: Say) -> None:
    """Checks the numerics of each candidate if requested, then times the correct ones with the first baseline."""
    from tlxgen.bench.gpu import Gpu

    gpu = Gpu()
    Session(request, say, gpu).run()
    gpu.release()


class Session:
    """One measurement: a shape, its inputs, the baseline and the candidates. `gpu` has the methods of bench.gpu.Gpu."""

    def __init__(self, request: Json, say: Say, gpu: Any) -> None:
        self.request, self.say, self.gpu = request, say, gpu
        self.family = families.load(request["family"])
        self.shape = tuple(request["shape"])
        self.problem, self.how = self.family.problem(), self.family.benchmark()
        self.timers: dict[str, Any] = {}
        self.link_us: float | None = None  # time of the small kernel in a chain
        self.runs: dict[str, Any] = {}

    def run(self) -> None:
        from tlxgen.bench.timing import interleave

        candidates = [c for data in self.request["candidates"] if (c := self._candidate(data))]
        if not candidates:
            self.say({"done": {}})
            return
        self.say({"begin": None})  # errors from here on belong to no candidate
        tensors = self._tensors(candidates[0].spec)
        baseline = self._baseline(candidates[0].spec, tensors)
        for candidate in candidates:
            self._prepare(candidate, tensors)
        running: deque[str] = deque()
        timers = {key: Noted(key, timer, running, self.say) for key, timer in self.timers.items()}
        figures = interleave(timers, turns=self.request["turns"], seed=self.request["seed"]) if self.timers else {}
        conditions = self.gpu.conditions()
        base = figures.pop("", None)
        self.say(
            {
                "done": {
                    key: {
                        "us": figure.us,
                        "spread": figure.spread,
                        "noisy": figure.noisy,
                        "baseline": baseline,
                        "baseline_us": base.us if base else None,
                        "conditions": conditions,
                    }
                    for key, figure in figures.items()
                }
            }
        )

    def rehearse(self, spec: Any) -> None:
        """Runs a measurement of the baseline, with inputs, reference and comparison; `spec` is any candidate's."""
        from tlxgen.bench.timing import interleave
        from tlxgen.check import numerics

        tensors = self._tensors(spec)
        self._baseline(spec, tensors)
        for value, scale in self._reference(spec, tensors[0]).values():
            numerics.compare(value, value, scale, 1.0)
        if self.timers:
            interleave(self.timers, turns=2, seed=0)

    def _candidate(self, data: Json) -> Candidate | None:
        self.say({"begin": data["key"]})
        try:
            return Candidate(data, self.request)
        except Exception as error:
            self._fault(data["key"], error)
            return None

    def _tensors(self, spec: Any) -> list[Any]:
        import torch

        torch.manual_seed(self.request["seed"])
        count = self.gpu.sets(self.family.bytes_moved(spec, self.shape))
        return [self.problem.inputs(spec, self.shape, self.gpu.device) for _ in range(count)]

    def _baseline(self, spec: Any, tensors: list[Any]) -> str:
        """The baseline's name, or "" if the family has none for this spec. Its timer is the one without a key."""
        for name, make in self.how.baselines(spec).items():
            runs = [make(t) for t in tensors]
            self.rough_us = self.gpu.roughly(runs[0])
            self.timers[""] = self._timer(runs, self.rough_us)
            return str(name)
        self.rough_us = 0.0
        return ""

    def _prepare(self, candidate: Candidate, tensors: list[Any]) -> None:
        """Makes the candidate's timer, or reports its fault."""
        self.say({"begin": candidate.key})
        try:
            if self.request["prove"] and (wrong := self._wrong(candidate, tensors[0])):
                self.say({"fault": {candidate.key: {"fault": "wrong", "text": wrong}}})
                return
            runs = [self.how.call(candidate.module, candidate.spec, self.shape, t, candidate.config) for t in tensors]
            us = max(self.rough_us, 1.0) if self.rough_us else self.gpu.roughly(runs[0])
            self.timers[candidate.key] = self._timer(runs, us)
        except Exception as error:
            self._fault(candidate.key, error)

    def _timer(self, runs: list[Any], us: float) -> InChain:
        """A timer in a chain. Back to back, a kernel that overlaps its own next launch looks faster than it is."""
        if self.link_us is None:
            link = self.gpu.link()
            self.link_us = statistics.median(link() for _ in range(LINK_READINGS))
        return InChain(self.gpu.chain(runs, us), self.link_us)

    def _wrong(self, candidate: Candidate, tensors: Any) -> str:
        """What is wrong with the candidate's results, which hold NaN before the launch; "" if nothing is."""
        from tlxgen.check import numerics

        outputs, strays = self.problem.launch(candidate.module, candidate.spec, self.shape, tensors, candidate.config)
        if strays:
            return f"{strays} elements written outside of the outputs"
        reference = self._reference(candidate.spec, tensors)
        for name, out in outputs.items():
            expected, scale = reference[name]
            verdict = numerics.compare(out, expected, scale, self.problem.tolerance(candidate.spec, name))
            if not verdict.passed:
                return f"{name}: {verdict.text}"
        return ""

    def _reference(self, spec: Any, tensors: Any) -> Any:
        """The reference for the first inputs. It is computed once, since all candidates compute the same thing."""
        if "reference" not in self.runs:
            self.runs["reference"] = self.problem.reference(spec, tensors)
        return self.runs["reference"]

    def _fault(self, key: str, error: Exception) -> None:
        """Reports an error of a candidate. The process ends if the CUDA context is unusable."""
        text = _one_line(error)
        kind = "memory" if "out of memory" in text.lower() else "error"
        dead = self.gpu.dead()
        if dead:
            kind = "crash"
        self.say({"fault": {key: {"fault": kind, "text": text}}})
        if dead:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
            os._exit(3)


class InChain:
    """A timer of launches in a chain with another kernel. It subtracts that kernel's time, `link_us`."""

    def __init__(self, chain: Callable[[], float], link_us: float) -> None:
        self.chain, self.link_us = chain, link_us

    def start(self) -> None:
        """Queues a replay, if the chain's timer can be queued."""
        if start := getattr(self.chain, "start", None):
            start()

    def __call__(self) -> float:
        return max(self.chain() - self.link_us, LEAST_US)


class Noted:
    """A timer that reports whose replay is running, since a kernel may hang in any replay.

    The baseline has no key and is not reported. `running` has the keys of the queued timers in order, for all timers of
    a measurement.
    """

    def __init__(self, key: str, timer: Callable[[], float], running: deque[str], say: Say) -> None:
        self.key, self.timer, self.running, self.say = key, timer, running, say

    def start(self) -> None:
        """Queues a replay, if the timer can be queued."""
        if start := getattr(self.timer, "start", None):
            self._enter()
            start()

    def __call__(self) -> float:
        if not hasattr(self.timer, "start"):
            self._enter()
        us = self.timer()
        self.running.popleft()
        self._tell()
        return us

    def _enter(self) -> None:
        """Reports this candidate if no other is running; otherwise it is reported when its turn comes."""
        self.running.append(self.key)
        if len(self.running) == 1:
            self._tell()

    def _tell(self) -> None:
        if self.running and self.running[0]:
            self.say({"begin": self.running[0]})


def _one_line(error: BaseException) -> str:
    while error.__cause__ is not None:  # Triton wraps one CompilationError a call
        error = error.__cause__
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


def preload() -> None:
    """Imports the modules that every child needs, which takes seconds."""
    with ThreadPoolExecutor(1) as beside:
        toolchain = beside.submit(identity)  # reads and digests files
        for slow in ("torch", "triton.compiler.code_generator", "tlxgen.compile.compiler", "tlxgen.tune.meta"):
            importlib.import_module(slow)  # up to a minute from a cold disk, before a time limit starts
        name_cache(toolchain.result())


def compiles() -> bool:
    """Whether this child compiles; else it measures."""
    return "TLXGEN_TUNE_CHILD" in os.environ


def build_launcher() -> None:
    """Makes gcc build Triton's launcher, which takes a second, before the first launch needs it."""
    with contextlib.suppress(Exception):  # the first launch will report the error
        importlib.import_module("triton.backends.nvidia.driver").CudaUtils()


def main() -> None:
    """Serves the parent's requests."""
    if compiles():  # compilers get a lower priority, since a GPU that waits for its host runs at other clocks
        os.setpriority(os.PRIO_PROCESS, 0, 10)
    serve(handle)


if __name__ == "__main__":
    beside = None if compiles() else threading.Thread(target=build_launcher)
    if beside:  # gcc works while torch is imported
        importlib.import_module("triton.backends.nvidia.driver")
        beside.start()
    preload()
    if beside:
        beside.join()
    main()
