"""Where control may go."""

from __future__ import annotations

import pytest

from tests.sass.assembly import sass
from tlxgen.sass import FlowError, parse, successors


def nexts(text: str) -> list[tuple[int, ...]]:
    return successors(parse(sass(text)))


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("NOP", (1,)),
        ("BRA `(.L_x_1)", (2,)),
        ("@P0 BRA `(.L_x_1)", (2, 1)),
        ("@PT BRA `(.L_x_1)", (2,)),
        ("BRA.U UP0, `(.L_x_1)", (2, 1)),
        ("BRA.U !UP0, `(.L_x_1)", (2, 1)),
        ("BRA.DIV ~URZ, `(.L_x_1)", (2, 1)),
        ("@P0 BRA.U.ANY `(.L_x_1)", (2, 1)),
        ("EXIT", ()),
        ("@P0 EXIT", (1,)),
        ("BSSY B0, `(.L_x_1)", (1,)),
        ("BSYNC B0", (1,)),
        ("CALL.REL.NOINC `(.L_x_1)", (2, 1)),
        ("RET.REL.NODEC R2 `(.L_x_1)", ()),
        ('BRX R4 -0x4310 (*"BRANCH_TARGETS .L_x_1,.L_x_2"*)', (2, 3)),
        ('BRXU UR4 -0x4310 (*"BRANCH_TARGETS .L_x_2"*)', (3,)),
    ],
)
def test_where_an_instruction_leads(instruction: str, expected: tuple[int, ...]) -> None:
    assert nexts(f"{instruction}\nNOP\n.L_x_1:\nNOP\n.L_x_2:\nEXIT")[0] == expected


def test_a_jump_without_its_table_is_refused() -> None:
    with pytest.raises(FlowError, match=r"0010 BRX R4 -0x10: its targets are not known"):
        nexts("NOP\nBRX R4 -0x10\nEXIT")
