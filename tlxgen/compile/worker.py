"""A child process that compiles, as the pool sees it: started when needed, killed with its children, replaced."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any, cast

from .job import Job, Outcome
from .logs import telling_line

START_LIMIT_S = 300.0  # imports of triton and torch: 2 s, and more than a minute from a cold disk
LOG_BYTES = 64 * 1024  # of a lost worker's stderr; LLVM may print megabytes of IR before it aborts
LOG_LINES = 40

# What a child inherits. Many other variables (TRITON_*, PTXAS_*, MLIR_*, DISABLE_*) change the cubin or the output.
_INHERITED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "LANG", "LD_LIBRARY_PATH", "VIRTUAL_ENV"})


class _Lost(Exception):
    """The child ended before it answered."""


class _Late(Exception):
    """The child did not answer in time; the argument is the limit in seconds."""


class Worker:
    """One child process at a time, in a process group and a scratch directory of its own.

    `run` belongs to one thread; `close` may be called from another at any time and makes `run` return.
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.closed = False
        self._lock = threading.Lock()  # of _process and closed: a child started after close would outlive us
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._pending = b""

    def run(self, job: Job) -> Outcome:
        """Compiles one job. Hangs and crashes are outcomes too."""
        start = time.perf_counter()
        mark = self._log_size()
        try:
            data = job.to_json() | {"module": str(Path(job.module).resolve())}  # the child runs in another directory
            self._send({"job": data, "timeout_s": self.timeout_s})
            self._receive(START_LIMIT_S)
            start = time.perf_counter()
            outcome = Outcome.from_json(self._receive(self.timeout_s)["outcome"])
        except _Late as late:
            error = f"timed out after {late.args[0]:g} s"
        except (_Lost, OSError, ValueError, KeyError, TypeError) as fault:
            error = self._epitaph(str(fault))
        else:
            return outcome
        detail = self._log(mark)
        self.stop()
        telling = telling_line(detail)
        if telling and not error.startswith("timed out"):
            error = f"{error}: {telling}"
        return Outcome(job.id, None, error, detail, time.perf_counter() - start)

    def close(self) -> None:
        """Kills the child and all that it started; no other is started. The thread in `run` comes back and stops it."""
        with self._lock:
            self.closed = True
            if self._process is not None:
                _kill(self._process)

    def stop(self) -> None:
        """Kills and forgets the child, and removes its scratch directory; the next job gets a fresh one."""
        with self._lock:
            process, self._process = self._process, None
            scratch, self._scratch = self._scratch, None
            if process is not None:
                _kill(process)
                process.wait()
        for stream in (process.stdin, process.stdout) if process is not None else ():
            with contextlib.suppress(OSError):  # what a broken pipe left in the buffer
                cast("IO[bytes]", stream).close()
        if scratch is not None:
            scratch.cleanup()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self.closed:
                raise _Lost("closed")
            if self._process is not None:
                return self._process
            self._scratch = tempfile.TemporaryDirectory(prefix="tlxgen-compile-", ignore_cleanup_errors=True)
            self._pending = b""
            with open(Path(self._scratch.name, "stderr.log"), "wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tlxgen.compile.child"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=self._scratch.name,  # `-m` looks here for modules first: nothing can be in the way
                    env=_environment(self._scratch.name),
                    start_new_session=True,  # a group to kill, ptxas included, and no Ctrl-C of the terminal
                )
            return self._process

    def _send(self, message: dict[str, Any]) -> None:
        stdin = cast("IO[bytes]", self._start().stdin)
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()

    def _receive(self, limit_s: float) -> dict[str, Any]:
        """The next message. Raises _Late, or _Lost at the end of the stream."""
        stdout = cast("IO[bytes]", self._start().stdout)
        deadline = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise _Late(limit_s)
                data = os.read(stdout.fileno(), 1 << 16)
                if not data:
                    raise _Lost("the worker closed its output")
                self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return cast("dict[str, Any]", json.loads(line))

    def _epitaph(self, fault: str) -> str:
        """How the child ended, in a few words."""
        process = self._process
        if self.closed or process is None:
            return "interrupted"
        ended = _peek(process, 5)
        if ended is None:
            return f"the compiler process broke the protocol: {fault}"
        if ended.si_code == os.CLD_EXITED:
            return f"the compiler process ended with status {ended.si_status}"
        name = signal.Signals(ended.si_status).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"the compiler process crashed with {name}{hint}"

    def _log_size(self) -> int:
        try:
            return Path(self._scratch.name, "stderr.log").stat().st_size if self._scratch else 0
        except OSError:
            return 0

    def _log(self, mark: int) -> str:
        """The last lines that this job left in stderr."""
        if self._scratch is None:
            return ""
        try:
            with open(Path(self._scratch.name, "stderr.log"), "rb") as file:
                file.seek(max(mark, self._log_size() - LOG_BYTES))
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-LOG_LINES:])


def _environment(scratch: str) -> dict[str, str]:
    """The child's environment: it imports what this process would, and has none of the compilers' knobs but ours."""
    return {k: v for k, v in os.environ.items() if k in _INHERITED or k.startswith("LC_")} | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *map(os.path.abspath, filter(None, sys.path))]),
        "TRITON_ALWAYS_COMPILE": "1",
        "TRITON_CACHE_DIR": str(Path(scratch, "cache")),
        "TRITON_DISABLE_LINE_INFO": "1",  # with it the bytes do not depend on path, line or comment, and are a third
        "TMPDIR": scratch,
    }


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills the process group, unless the leader has been waited for: its id may be another's by then."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _peek(process: subprocess.Popen[bytes], limit_s: float) -> os.waitid_result | None:
    """How a process ended, without reaping it, so that its group can still be killed; None if it runs on."""
    deadline = time.monotonic() + limit_s
    while (ended := os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)) is None:
        if time.monotonic() > deadline:
            return None
        time.sleep(0.01)
    return ended
