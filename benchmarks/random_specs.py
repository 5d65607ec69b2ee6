"""Writes random specs that fit, of every family, one variant each, to check combinations that nobody would think of.

    python -m benchmarks.random_specs FOLDER --count 80 --seed 1 [--kernel attention_fwd ...] [--arch sm90]
    tlxgen compile FOLDER
    tlxgen verify FOLDER
    tlxgen check FOLDER --json RESULT          (on a Hopper GPU)

A spec is drawn from specs/, a point from its axes, and some of its keys get other values: any that the key may have, or
for a number one near those of the family's specs. The same seed gives the same specs for as long as the same ones fit.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tlxgen import families
from tlxgen.errors import TlxgenError
from tlxgen.spec import Document, axis_paths, load
from tlxgen.spec.paths import texts

SPECS = Path(__file__).parent.parent / "specs"
MOST = 20  # keys of a spec that are changed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernel", nargs="*", default=[], help="of these families only")
    parser.add_argument("--arch", choices=("sm90", "sm100"), help="of this architecture only")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    documents = [load(path, tuned=False) for path in sorted(SPECS.glob("*.yaml"))]
    drawn_from = [
        one
        for one in documents
        if given.arch in (None, one.data["arch"]) and (not given.kernel or one.data["kernel"] in given.kernel)
    ]
    if not drawn_from:
        parser.error("no spec is of these families and this architecture")
    values = used(documents)
    rng, made, drawn = random.Random(given.seed), 0, 0
    while made < given.count:
        drawn += 1
        path = given.folder / f"random_{given.seed}_{made:03}.yaml"
        if draw(rng, rng.choice(drawn_from), values, path):
            made += 1
        else:
            path.unlink()
    print(f"{made} of {drawn} drawn specs fit")


def used(documents: list[Document]) -> dict[tuple[str, str], list[Any]]:
    """By family and key, the numbers and texts that specs have there."""
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for document in documents:
        axes = document.data.get("variants", {}).get("axes", {})
        for path in keys(document):
            for value in (*axes.get(path, ()), at(document.data, path)):
                known = found[document.data["kernel"], path]
                if value is not None and value not in known:
                    known.append(value)
    return found


def keys(document: Document) -> dict[str, Any]:
    """The keys of a family that have a value of their own, by path."""
    return _keys(families.of(document).model)


@cache
def _keys(model: Any) -> dict[str, Any]:
    paths = axis_paths(model)
    inner = {path.rpartition(".")[0] for path in paths}
    return {path: kind for path, kind in paths.items() if path not in {*inner, "arch", "toolchain"} and "*" not in path}


def draw(rng: random.Random, document: Document, values: dict[tuple[str, str], list[Any]], path: Path) -> bool:
    """Writes a point of the spec's axes, if that fits, and what still does of some changes, one after the other."""
    spec = copy.deepcopy(document.data) | {"name": path.stem, "description": document.data["name"]}
    axes = (spec.pop("variants", None) or {}).get("axes", {})
    for other in ("tuned", "bake", "keep"):
        spec.pop(other, None)
    for key, some in axes.items():
        put(spec, key, rng.choice(some))
    if not fits(spec, path):
        return False
    kinds = keys(document)
    for key in rng.sample([*kinds], min(len(kinds), rng.randint(1, MOST))):
        changed, choices = copy.deepcopy(spec), [*possible(kinds[key], values[spec["kernel"], key])]
        if choices:
            value = rng.choice(choices)
            put(changed, key, value)
            changed["description"] += f", {key}: {value}"
            spec = changed if at(spec, key) != value and fits(changed, path) else spec
    return fits(spec, path)


def possible(kind: Any, known: list[Any]) -> Iterator[Any]:
    """Values of a key of this type, of which specs have some."""
    if "bool" in str(kind):
        yield from (True, False)
    yield from [text for text in texts(kind) or () if text not in known]
    yield from known
    for value in known:
        if type(value) is int and value > 0:
            yield from (x for x in (value + 1, 2 * value, value // 2) if x and x not in known)


def at(data: Any, path: str) -> Any:
    for key in path.split("."):
        data = data.get(key) if isinstance(data, dict) else None
    return data


def put(data: dict[str, Any], path: str, value: Any) -> None:
    *outer, last = path.split(".")
    for key in outer:
        data[key] = data[key] if isinstance(data.get(key), dict) else {}
        data = data[key]
    data[last] = value


def fits(spec: dict[str, Any], path: Path) -> bool:
    """Whether a variant of the spec, which is written to the file, is left after planning."""
    path.write_text(json.dumps(spec, indent=1))  # JSON is YAML
    try:
        document = load(path)
        return bool(families.of(document).kernels(document).structures)
    except TlxgenError:
        return False


if __name__ == "__main__":
    main()
