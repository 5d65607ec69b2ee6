"""Toolchains beside the default: known by the RECORDs that pip left, and named with the command that makes them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tlxgen.compile import TOOLCHAINS, environments, named
from tlxgen.compile.read import cluster
from tlxgen.errors import ToolchainError

UTLX = named("utlx")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path))
    environments._fingerprint.cache_clear()
    yield
    environments._fingerprint.cache_clear()


def fake(folder: Path) -> None:
    """What pip leaves of triton 3.8.0 with the plug-in, with one file each."""
    for name, version, file in (("triton", "3.8.0", "triton"), ("triton-utlx", "3.8.0.post16", "utlx_plugin")):
        path = folder / file / "__init__.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"__version__ = '{version}'\n")
        digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text(f"{file}/__init__.py,sha256={digest},{path.stat().st_size}\n")


def test_an_absent_toolchain_names_its_command() -> None:
    with pytest.raises(ToolchainError) as caught:
        UTLX.check()
    assert "is not installed" in caught.value.message
    assert caught.value.remedy == "run: tlxgen doctor --install utlx"


def test_an_unknown_name_lists_the_others() -> None:
    with pytest.raises(ToolchainError) as caught:
        named("nonsense")
    assert all(toolchain.name in caught.value.remedy for toolchain in TOOLCHAINS)


def test_an_environment_is_believed_until_a_file_changes() -> None:
    fake(UTLX.folder)
    assert UTLX.check() == "3.8.0" and UTLX.fingerprint()
    (UTLX.folder / "utlx_plugin" / "__init__.py").write_text("other = 1\n")
    environments._fingerprint.cache_clear()
    assert UTLX.state == "damaged"
    with pytest.raises(ToolchainError):
        UTLX.check()


def test_the_default_has_no_environment_to_install() -> None:
    with pytest.raises(ToolchainError):
        environments.install(named("fbtriton"))
    assert named("fbtriton").environment() == {}


def test_doctor_says_which_are_there() -> None:
    from tlxgen.doctor import checks

    fake(UTLX.folder)
    found = {check.name: check for check in checks._toolchains()}
    assert found["toolchain utlx"].state == "ok"
    assert found["toolchain fbtriton-3.8"].state == "absent"
    assert found["toolchain fbtriton-3.8"].remedy == "run: tlxgen doctor --install fbtriton-3.8"


def test_the_cluster_of_stock_triton_is_read_from_the_ptx() -> None:
    assert cluster(".reqntid 384\n.reqnctapercluster 2, 1, 1\n{", object()) == (2, 1, 1)
    assert cluster(".reqntid 384\n{", object()) == (1, 1, 1)
