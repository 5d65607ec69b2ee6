"""Releases planted too early in PTX, and assembled by the ptxas of the wheel."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tlxgen.compile.read import disassembled
from tlxgen.compile.toolchain import tools
from tlxgen.sass import check

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")

PTX = Path(__file__).parent / "ptx"
WAIT_LD = " tcgen05.wait::ld.sync.aligned;\n"
FENCE = " fence.proxy.async.shared::cta;\n"
LDTM = " tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r10, %r11, %r12, %r13}, "
RELEASE = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6"


@cache
def machine_code(ptx: str) -> str:
    """What nvdisasm prints of a kernel; it takes half a second to start."""
    arch = ptx.partition(".target ")[2].split()[0]
    ptxas = tools().ptxas_blackwell if arch == "sm_100a" else tools().ptxas
    assert ptxas is not None
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        source.write_text(ptx)
        subprocess.run([ptxas, f"-arch={arch}", source, "-o", cubin], check=True, capture_output=True)
        text = disassembled(cubin.read_bytes())
    assert text is not None
    return text


def early(ptx: str) -> list[str]:
    """Where the rule finds loads in the machine code of a kernel."""
    found = check(machine_code(ptx))
    assert found.loads and found.releases and not found.unseen
    return [one.where for one in (*found.early, *found.unfenced)]


def moved(ptx: str, line: str, before: str) -> str:
    """PTX with one line further up."""
    above, found, below = ptx.partition(line)
    assert found and before in above
    first, _, rest = above.partition(before)
    return first + line + before + rest + below


@pytest.mark.parametrize("name", ["tmem", "smem", "two_cta"])
def test_kernels_as_they_should_be_have_no_finding(name: str) -> None:
    assert early((PTX / f"{name}.ptx").read_text()) == []


def test_planted_in_a_reader_of_tmem() -> None:
    ptx = (PTX / "tmem.ptx").read_text()
    arrive = " @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1+8];\n"
    assert early(ptx.replace(WAIT_LD, "")) == ["in flight"]
    assert early(moved(ptx, arrive, LDTM)) == ["behind it"]


def test_planted_in_a_reader_of_smem() -> None:
    ptx = (PTX / "smem.ptx").read_text()
    arrive = " mbarrier.arrive.shared::cta.b64 _, [%r1+8];\n"
    assert early(ptx.replace(FENCE, "")) == ["in flight, not fenced"]
    assert early(moved(ptx, arrive, " ld.shared.v4")) == ["behind it"]
    elsewhere = arrive.replace("mbarrier", "mapa.shared::cluster.u32 %r5, %r1, 1;\n mbarrier").replace("%r1+8", "%r5+8")
    relaxed = elsewhere.replace("arrive.shared::cta", "arrive.relaxed.cluster.shared::cluster")
    assert early(ptx.replace(FENCE, "").replace(arrive, relaxed)) == ["in flight"]


def test_planted_in_a_pair_of_ctas() -> None:
    ptx = (PTX / "two_cta.ptx").read_text()
    of_tmem, of_smem = f" {RELEASE}+8];\n", f" {RELEASE}+24];\n"
    assert early(ptx.replace(WAIT_LD, "")) == ["in flight"]
    assert early(moved(ptx, of_tmem, LDTM)) == ["behind it"]
    assert early(ptx.replace(of_smem, of_smem.replace("release", "relaxed"))) == ["in flight"]


def test_what_ptxas_holds_to_be_in_order() -> None:
    """The ground that the rule stands on: an arrive of release semantics in the own CTA, and a named barrier, behind a
    load of SMEM. PTX orders them; ptxas waits for no scoreboard there, and has a MEMBAR before an arrive elsewhere."""
    smem = machine_code((PTX / "smem.ptx").read_text().replace(FENCE, ""))
    assert smem.index("LDS.128") < smem.index("SYNCS.ARRIVE") and "MEMBAR" not in smem
    behind = machine_code((PTX / "two_cta.ptx").read_text()).partition("LDS.128")[2]
    assert behind.index("MEMBAR.ALL.GPU") < behind.index("SYNCS.ARRIVE.TRANS64.RED")
