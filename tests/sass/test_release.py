"""The rule, on code that is written for one case each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sass.assembly import sass
from tlxgen.sass import check, parse, told
from tlxgen.sass.release import BEHIND, IN_FLIGHT, OF_OTHERS, UNFENCED

WAIT = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2 | w0\n@!P0 BRA `(.L_x_0) | m0"
LDTM = "LDTM.x4 R4, tmem[UR4] | w2"
LDS = "LDS.128 R4, [R0] | w2"
USE = "STG.E.128 desc[UR4][R2.64], R4 | m2"
ARRIVE = "@!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4+0x8], RZ"
REMOTE = "SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ, [UR4+0x8], RZ"
BAR = "BAR.SYNC.DEFER_BLOCKING 0x1, 0x80"
COMMIT = "UTCBAR [UR5], URZ"
CLUSTER = "UCGABAR_ARV"
TMA = "@UP0 UTMALDG.2D [UR24], [UR6]"


def where(*instructions: str) -> list[str]:
    """Where the rule says that loads are, of code that begins with a wait and ends with an exit."""
    found = check(sass("\n".join([".L_x_0:", WAIT, *instructions, "EXIT"])))
    return [early.where for early in (*found.early, *found.unfenced)]


@pytest.mark.parametrize(
    ("release", "tmem", "smem"),
    [
        (ARRIVE, [IN_FLIGHT], [UNFENCED]),  # SMEM: the same pipeline, in order, but not for TMA
        ("ARRIVES.LDGSTSBAR.64 [UR4]", [IN_FLIGHT], [UNFENCED]),
        (REMOTE, [IN_FLIGHT], [IN_FLIGHT]),
        (COMMIT, [IN_FLIGHT], [IN_FLIGHT]),
        ("UTCBAR.2CTA.MULTICAST [UR5], URZ, UR7", [IN_FLIGHT], [IN_FLIGHT]),
        (CLUSTER, [IN_FLIGHT], [IN_FLIGHT]),
        (TMA, [], [IN_FLIGHT]),  # it writes SMEM alone
    ],
)
def test_what_is_in_flight_at_each_release(release: str, tmem: list[str], smem: list[str]) -> None:
    assert where(LDTM, release, USE) == tmem
    assert where(LDS, release, USE) == smem
    assert where("LDSM.16.M88.4 R4, [R0] | w2", release, USE) == smem
    assert where(LDTM, USE, release) == where(LDS, USE, release) == []
    assert where(LDTM, f"{release} | m2", USE) == where(LDS, f"{release} | m2", USE) == []


def test_membar_orders_smem_for_all_and_a_named_barrier_for_threads() -> None:
    for release in (ARRIVE, REMOTE, COMMIT, CLUSTER, TMA):
        assert where(LDS, "MEMBAR.ALL.CTA | r1", release, USE) == []
        assert where(LDS, BAR, release, USE) == [UNFENCED]
    assert where(LDTM, "MEMBAR.ALL.CTA | r1", ARRIVE, USE) == [IN_FLIGHT]
    assert where(LDS, "BAR.ARV 0x5, 0x100", REMOTE, USE) == [IN_FLIGHT]
    assert where(LDS, BAR, LDS.replace("R4", "R8"), REMOTE, USE) == [IN_FLIGHT, UNFENCED]


def test_the_loads_of_other_warps_are_in_flight_behind_a_named_barrier() -> None:
    assert where(LDTM, BAR, USE, ARRIVE) == [OF_OTHERS]  # the own warp has waited since
    assert where(LDTM, BAR, ARRIVE, USE) == [IN_FLIGHT]  # told once
    assert where(LDTM, f"{BAR} | m2", ARRIVE, USE) == []
    assert where(LDTM, BAR, USE, BAR, ARRIVE) == []  # the others have waited, too, before they came to the second


def test_depbar() -> None:
    assert where(LDTM, "DEPBAR.LE SB2, 0x0", ARRIVE) == []
    assert where(LDTM, "DEPBAR.LE SB1, 0x0", ARRIVE) == [IN_FLIGHT]
    assert where(LDTM, "DEPBAR.LE SB1, 0x0, {3,2}", ARRIVE) == []
    first, second = "LDS R4, [R0] | w2", "LDS R5, [R1] | w2"
    assert len(where(first, second, REMOTE)) == 2
    found = check(sass("\n".join([first, second, "DEPBAR.LE SB2, 0x1", REMOTE, "EXIT"]))).early
    assert [early.load.address for early in found] == [0x10]  # the older of the two is there


def test_another_scoreboard_and_a_guard_that_never_holds() -> None:
    assert where(LDTM, "STG.E desc[UR4][R2.64], R9 | m013", ARRIVE, USE) == [IN_FLIGHT]
    assert where("@!PT LDS RZ, [RZ] | w2", REMOTE) == []
    assert where("@P3 LDS R4, [R0] | w2", REMOTE) == [IN_FLIGHT]


def test_a_load_of_the_last_trip_is_in_flight_in_the_next() -> None:
    loop = [".L_x_1:", "@P2 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4+0x8], RZ", LDTM, "@P3 BRA `(.L_x_1)"]
    assert where(LDTM, "NOP | m2", *loop) == [IN_FLIGHT]
    assert where(LDTM, "NOP | m2", *loop[:-1], "@P3 BRA `(.L_x_1) | m2") == []


def test_one_of_two_ways_suffices() -> None:
    assert where(LDTM, "@P3 BRA `(.L_x_2)", USE, ".L_x_2:", ARRIVE) == [IN_FLIGHT]
    assert where(LDTM, "@P3 BRA `(.L_x_2) | m2", USE, ".L_x_2:", ARRIVE) == []


def test_a_task_behind_a_jump_table_is_reached() -> None:
    table = 'BRX R4 -0x10 (*"BRANCH_TARGETS .L_x_1,.L_x_2"*)'
    found = check(sass("\n".join([table, ".L_x_1:", "EXIT", ".L_x_2:", LDTM, ARRIVE, "EXIT"])))
    assert len(found.early) == 1 and found.unseen == 0


def test_what_control_does_not_reach_is_said() -> None:
    found = check(sass("\n".join([LDS, "EXIT", LDTM, ARRIVE, "EXIT"])))
    assert (found.loads, found.releases, found.unseen, found.early) == (2, 1, 2, ())
    ((text, fault),) = told(found.to_json())
    assert "not known at 2 loads and releases" in text and not fault


@pytest.mark.parametrize("load", [LDTM, LDS])
def test_a_slot_given_back_before_it_is_read(load: str) -> None:
    assert where(ARRIVE, load, USE) == [BEHIND]
    assert where(REMOTE, load, USE) == [BEHIND]
    assert where(load, USE, ARRIVE, load, USE) == []  # what was given back is not known: it may be another slot
    assert where("STS [R9], R8", ARRIVE, load, USE) == []  # something is published
    assert where(ARRIVE, WAIT.replace("_0)", "_9)"), load, USE) == []
    assert where("SYNCS.ARRIVE.TRANS64 RZ, [UR4], R5", load, USE) == []  # bytes to expect: of a slot to be filled


def test_data_of_other_warps_may_be_read_behind_a_named_barrier() -> None:
    assert where(ARRIVE, BAR, LDS, USE) == []
    assert where(ARRIVE, BAR, LDTM, USE) == [BEHIND]


def test_a_finding_has_address_instruction_load_and_scoreboard() -> None:
    data = check(sass("\n".join([LDTM, "LDTM.x4 R8, tmem[UR4+0x4] | w3", "NOP", ARRIVE, "EXIT"]))).to_json()
    assert data["loads"] == 2 and data["releases"] == 1 and len(data["early"]) == 2
    assert data["early"][0] == {
        "at": "0030", "release": "@!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4+0x8], RZ", "how": "arrive",
        "load_at": "0000", "load": "LDTM.x4 R4, tmem[UR4]", "scoreboard": 2, "where": "in flight",
    }  # fmt: skip
    ((text, fault),) = told(data)
    assert fault and text == (
        "arrive at 0030 (@!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4+0x8], RZ) may give a slot back too early: the load at "
        "0000 (LDTM.x4 R4, tmem[UR4]) is in flight, on scoreboard 2 (and 1 more)"
    )


def test_a_load_of_smem_that_is_not_fenced_is_counted_and_no_finding() -> None:
    data = check(sass("\n".join([LDS, ARRIVE, "EXIT"]))).to_json()
    assert data == {"loads": 1, "releases": 1, "unfenced": 1, "early": []} and not list(told(data))


def test_samples_of_shipped_kernels() -> None:
    """LDSM before MEMBAR and an arrive in attention; LDTM, waited for by F2FP, before an arrive in GEMM."""
    folder = Path(__file__).parent / "samples"
    for path in sorted(folder.glob("*.sass")):
        text = path.read_text()
        found = check(text)
        assert found.loads and found.releases and not found.early and not found.unfenced and not found.unseen, path
    fence = "/*2850*/ MEMBAR.ALL.CTA ;"
    text = (folder / "hopper_attention_fwd.sass").read_text()
    assert (
        len(check(text.replace(fence, "/*2850*/ NOP ;")).unfenced) == 7
    )  # the eighth is on the scoreboard of the fence behind
    waited = "/* 0x004fe200000010ff */"  # F2FP at 12a0, for scoreboard 2
    text = (folder / "blackwell_gemm_clc.sass").read_text()
    ((early),) = check(text.replace(waited, "/* 0x000fe200000010ff */")).early
    assert (early.release.address, early.load.address, early.load.write) == (0x13D0, 0x1250, 2)
    assert len(parse(text).instructions) == 28
