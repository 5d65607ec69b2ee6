"""`tlxgen export`: writes a spec's function as a Solution of FlashInfer."""

from __future__ import annotations

import json
from pathlib import Path

from tlxgen.build import contents
from tlxgen.errors import TlxgenError
from tlxgen.export import read_definition, solution
from tlxgen.families import functions, kernels_of
from tlxgen.project import from_here


def run(spec: Path, definition: Path, out: Path, author: str, eps: float | None) -> int:
    """Writes the Solution into `out`, a JSON file. Returns 0. Raises TlxgenError."""
    told = read_definition(definition)
    known = functions(kernels_of(spec))
    sources = {name: data.decode() for name, data in contents(spec).items() if name.endswith(".py")}
    made = solution(known, sources, told, author=author, eps=eps)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise TlxgenError(f"cannot write {out}: {error.strerror or error}") from error
    print(f"{from_here(out)}: {made['name']}, {len(made['sources'])} files")
    return 0
