"""Children that start as forks of a process that has imported what they need: thirty that import torch for themselves
take all cores for seconds.

The process that forks is tlxgen.bounded.forks. Its forks are orphaned at once; this process asks to be given orphans
(PR_SET_CHILD_SUBREAPER), and waits for them as for any child of its own.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO, Any

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h

KEPT = 3  # nurseries at a time that are kept for later children
# Variables that torch, Triton, OpenMP and the loader of libraries may read when they are imported.
_AT_IMPORT = ("CUDA", "KMP", "LD_", "LLVM", "MKL", "MLIR", "NV", "OMP", "PTXAS", "PYTHON", "PYTORCH", "TORCH", "TRITON")

# `-m` would look for modules in the working directory first, where anything may lie.
_BOOT = "import sys; sys.path[:] = sys.argv[2:]; import runpy; runpy.run_module(sys.argv[1], run_name='__main__')"


def command(module: str) -> list[str]:
    """What runs `module` as a program, with this process's path."""
    paths = [os.path.abspath(path) for path in sys.path if path]
    return [sys.executable, "-c", _BOOT, module, *paths]


class Forked:
    """A child as subprocess.Popen shows it, as far as Child looks."""

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int | None) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: IO[bytes] = os.fdopen(stdin, "wb")
        self.stdout: IO[bytes] = os.fdopen(stdout, "rb")
        self.stderr: IO[bytes] | None = None if stderr is None else os.fdopen(stderr, "rb")

    def wait(self) -> int:
        """The exit status, negative for a signal."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def send_signal(self, number: int) -> None:
        """To the child itself, unless it has been waited for."""
        if self.returncode is None:
            os.kill(self.pid, number)


class Nursery:
    """Starts children of modules. Safe for threads.

    A module that has `preload()` has `main()`, too: the first is called once, and the other in each child. Any other
    module is run as a program, in a process that has imported all that it imports. `environment` is that of the process
    which imports, by default this process's.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = environment
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._closed = False

    def spawn(
        self, module: str, environment: Mapping[str, str], folder: str | None = None, log: int | None = None
    ) -> Forked:
        """A child in a session of its own, with pipes, whose environment is `environment`. It works in `folder`, by
        default in this process's, and its stderr is the file `log`, by default a pipe. Raises OSError when the process
        that forks is gone or cannot import the module."""
        pipes: list[tuple[int, int]] = []
        request = {"module": module, "environment": dict(environment), "folder": folder or os.getcwd()}
        try:
            for _ in range(2 if log is not None else 3):
                pipes.append(os.pipe())
            theirs = [pipes[0][0], pipes[1][1], pipes[2][1] if log is None else log]
            with self._lock:
                pid = self._fork(request, theirs)
        except BaseException:
            for descriptor in (d for pipe in pipes for d in pipe):
                os.close(descriptor)
            raise
        for descriptor in (pipes[0][0], *(write for _, write in pipes[1:])):
            os.close(descriptor)
        return Forked(pid, pipes[0][1], pipes[1][0], pipes[2][0] if log is None else None)

    def close(self) -> None:
        """Ends the process that forks. A thread that waits for it gets an OSError. Its children continue."""
        self._closed = True
        if self._process:
            self._process.kill()
            self._process.wait()
        with self._lock:
            if self._socket:
                self._socket.close()

    def _fork(self, request: dict[str, Any], descriptors: list[int]) -> int:
        if self._closed:
            raise OSError("the nursery is closed")
        if not self._socket:
            self._start()
        assert self._socket
        socket.send_fds(self._socket, [json.dumps(request).encode() + b"\n"], descriptors)
        answer = b""
        while not answer.endswith(b"\n"):
            said = self._socket.recv(64)
            if not said:
                raise OSError("the nursery is gone")
            answer += said
        return int(answer)

    def _start(self) -> None:
        prctl = getattr(ctypes.CDLL(None), "prctl", None)  # Linux has it
        if prctl is None or prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
            raise OSError("this process is not given orphans")
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                command("tlxgen.bounded.forks"),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=None if self._environment is None else dict(self._environment),
            )


def _at_import(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_AT_IMPORT)}


_kept: dict[str, Nursery] = {}  # those used last come last
_keeping = threading.Lock()


def kept(environment: Mapping[str, str]) -> Nursery:
    """The nursery of this process for children with such an environment. It starts when it is first asked for a child,
    and ends with this process.

    Where this process's path differs, or a variable that libraries read when they are imported, it is another one.
    """
    key = json.dumps([command(""), sorted(_at_import(environment).items())])
    with _keeping:
        nursery = _kept[key] = _kept.pop(key) if key in _kept else Nursery(environment)
        for old in [*_kept][:-KEPT]:
            _kept.pop(old).close()
    return nursery


@atexit.register
def end_kept() -> None:
    """Ends the nurseries that are kept. Their children continue."""
    with _keeping:
        while _kept:
            _kept.popitem()[1].close()
