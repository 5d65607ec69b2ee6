"""The texts of a picture's cards and headings. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .facts import Facts

_KIND = {"leader": "arrivals of tasks", "warp": "arrivals of threads", "commit": "commits of MMAs", "tx": "bytes"}
_WAYS = {"full": "full", "empty": "free"}


def plural(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def size(count: int) -> str:
    """A number of bytes as text: 32 KiB if it is a whole number of KiB, else 4,112 B."""
    if count >= 1024 and count % 512 == 0:
        return f"{count / 1024:g} KiB"
    return f"{count:,} B"


def heading(role: Facts) -> list[str]:
    """The lines of a lane's head."""
    warps = plural(role["warps"], "warp") + (" each" if role["replicas"] > 1 else "")
    registers = f", {role['registers']} registers" if role["registers"] else ""
    return [warps + registers, *(["default task"] if role["default"] else [])] + (
        [f"if {role['guard']}"] if role["guard"] else []
    )


def title(role: Facts) -> str:
    return f"{role['name']}" + (f" x {role['replicas']}" if role["replicas"] > 1 else "")


def work(facts: Facts) -> str:
    """A line about the work list."""
    told: str = {
        "grid": "grid: one item a CTA",
        "persistent": "persistent: a CTA takes every so many-th item",
        "clc": "cluster launch control hands out items",
        "dynamic": "dynamic: CTAs draw items from a counter in global memory",
        "grouped": "grouped: items of all groups, sizes known on the device alone",
        "grouped, dynamic": "grouped: items of all groups, drawn from a counter, sizes known on the device alone",
        "grouped, clc": "grouped: items of all groups, by cluster launch control, sizes known on the device alone",
    }.get(facts["work"]["kind"], facts["work"]["kind"])
    tail = facts["work"]["tail"]
    more = f"; last wave: {tail}" if tail not in ("", "whole", "grouped") else ""
    together = facts["work"]["cluster"]
    return told + more + (f"; {together} CTAs take an item together" if together > 1 else "")


def card(ring: Facts) -> list[tuple[str, str]]:
    """The lines of a ring's card, each with its class: tiles, full barrier, empty barrier."""
    lines = [("data", f"{tile['name']} {_tile(tile)}") for tile in ring["tiles"]]
    total = sum(tile["smem"] for tile in ring["tiles"]) * ring["copies"]
    if ring["space"] == "smem":
        lines.append(("data", f"{size(total)} a slot, {size(total * ring['slots'] * ring['banks'])} in all"))
    if ring["alias"]:
        lines.append(("note", f"in the place of {ring['over'] or ring['alias']}"))
    ctas = f" of {ring['ctas']} CTAs" if ring["full"] and ring["full"]["bytes"] and ring["ctas"] > 1 else ""
    lines.append(("full", f"full: {_barrier(ring['full'])}{ctas}" if ring["full"] else "full: the task itself knows"))
    if ring["ready"]:
        lines.append(("full", f"ready: {_barrier(ring['ready'])}"))
    if ring["empty"]:
        lines.append(("empty", f"free: {_barrier(ring['empty'])}"))
    elif ring["returns"]:
        lines.append(("empty", f"free: {ring['returns']}"))
    return lines


def _tile(tile: Facts) -> str:
    shape = " x ".join(map(str, tile["shape"])) + (f" x {tile['groups']}" if tile["groups"] > 1 else "")
    return f"{shape} {tile['dtype']}"


def _barrier(barrier: Facts) -> str:
    if barrier["bytes"]:
        return f"count {barrier['count']}, {barrier['bytes']:,} B"
    kind: str = _KIND.get(barrier["kind"]) or barrier["kind"]
    return f"count {barrier['count']}, {kind.replace('s of', ' of', 1) if barrier['count'] == 1 else kind}"


def slots(ring: Facts) -> str:
    """'4 slots', '2 banks of 1 slot'."""
    each = plural(ring["slots"], "slot")
    return f"{ring['banks']} x {each}" if ring["banks"] > 1 else each


def between(facts: Facts) -> Iterator[dict[str, Any]]:
    """The cards of synchronisation between replicas of a task, and of signals between CTAs."""
    yield from _hand_out(facts)
    for turn in facts["turns"]:
        ids = f"named barriers {turn['first']} to {turn['first'] + turn['replicas'] - 1}"
        where = f"{ids}, {turn['threads']} threads" if turn["kind"] == "named" else "mbarriers, count 1"
        yield _other(turn["name"], turn["role"], turn["role"], "replicas take turns", where)
    for meeting in facts["meetings"]:
        where = f"named barrier {meeting['id']}, {meeting['threads']} threads"
        yield _other(meeting["name"], meeting["role"], meeting["role"], "replicas wait for each other", where)
    for signal in facts["signals"]:
        arrivals = "1 arrival" if signal["expected"] == "1" else f"{signal['expected']} arrivals"
        what = "a word in global memory, between CTAs"
        yield _other(signal["name"], signal["by"], signal["to"], what, f"complete after {arrivals}")


def _other(name: str, by: str, to: str, what: str, how: str) -> dict[str, Any]:
    return {"name": name, "by": by, "to": [to], "lines": [("data", what), ("full", how)], "returned": False}


def _hand_out(facts: Facts) -> Iterator[dict[str, Any]]:
    """The card of cluster launch control's responses, from the task that requests them to all tasks."""
    if not facts["hand_out"]:
        return
    asks = [r["name"] for r in facts["roles"] if "ask" in r["steps"]]
    asks += [r["name"] for r in facts["roles"] if any(step.startswith("ask ") for step in r["steps"])]
    lines = [("data", "responses: which item is next")]
    lines += [(b["name"].split()[-1], f"{_WAYS[b['name'].split()[-1]]}: {_barrier(b)}") for b in facts["hand_out"]]
    by = asks[0] if asks else facts["roles"][0]["name"]
    to = [r["name"] for r in facts["roles"]]
    yield {"name": "clc", "by": by, "to": to, "lines": lines, "returned": True}
