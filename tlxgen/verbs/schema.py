"""`tlxgen schema`: prints the JSON Schema by which editors complete and check specs."""

from __future__ import annotations

import json
import sys
from typing import Any

from tlxgen import families
from tlxgen.spec import json_schema
from tlxgen.terminal import emphasised


def run() -> int:
    """Prints the JSON Schema of all families that load, and names the others on standard error. Returns 0."""
    text, notes = schema()
    print(text, end="")
    for note in notes:
        print(emphasised(f"note: left out: {note}", sys.stderr), file=sys.stderr)
    return 0


def schema() -> tuple[str, list[str]]:
    """The text of the JSON Schema, and a line for each family that is left out because it or its model is broken."""
    good, broken = families.loaded()
    notes = [error.message for error in broken.values()]
    models = {name: family.model for name, family in good.items()}
    for name in set(models) & set(families.plug_ins()):
        try:
            json_schema({name: models[name]})
        except Exception as error:  # a plug-in's model may raise anything
            del models[name]
            notes.append(f"the kernel family {name!r} has no JSON Schema: {' '.join(str(error).split())}")
    return _text(json_schema(models), levels=4) + "\n", sorted(notes)


def _text(value: Any, levels: int) -> str:
    """JSON in which each entry of the outer `levels` objects is a line, so each key of a definition is one."""
    if not levels or not isinstance(value, dict) or not value:
        return json.dumps(value, separators=(",", ":"))
    entries = (f"{json.dumps(key)}: {_text(inner, levels - 1)}" for key, inner in value.items())
    return "{\n" + ",\n".join(entries) + "\n}"
