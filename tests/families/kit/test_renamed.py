"""What a file says by an old name still loads, and a note says what it is called now."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tlxgen.errors import RenamedWarning, SpecError, SpecErrors
from tlxgen.families import Kernels
from tlxgen.families.gemm import Gemm
from tlxgen.families.kit import Renamed
from tlxgen.spec import load

HEAD = "kernel: gemm\nname: k\narch: sm90\n"
NOW = """\
schedule: {tail: split}
rings: {ab: {stages: 3}}
bake: [rings.ab.stages]
variants:
  axes: {rings.ab.stages: [3, 4], cluster: [{m: 1}], schedule.group_m: [4, 8]}
  require: ["rings.ab.stages < 4 or schedule.tail == 'split'"]
"""
THEN = """\
schedule: {rest: cut}
rings: {ab: {slots: 3}}
bake: [rings.ab.slots]
variants:
  axes: {rings.ab.slots: [3, 4], cluster: [{rows: 1}], schedule.group_m: [4, 8]}
  require: ["rings.ab.slots < 4 or schedule.rest == 'cut'"]
"""


class Renaming(Gemm):
    name = "gemm"
    renamed = (
        Renamed("rings.ab.slots", "rings.ab.stages"),
        Renamed("schedule.rest", "schedule.tail", values={"cut": "split"}),
        Renamed("cluster.rows", "cluster.m"),
    )


def kernels(folder: Path, text: str, name: str = "k.yaml") -> Kernels:
    path = folder / name
    path.write_text(HEAD + text)
    return Renaming().kernels(load(path, root=folder))


def told(made: Kernels) -> object:
    return [(s.name, dict(s.baked), [(v.label, v.spec, v.plan and v.plan.parameters) for v in s.variants])
            for s in made.structures], [(v.label, v.reasons) for v in made.rejected]  # fmt: skip


def test_a_spec_with_old_names_is_the_one_with_the_new_names(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        now = kernels(tmp_path, NOW)
    with pytest.warns(RenamedWarning) as notes:
        then = kernels(tmp_path, THEN)
    assert now.structures and told(then) == told(now)
    texts = [str(note.message) for note in notes]
    assert "k.yaml:5:14: rings.ab.slots is now rings.ab.stages" in texts
    assert "k.yaml:4:12: schedule.rest is now schedule.tail" in texts
    assert "k.yaml:4:18: schedule.tail: cut is now split" in texts


def test_a_child_may_know_another_name_than_its_parent(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(HEAD + "rings: {ab: {slots: 3}}\n")
    (tmp_path / "new.yaml").write_text(HEAD + "rings: {ab: {stages: 3}}\n")
    for parent, text in (("old", "rings: {ab: {stages: 2}}\n"), ("new", "rings: {ab: {slots: 2}}\n")):
        (tmp_path / "child.yaml").write_text(f"extends: {parent}.yaml\n{text}")
        with pytest.warns(RenamedWarning):
            (variant,) = Renaming().kernels(load(tmp_path / "child.yaml")).kept
        assert variant.plan and variant.plan.value("STAGES") == 2


def test_a_fault_is_placed_where_the_old_name_stands(tmp_path: Path) -> None:
    with pytest.warns(RenamedWarning), pytest.raises(SpecErrors) as caught:
        kernels(tmp_path, "rings: {ab: {slots: 0}}\n")
    assert str(caught.value.errors[0].location) == "k.yaml:4:21"
    with pytest.raises(SpecError, match="old name of rings.ab.stages") as both:
        kernels(tmp_path, "rings: {ab: {stages: 2, slots: 3}}\n")
    assert str(both.value.location) == "k.yaml:4:25"


def test_winners_of_a_tuned_file_are_found_by_their_old_names(tmp_path: Path) -> None:
    axes = "tuned: table.yaml\nvariants: {axes: {rings.ab.stages: [3, 4], cluster: [{m: 1}, {m: 2}]}}\n"
    values = json.dumps({"rings.ab.slots": 4, "cluster": {"rows": 2}})
    table = f"kernel: k\nsms: 132\nclasses:\n- class: [256, 256, 256]\n  winner: {{values: {values}}}\n"
    (tmp_path / "table.yaml").write_text(table)
    with pytest.warns(RenamedWarning, match=r"table.yaml: rings.ab.slots is now rings.ab.stages"):
        made = kernels(tmp_path, axes)
    (winner,) = (s.variants[i] for s in made.structures for i in s.tuned.values())
    assert winner.values == {"rings.ab.stages": 4, "cluster": {"m": 2}}


def test_the_command_line_prints_a_note_and_goes_on(tmp_path: Path) -> None:
    text = HEAD + "rings: {ab: {slots: 3}}\n"
    (tmp_path / "k.yaml").write_text(text)
    program = (
        "import sys\nfrom tlxgen import cli\nfrom tlxgen.families.gemm import Gemm\n"
        "from tlxgen.families.kit import Renamed\n"
        "Gemm.renamed = (Renamed('rings.ab.slots', 'rings.ab.stages'),)\n"
        "sys.argv = ['tlxgen', 'list', 'k.yaml']; cli.main()"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0 and "1 kept" in ran.stdout, ran.stderr
    assert ran.stderr == "note: k.yaml:4:14: rings.ab.slots is now rings.ab.stages\n"
