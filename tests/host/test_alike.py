"""The host side of everything that is generated: one shared file, and no kernel of anybody else."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from tlxgen.loading import HOST
from tlxgen.stamp import templates

GENERATED = Path(__file__).parents[2] / "generated"
FOLDERS = sorted(p for p in GENERATED.iterdir() if p.is_dir())
SHARED = templates() / "lib" / HOST
LIBRARY = {
    *("mm", "matmul", "bmm", "addmm", "baddbmm", "einsum", "linear", "_scaled_mm", "scaled_dot_product_attention"),
    *("layer_norm", "rms_norm", "native_layer_norm", "softmax", "logsumexp"),
}
# Ways to copy, and the functions that may use them, for gradients: one of a module, and one of what modules share.
COPIES = {
    "contiguous": ("addressable",),
    "clone": (),
    "copy_": ("addressable", "addressable_by_tma"),
    "pad": (),
    "to": ("column_sums",),
}


@lru_cache(maxsize=64)
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def names(tree: ast.AST) -> set[str]:
    """Every name and attribute in a tree, those that kernels take from tl and tlx left out."""
    found = {n.id for n in nodes(tree) if isinstance(n, ast.Name)}
    return found | {n.attr for n in nodes(tree) if isinstance(n, ast.Attribute)}


def host_side(tree: ast.Module) -> ast.Module:
    """The module without its kernels and what they call."""
    return ast.Module([n for n in tree.body if not (isinstance(n, ast.FunctionDef) and n.decorator_list)], [])


def imported(tree: ast.AST) -> set[str]:
    """Roots of absolute imports."""
    plain = {a.name for n in nodes(tree) if isinstance(n, ast.Import) for a in n.names}
    plain |= {str(n.module) for n in nodes(tree) if isinstance(n, ast.ImportFrom) and not n.level}
    return {name.split(".")[0] for name in plain}


def calls_of(tree: ast.AST, method: str) -> list[ast.Call]:
    found = (n for n in nodes(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    return [n for n in found if isinstance(n.func, ast.Attribute) and n.func.attr == method]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_every_folder_has_the_same_shared_host(folder: Path) -> None:
    assert (folder / HOST).read_bytes() == SHARED.read_bytes()


def test_the_shared_host_imports_torch_triton_and_the_standard_library() -> None:
    assert imported(ast.parse(SHARED.read_text())) - set(sys.stdlib_module_names) == {"torch", "triton"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_nothing_calls_a_library_or_copies_an_operand(folder: Path) -> None:
    for path in sorted(folder.glob("*.py")):
        if path.name == HOST and folder != FOLDERS[0]:
            continue  # it is the same everywhere
        tree = host_side(ast.parse(path.read_text()))
        assert not names(tree) & LIBRARY, path.name
        assert imported(tree) <= {"torch", "triton", *sys.stdlib_module_names}, path.name
        functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
        for method, allowed in COPIES.items():
            inside = [c for f in functions if f.name in allowed for c in calls_of(f, method)]
            elsewhere = [c for c in calls_of(tree, method) if c not in inside]
            assert all(fills_a_result(tree, call) for call in elsewhere), f"{path.name}: {method}"
        if "addressable" in {f.name for f in functions}:
            assert len([*calls_of(tree, "contiguous"), *calls_of(tree, "copy_")]) == 1, path.name


def fills_a_result(tree: ast.Module, call: ast.Call) -> bool:
    """Whether the call is made where there is nothing to launch: in what a Call is given as `instead`."""
    calls = (n for n in nodes(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "Call")
    fills = (k.value for n in calls for k in n.keywords if k.arg == "instead")
    return any(call in ast.walk(fill) for fill in fills)


@pytest.mark.parametrize("text", ["out = torch.mm(a, b)", "q = q.contiguous()", "return out.copy_(a)", "import numpy"])
def test_the_looking_finds_what_it_looks_for(text: str) -> None:
    tree = ast.parse(f"def run(a, b):\n    {text}\n")
    copies = [c for method in COPIES for c in calls_of(tree, method) if not fills_a_result(tree, c)]
    assert names(tree) & LIBRARY or copies or imported(tree) - {"torch", "triton", *sys.stdlib_module_names}


def test_no_module_asks_for_a_name_that_it_does_not_have_or_need() -> None:
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F"]
    handed_on = ["--per-file-ignores", "_*.py:F401"]  # of what modules that are not private have, under one name
    done = subprocess.run([*ruff, *handed_on, str(GENERATED)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
