"""`tlxgen explain`: every key, value, rule and word, from the texts of the schema and of one page."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tlxgen
from tlxgen import cli, families
from tlxgen.explain import find, keys_of, nearest, words
from tlxgen.spec import json_schema

ROOT = Path(tlxgen.__file__).parent
Run = Callable[..., tuple[int, str, str]]
KNOWN = {name: families.load(name) for name in families.names()}
KEYS = [key for family in KNOWN.values() for key in keys_of(family)]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tlxgen", "explain", *arguments])
        monkeypatch.setenv("COLUMNS", "110")
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert isinstance(end.value.code, int)
        return end.value.code, *capsys.readouterr()

    return run


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_key_with_its_values_default_and_what_becomes_of_it(run: Run) -> None:
    code, output, errors = run("tasks.mma.order")
    assert (code, errors) == (0, "")
    lines = output.splitlines()
    assert lines[0].startswith("tasks.mma.order, a key of attention_bwd")  # where it means something else
    lines = lines[lines.index("tasks.mma.order, a key of gemm, grouped_gemm") :]
    assert [line.split()[0] for line in lines if line.startswith(("  named ", "  mbarrier "))] == ["named", "mbarrier"]
    assert "Choose it unless the 16 named" in one_line(output)
    assert "  Default: named." in lines
    assert "  Change it where a variant is rejected for: named-barriers." in lines


@pytest.mark.parametrize(
    "word",
    ["replicate", "leader", "helped", "rendezvous", "captures", "tuned file", "kept guard", "tuned-file", "LEADER"],
)
def test_the_words_of_messages_are_explained(run: Run, word: str) -> None:
    code, output, errors = run(*word.split())
    assert (code, errors) == (0, "") and len(output) > 100


@pytest.mark.parametrize("key", KEYS, ids=lambda key: f"{key.family}.{key.path}")
def test_every_key_can_be_asked_for_and_has_a_text(key: Any) -> None:
    assert key.text
    assert key in find(key.path, KNOWN).keys
    assert key in find(key.name, KNOWN).keys


@pytest.mark.parametrize("key", [k for k in KEYS if k.values], ids=lambda key: f"{key.family}.{key.path}")
def test_every_value_that_has_a_name_says_what_it_does(key: Any) -> None:
    named = [value for value, _ in key.values if value.isidentifier()]
    if len(named) > 1 or any(text for _, text in key.values):
        assert [value for value, text in key.values if not text and value in named] == []


def strings(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        node = [*node.values()]
    if isinstance(node, list):
        for inner in node:
            yield from strings(inner)
    elif isinstance(node, str):
        yield node


def test_what_is_said_is_what_the_schema_says() -> None:
    said = "\n".join(strings(json_schema({name: family.model for name, family in KNOWN.items()})))
    for key in KEYS:
        assert key.text in said
        assert all(text in said for _, text in key.values)


def test_defaults_are_those_of_each_architecture() -> None:
    found = {(k.family, k.path): k.defaults for k in KEYS}
    assert found["gemm", "tasks.mma.replicate"] == {"sm90": "2", "sm100": "1"}
    assert found["gemm", "tasks.mma.registers"] == {"sm90": "232", "sm100": "48"}
    assert found["attention_bwd", "tasks.mma.registers"] == {"sm90": "240", "sm100": "40"}
    assert found["attention_bwd_dq", "tasks.mma.registers"].keys() == {"sm90"}  # it has no kernel for the other
    assert found["gemm", "name"] == {} == found["gemm", "tile"]


def test_a_parameter_leads_to_its_key() -> None:
    assert {key.path for key in find("GROUP_M", KNOWN).keys} == {"schedule.group_m"}


def rules() -> set[str]:
    """The first argument of every Rule and Reason in the code, and the rules that axes are blamed for."""
    found = {rule for family in KNOWN.values() for rule in family.blame}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            is_one = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Rule", "Reason")
            if is_one and node.args and isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
                found.add(node.args[0].value)  # type: ignore[attr-defined]
    return found


def test_every_rule_that_rejects_a_variant_is_explained() -> None:
    assert {"smem", "order", "dq-parts", "wgmma-m"} <= rules()  # that they are found at all
    assert [rule for rule in sorted(rules()) if not find(rule, KNOWN).words] == []


def test_no_word_is_there_twice() -> None:
    names = [name.lower() for word in words() for name in word.names]
    assert len(words()) > 50 and all(word.text for word in words())
    assert sorted(n for n in set(names) if names.count(n) > 1) == ["tmem"]  # the memory, and the rule about it


@pytest.mark.parametrize(
    ("word", "near"),
    [("pinpong", "pingpong"), ("tasks.mma.ordr", "tasks.mma.order"), ("rendevous", "rendezvous"), ("gem", "gemm")],
)
def test_an_unknown_word_gives_the_nearest(run: Run, word: str, near: str) -> None:
    code, output, errors = run(word)
    assert (code, output) == (2, "")
    assert f"nothing is called {word!r} here" in errors and repr(near) in errors
    assert near in nearest(word, KNOWN)


def test_a_word_like_no_other(run: Run) -> None:
    code, output, errors = run("xyzzy")
    assert (code, output) == (2, "") and "tlxgen explain lists what is known" in errors


def test_without_a_word_it_says_what_can_be_asked(run: Run) -> None:
    code, output, _ = run()
    assert code == 0 and all(name in output for name in families.names())
    assert "tuned file" in output


def test_only_one_family(run: Run) -> None:
    code, output, _ = run("kind", "--kernel", "norm_fwd")
    assert code == 0 and output.count(", a key of ") == 1
    assert run("kind", "--kernel", "norm")[0] == 2


def test_as_data(run: Run) -> None:
    code, output, _ = run("tasks.mma.order", "--json")
    data = json.loads(output)
    assert code == 0 and (data["version"], data["verb"]) == (1, "explain")
    of_gemm = [key for key in data["keys"] if key["family"].endswith("gemm")]
    assert [key["family"] for key in of_gemm] == ["gemm", "grouped_gemm"]
    for key in of_gemm:
        assert key["defaults"] == {"sm90": "named", "sm100": "named"}
        assert [v["value"] for v in key["values"]] == ["named", "mbarrier"]
    assert json.loads(run("--json")[1])["words"]
