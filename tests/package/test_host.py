"""The modules of a package: those of generated/ without device code, their host functions on a launcher."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tlxgen.errors import TlxgenError
from tlxgen.package.host import of_host, of_module

ROOT = Path(__file__).resolve().parents[2]
HOST = (ROOT / "templates" / "lib" / "_host.py").read_text()

MODULE = '''"""A kernel."""

import torch
import triton
import triton.language as tl
from ._host import Launch

CONFIGS = [
    # fmt: off
    triton.Config({"BLOCK": 128}, num_warps=4),
    # fmt: on
]


@triton.jit
def helper(x):
    return tl.exp(x)


@triton.jit(do_not_specialize=["n"])
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr, helper(1.0))


def run(x):
    """Runs it."""
    return Launch(kernel, (triton.cdiv(x.numel(), 128), 1, 1), [], ["x"], (x.numel(),), {})  # one CTA a block
'''

PACKAGED = '''"""A kernel."""

import torch
from . import _launcher as launcher
from ._host import Launch

CONFIGS = [
    # fmt: off
    launcher.Config({"BLOCK": 128}, num_warps=4),
    # fmt: on
]
kernel = launcher.Kernel("kernel")


def run(x):
    """Runs it."""
    return Launch(kernel, (launcher.cdiv(x.numel(), 128), 1, 1), [], ["x"], (x.numel(),), {})  # one CTA a block
'''


def test_a_module_keeps_its_host_and_names_its_cubins() -> None:
    assert of_module(MODULE, ["kernel"]) == PACKAGED


def test_what_has_nothing_of_triton_stays_as_it_is() -> None:
    assert of_module(PACKAGED, ["kernel"]) == PACKAGED


def test_a_host_function_that_needs_more_of_triton_is_refused() -> None:
    text = MODULE.replace(
        "import triton.language as tl", "from triton.tools.ragged_tma import create_ragged_descriptor"
    )
    text = text.replace("[], [", "[create_ragged_descriptor(x)], [").replace("tl.constexpr", "int")
    with pytest.raises(TlxgenError, match="create_ragged_descriptor of Triton"):
        of_module(text, ["kernel"])


def test_the_host_of_every_folder_launches_by_the_launcher() -> None:
    tree = ast.parse(of_host(HOST))
    launch = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Launch")
    assert [ast.unparse(base) for base in launch.bases] == ["launcher.Launch"]
    methods = {n.name for n in launch.body if isinstance(n, ast.FunctionDef)}
    assert {"__init__", "arguments"} <= methods
    assert not methods & {"by_triton", "kind", "tell"}


def test_a_host_without_that_seam_is_refused() -> None:
    with pytest.raises(TlxgenError, match="_host.Launch has 2 of the methods by_triton, kind, tell"):
        of_host(HOST.replace("def tell(", "def told("))


def _imported(text: str) -> set[str]:
    nodes = [*ast.walk(ast.parse(text))]
    names = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    return {name.partition(".")[0] for name in names | {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}}


@pytest.mark.parametrize("folder", ["hopper_gemm_tuned", "hopper_layer_norm", "hopper_attention_bwd"])
def test_shipped_modules_import_no_triton(folder: str) -> None:
    """The folder's own modules, the first and the last that a spec has made, which differ most."""
    modules = sorted((ROOT / "generated" / folder).glob("*.py"))
    made = [path for path in modules if not path.name.startswith("_")]
    for path in {*modules} - {*made[2:-2]}:
        text = path.read_text()
        packaged = of_host(text) if path.name == "_host.py" else of_module(text, [])
        assert not _imported(packaged) & {"triton", "tlxgen"}, path
        names = {n.id for n in ast.walk(ast.parse(packaged)) if isinstance(n, ast.Name)}
        assert not names & {"triton", "tl", "tlx"}, path
