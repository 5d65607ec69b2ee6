"""The folder that a package is: a project whose wheel holds host functions, cubins and a manifest."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlxgen import __version__
from tlxgen.errors import TlxgenError
from tlxgen.package.host import of_host, of_module
from tlxgen.package.specialise import Cubin, Row

FORMAT = 1
MANIFEST = "manifest.json"
LAUNCHER = "_launcher.py"
CAPABILITY = {"sm90": (9, 0), "sm100": (10, 0)}  # the code is for one of them, not for later ones
FIRST_DRIVER = {"sm90": 12000, "sm100": 12080}  # the first that knows the architecture, and TMA descriptors

_PROJECT = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "{dashed}"
version = "{version}"
description = "{name} for {arch}: compiled kernels and their host functions, made by tlxgen"
readme = "README.md"
requires-python = ">=3.10"
dependencies = ["torch>=2.4", "cuda-bindings>=12.8"]

[tool.hatch.build]
ignore-vcs = true

[tool.hatch.build.targets.wheel]
packages = ["{name}"]
"""

_README = """\
# {name}

Compiled kernels for {arch} (compute capability {capability}) with their host functions, made by tlxgen {version} from
`{spec}`. It imports torch and NVIDIA's cuda-bindings, and needs a driver for CUDA {driver} or newer. Triton is not
used.

```python
from {name} import {function}
```

`manifest.json` has what was compiled: kernels, their parameters and constants, resources and digests.
"""


@dataclass(frozen=True)
class Source:
    """What a package is made of: `modules` are texts of generated/ by file name, `digests` those of what they were."""

    name: str
    spec: str
    arch: str
    modules: Mapping[str, str]
    digests: Mapping[str, str | None]


@dataclass(frozen=True)
class Compiler:
    """What compiled the cubins: `name` of a toolchain and the version of its Triton; `cuda` is the release of its
    ptxas: (12, 9)."""

    name: str
    triton: str
    cuda: tuple[int, int]


def write(out: Path, source: Source, rows: Sequence[Row], cubins: Sequence[Sequence[Cubin]], compiler: Compiler) -> int:
    """Writes the project into `out`, in place of an earlier one; returns its bytes.

    Raises TlxgenError where `out` holds something else, or cannot be written.
    """
    name = source.name
    if out.exists() and any(out.iterdir()) and not (out / name / MANIFEST).is_file():
        raise TlxgenError(f"{out} is not empty, and holds no package of {name}: nothing is written")
    told = manifest(source, rows, cubins, compiler)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".tlxgen-") as temporary:
            folder = Path(temporary) / "package"
            (folder / name / "cubins").mkdir(parents=True)
            _write_texts(folder, source, told)
            for cubin in (c for some in cubins for c in some):
                packed = gzip.compress(cubin.data, mtime=0)
                (folder / name / "cubins" / f"{file_of(cubin)}.gz").write_bytes(packed)
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            if out.exists():
                shutil.rmtree(out)
            folder.rename(out)
    except OSError as error:
        raise TlxgenError(f"cannot write {out}: {error.strerror or error}") from error
    return size


def _write_texts(folder: Path, source: Source, told: Mapping[str, Any]) -> None:
    name, texts = source.name, {}
    kernels = [*told["kernels"]]
    for file, text in source.modules.items():
        texts[file] = of_host(text) if file == "_host.py" else of_module(text, kernels)
    texts[LAUNCHER] = Path(__file__).with_name("launcher.py").read_text(encoding="utf-8")
    texts[MANIFEST] = json.dumps(told, indent=1) + "\n"
    for file, text in texts.items():
        (folder / name / file).write_text(text, encoding="utf-8")
    driver = told["driver"]
    facts = {
        "name": name,
        "dashed": name.replace("_", "-"),
        "version": __version__,
        "arch": source.arch,
        "capability": ".".join(map(str, told["capability"])),
        "spec": source.spec,
        "driver": f"{driver // 1000}.{driver % 1000 // 10}",
        "function": name,
    }
    (folder / "pyproject.toml").write_text(_PROJECT.format(**facts), encoding="utf-8")
    (folder / "README.md").write_text(_README.format(**facts), encoding="utf-8")


def manifest(
    source: Source, rows: Sequence[Row], cubins: Sequence[Sequence[Cubin]], compiler: Compiler
) -> dict[str, Any]:
    """What a launcher reads, and what was compiled, as JSON."""
    kernels: dict[str, Any] = {}
    for row, some in zip(rows, cubins, strict=True):
        kernel = kernels.setdefault(row.job.kernel, _kernel(row))
        kernel["launches"].append(_launch(row, some))
    return {
        "format": FORMAT,
        "tlxgen": __version__,
        compiler.name: compiler.triton,
        "cuda": ".".join(map(str, compiler.cuda)),
        "spec": source.spec,
        "arch": source.arch,
        "capability": list(CAPABILITY[source.arch]),
        "driver": max(FIRST_DRIVER[source.arch], compiler.cuda[0] * 1000),
        "digests": dict(source.digests),
        "kernels": kernels,
    }


def _kernel(row: Row) -> dict[str, Any]:
    arguments = [a for a in row.job.arguments if a.type != "constexpr"]
    return {
        "parameters": [[a.name, a.type, a.name in row.aligned] for a in arguments],
        "constants": [*row.job.constants],
        "launches": [],
    }


def _launch(row: Row, cubins: Sequence[Cubin]) -> dict[str, Any]:
    job = row.job
    return {
        "constants": dict(job.constants),
        "num_warps": job.num_warps,
        "ctas_per_cga": list(job.cluster),
        "maxnreg": job.maxnreg,
        "cubins": [
            {
                "divisible": sorted(cubin.divisible),
                "ones": sorted(cubin.ones),
                "file": file_of(cubin),
                "sha256": cubin.sha256,
                "bytes": len(cubin.data),
                "registers": cubin.registers,
                **{key: cubin.told[key] for key in ("entry", "warps", "shared", "cluster", "descriptors")},
            }
            for cubin in cubins
        ],
    }


def file_of(cubin: Cubin) -> str:
    """The name of a cubin's file: its digest. In a package it is compressed, and ends in .gz as well."""
    return f"{cubin.sha256[:24]}.cubin"
