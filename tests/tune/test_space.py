"""The candidates of a spec, and the modules that are rendered for them."""

from __future__ import annotations

import shutil

import pytest

from tests.tune.conftest import Project
from tlxgen.tune import space as spaces


def test_modules_are_the_same_whoever_renders_them(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for at_least in (1000, 1):  # modules, for which processes are started
        monkeypatch.setattr(spaces, "PARALLEL_FROM", at_least)
        shutil.rmtree(project.root / "cache", ignore_errors=True)
        space = project.space
        seen.append((dict(space.sources), [(c.label, c.key, c.source) for c in space.candidates]))
    assert seen[0] == seen[1]
    assert len(seen[0][0]) == 2


def test_a_module_that_is_known_is_not_rendered_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = project.space
    shutil.rmtree(project.root / "cache" / "tune" / "spaces")
    monkeypatch.setattr(spaces._Module, "render", lambda module: pytest.fail("rendered again"))
    assert project.space.sources == before.sources
