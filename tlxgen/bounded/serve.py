"""The child's side: serves requests from stdin, with limits, and out of reach of what foreign code prints."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any, TextIO

RESERVE = 256 << 20  # bytes above the limit, for saying that it was reached
ORPHAN_GRACE_S = 30.0  # past its time limit a request ends the process, if no parent is left to do that

Say = Callable[[dict[str, Any]], None]


def serve(handle: Callable[[dict[str, Any], Say], None]) -> None:
    """Calls `handle(request, say)` for each request until stdin ends. `request["timeout_s"]` is the parent's limit,
    of the whole request or, with `request["each"]`, of the time from one message to the next.

    Foreign code finds stdin empty, and what it prints goes to stderr. No bytecode is left beside its files. A fatal
    signal, and SIGUSR1 from a parent whose patience is at its end, print where the program is.
    """
    sys.dont_write_bytecode = True
    out = os.fdopen(os.dup(1), "w", buffering=1)
    requests = os.fdopen(os.dup(0), "r")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(all_threads=False)
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    _say(out, {"ready": True})
    for line in requests:
        request = json.loads(line)
        limit_s = request["timeout_s"] + ORPHAN_GRACE_S

        def say(message: dict[str, Any], each: float = limit_s if request.get("each") else 0) -> None:
            _say(out, message)
            if each:
                faulthandler.dump_traceback_later(each, exit=True)

        faulthandler.dump_traceback_later(limit_s, exit=True)
        handle(request, say)
        faulthandler.cancel_dump_traceback_later()
        _say(out, {"end": True})


def limit_memory(size: int) -> None:
    """Lets this process have `size` bytes of address space more than it has now (torch and triton take 0.8 GiB)."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + size, now + size + RESERVE))


def lift_memory_limit() -> None:
    """Gives what `limit_memory` kept in reserve, so that an error can be told after it was hit."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _say(out: TextIO, message: dict[str, Any]) -> None:
    print(json.dumps(message), file=out)
    sys.stderr.flush()
