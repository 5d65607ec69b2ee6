"""Run by test_launches.py in its own process, where importing triton or tlxgen raises: a package of a GEMM.

Prints one JSON object. argv: the package's folder, its name, the folder of the stand-in driver.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import json
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

BLOCKED = ("triton", "tlxgen")


class Refusing:
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in BLOCKED:
            raise ImportError(f"{name} is not to be imported here")


def pretending() -> Any:
    """pretend.py by its path: tests/ is a package whose other modules import tlxgen."""
    spec = importlib.util.spec_from_file_location("pretend", Path(__file__).with_name("pretend.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    folder, name, driver = sys.argv[1:]
    sys.meta_path.insert(0, Refusing())  # type: ignore[arg-type]
    fake = pretending()
    fake.pretend()
    told = fake.Driver(driver)
    sys.path.insert(0, folder)
    package = importlib.import_module(name)
    launcher = importlib.import_module(f"{name}._launcher")
    gemm = getattr(package, name)
    a, b = fake.tensor((256, 512)), fake.tensor((512, 384))
    launches = []
    for _ in range(2):
        before = told.count("launched")
        gemm(a, b)
        launches.append(told.count("launched") - before)
    print(json.dumps({
        "launches": launches,
        "thread": in_a_new_thread(lambda: gemm(a, b), told),
        "errors": errors(gemm, launcher, fake, told, Path(folder) / name),
        "modules": [module for module in sys.modules if module.partition(".")[0] in BLOCKED],
    }))  # fmt: skip


def in_a_new_thread(call: Callable[[], Any], told: Any) -> str:
    """A thread that has not called CUDA yet has no context: the first launch there makes one."""
    before = told.count("launched")
    told.set("context", 0)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            call()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return str(failed[0]) if failed else "launched" if told.count("launched") == before + 1 else "not launched"


def errors(gemm: Any, launcher: Any, fake: Any, told: Any, folder: Path) -> dict[str, str]:
    import torch

    a, b = fake.tensor((64, 64)), fake.tensor((64, 64))
    found: dict[str, str] = {}

    def say(what: str, call: Callable[[], Any]) -> None:
        try:
            call()
            found[what] = "no error"
        except Exception as error:
            found[what] = f"{type(error).__name__}: {error}"

    module = importlib.import_module(f"{gemm.__module__}")
    say("old torch", lambda: launcher.refuse_torch("2.3.1+cu121"))
    launcher.refuse_torch("2.10.0a0+git1234")  # a later one, although "10" is before "4" as text
    say("torch without CUDA", lambda: launcher._no_cuda(0))
    say("tensors of the CPU", lambda: gemm(torch.zeros(64, 64).bfloat16(), b))
    say("one of the CPU", lambda: gemm(a, torch.zeros(64, 64).bfloat16()))
    say("other type", lambda: gemm(fake.tensor((64, 64), torch.float32), b))
    say("other shape", lambda: gemm(a, fake.tensor((128, 64))))
    say("misaligned", lambda: gemm(fake.tensor((64, 64), shift=1), b))
    say("another package's config", lambda: gemm(a, b, config=launcher.Config({"BLOCK_M": 1})))

    kernel = launcher.Kernel("small_gemm_kernel")
    options = module.CONFIGS[0].all_kwargs()
    host = importlib.import_module(f"{launcher.__package__}._host")
    view = host.Described(a, [64, 64], [64, 1], [64, 64])
    wrong = host.Described(fake.tensor((64, 64), torch.float16), [64, 64], [64, 1], [64, 64])
    say("wide integer", lambda: kernel.cubin([view, view, view, 1 << 32, 64, 64, 1, 1], options))
    say("other element", lambda: kernel.cubin([wrong, view, view, 64, 64, 64, 1, 1], options))
    say("unknown config", lambda: kernel.cubin([view, view, view, 64, 64, 64, 1, 1], {**options, "BLOCK_K": 32}))

    cubin = kernel.cubin([view, view, view, 64, 64, 64, 1, 1], options)
    path = folder / "cubins" / f"{cubin.file}.gz"
    data = path.read_bytes()

    def fresh() -> Any:
        launcher.refuse_device.cache_clear()
        launcher.driver_version.cache_clear()
        return launcher.Cubin(kernel, {**entry, "divisible": []}).function(0)

    rows = launcher.MANIFEST["kernels"]["small_gemm_kernel"]["launches"]
    entry = next(c for row in rows for c in row["cubins"] if c["file"] == cubin.file)
    told.set("capturing", 1)
    fresh()  # raises where a capture keeps it from loading
    told.set("capturing", 0)
    torch.cuda.get_device_capability = lambda *_: (10, 0)
    say("another architecture", fresh)
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    told.set("driver_version", 11080)
    say("old driver", fresh)
    told.set("driver_version", 13000)
    middle = len(data) // 2
    path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    say("damaged", fresh)
    other = zlib.decompress(data, wbits=31)[:-1] + b"x"
    path.write_bytes(gzip.compress(other))
    say("another", fresh)
    path.unlink()
    say("missing", fresh)
    path.write_bytes(data)
    told.set("refused", 200)
    say("refused", fresh)
    told.set("refused", 0)
    told.set("shared_optin", 100_000)
    say("too little shared memory", fresh)
    return {what: text.replace(cubin.file, "CUBIN") for what, text in found.items()}


main()
