"""The digest of the simulator: what counts and what does not; that nothing which is loaded escapes it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tlxgen import digest, families, stamp
from tlxgen.proof import fingerprint, simulator_of
from tlxgen.proof.fingerprint import APART, ROOTS, Simulator, modules

GEMM = "tlxgen.families.gemm.problem"
CODE = '''"""Of a module."""
import math  # the library

class C:
    """Of a class."""
    x: int = 1

def f(a, *, b="x"):
    """Of a function."""
    return f"{a!r:>{b}} {math.pi}"  # sum
'''
SAME = {
    "comments": lambda text: text.replace("  # sum", "  # another").replace("  # the library", ""),
    "docstrings": lambda text: text.replace('    """Of a function."""\n', "").replace("Of a module", "Another"),
    "lines": lambda text: text.replace("def f(a, *, b=", "\n\ndef f(\n    a,\n    *,\n    b=").replace('"x"', "'x'"),
}
OTHER = {
    "a number": lambda text: text.replace("x: int = 1", "x: int = 2"),
    "a type": lambda text: text.replace("x: int = 1", "x: int = 1.0"),
    "a bool": lambda text: text.replace("x: int = 1", "x: int = True"),
    "an annotation": lambda text: text.replace("x: int", "x: object"),
    "a default": lambda text: text.replace('"x"', "'y'"),
    "a text that is no docstring": lambda text: text + '\nX = "Of a module."\n',
    "a name": lambda text: text.replace("math", "cmath"),
    "an order": lambda text: text.replace("a, *, b", "b, *, a"),
}


@pytest.mark.parametrize("change", SAME)
def test_how_code_is_written_does_not_count(change: str) -> None:
    text = SAME[change](CODE)
    assert text != CODE and digest.of_python(text) == digest.of_python(CODE)


@pytest.mark.parametrize("change", OTHER)
def test_what_code_does_counts(change: str) -> None:
    text = OTHER[change](CODE)
    assert text != CODE and digest.of_python(text) != digest.of_python(CODE)


def test_fields_of_newer_pythons_that_are_empty_do_not_count() -> None:
    tree = ast.parse(CODE)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node._fields = (*node._fields, "newer")  # type: ignore[misc]
            node.newer = []  # type: ignore[union-attr]
    assert digest.of_code(tree) == digest.of_python(CODE)


LOADED = """
import json, sys
import tlxgen.verify.simulate, tlxgen.verify.parallel
from tlxgen import families
for name in families.names():
    families.load(name).problem()
print(json.dumps({n: str(m.__file__) for n, m in sys.modules.items() if n.partition(".")[0] == "tlxgen"}))
"""


def test_nothing_that_the_simulator_loads_escapes_unless_it_is_said_why() -> None:
    """A package's own file counts only where it defines what somebody imports; else it names what others define."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    code = modules((*ROOTS, *(root for name in families.names() for root in families.load(name).judged_by))).code
    left = {name for name in loaded if name not in code and not any(f"{name}.".startswith(f"{a}.") for a in APART)}
    left -= {name for name, path in loaded.items() if path.endswith("__init__.py") and _only_names(Path(path))}
    assert left <= {name.rstrip(".") for name in LEFT}, sorted(left)
    dq = "tlxgen.families.attention_bwd_dq.spec"  # a model of its own for another family's reference
    assert {"tlxgen.sim.machine", "tlxgen.sim.ops_tcgen05", "tlxgen.check.numerics", GEMM, dq} <= set(code)


INFRASTRUCTURE = ("base", "functions", "interface", "nearest", "refusal", "structure", "tuned")
ATTENTION = ("attention_decode", "attention_fwd", "attention_bwd", "attention_bwd_dq", "gdpa", "hstu", "jagged_bwd")
FAMILIES = ("gemm", "grouped_gemm", *ATTENTION, "norm_fwd", "norm_bwd", "mx_quantize")
LEFT = {
    *(f"tlxgen.families.{name}" for name in ("", *INFRASTRUCTURE, *FAMILIES)),  # find a family and its variants
    *(f"tlxgen.families.{name}.axes" for name in ("attention_fwd", "attention_bwd", "attention_bwd_dq")),  # the same
    *(
        f"tlxgen.families.gemm.{name}" for name in ("cost", "facts", "gradients", "model", "ops")
    ),  # estimates, and texts of the source
    "tlxgen.families.grouped_gemm.cost",
    "tlxgen.check",  # runs kernels on a GPU
    "tlxgen.verify.skeleton",  # writes cases of hand-written kernels
    "tlxgen.verify.varied",  # runs hand-written kernels on several numbers of SMs
    "tlxgen.verify.targets",  # reads the command line
    "tlxgen.digest",  # of what digests are made of
}


def _only_names(path: Path) -> bool:
    """Whether a package's own file does nothing but import."""
    return not any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in ast.parse(path.read_text()).body)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Path]]:
    """Writes modules of a package `pack`, which is loaded; the digests that are kept are forgotten."""
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path / "cache"))

    def forget() -> None:
        for cached in (fingerprint._tree, fingerprint._digests, fingerprint._imports, fingerprint._memory):
            cached.cache_clear()
        fingerprint._simulator.cache_clear()

    def write(name: str, text: str) -> Path:
        forget()
        path = folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    __import__("pack")
    yield write
    sys.modules.pop("pack")
    forget()


def reached(*roots: str) -> set[str]:
    return {name for name in modules(roots).code if name.startswith("pack")}


def test_imports_are_followed_wherever_they_stand(package: Callable[[str, str], Path]) -> None:
    package(
        "a", "from . import b\ndef f():\n    from pack.sub import thing\nif TYPE_CHECKING:\n    import pack.types\n"
    )
    package("b", "import pack.c as other\n")
    for name in ("c", "types", "unused"):
        package(name, "X = 1\n")
    package("sub/__init__", "from .d import thing as thing\nfrom .e import other\n")
    package("sub/d", "thing = 1\n")
    package("sub/e", "other = 1\n")
    assert reached("pack.a") == {"pack.a", "pack.b", "pack.c", "pack.sub.d"}
    package("sub/__init__", "thing = 1\n")
    assert "pack.sub" in reached("pack.a")


def test_a_change_of_what_is_reached_is_another_simulator(package: Callable[[str, str], Path]) -> None:
    package("problem", "import math\nfrom .numbers import EPS\n")
    package("unused", "X = 1\n")
    package("numbers", "EPS = 1\n")
    first = simulator_of("pack.problem")
    assert first and simulator_of("pack.problem") == first
    package("numbers", "# a remark\nEPS = 1\n")
    package("unused", "X = 2\n")
    assert simulator_of("pack.problem") == first
    package("numbers", "EPS = 2\n")
    second = simulator_of("pack.problem")
    assert second and second.digest != first.digest
    assert not second.made(first.digest, first.libraries) and second.made(second.digest, second.libraries)


def test_what_chooses_cases_has_a_digest_of_its_own(package: Callable[[str, str], Path]) -> None:
    shapes = "def simulated_shapes(spec):\n    yield {}\n"
    package("problem", "import math\nfrom .other import EPS\n" + shapes.format("1, 1"))
    package("other", "EPS = 1\n")
    first = simulator_of("pack.problem")
    package("problem", "import math\nfrom .other import EPS\n" + shapes.format("1, 2"))
    second = simulator_of("pack.problem")
    assert first and second and second.digest == first.digest and second.cases_by != first.cases_by
    package("other", "EPS = 1\n" + shapes.format("3, 4"))  # those of modules that it builds on choose, too
    third = simulator_of("pack.problem")
    assert third and third.digest == first.digest and third.cases_by not in (first.cases_by, second.cases_by)
    package("problem", "import math\nfrom .other import EPS\nX = 1\n" + shapes.format("1, 2"))
    fourth = simulator_of("pack.problem")
    assert fourth and fourth.digest != first.digest and fourth.cases_by == third.cases_by


def test_what_cannot_be_read_has_no_digest(package: Callable[[str, str], Path]) -> None:
    assert simulator_of("pack.problem") is None and simulator_of() is None
    package("problem", "def f(:\n")
    assert simulator_of("pack.problem") is None
    package("problem", "import library_that_nobody_has\n")
    assert simulator_of("pack.problem") is None


def test_a_library_of_a_plug_in_counts_by_its_version(package: Callable[[str, str], Path]) -> None:
    package("problem", "import numpy\n")
    found = simulator_of("pack.problem")
    assert found and set(found.libraries) >= {"numpy", "torch"}


def test_another_version_of_a_library_is_another_simulator_and_one_that_is_not_here_is_not_compared() -> None:
    here = Simulator("0", {"torch": "2.13.0"})
    assert here.made("0", {"torch": "2.13.0", "fbtriton": "3.7.4"})
    assert not here.made("0", {"torch": "2.12.0", "fbtriton": "3.7.4"}) and not here.made("1", {"torch": "2.13.0"})


def test_digests_are_remembered_while_all_texts_stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path))
    for cached in (fingerprint._simulator, fingerprint._memory):
        cached.cache_clear()
    first = simulator_of(GEMM)
    fingerprint._simulator.cache_clear()
    monkeypatch.setattr(fingerprint, "_read", lambda *judges: pytest.fail("read again"))
    assert first and simulator_of(GEMM) == first
    (kept,) = (stamp.cache_folder() / "simulators").iterdir()
    kept.write_text("[")
    monkeypatch.undo()
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path))
    fingerprint._simulator.cache_clear()
    assert simulator_of(GEMM) == first
    for cached in (fingerprint._simulator, fingerprint._memory):
        cached.cache_clear()
