"""Comments stand above the lines that black would wrap, so that black does not carry them away."""

from __future__ import annotations

import black

from tlxgen.render.comments import above

MODE = black.Mode(line_length=40)
LONG = "    tlx.wait(full[slot], phase, pred=k)  # acquire\n"


def test_the_comment_of_a_long_line_goes_above_it() -> None:
    source = f"def f():\n{LONG}    for k in range(3):\n    {LONG}"
    text = above(source, 40)
    assert text == (
        "def f():\n"
        "    # acquire\n"
        "    tlx.wait(full[slot], phase, pred=k)\n"
        "    for k in range(3):\n"
        "        # acquire\n"
        "        tlx.wait(full[slot], phase, pred=k)\n"
    )
    formatted = black.format_str(text, mode=MODE)
    assert ")  # acquire" in black.format_str(source, mode=MODE) and ")  # acquire" not in formatted
    assert above(formatted, 40) == formatted


def test_blocks_and_wrapped_lines() -> None:
    header = "while number_of_items - 1 >= item_index:  # not done\n    pass\n"
    assert above(header, 40) == "# not done\nwhile number_of_items - 1 >= item_index:\n    pass\n"
    assert above("x = (1 +\n    2222222222222222222222222222222222222)  # c\n", 40) == (
        "x = (1 +\n    2222222222222222222222222222222222222)  # c\n"
    )


def test_what_fits_or_is_no_comment_stays() -> None:
    for source in (
        "x = 1  # short\n",
        "# a comment of its own that is longer than forty columns\nx = 1\n",
        'x = "a string with # in it that is longer than the width"\n',
        '"""A docstring with a line  # that is longer than the width.\n"""\n',
        "f(\n    first_argument_of_several,  # the rows of this tile\n    2,\n)\n",
        "f(\n    1,\n)  # a comment that a person put here, and that is long\n",
    ):
        assert above(source, 40) == source
