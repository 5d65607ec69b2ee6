"""Learns by what the GEMM model of time is off, of measured kernels, and says how much longer its picks take.

    python -m benchmarks.learn_gemm benchmarks/results/gemm_*.json [--write] [--no-cross] [--doubtful 300 --seed 1]

Files are those of gemm_times.py and gemm_designs.py: groups of kernels that one run has timed in turns on one shape.
What is learned are logarithms of time over estimate, up to what a group has in common, by a network of rectified
linear units (`Correction` in tlxgen/families/gemm/model.py). Eight networks, each begun from other weights, learn of
the measurements; another, which ships, learns their mean on many more shapes, which nobody has measured.
`--write` puts it where `build` reads it (tlxgen/families/gemm/correction.json).

`--doubtful` prints random shapes that are worth measuring, as gemm_designs.py takes them by `--given`: those where the
picked kernel takes longest beside the one that each of the eight would pick, by that one's word.

For shapes that were left out of it, drawn as users have them (gemm_designs.py `--drawn`), this prints how much longer
the picked kernel takes than the fastest of its group, with the correction and without. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks import fit_gemm
from benchmarks.gemm_designs import BEST, any_rows, of_model, shipped
from benchmarks.gemm_random import problems
from tlxgen.families.gemm import cost
from tlxgen.families.gemm.model import LIKELY, Clocks, Correction, Kernel, row_cost, widest

TEACHERS, TEACHER, STUDENT = 8, (32, 16), (48, 24)  # networks that learn of measurements, and units of their layers
EPOCHS, BATCH, RATE = 60, 64, 3e-3
DECAY = 0.1  # of the teachers' weights
NEAR = 0.25  # a kernel that takes so much longer than the fastest of its group counts half
MOST = 0.3  # no kernel counts as further off
USERS = 3  # times that shapes count which were drawn as users have them; others were chosen since picks were wrong
OF_EACH = 12  # random shapes are drawn for one that is to be measured
UNMEASURED, SEED = 2500, 9001  # shapes on which the student hears the teachers, too
FOLDS = 5  # of the shapes drawn as users have them, each of which is left out once
DRAWN = "drawn"  # in the names of their files


class Group(NamedTuple):
    """Kernels for one shape: what the correction is told of each, and logarithms of estimates and measured times."""

    shape: tuple[int, int, int]
    drawn: bool
    inputs: list[list[float]]
    estimates: list[float] = []
    times: list[float] = []


Network = Callable[[list[float]], float]  # of the inputs of a kernel


def read(path: Path) -> list[Group]:
    """The groups of a file that say something of picks: in a chain, of two kernels and more, by bf16 or fp16."""
    found = []
    for group in fit_gemm.read(path, plain=True):
        fastest: dict[Kernel, float] = {}
        for kernel, us in zip(group.kernels, group.us, strict=True):
            fastest[kernel] = min(us, fastest.get(kernel, math.inf))
        rows, widths = [row_cost(x, cost.RATES) for x in group.pitches], [*map(widest, group.pitches)]
        made = Group(group.shape, DRAWN in path.name, [], [], [])
        for kernel, us in fastest.items():
            clocks = Clocks(kernel, group.types, group.gpu, cost.RATES, *widths)
            if clocks.can_load:
                estimate, facts = clocks.facts(*group.shape, *rows)
                made.inputs.append([*clocks.about(group.types), *facts])
                made.estimates.append(math.log(estimate))
                made.times.append(math.log(us))
        if group.chain and group.types.a == group.types.b == 2 and len(made.times) >= 2:
            found.append(made)
    return found


def unmeasured(shapes: Sequence[tuple[tuple[int, int, int], str]]) -> list[Group]:
    """Kernels that ship for shapes and layouts: those that the model puts first, and some others that are likely."""
    found = []
    BEST.shipped, BEST.spread, BEST.likely = 12, 4, 1.4
    for shape, layout in shapes:
        types, gpu, pitches = of_model(shape, layout)
        rows, widths = [row_cost(x, cost.RATES) for x in pitches], [*map(widest, pitches)]
        made = Group(shape, True, [], [])
        for candidate in shipped(shape, layout):
            clocks = Clocks(candidate.kernel, types, gpu, cost.RATES, *widths)
            if clocks.can_load:
                estimate, facts = clocks.facts(*shape, *rows)
                made.inputs.append([*clocks.about(types), *facts])
                made.estimates.append(math.log(estimate))
        if made.inputs:
            found.append(made)
    return found


def centred(values: Tensor, weights: Tensor, group: Tensor) -> Tensor:
    """Less the mean of its group, each."""
    sums, total = (torch.zeros(int(group.max()) + 1).index_add_(0, group, x) for x in (weights * values, weights))
    return values - (sums / total)[group]


def learn(
    groups: Sequence[Group], wanted: Sequence[Tensor], weights: Sequence[Tensor], units: Sequence[int],
    scale: tuple[Tensor, Tensor], epochs: int, decay: float, seed: int,
) -> nn.Sequential:  # fmt: skip
    """A network that gives `wanted` up to what the kernels of a group have in common; its inputs are scaled."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    inputs = [(torch.tensor(group.inputs) - scale[0]) / scale[1] for group in groups]
    layers: list[nn.Module] = []
    for before, after in zip((inputs[0].shape[1], *units), units, strict=False):
        layers += [nn.Linear(before, after), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Linear(units[-1], 1))
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    order = [*range(len(groups))]
    for _ in range(epochs):
        rng.shuffle(order)
        for i in range(0, len(order), BATCH):
            some = order[i : i + BATCH]
            group = torch.repeat_interleave(torch.tensor([len(wanted[j]) for j in some]))
            weight = torch.cat([weights[j] for j in some])
            said = centred(network(torch.cat([inputs[j] for j in some]))[:, 0], weight, group)
            off = said - torch.cat([wanted[j] for j in some])
            loss = 100 * (weight * off * off).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        schedule.step()
    return network


class Teachers(NamedTuple):
    """Networks that learned of measurements, and the mean and the spread of inputs by which theirs are scaled."""

    networks: Sequence[nn.Sequential]
    scale: tuple[Tensor, Tensor]

    def of(self, group: Group) -> Tensor:
        """What each says of each kernel of a group."""
        inputs = (torch.tensor(group.inputs) - self.scale[0]) / self.scale[1]
        with torch.no_grad():
            return torch.stack([network(inputs)[:, 0] for network in self.networks])


def teachers(groups: Sequence[Group]) -> Teachers:
    every = torch.cat([torch.tensor(group.inputs) for group in groups])
    scale = every.mean(0), every.std(0) + 1e-6
    wanted, weights = [], []
    for group in groups:
        times = torch.tensor(group.times)
        weight = 1 / (1 + ((times - times.min()).expm1() / NEAR) ** 2)
        off = centred(times - torch.tensor(group.estimates), weight, torch.zeros(len(times), dtype=torch.int64))
        wanted.append(off.clamp(-MOST, MOST))
        weights.append(weight * (USERS if group.drawn else 1))
    networks = [learn(groups, wanted, weights, TEACHER, scale, EPOCHS, DECAY, seed) for seed in range(TEACHERS)]
    return Teachers(networks, scale)


def taught(
    groups: Sequence[Group], others: Sequence[Group], by: Teachers
) -> tuple[nn.Sequential, tuple[Tensor, Tensor]]:
    """The network that ships, and how its inputs are scaled."""
    heard = [*groups, *others]
    means = [by.of(group).mean(0) for group in heard]
    said = [mean - mean.mean() for mean in means]
    student = learn(heard, said, [*map(torch.ones_like, said)], STUDENT, by.scale, 4 * EPOCHS // 3, 1e-3, 0)
    with torch.no_grad():  # it has learned differences alone, and what it says is cut off at MOST_OFF
        common = statistics.fmean(float(Teachers([student], by.scale).of(group).mean()) for group in heard)
        student[-1].bias -= common
    return student, by.scale


def doubt(group: Group, by: Teachers) -> float:
    """How much longer than needed the picked kernel takes, as a logarithm: what each teacher says of it, on average."""
    estimates = torch.tensor(group.estimates)
    said = (estimates + by.of(group))[:, estimates <= estimates.min() + math.log(LIKELY)]
    return float((said[:, said.mean(0).argmin()] - said.min(1).values).mean())


def doubtful(count: int, seed: int, by: Teachers) -> list[str]:
    """Of `OF_EACH` times as many random shapes those of most doubt."""
    some = any_rows(OF_EACH * count, seed)
    doubts = [(doubt(group, by), *one) for group, one in zip(unmeasured(some), some, strict=True)]
    most = sorted(doubts, reverse=True)[:count]
    return ["x".join(map(str, shape)) + ":" + layout.replace(" ", ":") for _, shape, layout in most]


def losses(groups: Sequence[Group], network: Network | None) -> list[float]:
    """How much longer the pick of each group takes than the fastest."""
    found = []
    for group in groups:
        least, off = min(group.estimates), [network(x) if network else 0.0 for x in group.inputs]
        expected = [
            estimate + x if estimate <= least + math.log(LIKELY) else math.inf
            for estimate, x in zip(group.estimates, off, strict=True)
        ]
        found.append(math.exp(group.times[expected.index(min(expected))] - min(group.times)))
    return found


def summary(values: Sequence[float]) -> dict[str, float]:
    order = sorted(values)
    return {
        "groups": len(order),
        "loss_mean": round(statistics.geometric_mean(order), 4),
        "loss_95th": round(order[len(order) * 19 // 20], 3),
        "loss_worst": round(order[-1], 3),
        "above_a_tenth": round(sum(x > 1.1 for x in order) / len(order), 3),
    }


def cross(groups: Sequence[Group], others: Sequence[Group]) -> dict[str, Any]:
    """The losses on shapes drawn as users have them, each left out of what was learned."""
    shapes = sorted({group.shape for group in groups if group.drawn})
    random.Random(1).shuffle(shapes)
    with_it, without = [], []
    for fold in range(FOLDS):
        left_out = set(shapes[fold::FOLDS])
        of = [group for group in groups if group.shape not in left_out]
        network = correction(*taught(of, others, teachers(of)))
        some = [group for group in groups if group.drawn and group.shape in left_out]
        with_it += losses(some, network)
        without += losses(some, None)
        print(f"fold {fold}: {summary(without)} -> {summary(with_it)}", flush=True)
    return {"without": summary(without), "with": summary(with_it)}


def correction(student: nn.Sequential, scale: tuple[Tensor, Tensor]) -> Correction:
    """The network as the model has it: its inputs are not scaled, and weights have four digits."""
    widths, weights = [len(scale[0])], list[float]()
    for layer in (x for x in student if isinstance(x, nn.Linear)):
        factors, bias = layer.weight.detach().double(), layer.bias.detach().double()
        if not weights:
            factors = factors / scale[1]
            bias = bias - factors @ scale[0].double()
        widths.append(len(bias))
        weights += [*bias.tolist(), *factors.T.flatten().tolist()]
    return Correction(tuple(widths), tuple(float(f"{x:.4g}") for x in weights))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--no-cross", action="store_true", help="skip what leaves shapes out")
    parser.add_argument("--doubtful", type=int, default=0, help="print so many shapes whose picks are doubtful")
    parser.add_argument("--seed", type=int, default=0, help="of these shapes")
    given = parser.parse_args()
    torch.set_num_threads(1)  # matrices are small; two threads wait for each other, on a busy machine for minutes
    groups = [group for path in given.files for group in read(path)]
    others = unmeasured(problems(UNMEASURED, SEED))
    print(f"{len(groups)} groups, {sum(len(x.times) for x in groups)} times, {len({x.shape for x in groups})} shapes")
    record: dict[str, Any] = {"learned_of": [path.name for path in given.files]}
    if not given.no_cross:
        record["error_on_shapes_left_out"] = cross(groups, others)
    if given.doubtful or given.write:
        by = teachers(groups)
    if given.doubtful:
        print(",".join(doubtful(given.doubtful, given.seed, by)))
    if given.write:
        made = correction(*taught(groups, others, by))
        record["error"] = summary(losses([group for group in groups if group.drawn], made))
        lines = textwrap.wrap(" ".join(f"{x:.4g}" for x in made.weights), 116)
        cost.CORRECTION_FILE.write_text(
            json.dumps({**record, "widths": made.widths, "weights": lines}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
