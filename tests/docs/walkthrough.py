"""Pages that teach by commands: all of it is run in an empty folder, and what is printed held against the page.

A block behind a line that ends with "`PATH`:" is that file. A `console` block has commands, and below each what it
prints: all of it, or some lines of it with "..." for those left out. Every command has to succeed; one that is meant
to fail says so, as in `tlxgen build faulty.yaml || echo "exit status $?"`. A block behind a line that ends with a link
to a file of the repository and a colon is an excerpt: passages of that file, less the indentation, with "..." between.

`python -m tests.docs.walkthrough` writes what is printed now into the pages, and draws their pictures. A line that a
command no longer prints goes; what is shown without "..." is replaced. A passage is what lies between its first and
its last line in the file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs import forked

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
GALLERY = DOCS / "gallery.md"
NAMES = ("first-spec", "own-kernel", "tuning", "review", "conditions")
PAGES = (GALLERY, *(DOCS / f"{name}.md" for name in NAMES))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXCERPT = re.compile(r"(?<=\]\(\.\./)([^)\s]+)\):\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([^`\s]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIME = re.compile(r"\b\d+(\.\d+)? s\b")
FAILS = ' || echo "exit status $?"'  # behind a command that is meant to fail
RULE = re.compile(r"[─\s]*")


@dataclass(frozen=True)
class Step:
    """A command of a page, and the lines that the page shows of what it prints."""

    command: str
    shown: tuple[str, ...]


def blocks(page: str, kind: str) -> list[str]:
    """The page's blocks of a kind, such as "console"."""
    return [text for name, text in BLOCK.findall(page) if name == kind]


def steps_of(block: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        yield Step(command, tuple(lines))


def steps(page: str) -> list[Step]:
    """All of a page's commands, in their order."""
    return [step for block in blocks(page, "console") for step in steps_of(block)]


def write_files(page: str, folder: Path) -> list[str]:
    """Writes the files that the page shows; their paths."""
    found = FILE.findall(page)
    for path, text in found:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return [path for path, _ in found]


def stand_in(folder: Path) -> None:
    """Makes a folder look like the repository to a command that reads its specs and draws pictures."""
    (folder / "specs").symlink_to(ROOT / "specs")
    (folder / "tuned").symlink_to(ROOT / "tuned")
    (folder / "docs" / "pictures").mkdir(parents=True)


def passages(block: str) -> list[str]:
    """The passages of an excerpt."""
    return re.split(r"^ *\.\.\.\n", block, flags=re.MULTILINE)


def passage(text: str, begin: str, end: str) -> str:
    """The lines of a text from one to another, less their indentation. Raises ValueError if they are not there."""
    lines = [line.strip() for line in text.splitlines()]
    first = lines.index(begin.strip())
    last = lines.index(end.strip(), first)
    return textwrap.dedent("".join(f"{line}\n" for line in text.splitlines()[first : last + 1]))


def excerpt(path: str, block: str) -> str:
    """What an excerpt of a file should be now."""
    text = (ROOT / path).read_text()
    ends = [(part.splitlines()[0], part.splitlines()[-1]) for part in passages(block)]
    return "...\n".join(passage(text, *each) for each in ends)


def run(command: str, folder: Path) -> tuple[int, str]:
    """Exit status and what a shell prints in the folder, on a machine without a GPU."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "200"}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "me", f"GIT_{who}_EMAIL": "me@example.com"}
    sentence = command.removesuffix(FAILS)
    words = forked.words_of(sentence)
    if words is not None:
        status, output = forked.run(words, folder, environment)
        return (0, f"{output}exit status {status}\n") if status and sentence != command else (status, output)
    python = f'python() {{ "{sys.executable}" "$@"; }}'
    script = f'{python}\ntlxgen() {{ python -m tlxgen "$@"; }}\nexec 2>&1\n{command}'
    shell = ["bash", "-c", script]
    done = subprocess.run(shell, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, timeout=1800)
    return done.returncode, done.stdout


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
    """The lines of the page, as they are printed now; as they are, if nothing differs but times."""
    if not differs(step, output):
        return list(step.shown)
    lines = printed(output)
    if "..." not in (line.strip() for line in step.shown):
        return lines
    kept: list[str] = []
    for line in step.shown:
        begin = words(line)[:2]
        now = [new for new in lines if words(new)[:2] == begin and new not in kept]
        kept += [line] if line.strip() == "..." else now[:1]
    return kept


def renew(path: Path) -> None:
    """Writes a page with what its commands print, and its excerpts are, now."""
    page = path.read_text()
    for file, block in EXCERPT.findall(page):
        page = page.replace(block, excerpt(file, block))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(page, folder)
        if path == GALLERY:
            stand_in(folder)

        def now(found: re.Match[str]) -> str:
            if found[1] != "console":
                return found[0]
            lines: list[str] = []
            for step in steps_of(found[2]):
                status, output = run(step.command, folder)
                assert status == 0, (step.command, output)
                lines += [f"$ {step.command}", *renewed(step, output)]
            return "```console\n" + "\n".join(lines) + "\n```"

        path.write_text(BLOCK.sub(now, page))
        for drawn in folder.glob("docs/pictures/*.svg"):
            shutil.copy(drawn, DOCS / "pictures")


def main() -> None:
    named = [Path(name).resolve() for name in sys.argv[1:]]
    for path in named or PAGES:
        renew(path)
    tutorial: dict[str, Step] = {}
    for step in steps((DOCS / "first-spec.md").read_text()):
        tutorial.setdefault(step.command, step)  # the first run of a command, before the tutorial changes the spec
    README.write_text(BLOCK.sub(lambda found: _again(found, tutorial), README.read_text()))


def _again(found: re.Match[str], tutorial: dict[str, Step]) -> str:
    """A console block of the README with what the tutorial shows of the same commands."""
    if found[1] != "console":
        return found[0]
    lines = [line for step in steps_of(found[2]) for line in (f"$ {step.command}", *tutorial[step.command].shown)]
    return "```console\n" + "\n".join(lines) + "\n```"


if __name__ == "__main__":
    main()
