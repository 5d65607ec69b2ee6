"""The roofline's model on FlashAttention 4's published backward for Blackwell, beside its published speed.

    python benchmarks/roofline_fa4.py [--mhz CLOCK]

The plans are those of flash_bwd_sm100.py: tiles of 128 queries x 128 keys a CTA, D = 128, one CTA or two, dQ added up
in fp32 by TMA. The speeds are those of FlashAttention's pull request 2280 on a B200, for batch 4, 16 heads, 8192
queries and keys, no mask; a backward counts five products. Neither says what clock the GPU ran at, so the clocks at
which both predictions are 1.0 to 1.25 of what was published are printed, too. Needs no GPU.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tlxgen.arch import Sm100
from tlxgen.families import kernels_of
from tlxgen.roofline import GPUS, Counts, Launch, Work, bound_of, units
from tlxgen.roofline.measure import measure
from tlxgen.working import of_spec

KIB = 1 << 10
TILE, D, BATCH, HEADS, N = 128, 128, 4, 16, 8192
OPERAND = TILE * D * 2  # bytes of a tile of Q, K, V, dO, P or dS
SUMS = TILE * D * 4  # of dQ
PUBLISHED = {"one CTA": 1248.0, "two CTAs": 1360.0}  # TFLOP/s
OURS = {  # the spec and the structure
    "one CTA": ("blackwell_attention_bwd", "blackwell_attention_bwd_none"),
    "two CTAs": ("blackwell_attention_bwd_2cta", "blackwell_attention_bwd_2cta_head_dim128_none"),
}
MHZ = 1435  # in the middle of those that fit both: chosen for that, not read anywhere
DRAM = 8e12  # bytes a second
TOLERANCE = 0.01  # of a speed: FA4's plan leaves out the numbers of rows, and what a tile has beside its operands


def plans() -> dict[str, Launch]:
    """What a CTA does for a tile, and at the end of an item."""
    products = 5.0 * TILE * TILE * D
    exponentials, scores = float(TILE * TILE), TILE * TILE
    # exp2 and its multiply-add, dP - delta, its product with P, and both roundings, two elements an instruction
    instructions = 5.0 * scores
    stored = OPERAND  # dS, by threads
    one = {
        "S": 2 * OPERAND, "dP": 2 * OPERAND, "dV, P in TMEM": OPERAND, "dK, dS in TMEM": OPERAND, "dQ": 2 * OPERAND,
        "dS stored": stored, "dQ stored": SUMS, "dQ read by TMA": SUMS,
    }  # fmt: skip
    two = {  # each CTA has half of B; of dQ it has half of the rows, of the keys of both
        "S": 1.5 * OPERAND, "dP": 1.5 * OPERAND, "dV, P in TMEM": OPERAND / 2, "dK, dS in TMEM": OPERAND / 2,
        "dQ": 2 * OPERAND, "dS stored": stored, "half of dS to the other CTA": OPERAND / 2,
        "dQ stored": SUMS / 2, "dQ read by TMA": SUMS / 2,
    }  # fmt: skip
    loads = 2.0 * OPERAND  # Q and dO; of two CTAs, halves of each in two orders
    end = Counts(smem_bytes=4.0 * OPERAND, l2_bytes=4.0 * OPERAND)  # dK and dV, stored and read; K and V
    made = {}
    for name, smem, sums in (("one CTA", one, SUMS), ("two CTAs", two, SUMS / 2)):
        tmem = 2.0 * SUMS + sums + 2 * OPERAND  # S, dP and dQ read, P and dS written
        counts = Counts(products, exponentials, 0.0, instructions, sum(smem.values()), tmem, loads + sums)
        made[name] = Launch(name, counts, end)
    return made


def ours() -> dict[str, Launch]:
    """The same of our kernels, counted."""
    made = {}
    for name, (spec, structure) in OURS.items():
        path = Path(__file__).parent.parent / "specs" / f"{spec}.yaml"
        kernels = kernels_of(path)
        with of_spec(path) as working:
            one = kernels.structure(structure)
            shape = (BATCH, HEADS, HEADS, N, N)
            probed = measure(working.path(structure), kernels.family, one.variants[0], 0, shape)
            assert probed
            # FA4's plan has no source to replay, so that waits of tasks are left out here, too.
            made[name] = probed.launches[0]
    return made


def microseconds(launch: Launch, mhz: float) -> float:
    """Of the main kernel and of those before and after it, which move O, dO and dQ."""
    tiles = N // TILE
    work = Work(BATCH * HEADS * tiles, BATCH * HEADS * tiles * tiles, tiles)
    main = bound_of(launch, work, Sm100, GPUS["sm100"]).clocks / mhz
    elements = BATCH * HEADS * N * D
    around = elements * (2 + 2 + 4 + 4 + 2) / DRAM * 1e6  # O and dO read, dQ cleared, read and written
    return main + around


def predicted(launch: Launch, mhz: float) -> float:
    """TFLOP/s."""
    return 5 * 2 * BATCH * HEADS * N * N * D / microseconds(launch, mhz) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mhz", type=float, default=MHZ, help="the clock of the SMs")
    mhz = parser.parse_args().mhz
    made = plans()
    print(f"clocks a tile of {TILE} x {TILE}, D = {D}, a CTA:")
    for name, launch in made.items():
        row = ", ".join(f"{u.name} {u.clocks:.0f}" for u in units(launch.round, Sm100) if u.clocks is not None)
        print(f"  {name:9} {row}")
    print(f"\nat {mhz:g} MHz, 148 SMs:")
    ratios = {}
    for name, launch in made.items():
        speed = predicted(launch, mhz)
        ratios[name] = speed / PUBLISHED[name]
        print(f"  {name:9} predicted {speed:6.0f}, published {PUBLISHED[name]:6.0f} TFLOP/s: {ratios[name]:.3f}")
    fitting = [
        clock for clock in range(1000, 2001, 5)
        if all(1.0 <= predicted(made[name], clock) / PUBLISHED[name] <= 1.25 for name in made)
    ]  # fmt: skip
    print(f"\nboth are 1.0 to 1.25 at {fitting[0]} to {fitting[-1]} MHz" if fitting else "\nboth fit at no clock")
    own, below = ours(), False
    print(f"\nours under the same model, at {mhz:g} MHz:")
    for name, launch in own.items():
        row = ", ".join(f"{u.name} {u.clocks:.0f}" for u in units(launch.round, Sm100) if u.clocks is not None)
        share = predicted(launch, mhz) / predicted(made[name], mhz)
        below |= share < 1 - TOLERANCE
        print(f"  {name:9} predicted {predicted(launch, mhz):6.0f} TFLOP/s, {share:.3f} of FA4's; clocks a tile: {row}")
    ordered = predicted(made["two CTAs"], mhz) > predicted(made["one CTA"], mhz)
    return int(below or not ordered or not all(1.0 <= ratio <= 1.25 for ratio in ratios.values()))


if __name__ == "__main__":
    sys.exit(main())
