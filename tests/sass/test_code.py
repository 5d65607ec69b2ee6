"""The decoder, on words of shipped kernels that were taken apart by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxgen.sass import Instruction, parse

SAMPLES = Path(__file__).parent / "samples"


def sample(name: str) -> dict[int, Instruction]:
    """The instructions of a sample, by address."""
    return {i.address: i for i in parse((SAMPLES / f"{name}.sass").read_text()).instructions}


# The high words and their bits 41 to 57, highest first: waits (6), read (3), write (3), yield (1), stall (4).
BY_HAND = [
    # 0x000ea200082c0000: 000000 111 010 1 0001
    ("blackwell_gemm_clc", 0x1250, "LDTM", 2, None, ()),
    # 0x0003e20008009000: 000000 001 111 1 0001
    ("blackwell_gemm_clc", 0x1260, "UTMASTG", None, 1, ()),
    # 0x0001e20000000000: 000000 000 111 1 0001
    ("blackwell_gemm_clc", 0x1280, "UTMACMDFLUSH", None, 0, ()),
    # 0x004fe200000010ff: 000100 111 111 1 0001
    ("blackwell_gemm_clc", 0x12A0, "F2FP", None, None, (2,)),
    # 0x000fe2000810001e: 000000 111 111 1 0001
    ("blackwell_gemm_clc", 0x13D0, "SYNCS", None, None, ()),
    # 0x0002a20008000200: 000000 001 010 1 0001
    ("hopper_attention_fwd", 0x2770, "LDSM", 2, 1, ()),
    # 0x0003680008000200: 000000 001 101 1 0100
    ("hopper_attention_fwd", 0x2800, "LDSM", 5, 1, ()),
    # 0x0005ec0000008000: 000000 010 111 1 0110
    ("hopper_attention_fwd", 0x2850, "MEMBAR", None, 2, ()),
    # 0x03efea0003800000: 111110 111 111 1 0101
    ("hopper_attention_fwd", 0x2890, "BRA", None, None, (1, 2, 3, 4, 5)),
]


@pytest.mark.parametrize(("name", "address", "base", "write", "read", "waits"), BY_HAND)
def test_scoreboards_of_words_taken_apart_by_hand(
    name: str, address: int, base: str, write: int | None, read: int | None, waits: tuple[int, ...]
) -> None:
    found = sample(name)[address]
    assert (found.base, found.write, found.read, found.waits) == (base, write, read, frozenset(waits))


def test_the_bits_by_hand_are_those_of_the_samples() -> None:
    """The comments above, from the words that the samples have."""
    lines = Path(__file__).read_text().splitlines()
    noted = [line.split("#")[1].split(":") for line in lines if line.strip().startswith("# 0x")]
    assert len(noted) == len(BY_HAND)
    text = "".join(path.read_text() for path in SAMPLES.glob("*.sass"))
    for word, bits in noted:
        assert word.strip() in text and f"{int(word, 16) >> 41:017b}" == bits.replace(" ", "")


def test_guard_opcode_and_text() -> None:
    arrive = sample("blackwell_gemm_clc")[0x13D0]
    assert (arrive.guard, arrive.opcode, arrive.base) == ("@!P2", "SYNCS.ARRIVE.TRANS64.A1T0", "SYNCS")
    assert str(arrive) == "@!P2 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR30], RZ"
    assert sample("blackwell_gemm_clc")[0x1260].guard == "@UP0"


def test_labels_name_positions() -> None:
    code = parse((SAMPLES / "hopper_attention_fwd.sass").read_text())
    assert code.instructions[code.labels[".L_x_44"]].address == 0x2770


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/*0010*/ NOP ; /* 0x0000000000007918 */\n",
        "/* 0x000fea000383ffff */\n",
        "/*0010*/ NOP ;\n",  # without -hex
    ],
)
def test_half_an_instruction_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="instruction"):
        parse(text)
