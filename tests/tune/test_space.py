"""The candidates of a spec, and the modules that are rendered for them."""

from __future__ import annotations

import gc
import shutil
from multiprocessing import forkserver

import pytest

from tests.tune.conftest import PROCESSES, Project
from tlxgen import families
from tlxgen.spec import load
from tlxgen.tune import space as spaces


@pytest.mark.usefixtures("anew")
def test_modules_are_the_same_whoever_renders_them(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_long() -> None:
        raise OSError("AF_UNIX path too long")

    seen = []
    monkeypatch.setattr(spaces, "_processes", PROCESSES)
    for at_least, start in ((1000, too_long), (1, forkserver.ensure_running), (1, too_long)):
        monkeypatch.setattr(spaces, "cpus", lambda start=start: 1 if start is too_long else 2)  # each imports all
        monkeypatch.setattr(spaces, "PARALLEL_FROM", at_least)  # modules, for which processes are started
        monkeypatch.setattr(forkserver, "ensure_running", start)
        shutil.rmtree(project.root / "cache", ignore_errors=True)
        space = project.space
        seen.append((dict(space.sources), [(c.label, c.key, c.source) for c in space.candidates]))
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0][0]) == 2


@pytest.mark.usefixtures("anew")
def test_a_module_that_is_known_is_not_rendered_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = project.space
    shutil.rmtree(project.root / "cache" / "tune" / "spaces")
    monkeypatch.setattr(spaces._Module, "render", lambda module: pytest.fail("rendered again"))
    assert project.space.sources == before.sources


@pytest.mark.parametrize("enabled", [True, False])
def test_an_enumeration_leaves_the_collector_as_it_was(project: Project, enabled: bool) -> None:
    seen: list[bool] = []
    document = load(project.spec, tuned=False)
    (gc.enable if enabled else gc.disable)()
    try:
        families.of(document).kernels(document, lambda structure: seen.append(gc.isenabled()))
        with pytest.raises(ZeroDivisionError):
            families.of(document).kernels(document, lambda structure: 1 // 0)
        assert gc.isenabled() is enabled
    finally:
        gc.enable()
    assert seen and not any(seen)
