"""`python -m tlxgen.bounded.forks`: imports what children need, and forks one for each request of a Nursery.

A request is a line of JSON, {module, environment, folder}, with three descriptors for the child; the answer is its
process id.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import socket
import sys
import traceback
from collections.abc import Mapping
from typing import Any, NoReturn


def main() -> None:
    """Forks a child for each request on stdin, a socket, until that ends."""
    requests = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)  # what is imported finds no socket there
    ready: dict[str, Any] = {}
    while True:
        text, descriptors, _, _ = socket.recv_fds(requests, 1 << 16, 3)
        while text and not text.endswith(b"\n"):
            text += requests.recv(1 << 16)
        if not text:
            return
        request = json.loads(text)
        name = request["module"]
        if name not in ready:
            ready[name] = importlib.import_module(name)
            if hasattr(ready[name], "preload"):
                ready[name].preload()
        pid = _orphan(ready[name], request, descriptors, requests)
        for descriptor in descriptors:
            os.close(descriptor)
        requests.sendall(b"%d\n" % pid)


def _orphan(module: Any, request: Mapping[str, Any], descriptors: list[int], requests: socket.socket) -> int:
    """The process id of a fork of a fork, once the one between is gone."""
    read, write = os.pipe()
    between = os.fork()
    if between == 0:
        pid = os.fork()
        if pid:
            os.write(write, b"%d" % pid)
            os._exit(0)
        os.close(read)
        os.close(write)
        requests.close()
        _live(module, request, descriptors)
    os.close(write)
    os.waitpid(between, 0)
    with os.fdopen(read, "rb") as pipe:
        return int(pipe.read())


def _live(module: Any, request: Mapping[str, Any], descriptors: list[int]) -> NoReturn:
    """The life of a child."""
    status = 1
    try:
        os.setsid()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        if hasattr(module, "preload"):
            module.main()
        else:
            del sys.modules[module.__name__]  # or runpy warns that it is there
            runpy.run_module(module.__name__, run_name="__main__")
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
