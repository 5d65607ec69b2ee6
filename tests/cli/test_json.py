"""What `--json` prints begins with the same keys for every verb, and has the keys that docs/cli.md lists."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tlxgen import __version__, cli

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
SPEC = "kernel: norm_fwd\nname: good\narch: sm90\ntile: {n: 256}\n"


def documented(verb: str) -> set[str]:
    """The keys of a verb's row in the table of the page."""
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{verb}` | `"))
    outer = re.sub(r"\[?\{[^}]*\}\]?", "", row.split("|")[2])  # not those of the objects inside
    return set(re.findall(r"`(\w+)`", outer))


@pytest.mark.parametrize(
    "command",
    [
        "build s.yaml --json",
        "list s.yaml --json",
        "show s.yaml --json",
        "compile s.yaml --json",
        "diff s.yaml s.yaml --json",
        "tune s.yaml --dry-run --shapes 64x256 --candidates 1 --json",
        "explain --json",
        "explain cluster --json",
        "doctor --json",
    ],
)
def test_keys(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verb = command.split()[0]
    if verb in ("compile", "tune"):
        pytest.importorskip("triton.language.extra.tlx")
    (tmp_path / "s.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tlxgen", *command.split()])
    with pytest.raises(SystemExit):
        cli.main()
    record = json.loads(capsys.readouterr().out)
    assert list(record)[:3] == ["version", "tlxgen", "verb"]
    assert (record["tlxgen"], record["verb"]) == (__version__, verb)
    assert set(list(record)[3:]) <= documented(verb)
