"""A wheel has all that tlxgen reads: templates, shipped specs, schema, words; it works without the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's files, as an installation without dependencies has them."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def tlxgen(site: Path, folder: Path, *words: str) -> str:
    path = os.pathsep.join([str(site), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    command = [sys.executable, "-m", "tlxgen", *words]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_has_what_is_read(site: Path) -> None:
    package = site / "tlxgen"
    for name in ("py.typed", "explain/words.md", "docs/spec.schema.json", "templates/lib/_host.py"):
        assert (package / name).is_file(), name
    specs = {p.name for p in (ROOT / "specs").glob("*.yaml")}
    assert {p.name for p in (package / "specs").iterdir()} == specs


def test_it_works_in_an_empty_folder(site: Path, tmp_path: Path) -> None:
    code = "import tlxgen; print(tlxgen.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert found.stdout.startswith(str(site))
    tlxgen(site, tmp_path, "init", "--kernel", "norm_fwd")
    tlxgen(site, tmp_path, "init", "--like", "hopper_gemm_pingpong")
    tlxgen(site, tmp_path, "build", "specs/my_norm_fwd.yaml")
    assert (tmp_path / "generated" / "my_norm_fwd" / "lock.json").is_file()
    assert "tuned file" in tlxgen(site, tmp_path, "explain")
