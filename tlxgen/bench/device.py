"""The circumstances of a measurement: versions, and the clocks, power and temperature of the GPU.

They come from nvidia-smi, which is part of every driver. A value that it does not report is left out.
"""

from __future__ import annotations

import functools
import platform
import re
import subprocess
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from tlxgen import __version__

FIELDS = {  # field of nvidia-smi --query-gpu -> our name
    "clocks.current.sm": "sm_mhz",
    "clocks.current.memory": "memory_mhz",
    "power.draw": "power_w",
    "enforced.power.limit": "power_limit_w",
    "temperature.gpu": "temperature_c",
}
PACKAGES = ("fbtriton", "torch", "quack-kernels")


def conditions(gpu: str = "0") -> dict[str, float]:
    """Clocks in MHz, power in W and temperature in degrees C of the GPU with an index or UUID; empty if unknown."""
    command = ["nvidia-smi", f"--id={gpu}", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return {}
    return parse(run.stdout)


def parse(line: str) -> dict[str, float]:
    """The readings in one line of nvidia-smi's CSV; a field that it reports as [N/A] is left out."""
    cells = [cell.strip() for cell in line.strip().split(",")]
    pairs = zip(FIELDS.values(), cells, strict=False)
    return {name: float(cell) for name, cell in pairs if re.fullmatch(r"\d+(\.\d+)?", cell)}


@dataclass(frozen=True)
class Listed:
    """A GPU as nvidia-smi lists it."""

    index: str
    uuid: str
    name: str
    driver: str


@functools.cache
def listed() -> tuple[Listed, ...]:
    """The GPUs of this machine, visible to CUDA or not. The result is cached, since nvidia-smi can take a second."""
    command = ["nvidia-smi", "--query-gpu=index,uuid,name,driver_version", "--format=csv,noheader"]
    try:
        run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ()
    return parse_list(run.stdout)


def parse_list(text: str) -> tuple[Listed, ...]:
    """Parses the lines that `listed` asks for, one a GPU. Other lines are ignored."""
    rows = ([cell.strip() for cell in line.split(",")] for line in text.splitlines())
    return tuple(Listed(*row) for row in rows if len(row) == 4 and row[0].isdecimal())


def driver() -> str:
    """The version of NVIDIA's driver; empty if unknown."""
    return next((gpu.driver for gpu in listed()), "")


def gpu_name(which: str) -> str:
    """The name of the GPU with an index, a UUID, or the beginning of a UUID; empty if unknown."""
    found = (gpu.name for gpu in listed() if which == gpu.index or (which and gpu.uuid.startswith(which)))
    return next(found, "")


def versions() -> dict[str, str]:
    """The versions of all software that a measurement depends on. It imports nothing."""
    found = {"tlxgen": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found | ({"driver": known} if (known := driver()) else {})


def slug(device: str) -> str:
    """The folder's name for a device: h200 for "NVIDIA H200", h100_80gb_hbm3 for "NVIDIA H100 80GB HBM3"."""
    words = re.findall(r"[a-z0-9]+", device.lower())
    return "_".join(word for word in words if word != "nvidia") or "unknown"


def describe(readings: dict[str, Any]) -> str:
    """The readings as text for a line of a report."""
    units = {"sm_mhz": "MHz", "power_w": "W", "temperature_c": "C"}
    return ", ".join(f"{readings[name]:g} {unit}" for name, unit in units.items() if name in readings)
