"""A build that is killed in the middle of its writes leaves whole files, and the next one mends the rest."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tlxgen.build import PACKAGE, make
from tlxgen.files import SUFFIX
from tlxgen.loading import HOST, MODEL, MODEL_C

from .project import TWO, Project

# Stops for good just before the n-th file takes its place, with its bytes written beside it. The first is the stamp;
# compiled templates are not counted.
STOPS_BEFORE_REPLACE = """
import os, sys, time
from pathlib import Path
from tlxgen.build import build
replace, left = os.replace, [int(sys.argv[2])]
def stop(*paths):
    if Path(paths[1]).parent.name == "templates":
        return replace(*paths)
    if not left[0]:
        Path(sys.argv[3]).touch()
        time.sleep(600)
    left[0] -= 1
    replace(*paths)
os.replace = stop
build(Path(sys.argv[1]))
"""


def kill_before_replace(spec: Path, number: int, mark: Path) -> None:
    """Runs a build of `spec` and kills it, with SIGKILL, before it replaces file `number`."""
    process = subprocess.Popen([sys.executable, "-c", STOPS_BEFORE_REPLACE, str(spec), str(number), str(mark)])
    try:
        while not mark.exists():
            assert process.poll() is None, "the build ended before it was to be killed"
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [1, 2])  # among the modules; before the lock
def test_every_file_is_the_old_or_the_new_one_and_the_next_build_mends_it(
    project: Project, tmp_path: Path, number: int
) -> None:
    project.spec("k")
    project.build("k")
    folder = project.folder("k")
    old = {p.name: p.read_bytes() for p in folder.iterdir()}
    spec = project.spec("k", "rings: {ab: {stages: 3}}\n" + TWO)
    new = make(spec, folder).files
    changed = {name for name in new if old[name] != new[name]}
    assert changed == set(new) - {HOST, MODEL, MODEL_C, PACKAGE}

    kill_before_replace(spec, number + 1, tmp_path / "mark")

    order = sorted(changed, key=lambda name: (name == "lock.json", name))  # the lock comes last
    found = {p.name: p.read_bytes() for p in folder.iterdir()}
    leftovers = {name for name in found if name.endswith(SUFFIX)}
    assert {n: b for n, b in found.items() if n not in leftovers} == {n: old[n] for n in old if n not in changed} | {
        name: (new if place < number else old)[name] for place, name in enumerate(order)
    }
    assert len(leftovers) == 1  # what was written beside the file that did not take its place

    project.build("k")
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == new
    assert os.listdir(folder) and project.build("k").up_to_date


def test_what_a_killed_build_wrote_is_no_edit_though_the_spec_has_changed_again(
    project: Project, tmp_path: Path
) -> None:
    project.spec("k")
    project.build("k")
    spec = project.spec("k", "rings: {ab: {stages: 3}}\n" + TWO)
    kill_before_replace(spec, 2, tmp_path / "mark")
    project.spec("k", "rings: {ab: {stages: 5}}\n" + TWO)
    assert "k_in_flight0.py" in project.build("k").changed
