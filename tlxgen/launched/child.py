"""`python -m tlxgen.launched.child`: records what a target launches, and compiles it. Imports torch and triton.

The requests are {record, cwd, config} with a job of tlxgen.verify, and {compile} with the key of a kernel that was
recorded before. The answers: {"kernel": ...} for each distinct kernel, {"note": ...}, {"error": ...}; {"outcome": ...}.
The process starts in a scratch folder with its log and Triton's cache, and works where the parent does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from tlxgen import cases
from tlxgen.bounded import LOG_FILE
from tlxgen.bounded.serve import Say, serve
from tlxgen.cases.execute import launching
from tlxgen.cases.foreign import importing, shown
from tlxgen.compile.compiler import outcome_of
from tlxgen.compile.toolchain import name_cache
from tlxgen.errors import Location, TlxgenError
from tlxgen.sim import SMS, Session, load_module
from tlxgen.verify.functions import calling
from tlxgen.verify.verification import error_to_json

from .recorder import Recorded, Recorder

CACHE = "cache"  # Triton's, in the scratch folder


class Handler:
    """Serves requests, and keeps what was recorded."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._recorded: dict[str, Recorded] = {}

    def __call__(self, request: dict[str, Any], say: Say) -> None:
        if "compile" in request:
            found = self._recorded[request["compile"]]
            log = self._scratch / LOG_FILE
            outcome = outcome_of(found.kernel.key, found.kernel.path, found.compile, log)
            say({"outcome": outcome.to_json()})
            shutil.rmtree(self._scratch / CACHE, ignore_errors=True)
            return
        os.chdir(request["cwd"])
        try:
            self._record(request["record"], request["config"], say)
        except TlxgenError as error:
            say({"error": error_to_json(error)})

    def _record(self, job: dict[str, Any], config: int | None, say: Say) -> None:
        """Says each kernel that a job launches. Raises TlxgenError, after those that were launched before it."""
        program, sms, arch, own, where = _prepare(job)
        session = Recorder(sms=sms, arch=arch, only=own if config is None else config)
        try:
            with session.active(), _comparing_nothing():
                program(session)
            session.refuse_idle(session.only or None)
        finally:
            for key, found in session.recorded.items():
                self._recorded.setdefault(key, found)
                say({"kernel": {**found.kernel.to_json(), "path": shown(found.kernel.path)}})
        for finding in session.findings.all:
            places = ", ".join(f"{shown(place.path)}:{place.line}" for place in finding.places)
            say({"note": f"stopped at {places}, where {_FAILED}"})
        if not session.launches:
            raise TlxgenError("it launched no kernel: there is nothing to compile", location=where)


@contextlib.contextmanager
def _comparing_nothing() -> Iterator[None]:
    """Tests go on behind torch's own comparisons: outputs are not what they would be."""
    with (
        mock.patch.object(torch.testing, "assert_close", lambda *_, **__: None),
        mock.patch.object(torch, "allclose", lambda *_, **__: True),
    ):
        yield


_FAILED = (
    "the host code's own check failed, because nothing was computed; kernels that it launches later are not compiled"
)
_Prepared = tuple[Callable[[Session], None], int, str, "int | None", Location]


def _prepare(job: dict[str, Any]) -> _Prepared:
    """What launches a job's kernels, the SMs and the architecture that it is told of, its config, and its place."""
    if job["kind"] == "function":
        torch.manual_seed(0)
        call, where = calling(Path(job["file"]), job["name"], job["arch"])
        return call, Session.sms, job["arch"], None, where
    declared = Path(shown(job["declared"]))
    case = next(c for c in cases.load(declared) if c.name == job["name"])
    with importing(case.file):
        module = load_module(case.file, case.declared.arch)
    key = "kernel" if case.declared.kernel else "call"
    where = case.document.where((key,))
    return launching(case, module), case.declared.sms or SMS, case.declared.arch, case.declared.config, where


if __name__ == "__main__":
    name_cache("tlxgen")  # this cache is private and thrown away
    serve(Handler(Path.cwd()))
