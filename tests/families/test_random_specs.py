"""Specs that nobody wrote: what fits is built, and its kernels have the steps of their plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import random_specs
from tlxgen.build import contents


@pytest.mark.parametrize("arch", ["sm90", "sm100"])
def test_what_fits_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    monkeypatch.setattr("sys.argv", ["random_specs", str(tmp_path), "--count", "8", "--seed", "1", "--arch", arch])
    random_specs.main()
    drawn = sorted(tmp_path.glob("*.yaml"))
    assert len(drawn) == 8
    for spec in drawn:
        assert any(name.endswith(f"{spec.stem}.py") for name in contents(spec)), spec
