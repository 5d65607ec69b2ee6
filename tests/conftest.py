"""Keeps every test, and every process that a test starts, out of the user's cache, and judges none by the clock."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import pickle
import shutil
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("tlxgen", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # both read the clock
settings.load_profile("tlxgen")
SPECS = Path(__file__).resolve().parents[1] / "specs"
CACHE = pytest.StashKey[str]()
PATH = pytest.StashKey[list[str]]()
RESIDENT = pytest.StashKey[int]()
GROWN = 512 << 20  # bytes
ALL_SPECS = (  # files with a test that plans all that ship
    "tests/build/test_shipped.py",
    "tests/families/test_functions.py",
    "tests/plan/test_arguments.py",
    "tests/proof/test_shipped.py",
)
GENERATED = "::test_a_generated_module_without_a_record_is_clean["


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CACHE] = os.environ["TLXGEN_CACHE_DIR"] = tempfile.mkdtemp(prefix="tlxgen-tests-")
    compile_once()
    plan_once()
    render_here()
    analyse_once()
    gc.set_threshold(300_000, 20, 20)  # as build.collect_seldom


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leaves out what tests are made of, which stays, where Python looks for cycles of objects."""
    session.config.stash[PATH] = [*sys.path]
    gc.collect()
    gc.freeze()
    session.config.stash[RESIDENT] = resident()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Takes the folders of files that were verified off the path, for which the next test would need a nursery of its
    own, with an import of torch. Gives memory back that simulated kernels had: a process would keep some gigabytes."""
    sys.path[:] = item.config.stash[PATH]
    if resident() > item.config.stash[RESIDENT] + GROWN:
        gc.collect()
        with suppress(AttributeError, OSError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
        item.config.stash[RESIDENT] = resident()


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not say it as Linux does."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def pytest_sessionfinish() -> None:
    """Leaves out all: pytest looks five times for what else is to be warned of, and Python at its end."""
    gc.freeze()


def plan_once() -> None:
    """Plans what ships once a process, where a test has not put something in a family's place."""
    from tlxgen.families.base import Family

    plan = Family.kernels
    parts = [name for name, part in vars(Family).items() if callable(part)]
    known: dict[Any, Any] = {}

    def kernels(self: Any, document: Any, *given: Any, **more: Any) -> Any:
        if given or more or Path(document.path).resolve().parent != SPECS:
            return plan(self, document, *given, **more)
        files = tuple((source.path, source.text) for source in document.files)
        data = json.dumps([document.data, document.tuned], sort_keys=True, default=repr)  # which may be no file's
        key = (type(self), *files, data, *(getattr(Family, name) for name in parts))
        if key not in known:
            known[key] = plan(self, document)
        return replace(known[key], document=document)  # which remembers nothing of what was asked of it

    Family.kernels = kernels  # type: ignore[method-assign]


def compile_once() -> None:
    """Compiles each text once, for all files that have it: most folders that tests build have the same `_host.py`.

    No bytecode is written, so a test that lists a folder finds what a verb has written, whatever the environment says.
    """
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    plain = SourceFileLoader.source_to_code
    code_of = lru_cache(2000)(lambda data: compile(data, "", "exec", dont_inherit=True))

    def source_to_code(self: Any, data: Any, path: Any, **options: Any) -> Any:
        try:
            return moved(code_of(data), str(path)) if isinstance(data, bytes) else plain(self, data, path, **options)
        except (SyntaxError, ValueError):
            return plain(self, data, path, **options)  # whose error names the file

    SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign]


def moved(code: CodeType, path: str) -> CodeType:
    """The same code as of another file."""
    parts = (moved(part, path) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=path, co_consts=tuple(parts))


def render_here() -> None:
    """Has builds render in this process, as in a worker: two more would first import all that this one has."""
    from tlxgen import build

    vars(build)["parent_process"] = lambda: True


def analyse_once() -> None:
    """Has the simulator look for a kernel's constants once, not again for each call of a helper in it, and copy syntax
    trees as fast as they can be: most of what a kernel costs before it runs, and each fault makes another kernel.
    Records of proofs name the simulator's own text. It keeps all that it has parsed, of some thousand files with faults
    more memory than all else that a process has.
    """
    from tlxgen.sim import constancy, transform

    vars(constancy)["Constancy"] = lru_cache(100)(constancy.Constancy)  # it depends on nothing but its arguments
    for name, most in (("_parsed", 30), ("_helpers", 30), ("_source", 300)):
        vars(transform)[name] = lru_cache(most)(vars(transform)[name].__wrapped__)
    vars(transform)["copy"] = SimpleNamespace(deepcopy=lambda tree: pickle.loads(pickle.dumps(tree)))


class ByFile(LoadScopeScheduling):
    """A file's tests stay together, as what they share is made once a process, and so do ALL_SPECS; those of generated
    modules, which take longest, stay together by the folder of the module.

    Marks of xdist_group would say the same, but xdist 3.8 does not see them under pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """The name of what is run together with a test."""
    file, _, test = nodeid.partition("::")
    if file in ALL_SPECS:
        return ALL_SPECS[0]
    return f"{file} {test.partition('[')[2].partition('-')[0]}" if GENERATED in nodeid else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    return ByFile(config, log)


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash.get(CACHE, ""), ignore_errors=True)
