"""Templates are imported once for equal values of what they read, and again for others."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

from tlxgen.render.environment import environment, render

FILES = {
    "leaf.j2": "{% set made = made_by(fact) %}\n{% macro says() %}{{ made }} {{ other }}{% endmacro %}\n",
    "branch.j2": '{% import "leaf.j2" as leaf with context %}\n{% macro says() %}{{ leaf.says() }}{% endmacro %}\n',
    "both.j2": (
        '{% import "branch.j2" as branch with context %}\n{% import "leaf.j2" as leaf with context %}\n'
        "{{ branch.says() }} / {{ leaf.says() }}\n"
    ),
    "two.j2": (
        '{% import "branch.j2" as branch with context %}\n{% set other = "second" %}\n'
        '{% import "branch.j2" as again with context %}\n{{ branch.says() }} / {{ again.says() }}\n'
    ),
}


@pytest.fixture
def env(tmp_path: Path) -> jinja2.Environment:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return environment(tmp_path)


def rendered(env: jinja2.Environment, name: str, fact: object, other: object = "first") -> tuple[str, int]:
    """The text, and how often `leaf` was executed."""
    calls: list[object] = []

    def made_by(fact: object) -> object:
        calls.append(fact)
        return fact

    return render(env, name, {"fact": fact, "other": other, "made_by": made_by}).strip(), len(calls)


def test_a_template_that_two_others_import_is_executed_once(env: jinja2.Environment) -> None:
    assert rendered(env, "both.j2", 1) == ("1 first / 1 first", 1)
    assert rendered(env, "both.j2", 2, "else") == ("2 else / 2 else", 1)  # nothing is kept of the first


def test_it_is_executed_again_where_a_name_that_it_reads_by_another_template_has_changed(
    env: jinja2.Environment,
) -> None:
    assert rendered(env, "two.j2", 1) == ("1 first / 1 second", 2)
