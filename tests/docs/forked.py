"""Commands of tlxgen as forks of one process that has imported tlxgen: imports are half of a short command's time.

A server reads a command a line, as JSON: its words, folder, environment, and the file for its output. It forks, runs
the command line there, and answers with the exit status. For the first command whose children need torch it imports
that, too: the command's nursery is then a fork, made before the command has threads, and not a process that imports
torch and triton anew.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

VERBS = ("build", "diff", "explain", "list", "show")
WITH_TORCH = ("compile", "tune", "verify")
SERVER = """
import contextlib, json, os, socket, sys, traceback, types
import tlxgen.api, tlxgen.build, tlxgen.cli, tlxgen.review.diff, tlxgen.review.listing, tlxgen.review.show
import tlxgen.verbs.build, tlxgen.verbs.explain
import tlxgen.render.module
import black, tlxgen.lock  # what a build imports; together with networkx, for pictures, half a second a command
with contextlib.suppress(ImportError):
    import networkx, tlxgen.review.picture.draw
from tlxgen import stamp
from tlxgen.families import loaded
from tlxgen.render import environment
loaded()
templates = environment.environment(stamp.templates())
for name in environment.closure(stamp.templates(), "gemm/module.py.j2"):
    templates.get_template(name)  # most pages build a GEMM, and parsing its templates is half of that
from tlxgen.bounded import forks, nursery
plain = nursery.Nursery._start
def ready_for_torch():
    with contextlib.suppress(ImportError):
        import tlxgen.compile.compiler, tlxgen.tune.dry, tlxgen.verbs.compile, tlxgen.verbs.tune, tlxgen.verbs.verify
        import tlxgen.verify.simulate
        tlxgen.compile.compiler.preload()
def fork_nursery():
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        os.setsid()
        for stream, source in ((0, theirs.fileno()), (1, os.open(os.devnull, os.O_WRONLY)), (2, 1)):
            os.dup2(source, stream)
        theirs.close()
        forks.main()
        os._exit(0)
    theirs.close()
    made = [(ours, types.SimpleNamespace(kill=lambda: os.kill(pid, 9), wait=lambda: os.waitpid(pid, 0)))]
    def start(self):
        if not made:
            return plain(self)
        nursery.ctypes.CDLL(None).prctl(nursery.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._socket, self._process = made.pop()
    nursery.Nursery._start = start
for line in sys.stdin:
    words, with_torch, folder, environment, output = json.loads(line)
    if with_torch:
        ready_for_torch()
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    status = 1
    try:
        to = os.open(output, os.O_WRONLY)
        for stream, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, to), (2, to)):
            os.dup2(source, stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["tlxgen", *words]
        sys.path[0] = folder  # as with python -m
        if with_torch:
            fork_nursery()
        tlxgen.cli.main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
"""


def words_of(command: str) -> list[str] | None:
    """The words behind `tlxgen` of a command that a fork can run; None for one that needs a shell."""
    if set("|&;<>$`()*?~\n") & set(command):
        return None
    words = shlex.split(command)
    return words[1:] if words[0] == "tlxgen" and words[1] in (*VERBS, *WITH_TORCH) else None


@functools.cache
def _server(path: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""}
    started = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    atexit.register(_end, started)
    return started


def _end(server: subprocess.Popen[str]) -> None:
    assert server.stdin
    server.stdin.close()
    server.wait()


def run(words: list[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Exit status and what `tlxgen` prints with these words in a folder."""
    server = _server(environment["PYTHONPATH"])
    assert server.stdin and server.stdout
    with tempfile.NamedTemporaryFile("r") as output:
        asked = [words, words[0] in WITH_TORCH, str(folder), dict(environment), output.name]
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, "the server has ended"
        return int(answer), output.read()
