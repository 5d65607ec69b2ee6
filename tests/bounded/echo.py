"""A child that says what it is, or comes to the end that it is asked for."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from tlxgen.bounded.serve import Say, serve

LOADED_BY = 0


def handle(request: Any, say: Say) -> None:
    if request.get("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(request.get("wait", 0))
    if request.get("hang"):
        time.sleep(60)
    say({"pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "loaded_by": LOADED_BY})
    print("as it goes", file=sys.stderr, flush=True)
    say({"mark": os.environ.get("ECHO_MARK", ""), "visible": os.environ.get("ECHO_VISIBLE", ""), "folder": os.getcwd()})


def preload() -> None:
    global LOADED_BY
    LOADED_BY = os.getpid()
    if os.environ.get("ECHO_BROKEN"):
        raise ImportError("as if a library were missing")


def main() -> None:
    serve(handle)


if __name__ == "__main__":
    main()
