"""Writes the tuned file: for each shape the winner, its margin and the candidates behind it; and the rejections.

The same results give the same bytes. The file has no date, and the device is all that it says about the machine.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .earlier import Earlier, Key
from .lab import Device
from .results import Result
from .search import Outcome
from .space import Candidate, Shape, Space


@dataclass(frozen=True)
class Won:
    """The result of one search, for a shape (`class` in the file) and a part of the spec's space."""

    shape_class: Shape
    shapes: tuple[Shape, ...]
    outcome: Outcome
    part: int = 0

    @property
    def key(self) -> Key:
        return self.shape_class, self.part


def render(
    space: Space, device: Device, spec: str, seed: int, classes: Sequence[Won], earlier: Earlier | None = None
) -> str:
    """The file's text. `spec` is the path to show. Classes of `earlier` runs that this run has not tuned are kept."""
    earlier = earlier or Earlier()
    blocks = {key: _kept(block, earlier.versions, device) for key, block in earlier.classes.items()}
    blocks |= {won.key: "\n".join(_class(space, won)) for won in classes}
    new = {won.key for won in classes}
    faults = [fault for fault in earlier.faults if fault[0] in blocks.keys() - new]
    faults += [(w.key, _fault(*fault)) for w in classes for _, fault in sorted(w.outcome.faults.items())]
    lines = [
        f"# Written by `tlxgen tune {spec}`, read by `tlxgen build`. Times are medians in microseconds a launch,",
        "# measured in turns with the baseline's; speedup is the baseline's time over the variant's.",
        f"kernel: {space.name}",
        f"device: {device.name}",
        f"sms: {device.sms}",
        f"seed: {seed}",
        f"versions: {_flow(device.versions)}",
        f"variants: {_flow({'fit': len(space.candidates), 'rejected': dict(space.rejected)})}",
        "classes:" if blocks else "classes: []",
    ]
    lines += [blocks[key] for key in sorted(blocks)]
    lines.append("faults:" if faults else "faults: []")
    lines += [text for _, text in sorted(faults, key=lambda fault: fault[0])]
    return "\n".join(lines) + "\n"


def _fault(candidate: Candidate, shape: Shape, result: Result) -> str:
    lines = [f"- fault: {result.fault}", *(f"  {key}: {value}" for key, value in _variant(candidate))]
    return "\n".join([*lines, f"  shape: {_flow(shape)}", f"  text: {json.dumps(result.text)}"])


def _kept(block: str, versions: Mapping[str, str], device: Device) -> str:
    """The text of a class of an earlier run. It states its versions if they differ from the file's."""
    if dict(versions) == dict(device.versions) or "\n  versions: " in block:
        return block
    return f"{block}\n  versions: {_flow(versions)}"


def _class(space: Space, won: Won) -> Iterator[str]:
    outcome = won.outcome
    yield f"- class: {_flow(won.shape_class)}"
    for what, candidate in zip(("winner", "runner_up"), outcome.order, strict=False):
        yield f"  {what}:"
        for key, value in _variant(candidate):
            yield f"    {key}: {value}"
        if _has_baseline(outcome, candidate):
            yield f"    speedup: {_number(1 / outcome.score(candidate))}"
        yield "    shapes:"
        for shape in won.shapes:
            yield f"    - {_flow(_figures(space, candidate, shape, outcome))}"
    counts = Counter(str(result.fault) for _, _, result in outcome.faults.values())
    yield f"  tried: {_flow({'measured': len(outcome.results), **dict(sorted(counts.items()))})}"
    if outcome.stopped:
        yield "  stopped: the budget was spent before the last rung"
    first = outcome.results[outcome.order[0].key][won.shapes[0]]
    yield f"  conditions: {_flow(first.conditions)}"


def _has_baseline(outcome: Outcome, candidate: Candidate) -> bool:
    return all(r.baseline_us for r in outcome.results[candidate.key].values())


def _variant(candidate: Candidate) -> Iterator[tuple[str, str]]:
    yield "structure", candidate.structure
    yield "values", _flow(candidate.values)


def _figures(space: Space, candidate: Candidate, shape: Shape, outcome: Outcome) -> Mapping[str, Any]:
    result = outcome.results[candidate.key][shape]
    assert result.us is not None
    figures: dict[str, Any] = {"shape": shape, "us": result.us}
    figures["tflops"] = space.family.flops(candidate.variant.spec, shape) / result.us / 1e6
    figures["spread"] = round(result.spread, 4)
    if result.noisy:
        figures["noisy"] = True
    if result.baseline_us:
        figures |= {result.baseline: result.baseline_us}
    return figures


def _flow(value: Any) -> str:
    """A value on one line, as YAML: like JSON, but without quotes around plain keys."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_plain(str(k))}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value)


def _plain(key: str) -> str:
    return key if key.replace("_", "").replace(".", "").replace("-", "").isalnum() else json.dumps(key)


def _number(value: float) -> str:
    """A number with five digits. More digits would be noise, which hides changes in a diff."""
    return f"{float(f'{value:.5g}'):.12g}"
