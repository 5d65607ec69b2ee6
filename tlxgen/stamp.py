"""Stamps record what the last build of a spec read and wrote, so that the next build sees at once if nothing changed.

A stamp is in the user's cache folder (or $TLXGEN_CACHE_DIR), never in the repository. It is valid only if every file
that it names still has its digest and the generator is the same; a damaged one is ignored. This module imports nothing
slow.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from tlxgen import __version__, digest
from tlxgen.errors import CacheError
from tlxgen.files import try_to_write, write_atomic
from tlxgen.project import real

PACKAGE = Path(__file__).resolve().parent
GENERATOR = ("*.py", "spec/*.py", "plan/*.py", *(f"families/**/*.{x}" for x in ("py", "c", "json")), "render/**/*.py")
KEPT = 8  # number of a file's last digests that are kept
CACHE_BYTES = 4 << 20  # free bytes that a verb needs in its cache
LIBRARIES = ("black", "jinja2", "libcst", "pydantic", "ruamel.yaml")


def templates() -> Path:
    """The folder of tlxgen's own templates: inside the package when installed, beside it in a checkout."""
    return _templates(PACKAGE)


@functools.cache  # it is asked for at each point of a large product of axes
def _templates(package: Path) -> Path:
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


def shipped() -> Path:
    """The folder of the specs that tlxgen ships: inside the package when installed, beside it in a checkout."""
    return templates().with_name("specs")


def cache_folder() -> Path:
    """The folder of stamps and compile results."""
    if folder := os.environ.get("TLXGEN_CACHE_DIR"):
        return Path(folder)
    import platformdirs

    return Path(platformdirs.user_cache_dir("tlxgen", appauthor=False))


def require_cache() -> None:
    """Raises CacheError unless the cache folder takes a few more megabytes, for a verb that cannot do without it."""
    folder = cache_folder()
    try:
        try_to_write(folder / "probe", CACHE_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CacheError(
            f"the cache folder {folder} cannot be written: {reason}",
            remedy="make room, or set TLXGEN_CACHE_DIR to a folder that can be written",
        ) from error


@functools.cache
def generator() -> str:
    """Digest of all parts of tlxgen, except templates, that a build's bytes can depend on."""
    versions = [f"{name} {metadata.version(name)}" for name in LIBRARIES]
    return digest.of_text("\n".join([__version__, digest.of_tree(PACKAGE, GENERATOR), *versions]))


def is_current(spec: Path, out: Path, templates: Path) -> bool:
    """Whether the last build of `spec` into `out` is still what a build would make."""
    try:
        stamp = json.loads(_path(spec, out).read_bytes())
        files = {**stamp["inputs"], **stamp["outputs"]}
        if stamp["generator"] != _maker(templates):
            return False
        return all(digest.of_file(Path(name)) == expected for name, expected in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def write(spec: Path, out: Path, templates: Path, inputs: Mapping[Path, str], outputs: Mapping[Path, str]) -> None:
    """Records a build. If the cache folder cannot be written, the next build is only slower.

    It is called before the build's files are written. The stamp is valid when all of them exist, and after a killed
    build it still says what the build made.
    """
    history = _made(_read(spec, out))
    for path, new in outputs.items():
        history[path.name] = [new, *(d for d in history.get(path.name, ()) if d != new)][:KEPT]
    stamp = {
        "generator": _maker(templates),
        "inputs": {str(real(p)): d for p, d in inputs.items()},
        "outputs": {str(real(p)): d for p, d in outputs.items()},
        "made": history,
    }
    with contextlib.suppress(OSError):
        write_atomic(_path(spec, out), json.dumps(stamp).encode())


def made(spec: Path, out: Path) -> dict[str, frozenset[str]]:
    """File name -> digests of what builds of `spec` into `out` made on this machine; empty without stamps."""
    return {name: frozenset(digests) for name, digests in _made(_read(spec, out)).items()}


def _made(stamp: Any) -> dict[str, list[str]]:
    found = stamp.get("made") if isinstance(stamp, dict) else None
    lists = found.items() if isinstance(found, dict) else ()
    return {name: [d for d in some if isinstance(d, str)] for name, some in lists if isinstance(some, list)}


def _read(spec: Path, out: Path) -> Any:
    try:
        return json.loads(_path(spec, out).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def renew(spec: Path, out: Path, changed: Path) -> None:
    """Updates the last build's stamp after one of its outputs, `changed`, was rewritten on purpose."""
    try:
        stamp = json.loads(_path(spec, out).read_bytes())
        if str(real(changed)) in stamp["outputs"]:
            stamp["outputs"][str(real(changed))] = digest.of_file(changed)
            write_atomic(_path(spec, out), json.dumps(stamp).encode())
    except (OSError, ValueError, KeyError, TypeError):
        pass


def _maker(templates: Path) -> str:
    return digest.of_text(generator() + digest.of_tree(templates, ("**/*.j2", "**/_host.py")))


def _path(spec: Path, out: Path) -> Path:
    return cache_folder() / "stamps" / f"{digest.of_text(f'{real(spec)}|{real(out)}')}.json"
