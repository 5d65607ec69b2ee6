"""Queries CUDA's driver about the first GPU of this process without an import of torch, which takes seconds."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from pathlib import Path
from typing import Any

from . import device as readings

SMS, MAJOR, MINOR = 16, 75, 76  # CUdevice_attribute: MULTIPROCESSOR_COUNT, COMPUTE_CAPABILITY_MAJOR and _MINOR


def describe() -> dict[str, Any] | None:
    """Name, SMs, capability and versions as `tune.child` reports them; None if the driver or torch is missing."""
    cuda = _toolkit()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        name, gpu = ctypes.create_string_buffer(256), ctypes.c_int()
        if not cuda or driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(gpu), 0):
            return None
        if driver.cuDeviceGetName(name, len(name), gpu):
            return None
        sms, *capability = (_attribute(driver, which, gpu) for which in (SMS, MAJOR, MINOR))
    except (OSError, AttributeError):
        return None
    versions = readings.versions() | {"cuda": cuda}
    return {"name": name.value.decode(), "sms": sms, "capability": capability, "versions": versions}


def _attribute(driver: ctypes.CDLL, which: int, gpu: ctypes.c_int) -> int:
    """Raises OSError when the driver does not know it."""
    value = ctypes.c_int()
    if driver.cuDeviceGetAttribute(ctypes.byref(value), which, gpu):
        raise OSError(f"attribute {which}")
    return value.value


def _toolkit() -> str:
    """The CUDA version that torch was built for, from torch's version file; empty without one."""
    spec = importlib.util.find_spec("torch")
    if not spec or not spec.origin:
        return ""
    try:
        text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"^cuda\b[^=]*= *['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return found[1] if found else ""
