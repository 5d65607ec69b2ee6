"""What `tlxgen show --roofline` predicts over what an H200 was measured to take, by the records in results/.

    python benchmarks/roofline.py [--json FILE]

Two columns: at the highest clock, which no launch can beat, so a figure above 1 is an error of the model (exit status
1); and at the clock that GEMMs were seen to run at under the power limit (docs/measurements.md), where the records do
not say theirs. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tlxgen.families import Kernels, Structure, kernels_of
from tlxgen.roofline import GPUS
from tlxgen.roofline.measure import Probed, measure
from tlxgen.verbs.roofline import predicted
from tlxgen.working import config_rows, of_spec

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
LOADED_MHZ = 1330  # the most that was seen at 700 W
GEMM_SPEC = "hopper_gemm"


class Row(NamedTuple):
    """A kernel on a shape, and the microseconds that it took."""

    record: str
    spec: str
    structure: str
    constants: dict[str, int]  # that the config has, or a number under "#"
    shape: tuple[int, ...]
    us: float


def _read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def attention() -> Iterator[Row]:
    name = "hopper_attention_speed_h200.json"
    for row in _read(name)["rows"]:
        b, h, n, _, _ = row["row"]
        for contender, seen in row["contenders"].items():
            structure, _, config = contender.partition("#")
            if config:
                d64 = "_d64" if "_d64_" in structure else ""
                spec = f"hopper_attention_{row['pass']}{d64}"
                yield Row(name, spec, structure, {"#": int(config)}, (b, h, h, n, n), seen["ms"] * 1e3)


def gemm() -> Iterator[Row]:
    name = "hopper_gemm_speed_h200.json"
    for row in _read(name)["rows"]:
        for contender, ms in row["ms"].items():
            structure, _, label = contender.partition(" | ")
            if label:
                sizes = {part[0]: int(part[1:]) for part in label.split()}
                constants = {"BLOCK_N": sizes["n"], "STAGES": sizes["s"], "GROUP_M": sizes["g"]}
                yield Row(name, GEMM_SPEC, structure, constants, tuple(row["shape"]), ms * 1e3)


def gemm_times() -> Iterator[Row]:
    """Those of the tuning record that are hopper_gemm's own: two consumers that share a tile of 128 rows."""
    name = "gemm_times_h200.json"
    for group in _read(name)["groups"]:
        types = group["types"]
        if group.get("chain") or (types["a"], types["b"], types.get("c", 2)) != (2, 2, 2):
            continue
        for kernel in group["kernels"]:
            if set(kernel) == {"tile", "stages", "group_m", "us"} and kernel["tile"] in (
                [128, 128, 64],
                [128, 256, 64],
            ):
                constants = {"BLOCK_N": kernel["tile"][1], "STAGES": kernel["stages"], "GROUP_M": kernel["group_m"]}
                yield Row(name, GEMM_SPEC, "hopper_gemm_cooperative", constants, tuple(group["shape"]), kernel["us"])


class Predictor:
    """Predicts rows, and counts each kernel once."""

    def __init__(self) -> None:
        self._kernels: dict[str, Kernels] = {}
        self._probed: dict[tuple[str, str, int], Probed | None] = {}
        self._rows: dict[str, list[dict[str, int | bool]]] = {}  # the configs of a structure

    def clocks(self, row: Row) -> tuple[float, str] | None:
        """The least clocks of a row, and what bounds it; None where the spec has no such kernel now."""
        spec = ROOT / "specs" / f"{row.spec}.yaml"
        if row.spec not in self._kernels:
            self._kernels[row.spec] = kernels_of(spec)
        kernels = self._kernels[row.spec]
        structure = next((s for s in kernels.structures if s.name == row.structure), None)
        config = None if structure is None else self._config(spec, structure, row.constants)
        if structure is None or config is None:
            return None
        key = (row.spec, row.structure, config)
        variant = structure.variants[config]
        if key not in self._probed:
            with of_spec(spec) as working:
                path = working.path(structure.name)
                self._probed[key] = measure(path, kernels.family, variant, config, row.shape)
        probed = self._probed[key]
        if probed is None:
            return None
        bound = predicted(kernels.family, variant, probed.at(row.shape, GPUS["sm90"].sms), row.shape, GPUS["sm90"])
        return bound.clocks, bound.by

    def _config(self, spec: Path, structure: Structure, constants: dict[str, int]) -> int | None:
        if "#" in constants:
            return constants["#"] if constants["#"] < len(structure.variants) else None
        if structure.name not in self._rows:
            with of_spec(spec) as working:
                self._rows[structure.name] = config_rows(working.path(structure.name))
        rows = self._rows[structure.name]
        return next((i for i, row in enumerate(rows) if constants.items() <= row.items()), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the rows into this file")
    options = parser.parse_args()
    predictor, told = Predictor(), []
    best: dict[str, list[float]] = {}
    for row in (*attention(), *gemm(), *gemm_times()):
        if (found := predictor.clocks(row)) is None:
            continue
        clocks, by = found
        ratios = [clocks / mhz / row.us for mhz in (GPUS["sm90"].mhz, LOADED_MHZ)]
        told.append({**row._asdict(), "clocks": round(clocks), "by": by, "highest": ratios[0], "loaded": ratios[1]})
        if row.record != "gemm_times_h200.json":
            shape = "x".join(map(str, row.shape))
            label = ", ".join(f"{k}={v}" for k, v in row.constants.items() if k != "#")
            print(f"{row.structure:52} {label:36} {shape:22} {row.us:9.1f} us {ratios[0]:6.3f} {ratios[1]:6.3f}  {by}")
        held = best.setdefault(row.record, [])
        held.append(ratios[0])
    print("\npredicted over measured at the highest clock: record, kernels and shapes, least, median, most")
    for record, ratios in best.items():
        ordered = sorted(ratios)
        print(f"{record:44} {len(ordered):5} {ordered[0]:6.3f} {ordered[len(ordered) // 2]:6.3f} {ordered[-1]:6.3f}")
    if options.json:
        options.json.write_text(json.dumps({"device": "NVIDIA H200", "rows": told}, indent=1) + "\n")
    return int(any(row["highest"] > 1 for row in told))


if __name__ == "__main__":
    sys.exit(main())
