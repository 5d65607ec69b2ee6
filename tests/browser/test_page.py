"""The page of a review, in a real browser: no error, no request, both colour schemes; what unfolds, what leads on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tlxgen.build import make
from tlxgen.review.report.page import page as html_of
from tlxgen.review.report.review import made
from tlxgen.review.show import print_plans

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (see .ci/browser)")

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without these it looks for updates, which a machine without a network refuses one by one.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on PATH, and CHROMIUM is not set")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A review of all shipped modules, in each of which a line is another, and of a spec whose plan is another."""
    root = tmp_path_factory.mktemp("review")
    for side, stages in (("a", 3), ("b", 4)):
        shutil.copytree(ROOT / "generated", root / side / "generated")
        (root / side / "specs").mkdir()
        spec = root / side / "specs" / "k.yaml"
        spec.write_text(f"kernel: gemm\nname: k\narch: sm90\nrings: {{ab: {{stages: {stages}}}}}\n")
        (root / side / "generated" / "k").mkdir()
        for name, data in make(spec, root / side / "generated" / "k").files.items():
            (root / side / "generated" / "k" / name).write_bytes(data)
    for path in (root / "b" / "generated").glob("*/[!_]*.py"):
        path.write_text(path.read_text().replace("import triton\n", "import triton  # <b>&\n", 1))
    made_of = made([str(root / "a"), str(root / "b")])
    assert len(made_of.change.structures()) > 200 and not made_of.remarks
    (root / "out.html").write_text(html_of(made_of), encoding="utf-8")
    return root / "out.html"


class Seen:
    """A page that is open, with all that it said and asked for."""

    def __init__(self, browser: Any, path: Path, scheme: str = "light", width: int = 1300) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("requestfailed", lambda request: self.said.append(request.url))
        self.asked: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def value(self, script: str) -> Any:
        return self.page.evaluate(script)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_says_nothing_and_asks_for_nothing(browser: Any, file: Path, scheme: str) -> None:
    seen = Seen(browser, file, scheme)
    seen.page.wait_for_load_state("load")
    assert seen.said == []
    assert [url for url in seen.asked if not url.startswith("data:")] == [file.as_uri()]
    assert file.stat().st_size < 5_000_000


def test_dark_is_dark_and_light_is_light(browser: Any, file: Path) -> None:
    """Of the page, of a picture's cards and of the lines that came: text is readable on each."""
    shown = {}
    for scheme in ("light", "dark"):
        seen = Seen(browser, file, scheme)
        shown[scheme] = [
            seen.value("getComputedStyle(document.body).backgroundColor"),
            seen.value("getComputedStyle(document.querySelector('svg.plan .card .box')).fill"),
            seen.value("getComputedStyle(document.querySelector('.diff .a')).backgroundColor"),
        ]
        texts = [
            seen.value("getComputedStyle(document.body).color"),
            seen.value("getComputedStyle(document.querySelector('svg.plan .card text')).fill"),
            seen.value("getComputedStyle(document.querySelector('.diff .a')).color"),
        ]
        assert all(_contrast(*pair) >= 7 for pair in zip(texts, shown[scheme], strict=True))
    assert all(_light(a) > 0.7 > 0.2 > _light(b) for a, b in zip(shown["light"], shown["dark"], strict=True))


def _light(colour: str) -> float:
    """The relative luminance of rgb(r, g, b), as WCAG 2 has it."""
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def _contrast(a: str, b: str) -> float:
    low, high = sorted((_light(a), _light(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("width", [1300, 700])
def test_nothing_sticks_out(browser: Any, file: Path, width: int) -> None:
    seen = Seen(browser, file, width=width)
    seen.value("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert seen.value("document.documentElement.scrollWidth") <= width


def test_every_link_leads_somewhere_on_the_page(browser: Any, file: Path) -> None:
    seen = Seen(browser, file)
    lost = (
        "[...document.querySelectorAll('a')].map(a => a.getAttribute('href')).filter(h => !document.querySelector(h))"
    )
    assert seen.value(lost) == []
    ids = "[...document.querySelectorAll('[id]')].map(one => one.id)"
    found = seen.value(ids)
    assert len(found) == len(set(found))


def test_the_same_hunk_is_seen_once_and_unchanged_lines_unfold(browser: Any, file: Path) -> None:
    seen = Seen(browser, file)
    assert seen.value("document.querySelector('#source').innerText").count("# <b>&") == 1
    fold = seen.page.locator("#source details.fold").first
    assert not fold.locator("pre").is_visible()
    fold.locator("summary").click()
    assert fold.locator("pre").is_visible()


def test_pictures_stand_side_by_side_with_what_differs_marked(browser: Any, file: Path) -> None:
    seen = Seen(browser, file)
    figures = seen.page.locator("#plans figure")
    a, b = (figures.nth(i).bounding_box() for i in range(2))
    assert a["y"] == b["y"] and a["x"] + a["width"] <= b["x"]
    assert seen.page.locator("#plans figure .card.changed").count() == 2


def test_no_letters_of_a_picture_meet_in_a_browser(browser: Any, tmp_path: Path) -> None:
    """By the browser's own fonts: texts lie apart, and those of a card lie in it."""
    for name in ("blackwell_attention_fwd", "hopper_gemm_helped", "blackwell_gemm_clc", "hopper_layer_norm_bwd"):
        picture = tmp_path / f"{name}.svg"
        print_plans(ROOT / "specs" / f"{name}.yaml", svg=picture)
        seen = Seen(browser, picture)
        assert seen.said == []
        boxes = seen.value(
            "[...document.querySelectorAll('text')].map(t => { const b = t.getBBox(), m = t.getCTM();"
            " return [t.textContent, b.x, b.y + m.f, b.x + b.width, b.y + m.f + b.height] })"
        )
        for i, (one, *p) in enumerate(boxes):
            for other, *q in boxes[i + 1 :]:
                apart = p[2] <= q[0] + 1 or q[2] <= p[0] + 1 or p[3] <= q[1] + 4 or q[3] <= p[1] + 4
                assert apart, f"{name}: {one!r} meets {other!r}"
        outside = seen.value(
            "[...document.querySelectorAll('g.card')].flatMap(g => { const c = g.querySelector('.box').getBBox();"
            " return [...g.querySelectorAll('text')].filter(t => t.getBBox().x + t.getBBox().width > c.x + c.width)"
            ".map(t => t.textContent) })"
        )
        assert outside == []
