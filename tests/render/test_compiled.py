"""A compiled template is kept for the next process, which uses it for the same text and generator only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jinja2
import pytest

from tlxgen import stamp
from tlxgen.render.environment import environment, render


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[str, int]]:
    """Writes a template; what another process makes of it, and how often something is compiled there."""
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path / "cache"))
    plain = jinja2.Environment.compile
    folder = tmp_path / "templates"
    folder.mkdir()

    def rendered(text: str) -> tuple[str, int]:
        compiled: list[object] = []

        def compile(env: jinja2.Environment, *given: object, **more: object) -> object:
            compiled.append(given)
            return plain(env, *given, **more)  # type: ignore[call-overload]

        monkeypatch.setattr(jinja2.Environment, "compile", compile)
        (folder / "some.j2").write_text(text)
        environment.cache_clear()
        return render(environment(folder), "some.j2", {"x": 2}), len(compiled)

    return rendered


def test_the_next_process_compiles_nothing(text: Callable[[str], tuple[str, int]]) -> None:
    assert text("{{ x + 1 }}") == ("3\n", 1)
    assert text("{{ x + 1 }}") == ("3\n", 0)


def test_another_text_is_compiled(text: Callable[[str], tuple[str, int]]) -> None:
    assert text("{{ x + 1 }}") == ("3\n", 1)
    assert text("{{ x + 2 }}") == ("4\n", 1)
    assert text("{{ x + 2 }}") == ("4\n", 0)


def test_another_generator_compiles_it(text: Callable[[str], tuple[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    assert text("{{ x + 1 }}") == ("3\n", 1)
    monkeypatch.setattr(stamp, "generator", lambda: "another")
    assert text("{{ x + 1 }}") == ("3\n", 1)


@pytest.mark.parametrize("length", (0, 40, 120))
def test_a_damaged_file_is_compiled_anew(text: Callable[[str], tuple[str, int]], tmp_path: Path, length: int) -> None:
    assert text("{{ x + 1 }}") == ("3\n", 1)
    (file,) = (tmp_path / "cache" / "templates").iterdir()
    file.write_bytes(file.read_bytes()[:length])
    assert text("{{ x + 1 }}") == ("3\n", 1)
    assert text("{{ x + 1 }}") == ("3\n", 0)


def test_without_a_folder_for_it_nothing_is_kept(text: Callable[[str], tuple[str, int]], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, where the folder should be")
    assert text("{{ x + 1 }}") == ("3\n", 1)
    assert text("{{ x + 1 }}") == ("3\n", 1)
