"""Links among the documents lead to files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_link_leads_to_a_file(path: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(), flags=re.DOTALL)
    links = re.findall(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert path.name != "README.md" or "docs/decisions.md" in links  # that links are seen at all
    assert [link for link in links if not (path.parent / link).exists()] == []
