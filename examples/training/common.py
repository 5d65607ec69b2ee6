"""What the training examples share: options, runs from the same seed, the record of losses, and the plot."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
Loss = Callable[[int], torch.Tensor]  # of the batch of a step


def generated(package: str, function: str, module: str = "") -> Any:
    """A function of a package in generated/, or of one of its modules."""
    if (path := str(ROOT / "generated")) not in sys.path:
        sys.path.insert(0, path)
    return getattr(importlib.import_module(f"{package}.{module}" if module else package), function)


def train(loss_of: Loss, parameters: list[torch.Tensor], steps: int, rate: float) -> dict[str, Any]:
    """Losses of `steps` steps of Adam, the seconds of the first step (which compiles) and of all others."""
    optimizer = torch.optim.Adam(parameters, lr=rate)
    losses: list[torch.Tensor] = []
    begin, first = time.perf_counter(), 0.0
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        if step == 0:
            losses[0].item()
            first = time.perf_counter() - begin
    found = [float(x) for x in losses]
    return {
        "losses": found,
        "seconds_first_step": round(first, 3),
        "seconds_others": round(time.perf_counter() - begin - first, 3),
    }


def main(name: str, about: str, model: Callable[..., tuple[Loss, list[torch.Tensor]]], argv: list[str] | None) -> int:
    """Trains a block with our operators, with torch's in bf16, and with torch's in fp32. Returns an exit status.

    model: called with the operators ("tlxgen" or "torch"), dtype, device, seed, and whether small sizes are meant.
    0: done. 1: a loss is not finite. 2: no Hopper GPU, which our operators need; --torch-only needs none.
    """
    parser = argparse.ArgumentParser(prog=f"{name}.py", description=about)
    parser.add_argument("--steps", type=int, default=50, help="steps of Adam (default: 50)")
    parser.add_argument("--seed", type=int, default=0, help="of parameters and data (default: 0)")
    parser.add_argument("--small", action="store_true", help="sizes for a CPU")
    parser.add_argument("--torch-only", action="store_true", help="leave out our operators: needs no GPU")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the record here")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a plot of the losses here (needs matplotlib)")
    options = parser.parse_args(argv)
    if options.steps < 1:
        parser.error(f"--steps: {options.steps}, expected at least 1")
    gpu = torch.cuda.is_available()
    if not options.torch_only and not (gpu and torch.cuda.get_device_capability()[0] == 9):
        print(f"{name}.py: no Hopper GPU here, which our operators need; --torch-only trains without", file=sys.stderr)
        return 2
    device = torch.device("cuda", 0) if gpu else torch.device("cpu")
    runs = {"tlxgen bf16": ("tlxgen", torch.bfloat16)} if not options.torch_only else {}
    runs |= {"torch bf16": ("torch", torch.bfloat16), "torch fp32": ("torch", torch.float32)}
    record: dict[str, Any] = {
        "example": name,
        "device": torch.cuda.get_device_name() if gpu else platform.machine(),
        "torch": torch.__version__,
        "steps": options.steps,
        "seed": options.seed,
        "small": options.small,
        "runs": {},
    }
    for title, (operators, dtype) in runs.items():
        loss_of, parameters = model(operators, dtype, device, options.seed, options.small)
        record["runs"][title] = found = train(loss_of, parameters, options.steps, 1e-3)
        first, last = found["losses"][0], found["losses"][-1]
        seconds = found["seconds_first_step"], found["seconds_others"]
        print(f"{title}: loss {first:.4f} -> {last:.4f}; first step {seconds[0]} s, others {seconds[1]} s", flush=True)
    exact = record["runs"]["torch fp32"]["losses"]
    for title in runs:
        losses = record["runs"][title]["losses"]
        record["runs"][title]["most_off_fp32"] = max(abs(a - b) for a, b in zip(losses, exact, strict=True))
    record["plot"] = plot(record, options.plot)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    finite = all(x - x == 0 for run in record["runs"].values() for x in run["losses"])
    return 0 if finite else 1


def plot(record: dict[str, Any], path: Path | None) -> str:
    """Losses by step, a line a run. Returns what became of it: the file's name, or why there is none."""
    if path is None:
        return "not asked for"
    try:
        import matplotlib
    except ImportError:
        return "matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for (title, run), style in zip(record["runs"].items(), ("-", "--", ":"), strict=False):
        axes.plot(run["losses"], style, label=title)
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    axes.set_title(f"{record['example']}, {record['device']}")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)
    return path.name
