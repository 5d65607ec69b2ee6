"""Any value anywhere in a spec gives points or errors with places, never another exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec_demo import DemoSpec, write

from tlxgen.errors import SpecError, SpecErrors
from tlxgen.spec import expand, load

GOOD: dict[str, Any] = {
    "kernel": "demo",
    "name": "k",
    "arch": "sm90",
    "problem": {"a": {"dtype": "bf16"}, "b": {"dtype": "fp16"}},
    "tile": {"m": 64, "n": 64},
    "rings": {"ab": {"stages": 3}, "c": {"stages": 1}},
    "ops": ["bias"],
    "schedule": {"kind": "persistent", "group_m": 4},
    "bias": {"axis": "m"},
    "tasks": {"load": {"stages": 1}},
    "guards": {"EPI": "keep"},
    "check": {"shapes": [[1, 2]], "rtol": "auto"},
    "variants": {
        "axes": {"tile.m": [64, 128], "bias.axis": ["m"]},
        "require": ["tile.m > 3"],
        "exclude": ["tile.n > 99"],
    },
}
WORDS = [
    "m",
    "n",
    "kind",
    "grid",
    "bf16",
    "tile",
    "tile.m",
    "bias",
    "keep",
    "EPI",
    "axes",
    "str",
    "Bias",
    "1",
    "",
    "*",
    "a.b",
]
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300) | st.floats() | st.sampled_from(WORDS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_value_anywhere(tmp_path: Path, data: st.DataObject) -> None:
    spec = json.loads(json.dumps(GOOD))
    for _ in range(data.draw(st.integers(1, 3))):
        _damage(spec, data)
    text = json.dumps(spec, indent=1).replace("NaN", ".nan").replace("Infinity", ".inf")
    try:
        points = expand(load(write(tmp_path, text)), DemoSpec).points
    except (SpecError, SpecErrors) as error:
        errors = error.errors if isinstance(error, SpecErrors) else [error]
        assert errors
        for one in errors:
            assert one.location is not None and "\n" not in one.message
            assert 1 <= one.location.line <= text.count("\n") + 1
    else:
        assert all((point.spec is None) == bool(point.rejected) for point in points)


def _damage(spec: dict[str, Any], data: st.DataObject) -> None:
    node: Any = spec
    while True:
        keys = list(range(len(node))) if isinstance(node, list) else [*node]
        key = data.draw(st.sampled_from([*keys, "new"] if isinstance(node, dict) else keys))
        child = node[key] if key in keys else None
        if isinstance(child, (dict, list)) and child and data.draw(st.booleans()):
            node = child
            continue
        if key in keys and data.draw(st.integers(0, 4)) == 0:
            del node[key]
        else:
            node[key] = data.draw(VALUES)
        return
