"""A child of another arch than its parent's: defaults that the parent spells out are the child's own."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from tlxgen.errors import SpecErrors, SpecNote
from tlxgen.families import Kernels, kernels_of

# Every default of sm90 that a spec can write out, for each family that has both targets.
SPELT = {
    "gemm": (
        "problem: {a: {dtype: bf16, layout: row}, b: {dtype: bf16, layout: row}, c: {dtype: bf16}, scaling: none}\n"
        "tile: {m: 128, n: 256, k: 64}\n"
        "tasks:\n  specialized: true\n  load: {default: true}\n"
        "  mma: {replicate: 2, warps: 4, registers: 232, split: cooperative, order: named, in_flight: 1}\n"
        "rings: {ab: {stages: STAGES, full: shared, empty: leader}, c: {stages: 1, empty: leader}}\n"
        "schedule: {kind: persistent, group_m: 8, split_k: 1, tail: whole, pdl: false, prefetch: 0}\n"
        "cluster: {m: 1, n: 1, k: 1}\ncache: {a: none, b: none, c: none}\n"
        "epilogue: {ops: [], subtiles: 2, interleave: false, rounding: nearest, store: tma}\n"
    ),
    "attention_fwd": (
        "problem: {dtype: bf16, head_dim: 128, lengths: dense}\nmask: {kind: none, align: top_left}\n"
        "softmax: {softcap: false, sink: false, lse: true, rescale: always}\ntile: {m: 128, n: 128}\n"
        "tasks:\n  load: {default: true}\n"
        "  mma: {replicate: 2, warps: 4, registers: 240, overlap: true, turns: named, keep: q}\n"
        "rings: {q: {stages: 1}, kv: {stages: STAGES, storage: separate, empty: warp}, o: {reuse: none}}\n"
        "schedule: {kind: persistent}\ncache: {q: none, kv: none, o: none}\n"
    ),
    "norm_fwd": "problem: {norm: layer, dtype: bf16}\ntile: {m: 1, n: 8192}\nschedule: {kind: grid}\ncluster: {n: 1}\n",
}
STAGES = {"gemm": 3, "attention_fwd": 2}  # gemm: no default, so that it stays
DROPPED = {
    "gemm": "tasks.load.default, tasks.mma.replicate, tasks.mma.warps, tasks.mma.registers, tasks.mma.order, "
    "tasks.mma.in_flight, rings.c.stages, epilogue.subtiles",
    "attention_fwd": "tile.m, tasks.load.default, tasks.mma.warps, tasks.mma.registers, tasks.mma.turns, "
    "tasks.mma.keep, rings.kv.stages, rings.kv.storage, rings.kv.empty",
    "norm_fwd": "",
}


def family(folder: Path, kernel: str, spelt: str, child: str = "") -> tuple[Kernels, list[str]]:
    """What comes of a child for sm100, and the notes that were given."""
    (folder / "parent.yaml").write_text(f"kernel: {kernel}\nname: k\narch: sm90\n{spelt}")
    (folder / "child.yaml").write_text(f"extends: parent.yaml\narch: sm100\n{child}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernels = kernels_of(folder / "child.yaml")
    return kernels, [str(w.message) for w in caught if issubclass(w.category, SpecNote)]


def said(kernels: Kernels) -> list[Any]:
    return [variant.spec.model_dump() for variant in kernels.kept if variant.spec]


@pytest.mark.parametrize("kernel", SPELT)
def test_defaults_that_are_spelt_out_are_as_if_they_were_not(kernel: str, tmp_path: Path) -> None:
    kernels, notes = family(tmp_path, kernel, SPELT[kernel].replace("STAGES", str(STAGES.get(kernel))))
    plain, none = family(tmp_path, kernel, "rings: {ab: {stages: 3}}\n" if kernel == "gemm" else "")
    assert said(kernels) == said(plain) and len(said(plain)) == 1 and not none
    dropped = DROPPED[kernel]
    where = f"{tmp_path}/child.yaml:2:7: {tmp_path}/parent.yaml spells out defaults of sm90; those of sm100 are taken "
    assert notes == ([f"{where}instead: {dropped}"] if dropped else [])


def test_what_is_no_default_stays(tmp_path: Path) -> None:
    text = "tile: {n: 128}\nepilogue: {subtiles: 1}\nrings: {ab: {stages: 2}, c: {stages: 1}}\n"
    kernels, notes = family(tmp_path, "gemm", text)
    (spec,) = said(kernels)
    assert (spec["epilogue"]["subtiles"], spec["rings"]["ab"]["stages"], spec["rings"]["c"]["stages"]) == (1, 2, 2)
    assert len(notes) == 1 and notes[0].endswith("instead: rings.c.stages")


def test_what_the_child_gives_itself_stays(tmp_path: Path) -> None:
    spelt = "epilogue: {subtiles: 2}\nrings: {c: {stages: 1}}\n"
    kernels, notes = family(tmp_path, "gemm", spelt, "epilogue: {subtiles: 2}\nrings: {c: {stages: 1}}\n")
    (spec,) = said(kernels)
    assert (spec["epilogue"]["subtiles"], spec["rings"]["c"]["stages"], notes) == (2, 1, [])


def test_a_parent_that_only_its_axes_make_legal(tmp_path: Path) -> None:
    spelt = "tile: {m: 96}\nschedule: {group_m: 4}\ntasks: {mma: {warps: 4}}\nvariants: {axes: {tile.m: [128]}}\n"
    kernels, notes = family(tmp_path, "gemm", spelt)
    (spec,) = said(kernels)
    assert (spec["tile"]["m"], spec["schedule"]["group_m"], spec["tasks"]["mma"]["warps"]) == (128, 4, 1)
    assert len(notes) == 1 and notes[0].endswith("instead: tasks.mma.warps")


def test_a_file_between_the_two_is_of_the_parents_arch(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("kernel: gemm\nname: k\narch: sm90\ntasks: {mma: {warps: 4}}\n")
    (tmp_path / "parent.yaml").write_text("extends: base.yaml\nrings: {ab: {stages: 3}, c: {stages: 1}}\n")
    (tmp_path / "child.yaml").write_text("extends: parent.yaml\narch: sm100\nname: child\n")
    with pytest.warns(SpecNote, match=r"instead: tasks\.mma\.warps, rings\.c\.stages"):
        (spec,) = said(kernels_of(tmp_path / "child.yaml"))
    assert spec["rings"]["c"]["stages"] == 2


@pytest.mark.parametrize("child", ["tasks: 5\n", "tasks: {mma: [1]}\n", "rings: {ab: x}\n", "variants: 3\n"])
def test_what_is_wrong_in_the_child_is_told(child: str, tmp_path: Path) -> None:
    with pytest.raises(SpecErrors, match="expected a mapping"):
        family(tmp_path, "gemm", SPELT["gemm"].replace("STAGES", "3"), child)


@pytest.mark.parametrize("parent", ["variants: {axes: {tile: [{n: 128}]}}\n", "variants: {axes: [1]}\n", "tile: 3\n"])
def test_whatever_the_parent_says_nothing_else_is_raised(parent: str, tmp_path: Path) -> None:
    spelt = "tasks: {mma: {warps: 4}}\n" + ("" if parent.startswith("tile") else "tile: {m: 128}\n") + parent
    try:
        assert family(tmp_path, "gemm", spelt)[1]
    except SpecErrors as told:
        assert told.errors


def test_from_sm100_to_sm90(tmp_path: Path) -> None:
    parent = "kernel: gemm\nname: k\narch: sm100\ntasks: {load: {default: false}, mma: {warps: 1, registers: 48}}\n"
    (tmp_path / "parent.yaml").write_text(parent + "rings: {acc: {stages: 2, empty: leader}}\n")
    (tmp_path / "child.yaml").write_text("extends: parent.yaml\narch: sm90\n")
    with pytest.warns(SpecNote, match=r"tasks\.load\.default, .*rings\.acc\.stages, rings\.acc\.empty"):
        kernels = kernels_of(tmp_path / "child.yaml")
    (spec,) = said(kernels)
    assert spec["tasks"]["mma"]["warps"] == 4 and spec["tasks"]["mma"]["registers"] == 232


@pytest.mark.parametrize(("kernel", "arch"), [("gemm", "sm100"), ("attention_fwd", "sm100")])
def test_in_one_file_each_message_names_the_remedy_and_following_it_helps(
    kernel: str, arch: str, tmp_path: Path
) -> None:
    text = SPELT[kernel].replace("STAGES", str(STAGES[kernel]))
    spec = tmp_path / "k.yaml"
    spec.write_text(f"kernel: {kernel}\nname: k\narch: {arch}\n{text}")
    with pytest.raises(SpecErrors) as told:
        kernels_of(spec)
    assert all(error.message.endswith("; remove the key") for error in told.value.errors)
    lines = spec.read_text().splitlines()
    for error in sorted(told.value.errors, key=lambda e: (e.location.line, e.location.column), reverse=True):
        at = error.location
        line = lines[at.line - 1]
        rest = line[at.column - 1 :]
        end = min(i for i in (rest.find(", "), rest.find("}"), len(rest)) if i >= 0)
        lines[at.line - 1] = line[: at.column - 1] + rest[end:].removeprefix(", ")
    spec.write_text("\n".join(lines).replace(", }", "}") + "\n")
    remaining = kernels_of(spec)  # of which the numbers may still be too large: sm90's registers, its rings
    assert remaining.kept or all(v.plan for v in remaining.rejected)
