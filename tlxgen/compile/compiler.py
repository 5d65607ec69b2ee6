"""`python -m tlxgen.compile.compiler`: compiles jobs in a process that may be killed. Imports triton.

A request is {job, keep}, the answer {"outcome": ...}; `keep` is as `compiled` has it. The process runs in a scratch
folder, with the environment that `batch` gives it (TRITON_DISABLE_LINE_INFO, TRITON_CACHE_DIR and so on).
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import linecache
import re
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from tlxgen.bounded import LOG_FILE
from tlxgen.bounded.serve import Say, serve
from tlxgen.loading import load_file

from .environments import enter
from .job import Job, Outcome, Resources
from .logs import one_line, telling_line
from .read import launching, resources
from .toolchain import name_cache

CAPABILITY = {"sm90": 90, "sm100": 100}
LEFT_OUT = re.compile(r"error: (uTLX: .*)")  # what triton-utlx prints of an operation that its Triton lacks
SMEM_BYTES = 232448  # a block's limit (opt-in) on both; the compiler would ask a local GPU, whichever it is


class OfflineDriver:
    """All that compiling asks of a driver. It stands for the target: what GPU this machine has does not matter."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        return 0

    def get_active_torch_device(self) -> Any:  # not for compiling: hand-written modules ask for it when imported
        return importlib.import_module("torch").device("cpu")

    class utils:
        @staticmethod
        def get_device_properties(device: int) -> dict[str, int]:
            return {"max_shared_mem": SMEM_BYTES}

        @staticmethod
        def get_current_device() -> int:  # host functions ask for it, so that their thread has a context
            return 0


def preload() -> None:
    """The slow imports, which come first, so that no job's time limit has them in it."""
    importlib.import_module("triton.compiler")
    with contextlib.suppress(ImportError):  # a module that needs torch says so itself
        importlib.import_module("torch")


def main() -> None:
    """Serves jobs until stdin ends."""
    enter()
    preload()
    name_cache("tlxgen")  # this cache is private and thrown away
    serve(_handle)


def _handle(request: dict[str, Any], say: Say) -> None:
    job = Job.from_json(request["job"])
    keep = request["keep"]
    say({"outcome": outcome_of(job.id, job.module, lambda: _compile(job, keep), Path(LOG_FILE)).to_json()})
    shutil.rmtree("cache", ignore_errors=True)  # some 2 MB a job; a thousand of them would fill a small /tmp


def outcome_of(name: str, module: str, compiling: Callable[[], Resources], log: Path) -> Outcome:
    """What becomes of `compiling` a kernel of the file `module`, while what is printed goes to the file `log`."""
    mark = log.stat().st_size if log.exists() else 0
    start = time.perf_counter()
    result = _attempt(compiling)
    seconds = time.perf_counter() - start
    return _outcome(name, module, result, _since(log, mark), seconds)


def _since(log: Path, mark: int) -> str:
    sys.stdout.flush()
    sys.stderr.flush()
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(mark)
        return file.read().decode("utf-8", "replace")


def _attempt(action: Callable[[], Resources]) -> Resources | BaseException:
    try:
        return action()
    except BaseException as error:
        return error


def _outcome(name: str, module: str, result: Resources | BaseException, log: str, seconds: float) -> Outcome:
    if isinstance(result, Resources):
        if lacks := LEFT_OUT.search(log):  # the cubin computes something else
            return Outcome(name, None, lacks[1], log, seconds)
        return Outcome(name, result, detail=log, seconds=seconds)
    report = "".join(traceback.format_exception(type(result), result, result.__traceback__))
    detail, imported = f"{report}\n{log}".strip() + "\n", not isinstance(result, NotImported)
    return Outcome(name, None, _headline(module, result, log), detail, seconds, imported=imported)


def _compile(job: Job, keep: str = "") -> Resources:
    function = _function(job)
    types, constants, attributes = _signature(job, function.arg_names)
    options: dict[str, Any] = {"num_warps": job.num_warps, "num_stages": job.num_stages}
    if job.cluster != (1, 1, 1):
        options["ctas_per_cga"] = job.cluster
    if job.maxnreg:
        options["maxnreg"] = job.maxnreg
    return compiled(function, types, constants, attributes, options, CAPABILITY[job.arch], keep)


def compiled(
    function: Any,
    types: dict[str, Any],
    constants: dict[Any, Any],
    attributes: dict[Any, Any],
    options: dict[str, Any],
    capability: int,
    keep: str = "",
) -> Resources:
    """What a JIT function takes when it is compiled with all of this. Raises what Triton raises.

    `keep`: where its cubin goes, and what launches it, without their suffixes; empty for nowhere. Who keeps cubins does
    not ask for their SASS.
    """
    from triton import knobs
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile
    from triton.runtime.driver import driver

    driver.set_active(OfflineDriver(capability))
    knobs.nvidia.dump_ptxas_log = True  # Triton runs ptxas -v anyway; this prints its report, and none is made twice
    report = _Tee(sys.stdout)
    sys.stdout = report
    try:
        kernel = compile(ASTSource(function, types, constants, attributes), GPUTarget("cuda", capability, 32), options)
    finally:
        sys.stdout = report.stream
    if keep:
        Path(f"{keep}.cubin").write_bytes(kernel.asm["cubin"])
        Path(f"{keep}.json").write_text(json.dumps(launching(kernel.asm["ptx"], kernel.metadata)), encoding="utf-8")
    return resources(kernel.asm["ptx"], kernel.asm["cubin"], kernel.metadata, report.text(), with_sass=not keep)


class _Tee:
    """stdout that also keeps what Python writes to it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()

    def text(self) -> str:
        return "".join(self.parts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class NotImported(Exception):
    """A module raised when it was imported, or has no such kernel: there is nothing to compile."""


def _function(job: Job) -> Any:
    """The JIT function of a job, out of autotuners and heuristics around it. Raises NotImported."""
    from triton.runtime.jit import JITFunction

    try:
        module = _load(job.module)
    except BaseException as error:
        raise NotImported(str(error)) from error
    function = getattr(module, job.kernel, None)
    while function is not None and not isinstance(function, JITFunction):
        function = getattr(function, "fn", None)
    if function is None:
        raise NotImported from AttributeError(f"{Path(job.module).name} has no kernel {job.kernel!r}")
    return function


def _load(path: str) -> ModuleType:
    """The module at `path`, anew: it may have changed since the last job."""
    linecache.clearcache()  # JITFunction reads its own source through it
    return load_file(Path(path))


def _signature(job: Job, names: list[str]) -> tuple[dict[str, str], dict[str, Any], dict[Any, Any]]:
    """Types, constants and attributes as ASTSource wants them. Raises TypeError where job and kernel disagree."""
    types = {argument.name: argument.type for argument in job.arguments} | dict.fromkeys(job.constants, "constexpr")
    constexprs = {name for name, type_ in types.items() if type_ == "constexpr"}
    for what, wrong in (
        ("lacks a type or value for", [n for n in names if n not in types]),
        ("names what the kernel does not take:", [n for n in types if n not in names]),
        ("gives no value to the constexpr", sorted(constexprs - set(job.constants))),
        ("calls divisible what is not an argument:", [n for n in job.divisible if n not in types or n in constexprs]),
    ):
        if wrong:
            raise TypeError(f"the job for {job.kernel} {what} {', '.join(wrong)}")
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in job.divisible}
    return {name: types[name] for name in names}, dict(job.constants), attributes


def _headline(module: str, error: BaseException, log: str) -> str:
    """Type, message and, if known, the line of the generated source, in one line."""
    chain = _chain(error)
    inner = chain[-1]
    line = _source_line(module, chain)
    place = f" ({Path(module).name}:{line})" if line else ""
    return f"{type(inner).__name__}: {_message(inner, log)}{place}"


def _message(error: BaseException, log: str) -> str:
    if hasattr(error, "node"):  # Triton's CompilationError; its str() begins with an excerpt of the source
        return one_line(str(getattr(error, "error_message", None) or error).splitlines())
    message, *rest = str(error).splitlines() or [""]
    # MLIR and ptxas raise "PassManager::run failed" or "Internal Triton PTX codegen error" and say why further down.
    compiler = isinstance(error, RuntimeError) or "ptxas" in str(error)
    reason = telling_line("\n".join([*rest, log])) if compiler else ""
    reason = reason.rpartition("error")[2].lstrip(" :") or reason
    return one_line([message if reason in message else f"{message}: {reason}"])


def _chain(error: BaseException) -> list[BaseException]:
    """From an error to its innermost cause: Triton wraps one CompilationError a call."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    return chain


def _source_line(path: str, chain: list[BaseException]) -> int | None:
    """The line of the file that the innermost error is about."""
    loaded = [m for m in [*sys.modules.values()] if getattr(m, "__file__", None) == path]
    module = loaded[-1] if loaded else None  # of several, the one that this job has loaded
    for error in reversed(chain):
        if isinstance(error, SyntaxError) and error.filename == path:
            return error.lineno
        source, node = getattr(error, "src", None), getattr(error, "node", None)
        for function in vars(module).values() if module and source and hasattr(node, "lineno") else ():
            if getattr(function, "src", None) == source:
                return def_line(function) + int(node.lineno) - 1  # type: ignore[union-attr]
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
        if lines:
            return lines[-1]
    return None


def def_line(function: Any) -> int:
    """The line of a JIT function's def, from which Triton counts; `starting_line_number` is its first decorator's."""
    decorators = itertools.takewhile(lambda line: not line.lstrip().startswith("def "), function.raw_src)
    return int(function.starting_line_number) + len(list(decorators))


if __name__ == "__main__":
    main()
