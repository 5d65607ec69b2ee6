"""Constants that faults, plans and inputs share, apart from facts.py, which also needs the model of time."""

from __future__ import annotations

LEAST_PART = 32  # K tiles of a part of a group's tile: shorter ones cost more to add up than they save
SCALE_BLOCK = 128  # elements along K, and columns of B, that a number scales
POINTERS = {"tma": (), "pointers": ("a", "b"), "pointers_a": ("a",), "pointers_b": ("b",)}  # by tasks.load.by
