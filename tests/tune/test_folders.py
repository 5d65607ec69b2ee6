"""A cache folder or an output that cannot be written is one error before any work; a dry run does without a cache."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tune.conftest import MODULE, Project
from tlxgen import files, stamp
from tlxgen.errors import CacheError, TlxgenError
from tlxgen.spec import load
from tlxgen.tune.space import space_of
from tlxgen.verbs import tune as verb

OPTIONS = verb.Options(shapes=((512, 512, 512),), module=MODULE, timeout_s=60.0)
OPENED = files.tempfile.NamedTemporaryFile


def full(*given: Any, **options: Any) -> Any:
    """A temporary file on a disk that has no room."""
    file = OPENED(*given, **options)

    class Full:
        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None:
            file.close()

        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return Full()


def read_only(*given: Any, **options: Any) -> Any:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.fixture
def below_a_file(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that can never be made, whoever asks."""
    (project.root / "file").write_text("")
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(project.root / "file" / "cache"))
    return project.root


@pytest.mark.usefixtures("below_a_file")
def test_a_cache_that_cannot_be_made_is_an_error_before_any_work(project: Project) -> None:
    with pytest.raises(CacheError) as error:
        verb.run(project.spec, OPTIONS)
    assert str(project.root / "file" / "cache") in error.value.message
    assert "Not a directory" in error.value.message and "TLXGEN_CACHE_DIR" in error.value.remedy
    assert not project.begun and not project.table.exists()


@pytest.mark.parametrize(("broken", "words"), [(full, "No space left"), (read_only, "Read-only file system")])
def test_a_cache_that_is_full_or_read_only_is_one_too(
    project: Project, monkeypatch: pytest.MonkeyPatch, broken: Callable[..., Any], words: str
) -> None:
    monkeypatch.setattr(files.tempfile, "NamedTemporaryFile", broken)
    with pytest.raises(CacheError, match=words):
        verb.run(project.spec, OPTIONS)
    assert not project.begun
    assert not (project.root / "cache").exists() or not list((project.root / "cache").glob(".*"))


@pytest.mark.usefixtures("below_a_file", "anew")
def test_a_space_is_enumerated_without_a_cache(project: Project) -> None:
    assert space_of(load(project.spec, tuned=False)).sources


@pytest.mark.parametrize("out", ["folder", "file/below.yaml"])
def test_an_output_that_cannot_be_written_is_an_error_before_any_work(project: Project, out: str) -> None:
    (project.root / "folder").mkdir()
    (project.root / "file").write_text("kept")
    with pytest.raises(TlxgenError, match=f"cannot write {project.root / out}: (Is|Not) a directory"):
        verb.run(project.spec, verb.Options(**{**vars(OPTIONS), "out": project.root / out}))
    assert not project.begun and (project.root / "file").read_text() == "kept"


def test_the_default_output_is_looked_at_before_anything_is_measured(project: Project) -> None:
    project.table.mkdir(parents=True)
    with pytest.raises(TlxgenError, match="Is a directory"):
        verb.run(project.spec, OPTIONS)
    assert not project.log


def test_trying_to_write_leaves_nothing(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("kept")
    for path in (there, tmp_path / "a" / "b" / "c"):
        files.try_to_write(path, 1000)
    assert [p.name for p in tmp_path.iterdir()] == ["there"] and there.read_text() == "kept"


def test_a_cache_that_can_be_written_is_left_as_it_is(project: Project) -> None:
    stamp.require_cache()
    assert not (project.root / "cache").exists()
