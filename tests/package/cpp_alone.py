"""Run by test_cpp.py in its own process: what a library in C++ refuses, and what it does not.

Prints one JSON object. argv: the library, its name, the folder of the stand-in driver.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import tvm_ffi

from tests.package.cpp_beside import in_cpp
from tests.package.pretend import Driver, tensor


def main() -> None:
    library, name, folder = sys.argv[1:]
    told = Driver(folder)
    arguments = [in_cpp(tensor((64, 64))) for _ in range(3)]
    found = {}

    def launched(what: str, *, thread: bool = False, **states: int) -> None:
        """A launch by a library that has loaded nothing yet, while the driver is in these states."""
        copy = Path(shutil.copy(library, f"{library}.{len(found)}.so"))
        before = {state: told.get(state) for state in states}
        set_all(states)
        found[what] = ""

        def call() -> None:
            try:
                tvm_ffi.load_module(copy)[f"{name}_0"](*arguments)
            except RuntimeError as error:
                found[what] = str(error)

        if thread:
            work = threading.Thread(target=call)
            work.start()
            work.join()
        else:
            call()
        set_all(before)

    def set_all(states: Mapping[str, int]) -> None:
        for state, value in states.items():
            told.set(state, value)

    launched("another architecture", capability=100)
    launched("refused", refused=200)
    launched("too little shared memory", shared_optin=100_000)
    launched("capturing", capturing=1)
    launched("new thread", thread=True, context=0)
    launched("old driver", driver_version=11080)
    json.dump(found, sys.stdout)


main()
