"""`tlxgen init`: a spec with comments, and the schema beside it, for a folder that has none."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tlxgen import families, stamp
from tlxgen.errors import TlxgenError
from tlxgen.explain import SCHEMA, commented
from tlxgen.spec import load as read_spec
from tlxgen.spec.nearest import hint
from tlxgen.spec.validate import collect
from tlxgen.terminal import emphasised
from tlxgen.verbs.schema import schema


def run(folder: Path, kernel: str, arch: str, name: str | None, like: str | None) -> int:
    """Writes specs/NAME.yaml and the schema that editors check it with; 0. Never overwrites: raises TlxgenError.

    The spec is the one that is shipped as `like`, with those that it extends, or, for None, it has every key of the
    family for `arch` in comments.
    """
    texts = _copied(like, name) if like else _commented(kernel, arch, name)
    described, notes = schema()
    specs = folder / "specs"
    for file in texts:
        if (specs / file).exists():
            text = f"{specs / file} is there already, and is not overwritten"
            raise TlxgenError(text, remedy="--name gives the new spec another name")
    for file, text in texts.items():
        _write_new(specs / file, text)
        print(f"wrote {specs / file}")
    beside = specs / SCHEMA
    if not beside.exists():
        _write_new(beside, described)
        print(f"wrote {beside}")
    elif beside.read_text(encoding="utf-8", errors="replace") != described:
        print(f"kept {beside}, which differs from this version's: tlxgen schema > {beside} renews it")
    for note in notes:
        print(emphasised(f"note: left out of the schema: {note}", sys.stderr), file=sys.stderr)
    print(f"next: tlxgen build {specs / next(iter(texts))}")
    return 0


def _commented(kernel: str, arch: str, name: str | None) -> dict[str, str]:
    """The text of a spec of the family, by file name. Raises TlxgenError."""
    if kernel not in families.names():
        raise TlxgenError(f"no kernel family {kernel!r}", remedy=f"families: {', '.join(families.names())}")
    family = families.load(kernel)
    name = name or f"my_{kernel}"
    text = commented(family, name, arch)
    _require_name(name, family, arch)
    return {f"{name}.yaml": text}


def _copied(like: str, name: str | None) -> dict[str, str]:
    """The texts of a shipped spec, under another name if one is given, and of those that it extends, by file name.

    Raises TlxgenError.
    """
    folder = stamp.shipped()
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if like not in names:
        near = hint(like, names, noun="names")
        raise TlxgenError(f"no shipped spec is called {like!r}{near}", remedy=f"there are {', '.join(names)}")
    document = read_spec(folder / f"{like}.yaml", tuned=False)
    if document.data.get("tuned"):
        text = f"{like} is generated from winners that were measured for it"
        raise TlxgenError(text, remedy=f"begin with another spec; this one is {folder / like}.yaml")
    texts = {Path(s.path).name: s.text.replace("$schema=../docs/", "$schema=") for s in document.files}
    if name:
        _require_name(name, families.of(document), document.data["arch"])
        own = texts.pop(f"{like}.yaml")
        texts = {f"{name}.yaml": re.sub(r"^name: .*$", f"name: {name}", own, flags=re.MULTILINE), **texts}
    return texts


def _require_name(name: str, family: families.Family, arch: str) -> None:
    _, faults = collect({"kernel": family.name, "name": name, "arch": arch}, family.model)
    if faults:
        raise TlxgenError(f"a kernel cannot be called {name!r}: {faults[0].message}")


def _write_new(path: Path, text: str) -> None:
    """Raises TlxgenError for a file that is there, and for one that cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        if path.parent.is_dir():
            text = f"{path} is there already, and is not overwritten"
            raise TlxgenError(text, remedy="--name gives the new spec another name") from error
        raise TlxgenError(f"cannot write {path}: {path.parent} is no folder") from error
    except OSError as error:
        raise TlxgenError(f"cannot write {path}: {error.strerror or error}") from error
