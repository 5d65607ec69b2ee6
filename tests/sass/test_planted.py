"""Releases planted too early in PTX, and assembled by the ptxas of the wheel."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

from tlxgen.compile.read import disassembled
from tlxgen.compile.toolchain import tools
from tlxgen.sass import check

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")

PTX = Path(__file__).parent / "ptx"
WAIT_LD = " tcgen05.wait::ld.sync.aligned;\n"
LDTM = " tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r10, %r11, %r12, %r13}, "
RELEASE = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6"


def early(ptx: str, folder: Path) -> list[str]:
    """Where the rule finds loads in the machine code of a kernel."""
    arch = ptx.partition(".target ")[2].split()[0]
    ptxas = tools().ptxas_blackwell if arch == "sm_100a" else tools().ptxas
    assert ptxas is not None
    source, cubin = folder / "k.ptx", folder / "k.cubin"
    source.write_text(ptx)
    subprocess.run([ptxas, f"-arch={arch}", source, "-o", cubin], check=True, capture_output=True)
    text = disassembled(cubin.read_bytes())
    assert text is not None
    found = check(text)
    assert found.loads and found.releases and not found.unseen
    return [one.where for one in found.early]


def moved(ptx: str, line: str, before: str) -> str:
    """PTX with one line further up."""
    above, found, below = ptx.partition(line)
    assert found and before in above
    first, _, rest = above.partition(before)
    return first + line + before + rest + below


@pytest.mark.parametrize("name", ["tmem", "smem", "two_cta"])
def test_kernels_as_they_should_be_have_no_finding(name: str, tmp_path: Path) -> None:
    assert early((PTX / f"{name}.ptx").read_text(), tmp_path) == []


def test_planted_in_a_reader_of_tmem(tmp_path: Path) -> None:
    ptx = (PTX / "tmem.ptx").read_text()
    arrive = " @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1+8];\n"
    assert early(ptx.replace(WAIT_LD, ""), tmp_path) == ["in flight"]
    assert early(moved(ptx, arrive, WAIT_LD), tmp_path) == ["in flight"]
    assert early(moved(ptx, arrive, LDTM), tmp_path) == ["behind it"]


def test_planted_in_a_reader_of_smem(tmp_path: Path) -> None:
    ptx = (PTX / "smem.ptx").read_text()
    arrive = " mbarrier.arrive.shared::cta.b64 _, [%r1+8];\n"
    assert early(moved(ptx, arrive, " ld.shared.v4"), tmp_path) == ["behind it"]
    elsewhere = arrive.replace("mbarrier", "mapa.shared::cluster.u32 %r5, %r1, 1;\n mbarrier").replace("%r1+8", "%r5+8")
    relaxed = elsewhere.replace("arrive.shared::cta", "arrive.relaxed.cluster.shared::cluster")
    assert early(ptx.replace(arrive, relaxed), tmp_path) == ["in flight"]


def test_planted_in_a_pair_of_ctas(tmp_path: Path) -> None:
    ptx = (PTX / "two_cta.ptx").read_text()
    of_tmem, of_smem = f" {RELEASE}+8];\n", f" {RELEASE}+24];\n"
    assert early(ptx.replace(WAIT_LD, ""), tmp_path) == ["in flight"]
    assert early(moved(ptx, of_tmem, WAIT_LD), tmp_path) == ["in flight"]
    assert early(moved(ptx, of_tmem, LDTM), tmp_path) == ["behind it"]
    assert early(moved(ptx, of_smem, " ld.shared.v4"), tmp_path) == ["behind it"]
    assert early(ptx.replace(of_smem, of_smem.replace("release", "relaxed")), tmp_path) == ["in flight"]


def test_what_ptxas_holds_to_be_in_order(tmp_path: Path) -> None:
    """The ground that the rule stands on: an arrive of release semantics in the own CTA, and a named barrier, behind a
    load of SMEM. PTX orders them; ptxas waits for no scoreboard there, and has a MEMBAR before an arrive elsewhere."""
    text = {}
    for name in ("smem", "two_cta"):
        early((PTX / f"{name}.ptx").read_text(), tmp_path)
        text[name] = disassembled((tmp_path / "k.cubin").read_bytes()) or ""
    load, arrive = text["smem"].index("LDS.128"), text["smem"].index("SYNCS.ARRIVE")
    assert load < arrive and "MEMBAR" not in text["smem"]
    behind = text["two_cta"].partition("LDS.128")[2]
    assert behind.index("MEMBAR.ALL.GPU") < behind.index("SYNCS.ARRIVE.TRANS64.RED")
