"""The README's first kernel: its spec and commands, run in an empty folder, and what they print held against the page.

`python -m tests.cli.walkthrough` writes what is printed now into the page. A line that a command no longer prints goes;
a block that shows all of its output, without "...", is replaced.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "README.md"
HEADING = "## First kernel"
SPEC = Path("specs", "my_gemm.yaml")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIME = re.compile(r"\b\d+(\.\d+)? s\b")
RULE = re.compile(r"[─\s]*")


@dataclass(frozen=True)
class Step:
    """A command of the page, and the lines that the page shows of what it prints."""

    command: str
    shown: tuple[str, ...]


def spec_of(page: str) -> str:
    """The first spec of the page."""
    found = re.search(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def section_of(page: str) -> str:
    begin = page.index(f"\n{HEADING}\n")
    end = page.find("\n## ", begin + 1)
    return page[begin:end]


def steps_of(block: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        yield Step(command, tuple(lines))


def run(command: str, folder: Path) -> tuple[int, str]:
    """Exit status and what a shell prints in the folder, on a machine without a GPU."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "200"}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "me", f"GIT_{who}_EMAIL": "me@example.com"}
    script = f'tlxgen() {{ "{sys.executable}" -m tlxgen "$@"; }}\n{command}'
    words = ["bash", "-c", script]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def words(line: str) -> list[str]:
    """A line without what differs from run to run: times, and the widths of columns."""
    return TIME.sub("T s", line).split()


def printed(output: str) -> list[str]:
    """The lines that count: not those that are blank, or a rule of a table."""
    return [line.rstrip() for line in output.splitlines() if not RULE.fullmatch(line)]


def differs(step: Step, output: str) -> str:
    """The first line of the page that the command does not print there; empty if all are as printed."""
    lines, at, free = printed(output), 0, False
    for line in step.shown:
        if RULE.fullmatch(line):
            continue
        if line.strip() == "...":
            free = True
            continue
        found = next((i for i in range(at, len(lines)) if words(lines[i]) == words(line)), None)
        if found is None or (found != at and not free):
            return line
        at, free = found + 1, False
    return "" if free or at == len(lines) else f"(and then) {lines[at]}"


def renewed(step: Step, output: str) -> list[str]:
    """The lines of the page, as they are printed now."""
    lines = [line.rstrip() for line in output.splitlines() if not RULE.fullmatch(line)]
    if "..." not in (line.strip() for line in step.shown):
        return lines
    kept: list[str] = []
    for line in step.shown:
        begin = words(line)[:2]
        now = [new for new in lines if words(new)[:2] == begin and new not in kept]
        kept += [line] if line.strip() == "..." else now[:1]
    return kept


def main() -> None:
    page = PAGE.read_text()
    section = section_of(page)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / SPEC.parent).mkdir()
        (folder / SPEC).write_text(spec_of(page))

        def renew(found: re.Match[str]) -> str:
            lines: list[str] = []
            for step in steps_of(found[1]):
                lines += [f"$ {step.command}", *renewed(step, run(step.command, folder)[1])]
            return "```console\n" + "\n".join(lines) + "\n```"

        PAGE.write_text(page.replace(section, BLOCK.sub(renew, section)))


if __name__ == "__main__":
    main()
