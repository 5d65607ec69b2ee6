"""A grouped GEMM, or a GEMM, of one variant, built for a test and run on the simulator."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from tlxgen.build import build
from tlxgen.check import numerics
from tlxgen.families import kernels_of
from tlxgen.families.gemm import problem as gemm
from tlxgen.families.grouped_gemm import problem as grouped
from tlxgen.sim import Report, load_module, verify_case

RUNS = (("random", 0), ("starved", 0), ("lazy", 0))
FOLDER = TemporaryDirectory(prefix="tlxgen-built-")  # of this process


@cache
def _built(text: str) -> tuple[Path, Any]:
    """The module of a spec and the spec of its variant, once for all tests."""
    path = Path(mkdtemp(dir=FOLDER.name)) / "some.yaml"
    path.write_text(text)
    module = build(path, out=path.parent / "generated").folder / "some.py"
    return module, kernels_of(path).structures[0].variants[0].spec


class Built:
    """One module of one variant. A fault is put into a copy in `folder`."""

    def __init__(self, folder: Path, text: str, arch: str = "sm90", kernel: str = "grouped_gemm") -> None:
        self.arch, self.kernel, self._folder = arch, kernel, folder
        self.path, self.spec = _built(f"kernel: {kernel}\nname: some\narch: {arch}\n{text}")

    def mutant(self, old: str, new: str) -> Built:
        text = self.path.read_text()
        assert old in text
        if self._folder not in self.path.parents:
            self.path = shutil.copytree(self.path.parent, self._folder / "mutant") / "some.py"
        self.path.write_text(text.replace(old, new))
        return self

    def module(self) -> ModuleType:
        return load_module(self.path, self.arch)

    def run(self, shape: Sequence[int], sizes: Sequence[int] = (), runs: Any = RUNS, sms: int = 4) -> Report:
        """On groups of these sizes, if said; `shape` has M, N and K, of which that which varies is not looked at."""

        def inputs(spec: Any, _: Any, device: Any) -> Any:
            extents = dict(zip("mnk", shape[-3:], strict=True))
            return grouped.filled(spec, len(sizes), extents, torch.tensor(sizes, dtype=torch.int64), device)

        problem = gemm if self.kernel == "gemm" else grouped
        own = SimpleNamespace(**{**vars(problem), **({"inputs": inputs} if sizes else {})})
        module = self.module()
        full = (len(sizes), *shape) if sizes else tuple(shape)
        case = (own, module, self.spec, full, module.CONFIGS[0], numerics.compare)
        return verify_case(*case, runs, sms=sms, arch=self.arch)
