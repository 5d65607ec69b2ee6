"""Results of a run: what was counted, the detection rate, and who survived why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .equivalent import argument
from .execute import Outcome
from .mutant import Mutant


@dataclass(frozen=True)
class Result:
    """A mutant and what became of it. `executed`: its line is reached by a case; `ours`: its text may be written."""

    mutant: Mutant
    outcome: Outcome
    ours: bool = True

    @property
    def reason(self) -> str | None:
        """Why the mutant is no fault, when that has been argued."""
        return argument(self.mutant)

    @property
    def status(self) -> str:
        """caught, equivalent (clean, as argued), missed (clean and not argued, or no answer), invalid, or contradicted:
        caught although it was argued to be no fault."""
        verdict = self.outcome.verdict
        if verdict == "invalid":
            return "invalid"
        if verdict == "caught":
            return "contradicted" if self.reason else "caught"
        return "equivalent" if verdict == "clean" and self.reason else "missed"


@dataclass(frozen=True)
class Tally:
    """Numbers of mutants by what became of them. `contradicted` ones were caught."""

    caught: int
    equivalent: int
    missed: int
    invalid: int
    contradicted: int

    @staticmethod
    def of(results: Sequence[Result]) -> Tally:
        count = Counter(r.status for r in results)
        return Tally(*(count[s] for s in ("caught", "equivalent", "missed", "invalid", "contradicted")))

    @property
    def faults(self) -> int:
        """All that a simulator should find."""
        return self.caught + self.contradicted + self.missed

    @property
    def rate(self) -> float:
        return (self.caught + self.contradicted) / self.faults if self.faults else 1.0


def as_json(results: Sequence[Result], unexecuted: int, head: dict[str, Any]) -> str:
    """The record: head and totals, then for each module its mutants, one a line, by their outcome."""
    total = Tally.of(results)
    caught = [r.outcome for r in results if r.status == "caught"]
    alone = Counter(o.ids[0] for o in caught if len(o.ids) == 1)
    record = {
        **head,
        "faults": total.faults,
        "rate": round(total.rate, 4),
        **total.__dict__,
        "unexecuted": unexecuted,
        "found_by_one_id_alone": dict(alone.most_common()),
        "found_on_schedule": dict(Counter(f"{o.schedule} {o.seed}" for o in caught).most_common()),
        "runs_needed": {n: sum(o.runs <= n for o in caught) for n in (1, 2, 5, 10, 20, 50)},
    }
    text = json.dumps(record, indent=1)[:-2]
    modules = []
    for at in dict.fromkeys(r.mutant.at for r in results):
        found: dict[str, list[str]] = {}
        for r in (r for r in results if r.mutant.at == at):
            found.setdefault(_outcome(r), []).append(_described(r))
        groups = [f"   {json.dumps(outcome)}: [\n    {_lines(some)}\n   ]" for outcome, some in sorted(found.items())]
        modules.append(f"  {json.dumps(at)}: {{\n" + ",\n".join(groups) + "\n  }")
    return text + ',\n "mutants": {\n' + ",\n".join(modules) + "\n }\n}\n"


def _outcome(result: Result) -> str:
    """The key of mutants with the same status and the same ids of findings, such as "caught: deadlock"."""
    return ": ".join([result.status, " ".join(result.outcome.ids)] if result.outcome.ids else [result.status])


def _described(result: Result) -> str:
    mutant = result.mutant
    return f"{mutant.line} {mutant.kind}" + (f": {mutant.what}" if result.ours else "")


def _lines(texts: Sequence[str]) -> str:
    return ",\n    ".join(json.dumps(text, ensure_ascii=False) for text in texts)


def as_markdown(results: Sequence[Result], unexecuted: int) -> str:
    """Tables by module and by mutator, and the arguments with the mutants that they are for."""
    total = Tally.of(results)
    lines = [
        "# Mutants of kernels in the simulator",
        "",
        f"{total.caught + total.contradicted} of {total.faults} faults are found ({total.rate:.2%}). Not counted: "
        f"{total.equivalent} mutants that are argued to be no faults (below), {total.invalid} that no compiler would "
        f"take, {unexecuted} on lines that no case executes. A mutant has the schedules and SMs of `tlxgen verify` by "
        "default, one that is argued to be no fault a single run a case. Written by `python -m tests.sim.mutation`.",
        "",
        *_table("module", results, lambda r: r.mutant.at.split("/")[1]),
        "",
        *_table("mutator", results, lambda r: r.mutant.kind),
        "",
        "## Missed",
        "",
        *([_bullet(r) for r in results if r.status in ("missed", "contradicted")] or ["None."]),
        "",
        "## Argued to be no faults",
    ]
    argued: dict[str, list[Result]] = {}
    for result in results:
        if result.status == "equivalent":
            argued.setdefault(result.reason or "", []).append(result)
    for reason, members in argued.items():
        lines += ["", f"**{reason}**", "", *[_bullet(r) for r in members]]
    return "\n".join(lines) + "\n"


def _bullet(result: Result) -> str:
    mutant = result.mutant
    what = f": `{mutant.what}`" if result.ours else ""
    ids = (
        f" ({result.status}, {' '.join(result.outcome.ids) or result.outcome.verdict})"
        if result.status != "equivalent"
        else ""
    )
    return f"- {mutant.at.split('/')[1]}:{mutant.line} {mutant.kind}{what}{ids}"


def _table(title: str, results: Sequence[Result], of: Callable[[Result], str]) -> list[str]:
    lines = [f"| {title} | faults | found | rate | argued no fault | would not compile |", "|---|---|---|---|---|---|"]
    for name in dict.fromkeys(of(r) for r in results):
        t = Tally.of([r for r in results if of(r) == name])
        found = t.caught + t.contradicted
        lines.append(f"| {name} | {t.faults} | {found} | {t.rate:.1%} | {t.equivalent} | {t.invalid} |")
    return lines
