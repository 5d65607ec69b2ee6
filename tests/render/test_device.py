"""What changes a module's device digest, and what does not: whatever leaves PTX as it is must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxgen import digest as digests
from tlxgen.render.device import device_digest
from tlxgen.render.statements import code_digest, statements

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("generated/hopper_matmul", "generated/hopper_hstu", "generated/blackwell_attention_bwd", "tlxgen/render")
FILES = [path for place in PLACES for path in sorted((ROOT / place).glob("[a-z]*.py"))[:5]]

SOURCE = '''
"""A module."""
import torch

SCALE = tl.constexpr(4)


@triton.jit
def helper(x):
    """Twice x."""
    return x * (2 * 64)


@triton.jit
def gemm_kernel(a, BLOCK_M: tl.constexpr):
    """A sketch."""
    tl.static_assert(BLOCK_M >= 64, "rows")
    store(a, helper(a) * SCALE)  # a comment


@triton.jit
def gemm_reduce_kernel(a):
    store(a, helper(a))


def gemm(a):
    gemm_kernel[(1,)](a, BLOCK_M=64)
'''
NAMES = ("gemm_kernel", "gemm_reduce_kernel")
HELPER = SOURCE[SOURCE.index("@triton.jit\ndef helper") : SOURCE.index("@triton.jit\ndef gemm_kernel")]


def digest(old: str = "", new: str = "") -> str:
    assert old in SOURCE
    return device_digest(SOURCE.replace(old, new) if old else SOURCE, NAMES, "launches")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # a comment", ""),
        ('    """A sketch."""\n', ""),
        ('    tl.static_assert(BLOCK_M >= 64, "rows")\n', ""),
        ("2 * 64", "128"),
        ("gemm_kernel[(1,)]", "torch.cuda.synchronize()\n    gemm_kernel[(2,)]"),
    ],
)
def test_what_changes_no_ptx_changes_nothing(old: str, new: str) -> None:
    assert digest(old, new) == digest()


def test_names_of_kernels_and_the_order_of_definitions_change_nothing() -> None:
    renamed = SOURCE.replace("gemm_", "gemm_pingpong_")
    assert device_digest(renamed, [n.replace("gemm_", "gemm_pingpong_") for n in NAMES], "launches") == digest()
    moved = SOURCE.replace(HELPER, "").replace("def gemm(a)", HELPER + "def gemm(a)")
    assert device_digest(moved, NAMES, "launches") == digest()
    assert device_digest(SOURCE, NAMES[::-1], "launches") != digest()  # another kernel is launched first
    assert device_digest(SOURCE, NAMES, "other launches") != digest()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2 * 64", "2 * 32"),
        ("2 * 64", "2 + 64"),
        ("tl.constexpr(4)", "tl.constexpr(8)"),
        ("store(a, helper(a))\n", "store(a, a)\n"),
        ("gemm_reduce_kernel(a)", "gemm_reduce_kernel(a, b)"),
        ("BLOCK_M: tl.constexpr", "BLOCK_M"),
        ("def helper", "def helped"),
    ],
)
def test_what_may_change_ptx_changes_it(old: str, new: str) -> None:
    assert digest(old, new) != digest()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_digest_of_a_modules_statements_is_that_of_the_module(path: Path) -> None:
    text = path.read_text()
    assert code_digest(text) == digests.of_python(text)
    assert len(statements(text)) > 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        '"""Only a docstring."""\n',
        '"""One."""\n"""Two."""\n',
        "x = 1; y = 2\n",
        '"""One."""; x = 1\n',
        'b"bytes"\nx = 1\n',
        "@d\n# of f\n@e\ndef f(\n    a,\n):\n    return a\n",
        "if a:\n    x = 1\nelif b:\n    x = 2\nelse:\n    x = 3\nfor i in a:\n    x\nelse:\n    y\n",
        "try:\n    x\nexcept A:\n    y\nfinally:\n    z\n",
        'class A:\n    """Doc."""\n\n    def f(self):\n        """Doc\n  more"""\n',
        "x = 1 + \\\n    2\n",
        "if a:\n\tx = 1\n",
    ],
)
def test_the_digest_of_code_of_every_form(text: str) -> None:
    assert code_digest(text) == digests.of_python(text)


def test_what_is_no_python_has_no_digest() -> None:
    with pytest.raises(SyntaxError):
        code_digest("x = = 1\n")
    with pytest.raises(SyntaxError):
        code_digest("if a:\n    x\n  else:\n    y\n")


def test_a_statement_is_read_once_for_all_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    import ast

    device_digest(SOURCE, NAMES, "launches")
    code_digest(SOURCE)
    asked: list[str] = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text: asked.append(text) or parse(text))
    changed = SOURCE.replace("store(a, helper(a))\n", "store(a, a)\n")
    assert device_digest(changed, NAMES, "launches") != digest()
    assert code_digest(changed) != code_digest(SOURCE)
    assert {text.partition("(")[0] for text in asked} == {"@triton.jit\ndef gemm_reduce_kernel"}
