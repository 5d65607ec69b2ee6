"""In the place of tlxgen.tune.candidates: same messages, times that follow from candidate and shape, faults on demand.

What it is to do to whom stands in the file $FAKE_FAULTS: {key: "hang" | "crash" | "wrong" | "memory" | "compile"}. Each
candidate that it times is a line in the file $FAKE_LOG. Imports nothing slow.
"""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

from tests.tune.fake_child_times import us
from tlxgen.bounded.serve import Say, serve

VERSIONS = {"tlxgen": "0", "cuda": "13.0"}


def measure(request: Any, faults: dict[str, str], say: Say) -> None:
    done = {}
    for candidate in request["candidates"]:
        key = candidate["key"]
        say({"begin": key})
        kind = faults.get(key, "")
        if kind == "hang":
            time.sleep(600)
        if kind == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if kind in ("wrong", "memory") and request["prove"]:
            say({"fault": {key: {"fault": kind, "text": f"it is {kind}"}}})
            continue
        with open(os.environ["FAKE_LOG"], "a") as log:
            log.write(f"{key} {request['shape']} {request['turns']}\n")
        done[key] = {"us": us(key, request["shape"]), "baseline": "torch", "baseline_us": 50.0}
        done[key] |= {"conditions": {"sm_mhz": 1500.0}, "spread": 0.01, "noisy": False}
    say({"done": done})


def handle(request: Any, say: Say) -> None:
    with open(os.environ["FAKE_FAULTS"]) as file:
        faults = json.load(file)
    if request["do"] == "describe":
        say({"done": {"name": "Fake H200", "sms": 132, "capability": [9, 0], "versions": VERSIONS}})
    elif request["do"] in ("start", "rehearse"):
        with open(os.environ["FAKE_LOG"] + ".begun", "a") as log:
            log.write(f"{request['do']} {os.getpid()}\n")
        time.sleep(float(os.environ.get("FAKE_START_S", "0")))  # as if it imported something
        with open(os.environ["FAKE_LOG"] + ".ready", "a") as log:
            log.write(f"{request['do']} {os.getpid()}\n")
        say({"done": {}})
    elif request["do"] == "compile":
        failed = faults.get(request["candidate"]["key"]) == "compile"
        say({"done": {"fault": "compile" if failed else None, "text": "ptxas says no" if failed else ""}})
    else:
        measure(request, faults, say)


def preload() -> None:
    """Whoever forks children says so in the log."""
    with open(os.environ["FAKE_LOG"] + ".forks", "a") as log:
        log.write(f"{os.getpid()}\n")


def main() -> None:
    serve(handle)


if __name__ == "__main__":
    main()
