"""Every wrong Triton is named, with the command that mends it, and only a known one is ever cached for."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tlxgen.compile import check_triton, fingerprint, toolchain, tools
from tlxgen.errors import ToolchainError

LIBRARY = {
    "fbtriton": "class ir:\n    class builder: pass\nclass tlx: pass\n",
    "stock": "class ir:\n    class builder: pass\n",
    "utlx": "class ir:\n    class builder:\n        utlx_fence = None\n",
    "crash": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "raises": "raise ImportError('libcuda.so.1 is missing')\n",
}


class Site:
    """A site-packages with a triton made to order, the only one that can be found."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def triton(self, library: str, version: str | None = "3.7.1") -> None:
        core = self.root / "triton" / "_C"
        core.mkdir(parents=True)
        (self.root / "triton" / "__init__.py").write_text(f"__version__ = '{version}'\n" if version else "")
        (core / "__init__.py").write_text("")
        (core / "libtriton.py").write_text(LIBRARY[library])

    def fbtriton(self) -> None:
        """The dist-info of an fbtriton that put there what is there now."""
        info = self.root / "fbtriton-3.7.4.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fbtriton\nVersion: 3.7.4\n")
        files = sorted(self.root.rglob("triton/**/*.py"))
        rows = [f"{p.relative_to(self.root)},{digest(p)},{p.stat().st_size}" for p in files]
        rows += ["triton/__pycache__/x.pyc,,", "fbtriton-3.7.4.dist-info/RECORD,,"]
        (info / "RECORD").write_text("\n".join(rows) + "\n")


def digest(path: Path) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *(p for p in sys.path if "site-packages" not in p)])
    for name in [n for n in sys.modules if n.partition(".")[0] == "triton"]:
        monkeypatch.delitem(sys.modules, name)
    forget()
    yield Site(tmp_path)
    forget()


def forget() -> None:
    toolchain._probe.cache_clear()
    toolchain._fingerprint.cache_clear()
    toolchain._changed.cache_clear()
    importlib.invalidate_caches()


def complaint() -> str:
    with pytest.raises(ToolchainError) as caught:
        check_triton()
    assert caught.value.remedy == "run: pip install --force-reinstall --no-deps fbtriton==3.7.4"
    assert "\n" not in caught.value.message
    return caught.value.message


def test_no_triton(site: Site) -> None:
    assert "triton is not installed" in complaint()
    assert fingerprint() is None
    with pytest.raises(ToolchainError):
        tools()


def test_stock_triton(site: Site) -> None:
    site.triton("stock")
    assert complaint().endswith("is stock triton, without TLX") and "3.7.1" in complaint()


def test_stock_triton_over_fbtriton(site: Site) -> None:
    site.triton("fbtriton", "3.7.4+fb")
    site.fbtriton()
    (site.root / "triton" / "__init__.py").write_text("__version__ = '3.7.1'\n")
    (site.root / "triton" / "_C" / "libtriton.py").write_text(LIBRARY["stock"])
    assert complaint().startswith("stock triton 3.7.1 overwrote fbtriton")
    assert fingerprint() is None


def test_half_uninstalled_without_a_version(site: Site) -> None:
    site.triton("fbtriton", None)
    assert "half uninstalled: it has no __version__" in complaint()


def test_half_uninstalled_without_an_init(site: Site) -> None:
    (site.root / "triton" / "language").mkdir(parents=True)
    assert "half uninstalled: it has no __init__.py" in complaint()


def test_utlx(site: Site) -> None:
    site.triton("utlx", "3.8.0")
    assert "has uTLX" in complaint()


def test_a_triton_that_does_not_load(site: Site) -> None:
    site.triton("raises")
    assert complaint().endswith("does not load: ImportError: libcuda.so.1 is missing")


def test_a_triton_that_takes_the_interpreter_with_it(site: Site) -> None:
    site.triton("crash")
    assert "does not load: import triton ended with status -11" in complaint()


def test_an_intact_wheel_is_believed_without_loading_it(site: Site) -> None:
    site.triton("crash", "3.7.4+fb")
    site.fbtriton()
    assert check_triton() == "3.7.4+fb"
    assert "triton" not in sys.modules


def test_an_fbtriton_from_source_works_but_is_not_cached_for(site: Site) -> None:
    site.triton("fbtriton", "3.7.4+git")
    assert check_triton() == "3.7.4+git"
    assert fingerprint() is None


def test_an_fbtriton_from_source_is_told_by_sizes_and_times(site: Site) -> None:
    site.triton("fbtriton", "3.7.4+git")
    before = toolchain.identity()
    forget()
    assert toolchain.identity() == before
    library = site.root / "triton" / "_C" / "libtriton.py"
    stat = library.stat()
    os.utime(library, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    forget()
    assert toolchain.identity() != before
    shutil.rmtree(site.root / "triton")
    forget()
    with pytest.raises(ToolchainError):
        toolchain.identity()


def test_a_whole_fbtriton_is_told_by_its_files(site: Site) -> None:
    site.triton("fbtriton", "3.7.4+fb")
    site.fbtriton()
    assert toolchain.identity() == fingerprint()


def test_the_fingerprint_is_of_the_files(site: Site) -> None:
    site.triton("fbtriton", "3.7.4+fb")
    site.fbtriton()
    before = fingerprint()
    assert before is not None
    forget()
    assert fingerprint() == before
    library = site.root / "triton" / "_C" / "libtriton.py"
    text = library.read_text()
    library.write_text(text.replace("tlx", "tly"))  # same size
    forget()
    assert fingerprint() is None
    library.unlink()
    forget()
    assert fingerprint() is None


@pytest.mark.compiles
def test_the_real_one_has_all_its_tools() -> None:
    found = tools()
    assert found.ptxas and found.ptxas_blackwell and found.nvdisasm and found.cuobjdump
    assert check_triton().startswith("3.")
