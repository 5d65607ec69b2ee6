"""`tlxgen doctor`: prints what works on this machine, and a command that repairs what does not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from tlxgen.doctor import NEEDS, Check, examine, lacking
from tlxgen.errors import TlxgenError
from tlxgen.record import head


def run(verb: str | None, as_json: bool) -> int:
    """Prints every check. Returns 1 for a fault or, if a verb is given, unless that verb works here; else 0."""
    if verb is not None and verb not in NEEDS:
        raise TlxgenError(f"no verb {verb!r}", remedy=f"verbs: {', '.join(NEEDS)}")
    checks = examine()
    print(json.dumps(to_json(checks), indent=1) if as_json else "\n".join(_lines(checks)))
    return int(bool(lacking(verb, checks)) if verb else any(check.state == "fault" for check in checks))


def to_json(checks: Sequence[Check]) -> dict[str, object]:
    """The same as data; docs/cli.md describes it."""
    return {
        **head("doctor"),
        "checks": [asdict(check) for check in checks],
        "verbs": {verb: {"works": not (less := lacking(verb, checks)), "lacking": less} for verb in NEEDS},
    }


def _lines(checks: Sequence[Check]) -> Iterator[str]:
    width = max(len(check.name) for check in checks)
    for check in checks:
        yield f"{check.state:<8}{check.name:<{width + 2}}{check.text}"
        if check.remedy:
            yield f"{'':<{width + 10}}{check.remedy}"
    yield ""
    works = [verb for verb in NEEDS if not lacking(verb, checks)]
    yield f"works here: {', '.join(works) or 'nothing'}"
    for verb in NEEDS:
        if less := lacking(verb, checks):
            yield f"{verb} needs: {', '.join(less)}"
