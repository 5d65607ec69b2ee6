"""The documents build as a site, with no link that leads nowhere; its page of keys has every key."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.walkthrough import ROOT
from tlxgen.explain import keys_of
from tlxgen.families import loaded

pytest.importorskip("material", reason="needs mkdocs-material: pip install .[docs]")


def build(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(folder)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_document_is_a_page_that_the_menu_names(site: Path) -> None:
    menu = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    moved = {"index.md", "contributing.md", "changelog.md", "words.md", "keys.md"}
    pages = {p.name for p in (ROOT / "docs").glob("*.md")} | moved
    assert set(re.findall(r": (\S+\.md)$", menu, re.MULTILINE)) == pages
    assert "Two mma replicas drain it in turns".lower() in (site / "index.html").read_text().lower()


def test_no_link_or_picture_of_a_page_is_missing(site: Path) -> None:
    """What mkdocs checks, once more on what came out: links that the hook made, files that it copied, anchors."""
    found = 0
    for path in site.rglob("index.html"):
        body = path.read_text()
        for target in re.findall(r'(?:href|src)="([^"]*)"', body[body.index("<article") : body.index("</article>")]):
            link, _, anchor = html.unescape(target).partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            to = (path.parent / link).resolve() if link else path
            to = to / "index.html" if to.is_dir() else to
            assert to.is_file(), (path, target)
            assert not anchor or to.suffix != ".html" or f'id="{html.escape(anchor)}"' in to.read_text(), (path, target)
            found += 1
    assert found > 500


def test_the_page_of_keys_has_every_key_and_value(site: Path) -> None:
    body = (site / "keys" / "index.html").read_text()
    for family in loaded()[0].values():
        for key in keys_of(family):
            assert f'id="{family.name}-{key.path}"' in body
            assert all(f"<code>{html.escape(value, quote=False)}</code>" in body for value, _ in key.values), key.path


@pytest.mark.parametrize(
    ("links", "wrong"),
    [
        (["other.md#here", "../README.md"], []),
        (["other.md#here", "other.md#there", "../NONE.md", "x.png"], ["#there", "NONE.md", "x.png"]),
    ],
    ids=["right", "wrong"],
)
def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path, links: list[str], wrong: list[str]) -> None:
    """On a small repository with the hook and the strictness of this one; each such link is named."""
    ours = (ROOT / "mkdocs.yml").read_text()
    strictness = [line for line in ours.splitlines() if line.startswith(("hooks:", "exclude_docs:", "validation:"))]
    assert len(strictness) == 3
    texts = {
        "mkdocs.yml": "\n".join(["site_name: small", "theme: {name: mkdocs}", "plugins: []", *strictness]),
        "docs/site.py": (ROOT / "docs" / "site.py").read_text(),
        "docs/page.md": "# A page\n\n" + "".join(f"It has [a link]({link}).\n" for link in links),
        "docs/other.md": "# Another\n\n## Here\n",
        **dict.fromkeys(("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tlxgen/explain/words.md"), "# Moved\n"),
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert (done.returncode != 0) is bool(wrong), done.stderr
    warnings = [line for line in done.stderr.splitlines() if line.startswith("WARNING")]
    assert len(warnings) == len(wrong) and all(any(w in line for line in warnings) for w in wrong), done.stderr
