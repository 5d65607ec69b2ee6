"""What the repository ships fits together: specs, schema, and generated/ as this version makes it."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from tests.sim import support
from tlxgen import build, digest, families, lock
from tlxgen.build import PACKAGE
from tlxgen.loading import HOST
from tlxgen.render import device
from tlxgen.spec import json_schema

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))
SHARE = 8


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json_schema({name: families.load(name).model for name in families.names()})


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_generated_is_up_to_date(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `tlxgen build --check` says, where only the modules of `to_render` are rendered anew, and others are as found.

    All else is made anew for each spec: its variants, their plans, the package and the lock, which has digests of spec,
    templates and plans, and of the modules as they are. So a spec, a template or a plan without its build is found in
    each spec, and an edit in each file. A change of the renderer alone, or of how code is digested, is found in the
    modules that are rendered; and .ci/verify builds all of them.
    """
    drawn = to_render(spec.stem)
    monkeypatch.setattr(build, "_render_all", lambda jobs, _: [rendered(job, spec.stem, drawn) for job in jobs])
    entries = lock.read(ROOT / "generated" / spec.stem)["structures"]
    known = {entry["source"]: entry for name, entry in entries.items() if name not in drawn}
    for where, name, key in ((device, "device_digest", "device"), (build, "subject_digest", "subject")):
        monkeypatch.setattr(where, name, partial(digested, getattr(where, name), key, known))
    checked = build.build(spec, check=True)
    assert checked.up_to_date, checked.diff[:4000]


def rendered(job: Any, name: str, drawn: Collection[str], folder: Path = ROOT / "generated") -> str:
    module = job.structure.name
    return str(job.render()) if module in drawn else (folder / name / f"{module}.py").read_text(encoding="utf-8")


def digested(
    anew: Callable[..., str], key: str, known: Mapping[str, Mapping[str, str]], source: Any, *rest: Any
) -> str:
    """A digest of a module: of one that is as its lock says, what the lock says."""
    data = source if isinstance(source, bytes) else source.encode()
    entry = known.get(digest.of_bytes(data))
    return entry[key] if entry else anew(source, *rest)


def to_render(name: str) -> set[str]:
    """Of a spec's modules those that differ from the commit before, and of the others one of each SHARE.

    Each is as likely as any other: the commit's hash decides on them, so that nobody chooses. Outside of a repository
    they are all.
    """
    now, (head, before) = lock.read(ROOT / "generated" / name)["structures"], locks_before()
    if not head:
        return {*now}
    was = before.get(name, {})
    others = [s for s, entry in now.items() if entry["source"] != was.get(s, {}).get("source")]
    random = Random(head + name)
    count, left = divmod(len(now), SHARE)
    return {*others, *random.sample([*now], count + (random.randrange(SHARE) < left))}


@cache
def locks_before() -> tuple[str, dict[str, dict[str, Any]]]:
    """The commit's hash, and the structures of all locks at the commit before; nothing outside of a repository."""
    head, *parents = (support.git("log", "-1", "--format=%H %P").split() or [""])[:2]
    return head, support.locks_at(parents[0], [spec.stem for spec in SPECS]) if parents else {}


def test_continuous_integration_renders_all() -> None:
    assert "tlxgen build --check specs\n" in (ROOT / ".ci" / "verify").read_text()


def test_what_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "hopper_attention_bwd_packed"
    entries = lock.read(ROOT / "generated" / name)["structures"]

    def drawn(head: str, **others: str) -> set[str]:
        before = {s: entry | {"source": others.get(s, entry["source"])} for s, entry in entries.items()}
        monkeypatch.setattr(sys.modules[__name__], "locks_before", lambda: (head, {name: before} if head else {}))
        return to_render(name)

    assert drawn("") == {*entries}  # no repository
    some = drawn("one")
    assert some <= {*entries} and drawn("one") == some
    many = [frozenset(drawn(str(n))) for n in range(800)]
    assert {len(each) - len(entries) // SHARE for each in many} == {0, 1}
    counts = Counter(name for each in many for name in each)
    assert {*counts} == {*entries} and all(50 < count < 150 for count in counts.values())  # of 800, 100 are expected
    left = next(s for s in entries if s not in some)
    assert drawn("one", **{left: "another"}) == {*some, left}


def test_an_edit_is_seen_in_a_module_that_is_not_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "hopper_gemm"
    spec = ROOT / "specs" / f"{name}.yaml"
    shutil.copytree(ROOT / "generated" / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(build, "_render_all", lambda jobs, _: [rendered(job, name, (), tmp_path) for job in jobs])
    assert build.build(spec, out=tmp_path, check=True).up_to_date
    with (tmp_path / name / f"{name}_pingpong.py").open("a") as module:
        module.write("# mine\n")
    assert build.build(spec, out=tmp_path, check=True).changed == (lock.NAME,)


def test_every_folder_of_generated_has_its_spec() -> None:
    assert {p.name for p in (ROOT / "generated").iterdir()} == {p.stem for p in SPECS}


def test_the_schema_is_a_schema(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


def test_the_schema_that_editors_use_is_that_of_the_code(schema: dict[str, Any]) -> None:
    """`tlxgen schema > docs/spec.schema.json` writes it."""
    shipped = json.loads((ROOT / "docs" / "spec.schema.json").read_text(encoding="utf-8"))
    assert shipped == json.loads(json.dumps(schema))


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_is_valid_by_the_schema_that_editors_use(spec: Path, schema: dict[str, Any]) -> None:
    data = YAML(typ="safe", pure=True).load(spec.read_text())
    assert [f"{e.json_path}: {e.message}" for e in Draft202012Validator(schema).iter_errors(data)] == []
    assert not Draft202012Validator(schema).is_valid(data | {"tiles": 1})  # it does look


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_names_the_schema_file(spec: Path) -> None:
    first = spec.read_text().splitlines()[0]
    prefix = "# yaml-language-server: $schema="
    assert first.startswith(prefix)
    assert (spec.parent / first.removeprefix(prefix)).is_file()


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_shipped_lock_names_the_modules_that_are_there(spec: Path) -> None:
    folder = ROOT / "generated" / spec.stem
    entry = lock.read(folder)
    expected = {"lock.json", HOST, PACKAGE, *(f"{n}.py" for n in entry["structures"]), *entry["package"]}
    assert {p.name for p in folder.iterdir()} - {"__pycache__"} == expected  # other tests import modules
