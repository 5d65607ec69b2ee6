"""The page of a review of a real change: time to make it, size, time to load it in a headless browser; screenshots.

    python benchmarks/review_page.py A B [--pictures FOLDER] [--repeats 3]

A and B are as `tlxgen review` takes them. It needs playwright and a Chromium (see .ci/browser). Each time is the
median of the repeats; the time to make the page is that of a process of its own, start included.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
SHOTS = {"review_light": ("light", "body"), "review_plans": ("light", "#plans"), "review_source": ("dark", "#source")}
NAVIGATION = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        page = Path(temporary) / "review.html"
        made, processor, told = zip(*(_made(given.a, given.b, page) for _ in range(given.repeats)), strict=True)
        loads, elements, said = _loaded(page, given.repeats, given.pictures)
        found = {
            "command": f"tlxgen review {given.a} {given.b}",
            "told": told[0].partition(": ")[2],
            "made_s": round(statistics.median(made), 2),
            "made_cpu_s": round(statistics.median(processor), 2),
            "load_average": round(os.getloadavg()[0], 1),
            "cpus": os.cpu_count(),
            "bytes": page.stat().st_size,
            "load_ms": round(statistics.median(loads)),
            "elements": elements,
            "console": said,
        }
    print(json.dumps(found, indent=1))


def _made(a: str, b: str, page: Path) -> tuple[float, float, str]:
    """Seconds, seconds of the processors, and what the command says."""
    start, before = time.perf_counter(), os.times()
    command = [sys.executable, "-m", "tlxgen", "review", a, b, "--html", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    took, after = time.perf_counter() - start, os.times()
    busy = after.children_user - before.children_user + after.children_system - before.children_system
    return took, busy, done.stdout.strip()


def _loaded(page: Path, repeats: int, pictures: Path | None) -> tuple[list[float], int, list[str]]:
    said: list[str] = []
    loads: list[float] = []
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for _ in range(repeats):
            view = browser.new_page(viewport={"width": 1300, "height": 900})
            view.on("console", lambda message: said.append(message.text))
            view.on("pageerror", lambda error: said.append(str(error)))
            view.goto(page.as_uri())
            loads.append(view.evaluate(NAVIGATION))
            elements = view.evaluate("document.querySelectorAll('*').length")
            view.close()
        for name, (scheme, place) in SHOTS.items() if pictures else ():
            view = browser.new_page(viewport={"width": 1300, "height": 900}, color_scheme=scheme)
            view.goto(page.as_uri())
            view.evaluate("place => document.querySelector(place).scrollIntoView()", place)
            view.wait_for_timeout(300)
            view.screenshot(path=str(pictures / f"{name}.png"))
        browser.close()
    return loads, elements, said


if __name__ == "__main__":
    main()
