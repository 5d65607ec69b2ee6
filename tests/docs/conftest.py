"""The package of the README's spec, which is the first tutorial's, too: built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.walkthrough import README, blocks, run


@pytest.fixture(scope="session")
def my_gemm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with specs/my_gemm.yaml and generated/my_gemm."""
    folder = tmp_path_factory.mktemp("my_gemm")
    (folder / "specs").mkdir()
    (folder / "specs" / "my_gemm.yaml").write_text(blocks(README.read_text(), "yaml")[0])
    status, output = run("tlxgen build specs/my_gemm.yaml", folder)
    assert status == 0, output
    return folder
