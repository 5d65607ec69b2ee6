"""What the repository ships fits together: specs, schema, and generated/ as this version makes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from tlxgen import families, lock
from tlxgen.build import PACKAGE
from tlxgen.loading import HOST
from tlxgen.spec import json_schema

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json_schema({name: families.load(name).model for name in families.names()})


def test_generated_is_up_to_date() -> None:
    command = [sys.executable, "-m", "tlxgen", "build", "--check", "specs"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert done.stdout.count(": up to date (") == len(SPECS)


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
    assert list(Draft202012Validator(schema).iter_errors(data | {"tiles": 1}))  # it does look


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
