"""The suite of docs/own-kernel.md runs as it stands, and the table of findings of docs/verify.md is current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.walkthrough import DOCS, ROOT, write_files
from tlxgen.sim import CATALOGUE

TEXT = (DOCS / "verify.md").read_text()


# Runs the suites of folders one after another, each as a fork of a process that has imported what all of them need.
SUITES = """
import os, sys
import pytest, tlxgen.cases.execute, tlxgen.sim
for folder in sys.argv[1:]:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    os.chdir(folder)
    output = os.open("output.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    status = pytest.main(["-q", "-p", "no:cacheprovider", "test_scale.py"])
    sys.stdout.flush()
    os.write(output, b"status %d" % status)
    os._exit(0)
"""


def test_the_examples_suite_passes_and_fails_with_a_broken_kernel(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        written = write_files((DOCS / "own-kernel.md").read_text(), folder)
        assert written == ["scale.py", "scale.verify.yaml", "test_scale.py"]
    kernel = broken / "scale.py"
    kernel.write_text(kernel.read_text().replace("tlx.barrier_wait(full[slot], phase)", "pass"))
    command = [sys.executable, "-c", SUITES, str(whole), str(broken)]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=1800)
    done = (whole / "output.txt").read_text()
    assert done.endswith("status 0") and "4 passed" in done, done
    done = (broken / "output.txt").read_text()
    assert done.endswith("status 1") and "4 failed" in done, done
    assert "race-read-write" in done


def test_the_table_of_findings_is_current() -> None:
    table = "".join(f"| `{id}` | {severity} | {fix} |\n" for id, (severity, fix) in CATALOGUE.items())
    shown = "".join(re.findall(r"^\| `[a-z-]+` \| (?:error|warning) \|.*\n", TEXT, re.MULTILINE))
    assert shown == table, f"docs/verify.md should have\n{table}"
