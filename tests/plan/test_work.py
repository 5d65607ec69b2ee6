"""Work lists as data."""

from __future__ import annotations

from tlxgen.plan import Work


def test_a_list_is_named_by_where_its_numbers_come_from() -> None:
    assert [Work("clc").name, Work("grouped").name, Work("grouped", numbers="dynamic").name] == [
        "clc",
        "grouped",
        "grouped, dynamic",
    ]


def test_a_counter_and_the_hardware_are_found_behind_groups() -> None:
    assert Work("dynamic").counter == Work("grouped", numbers="dynamic").counter == "counter_ptr"
    assert Work("grouped", numbers="clc").clc and Work("clc").clc
    assert not Work("grouped").clc and not Work("grouped").counter
