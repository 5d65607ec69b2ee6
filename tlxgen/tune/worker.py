"""Child processes that compile and measure, as their parent sees them: started when needed, killed when they hang.

A child speaks JSON lines (see child.py). Whatever it says about a candidate, or becomes of it while a candidate is at
work, is that candidate's result; the others go to a new child. The functions `compile_task` and `measure_task` are what
an Executor runs, in this process or, by Dask, on another host: they take and give plain data.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from tlxgen import stamp
from tlxgen.errors import DeviceError

Json = dict[str, Any]
COMMAND = (sys.executable, "-m", "tlxgen.tune.child")
START_LIMIT_S = 300.0  # imports of torch and triton, from a cold disk more than a minute
TAIL_BYTES = 4096  # of a dead child's stderr


class Lost(Exception):
    """The child is gone or was killed; `kind` is "hang" or "crash", the argument says how it ended."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Child:
    """One child process at a time. `environment` is added to this process's own. Not for two threads at once."""

    def __init__(self, environment: dict[str, str], command: tuple[str, ...] = COMMAND) -> None:
        self.environment, self.command = environment, command
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._pending = b""

    def ask(self, request: Json, limit_s: float) -> Iterator[Json]:
        """The child's messages, up to and with the one that has "done". `limit_s` is for each message.

        The first after a start has START_LIMIT_S more. Raises Lost.
        """
        fresh = self._process is None
        process = self._start()
        try:
            stdin = cast("IO[bytes]", process.stdin)
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
            while True:
                message = self._receive(process, limit_s + (START_LIMIT_S if fresh else 0))
                fresh = False
                yield message
                if "done" in message:
                    return
        except TimeoutError:
            self.stop()
            raise Lost("hang", f"no answer within {limit_s:g} s: killed") from None
        except (OSError, ValueError) as error:
            fate = self._fate(process)
            self.stop()
            raise Lost("crash", fate or str(error)) from None

    def stop(self) -> None:
        """Kills the child and all that it started, and forgets it."""
        process, self._process, self._pending = self._process, None, b""
        if process is not None:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    cast("IO[bytes]", stream).close()
        if self._log is not None:
            self._log.close()
            self._log = None

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by stop)
            package = str(Path(__file__).parents[2])
            paths = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | self.environment,
                start_new_session=True,  # a group to kill, ptxas included, and no Ctrl-C of the terminal
            )
        return self._process

    def _receive(self, process: subprocess.Popen[bytes], limit_s: float) -> Json:
        stdout = cast("IO[bytes]", process.stdout)
        deadline = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                data = os.read(stdout.fileno(), 1 << 16)
                if not data:
                    raise ValueError("the child closed its output")
                self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return cast(Json, json.loads(line))

    def _fate(self, process: subprocess.Popen[bytes]) -> str:
        """How the child ended, and the last line that it left."""
        try:
            code = process.wait(10)
        except subprocess.TimeoutExpired:
            return "the child broke the protocol"
        ended = f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"
        return " ".join([f"the child ended with {ended}", *self._last_line()])

    def _last_line(self) -> list[str]:
        if self._log is None:
            return []
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - TAIL_BYTES))
        return self._log.read().decode("utf-8", "replace").strip().splitlines()[-1:]


class Slots:
    """Children to share among the threads of this process, each with an environment of its own."""

    def __init__(self) -> None:
        self._free: dict[str, queue.SimpleQueue[Child]] = {}  # by command and environments
        self._all: list[Child] = []
        self._lock = threading.Lock()
        atexit.register(self.close)

    @contextlib.contextmanager
    def child(self, environments: list[dict[str, str]], command: tuple[str, ...]) -> Iterator[Child]:
        """A child that is nobody else's meanwhile; of this command there are as many as `environments`."""
        kind = json.dumps([command, environments])
        with self._lock:
            if kind not in self._free:
                self._free[kind] = queue.SimpleQueue()
                for environment in environments:
                    self._all.append(Child(environment, command))
                    self._free[kind].put(self._all[-1])
            free = self._free[kind]
        child = free.get()
        try:
            yield child
        finally:
            free.put(child)

    def close(self) -> None:
        """Kills all children. Those that are started later are the next close's."""
        for child in self._all:
            child.stop()
        self._all.clear()
        self._free.clear()


SLOTS = Slots()


def shared_environment() -> dict[str, str]:
    """What makes a measuring child find what a compiling child has compiled."""
    return {"TRITON_CACHE_DIR": str(stamp.cache_folder().resolve() / "tune" / "triton")}


def gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them. Empty if there are none."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name.strip() for name in visible.split(",") if name.strip() not in ("", "-1")]
    try:
        run = subprocess.run(["nvidia-smi", "-L"], check=True, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return []
    return [str(i) for i, line in enumerate(run.stdout.splitlines()) if line.startswith("GPU ")]


def compile_task(task: Json) -> Json:
    """Compiles one candidate for one kind of shape: {"fault": None} or {"fault": "compile", "text": why}.

    What comes out is in Triton's cache, where the child that measures finds it.
    """
    environments = [shared_environment()] * int(task["workers"])
    with SLOTS.child(environments, tuple(task.get("command", COMMAND))) as child:
        try:
            *_, last = child.ask({"do": "compile", **task}, float(task["limit_s"]))
        except Lost as lost:
            return {"fault": "compile", "text": str(lost)}
    return cast(Json, last["done"])


def describe_task(task: Json) -> Json:
    """Name, SMs, capability and versions of a GPU here. Raises DeviceError when there is none."""
    with _gpu(task) as child:
        try:
            *_, last = child.ask({"do": "describe", **task}, float(task["limit_s"]))
        except Lost as lost:
            raise DeviceError(f"no GPU could be asked what it is: {lost}") from None
    return cast(Json, last["done"])


def measure_task(task: Json) -> Json:
    """Measures the task's candidates on its shape: results by candidate key.

    A candidate at which the child hangs or dies has a fault, and the others are measured by another child. Raises
    DeviceError when a child dies before it begins with any.
    """
    results: Json = {}
    with _gpu(task) as child:
        left = list(task["candidates"])
        while left:
            at: str | None = None
            try:
                for message in child.ask({"do": "measure", **task, "candidates": left}, float(task["limit_s"])):
                    at = message.get("begin", at)
                    results |= message.get("fault", {})
                    results |= message.get("done") or {}
            except Lost as lost:
                if at is None:
                    raise DeviceError(f"a GPU could not be used: {lost}") from None
                results[at] = {"fault": lost.kind, "text": str(lost)}
            left = [c for c in left if c["key"] not in results]
    return results


@contextlib.contextmanager
def _gpu(task: Json) -> Iterator[Child]:
    command = tuple(task.get("command", COMMAND))
    found = gpus() or ([""] if command != COMMAND else [])
    if not found:
        raise DeviceError("no GPU here; tlxgen tune measures on one", remedy="without one: tlxgen tune --dry-run SPEC")
    environments = [shared_environment() | {"CUDA_VISIBLE_DEVICES": name} for name in found]
    with SLOTS.child(environments, command) as child:
        yield child
