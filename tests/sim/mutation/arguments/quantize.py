"""Mutants of generated quantisers that are no faults."""

from __future__ import annotations

from .argued import Equivalent

ARGUED = (
    Equivalent(
        "The task that frees a slot is the one that loads into it again: its arrival completes the phase that it waits "
        "for next, and its fence still comes after its reads and before its load.",
        (
            ("later", r"tlx\.barrier_wait\(x_empty\[next_slot\], .*\) after tlx\.barrier_expect_bytes\(x_full.*"),
            ("sooner", r"tlx\.barrier_expect_bytes\(x_full.* before tlx\.barrier_wait\(x_empty\[next_slot\], .*"),
            ("drop", r"tlx\.barrier_wait\(x_empty\[next_slot\], .*"),
            ("sooner", r"tlx\.barrier_arrive\(x_empty\[slot\]\) before tlx\.fence\(.*"),
            ("later", r"tlx\.fence\(.* after tlx\.barrier_arrive\(x_empty\[slot\]\)"),
            ("sooner", r"tlx\.fence\(.* before tl\.store\(row_scales_ptr .*"),
            ("alias", r"tlx\.barrier_wait: x_empty -> x_full"),
        ),
        at=r"^hopper_mx_quantize/.*_persistent",
    ),
    Equivalent(
        "The slot that is filled again is the one that was read.",
        (("index", r"\w+ x_\w+: next_slot -> slot"),),
        at=r"^hopper_mx_quantize/.*_persistent",
    ),
    Equivalent(
        "The signs of both are in the result, whose magnitude alone is used.",
        (("operands", r"a <-> b"),),
        at=r"^hopper_mx_quantize/",
        function=r"^halved$",
    ),
    Equivalent(
        "What elements are multiplied by is rounded to bf16, and its byte has the exponent alone.",
        (("assignment", r"power = : (.*) -> \1 \+ 1"),),
        at=r"^hopper_mx_quantize/",
        function=r"^scale_of$",
    ),
)
