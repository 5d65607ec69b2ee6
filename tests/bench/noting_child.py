"""Takes the place of tlxgen.tune.candidates: writes each request to $NOTING_LOG, and compiles nothing."""

from __future__ import annotations

import json
import os
from typing import Any

from tlxgen.bounded.serve import Say, serve


def handle(request: Any, say: Say) -> None:
    with open(os.environ["NOTING_LOG"], "a") as log:
        log.write(json.dumps(request) + "\n")
    say({"done": {"fault": None, "text": ""}})


serve(handle)
