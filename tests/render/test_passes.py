"""The libcst passes: before/after pairs in cases/, and that what they fold and remove changes no result."""

from __future__ import annotations

import ast
import functools
import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlxgen.errors import TemplateFault
from tlxgen.render import passes

CASES = Path(__file__).parent / "cases"
SEPARATOR = "# output\n"
BAKE = "# bake: "
Pass = Callable[[cst.Module], cst.Module]
PASSES: dict[str, Callable[[], Pass]] = {
    "fold": passes.FoldConstants,
    "dead": passes.RemoveDeadCode,
    "unused": passes.RemoveUnused,
    "order": passes.OrderDefinitions,
    "waits": passes.KeepProductsInFlight,
    "operands": passes.PackOperands,
}


def _pairs() -> list[Any]:
    files = sorted(path for path in CASES.glob("*/*.py") if path.parent.name != "untouched")
    return [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in files]


def _read(path: Path) -> tuple[Pass, str, str]:
    """The pass that a case is for, the source and what is to become of it."""
    before, after = path.read_text().split(SEPARATOR)
    if path.parent.name in PASSES:
        return PASSES[path.parent.name](), before, after
    flags, before = before.split("\n", 1)
    bake = json.loads(flags.removeprefix(BAKE))
    return passes.BakeConstants(bake) if path.parent.name == "bake" else functools.partial(_run, bake), before, after


def _run(bake: dict[str, Any], module: cst.Module) -> cst.Module:
    """All passes: a module that they leave as it is comes back as the same object, as from a pass."""
    code = passes.run(module.code, bake=bake)
    return module if code == module.code else cst.parse_module(code)


@pytest.mark.parametrize("path", _pairs())
def test_pair(path: Path) -> None:
    simplify, before, after = _read(path)
    once = simplify(cst.parse_module(before))
    assert once.code == after
    ast.parse(once.code)
    assert simplify(once) is once
    again = simplify(cst.parse_module(once.code))
    assert again.code == after


@pytest.mark.parametrize("path", sorted((CASES / "untouched").glob("*.py")), ids=lambda path: path.stem)
@pytest.mark.parametrize("name", ["bake", *PASSES])
def test_untouched(name: str, path: Path) -> None:
    simplify = passes.BakeConstants({"SPLIT_K": 1, "HAS_BIAS": False}) if name == "bake" else PASSES[name]()
    module = cst.parse_module(path.read_text())
    assert simplify(module) is module


@pytest.mark.parametrize("path", _pairs())
def test_run_is_idempotent(path: Path) -> None:
    _, before, _ = _read(path)
    bake = {"SPLIT_K": 1, "STAGES": 4, "EPILOGUE_TASK": False}
    once = passes.run(before, bake=bake)
    assert passes.run(once, bake=bake) == once


def _expressions() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["a", "b", "c", "xs[0]", "0", "1", "2", "3", "7", "64", "True", "False"])
    binary = st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^", "<", "==", ">=", "and", "or"])

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, binary, inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
            st.tuples(leaves, binary, leaves).map(" ".join),
            st.tuples(inner, st.sampled_from(["0", "1"])).map(lambda t: f"({t[0]}) ** {t[1]}"),
            inner.map(lambda x: f"-({x})"),
            inner.map(lambda x: f"not ({x})"),
            st.tuples(inner, inner, inner).map(lambda t: f"({t[0]}) if ({t[1]}) else ({t[2]})"),
            st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
        )

    return st.recursive(leaves, extend, max_leaves=12)


@given(_expressions(), st.tuples(*[st.integers(0, 100)] * 4))
def test_folding_keeps_values(expression: str, values: tuple[int, int, int, int]) -> None:
    def run(source: str, name: str) -> object:
        scope: dict[str, Any] = {}
        exec(source, scope)
        return scope[name](*values[:3], [values[3]])

    source = (
        f"def f(a, b, c, xs):\n    return {expression}\ndef g(a, b, c, xs):\n    return 1 if ({expression}) else 2\n"
    )
    folded = passes.FoldConstants()(cst.parse_module(source))
    assert passes.FoldConstants()(cst.parse_module(folded.code)).code == folded.code
    for name in "fg":
        try:
            expected = run(source, name)
        except (ArithmeticError, ValueError):
            continue
        assert run(folded.code, name) == expected


TOY = """
import math
import os


def launch(out, rows, config):
    kernel(out, rows, 3, BLOCK=config.kwargs["BLOCK"], SPLIT=config.kwargs["SPLIT"], EPILOGUE=True, DEBUG=False)
    return out


@triton.jit
def kernel(out, rows, seed, BLOCK: tl.constexpr, SPLIT: tl.constexpr, EPILOGUE: tl.constexpr, DEBUG: tl.constexpr):
    count = 0
    unread = 0
    if DEBUG:
        # Says what it does.
        _debug(out, SPLIT)
    for tile in range(0, rows // SPLIT, 1):
        row, split, extra = _work(tile, 2 * BLOCK, SPLIT)
        for k in range(row, row + BLOCK):
            if k % 2 == 0:
                continue
                unread = 1
            slot, phase = _slot(count, BLOCK)
            out.append((k, slot * (BLOCK // 2 + 0), (phase ^ 1) * SPLIT, split, math.isqrt(k + seed)))
            count += 1
            unread += SPLIT
        if EPILOGUE and not DEBUG:
            out.append(-count)
        elif DEBUG or SPLIT > 1:
            out.append(0)


@triton.jit
def _slot(count, BLOCK: tl.constexpr):
    return count % BLOCK, (count // BLOCK) & 1


@triton.jit
def _work(tile, BLOCK: tl.constexpr, SPLIT: tl.constexpr):
    return tile // SPLIT * BLOCK, tile % SPLIT, SPLIT * 1


@triton.jit
def _debug(out, SPLIT: tl.constexpr):
    out.append(os.name)
"""


@pytest.mark.parametrize("split", [1, 2])
def test_run_keeps_what_a_module_computes(split: int) -> None:
    bake = {"BLOCK": 4, "SPLIT": split, "DEBUG": False, "EPILOGUE": True}

    def run(source: str) -> list[object]:
        constexpr = types.SimpleNamespace(constexpr=int)
        scope: dict[str, Any] = {"triton": types.SimpleNamespace(jit=lambda f: f), "tl": constexpr}
        exec(source, scope)
        found: list[object] = scope["launch"]([], 4, types.SimpleNamespace(kwargs=bake))
        return found

    source = passes.run(TOY, bake=bake)
    assert run(source) == run(TOY)
    for gone in ("DEBUG", "_debug", "EPILOGUE", "SPLIT", "import os", "unread", "extra", "kwargs"):
        assert gone not in source
    assert "_work(tile, 8" in source  # called with twice the baked value, so its own parameter stays


def test_text_that_is_not_python_is_a_fault_of_the_template() -> None:
    with pytest.raises(TemplateFault) as fault:
        passes.run("x = 1\ndef f(:\n", bake={})
    location = fault.value.location
    assert location is not None
    assert (location.path, location.line, location.text) == ("<rendered>", 2, "def f(:")
    assert "^" in str(fault.value)


def test_a_statement_that_is_known_is_baked_with_other_values() -> None:
    """Modules share statements. True and 1 are equal, and are not the same."""
    source = (
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(o, X: tl.constexpr):\n    tl.store(o, X)\n"
    )
    seen = [passes.run(source, bake={"X": value}).splitlines()[-1].strip() for value in (1, True, 2, 1)]
    assert seen == ["tl.store(o, 1)", "tl.store(o, True)", "tl.store(o, 2)", "tl.store(o, 1)"]
