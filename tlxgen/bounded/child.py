"""The parent's side of a child process. It has a session of its own, answers one request at a time, and is killed
together with all processes that it started."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from .nursery import Forked, Nursery, command

START_LIMIT_S = 300.0  # imports of torch and triton: 2 s, and more than a minute from a cold disk
TICK_S = 0.05  # how often a child is looked at that says nothing
DUMP_S = 0.5  # time for a child to print where it hangs
LOG_BYTES = 64 * 1024  # bytes of a child's output that are kept
MESSAGE_BYTES = 16 * 1024 * 1024  # a child with a longer answer is killed
LOG_FILE = "stderr.log"  # in a scratch folder

_FRAME = re.compile(r'^  File "(?P<path>.+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)

Message = dict[str, Any]


@dataclass(frozen=True)
class Frame:
    """A line that a child was at when it was killed or crashed."""

    path: str
    line: int
    function: str


@dataclass(frozen=True)
class Answer:
    """A child's answer to a request. `fate` says in a few words how the child was lost; it is empty if it was not.

    `stack` is where it was then, the innermost frame first, if it could still report it. `log` is the end of its
    output. `seconds` is wall time from the request on.
    """

    messages: list[Message]
    fate: str = ""
    stack: tuple[Frame, ...] = ()
    log: str = ""
    seconds: float = 0.0

    @property
    def last_line(self) -> str:
        """The last line that was printed (of a traceback that is the exception); empty when there is a stack."""
        lines = [] if self.stack else [line.strip() for line in self.log.splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""


class Child:
    """`python -m MODULE`, whose main is `tlxgen.bounded.serve.serve`; started when first asked, again after a bad end.

    `ask` belongs to one thread. Setting `stop` ends it from another, within a tick. `environment` comes on top of this
    process's own. With a `nursery` it is forked there; where that cannot be, it is started as without. With `scratch`
    each process has a folder of its own, which is its working directory and is gone when it ends: `scratch(folder)` is
    its whole environment, and what it prints is in the folder's LOG_FILE, for the child itself to read.
    """

    def __init__(
        self,
        module: str,
        stop: threading.Event | None = None,
        environment: Mapping[str, str] | None = None,
        nursery: Nursery | None = None,
        scratch: Callable[[str], Mapping[str, str]] | None = None,
    ) -> None:
        self._module = module
        self._nursery = nursery
        self._environment = dict(environment or {})
        self._stop = stop or threading.Event()
        self._process: subprocess.Popen[bytes] | Forked | None = None
        self._scratch = scratch
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._pending = b""
        self._log = b""
        self._mark = 0  # where in the log file a request begins
        self._heard = 0

    def ask(self, request: Message, timeout_s: float, *, each: bool = False) -> Answer:
        """The messages that answer `request`, up to {"end": true}. `timeout_s` is wall time, imports excluded.

        With `each` it is the time from one message to the next. Hangs and crashes are answers too; the messages that
        came before are kept.
        """
        messages: list[Message] = []
        self._log, self._heard, self._mark = b"", 0, self._log_size()
        start = time.monotonic()
        try:
            if self._process is None:
                self._start()
                self._until(messages, "ready", START_LIMIT_S)
                start = time.monotonic()
            self._send({**request, "timeout_s": timeout_s, "each": each})
            self._until(messages, "end", timeout_s, each)
        except _Lost as lost:
            stack, log, fate = self._bury(lost)
            return Answer(messages, fate, stack, log, time.monotonic() - start)
        return Answer(messages, log=self._logged(), seconds=time.monotonic() - start)

    @property
    def stopped(self) -> bool:
        """Whether the caller has stopped it, so that no request is answered any more."""
        return self._stop.is_set()

    def kill(self) -> None:
        """Kills the child and all that is in its session, and waits for nothing: `close` comes after."""
        process = self._process
        if process is not None and process.returncode is None:  # not waited for: its id is still its own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kills the child and all that is in its session."""
        self.kill()
        process, self._process = self._process, None
        if process is None:
            return
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):  # what a broken pipe left in the buffer
                if stream is not None:
                    stream.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _start(self) -> None:
        self._pending = b""
        environment: Mapping[str, str] = os.environ | self._environment
        with contextlib.ExitStack() as files:
            folder, log = None, None
            if self._scratch:
                self._folder = tempfile.TemporaryDirectory(prefix="tlxgen-", ignore_cleanup_errors=True)
                folder, self._mark = self._folder.name, 0
                environment = dict(self._scratch(folder))
                log = files.enter_context(open(Path(folder, LOG_FILE), "wb"))
            if self._nursery:
                with contextlib.suppress(OSError):
                    number = log.fileno() if log else None
                    self._process = self._nursery.spawn(self._module, environment, folder, number)
                    return
                if self._stop.is_set():
                    raise _Lost("interrupted")
            self._process = subprocess.Popen(
                command(self._module),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # a group to kill, and no Ctrl-C of the terminal
                env=environment,
                stderr=log or subprocess.PIPE,
                cwd=folder,
            )

    def _send(self, request: Message) -> None:
        assert self._process
        try:
            stdin = cast("IO[bytes]", self._process.stdin)
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        except OSError:
            raise _Lost("") from None

    def _until(self, messages: list[Message], last: str, limit_s: float, each: bool = False) -> None:
        """Gathers messages until the one with the key `last`. Raises _Lost."""
        heard = True
        while heard:
            heard = False
            for message in self._receive(time.monotonic() + limit_s):
                if last in message:
                    return
                messages.append(message)
                if heard := each:
                    break  # to look ahead from here
        raise _Lost(f"timed out after {limit_s:g} s", hangs=True)

    def _receive(self, deadline: float) -> Generator[Message, None, None]:
        """Messages as they come, until the deadline. Raises _Lost when none can come any more."""
        process, late = self._process, False
        assert process
        while True:
            while b"\n" in self._pending:
                line, _, self._pending = self._pending.partition(b"\n")
                with contextlib.suppress(ValueError):  # not of ours: foreign code may write to any descriptor
                    message = json.loads(line)
                    if isinstance(message, dict):
                        yield message
            if late:
                return
            left = deadline - time.monotonic()
            late = left <= 0  # what has come by now is heard: it may be this process that was held up
            if self._stop.is_set():
                raise _Lost("interrupted")
            ended = _has_ended(process)
            said = self._read(max(0.0, min(TICK_S, left)))
            if self._heard > MESSAGE_BYTES:
                raise _Lost(f"answered more than {MESSAGE_BYTES >> 20} MiB")
            if ended and not said:
                raise _Lost("")

    def _read(self, wait_s: float) -> bool:
        """Takes what the child has written to either pipe; whether there was anything."""
        process = self._process
        assert process and process.stdout
        said = False
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if process.stderr:
                selector.register(process.stderr, selectors.EVENT_READ)
            for key, _ in selector.select(wait_s):
                data = os.read(key.fd, 1 << 16)
                said = said or bool(data)
                if key.fileobj is process.stdout:
                    self._pending += data
                    self._heard += len(data)
                else:
                    self._log = (self._log + data)[-LOG_BYTES:]
        if not said:
            time.sleep(min(wait_s, 0.005))  # pipes at their end are always ready
        return said

    def _log_size(self) -> int:
        return Path(self._folder.name, LOG_FILE).stat().st_size if self._folder else 0

    def _logged(self) -> str:
        """The end of what the child has printed since it was asked."""
        if self._folder is None:
            return _text(self._log)
        with open(Path(self._folder.name, LOG_FILE), "rb") as file:
            file.seek(max(self._mark, self._log_size() - LOG_BYTES))
            return _text(file.read())

    def _bury(self, lost: _Lost) -> tuple[tuple[Frame, ...], str, str]:
        """Kills the rest of a lost child. Returns where it was, the end of its output, and how it ended."""
        process = self._process
        if process is None:  # interrupted before it was one
            return (), "", lost.fate
        if lost.hangs:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                process.send_signal(signal.SIGUSR1)  # makes it print where it is
            until = time.monotonic() + DUMP_S
            while time.monotonic() < until and not (_FRAME.search(self._logged()) and not self._read(TICK_S)):
                self._read(TICK_S)
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        self.kill()  # afterwards no process writes to the log
        log = self._logged()
        self.close()
        stack = tuple(Frame(m["path"], int(m["line"]), m["function"]) for m in _FRAME.finditer(log))
        return stack, log, lost.fate or _epitaph(ended)


class _Lost(Exception):
    """The child will not answer. `fate` is why, or empty when it ended by itself; `hangs` when it runs on."""

    def __init__(self, fate: str, *, hangs: bool = False) -> None:
        super().__init__(fate)
        self.fate = fate
        self.hangs = hangs


def _has_ended(process: subprocess.Popen[bytes] | Forked) -> bool:
    """Whether the child itself has ended; it is not reaped, so that its group can still be killed."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _epitaph(ended: os.waitid_result | None) -> str:
    if ended is None:
        return "broke off"
    if ended.si_code == os.CLD_EXITED:
        return f"ended the process with status {ended.si_status}"
    name = signal.Signals(ended.si_status).name
    return f"crashed with {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
