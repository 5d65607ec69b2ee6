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
        ),
        at=r"^hopper_mx_quantize/.*_persistent",
    ),
)
