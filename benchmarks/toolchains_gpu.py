"""Run by toolchains.py as a child: runs structures on this GPU with the Triton of its environment.

A request is {spec, module, structure, num_stages, shapes, portable}; its answer is a row with `fails` (the operation
that the compiler lacks, or its error), `right` and `error`. A structure that the rules of docs/toolchains.md reject is
not launched. It works in a scratch folder with its log.
"""

from __future__ import annotations

import functools
import importlib
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

from tlxgen.bounded import LOG_FILE
from tlxgen.bounded.serve import Say, serve
from tlxgen.compile import environments
from tlxgen.compile.compiler import LEFT_OUT
from tlxgen.families import kernels_of
from tlxgen.loading import load_file
from tlxgen.plan import portable

WORTH_IT = 1 << 17  # least product of a shape's extents: several tiles, and iterations that fill a ring
REPEATS = 2

Row = dict[str, Any]


class LeftOut(Exception):
    """The compiler left an operation out: the kernel must not be launched."""


def main() -> None:
    environments.enter()
    torch, knobs = importlib.import_module("torch"), importlib.import_module("triton").knobs
    torch.cuda.synchronize()
    knobs.runtime.jit_post_compile_hook = refuse_what_lacks_something
    serve(handle)


def handle(request: Row, say: Say) -> None:
    global _mark
    _mark, start = len(printed()), time.monotonic()
    row = row_of(request)
    say({"row": row | {"seconds": round(time.monotonic() - start, 1)}})
    if not alive():
        os._exit(3)


_mark = 0  # of the log, where a request begins


def printed() -> str:
    sys.stdout.flush()
    sys.stderr.flush()
    return Path(LOG_FILE).read_text("utf-8", "replace")


def refuse_what_lacks_something(**_: Any) -> None:
    if lacks := LEFT_OUT.search(printed()[_mark:]):
        raise LeftOut(lacks[1])


kernels = functools.lru_cache(2)(kernels_of)


def row_of(request: Row) -> Row:
    known = kernels(Path(request["spec"]))
    structure = next(s for s in known.structures if s.name == request["structure"])
    loaded = load_file(Path(request["module"]))
    config = loaded.CONFIGS[0]
    config.num_stages = request["num_stages"]
    variant, _ = structure.variant_of(config.kwargs)
    reasons = [*portable.missing(variant.plan or structure.plan)] if request["portable"] else []
    if reasons:
        return {"fails": reasons[0].rule, "error": reasons[0].text}
    problem = known.family.problem()
    shapes = small(problem.shapes(variant.spec), request["shapes"])
    try:
        for shape in shapes:
            case = importlib.import_module("tlxgen.check.on_gpu")
            found = case.run(problem, loaded, variant.spec, shape, config, REPEATS, 0)
            if not found["passed"]:
                return {"fails": "", "right": False, "error": f"{shape}: {found['text']}"}
    except Exception as error:
        said = innermost(error)
        if not alive() or is_ours(error):
            return {"fails": "", "right": False, "error": said[:600]}
        return {"fails": "compile", "error": said[:600], "log": printed()[_mark:][-3000:]}
    return {"fails": "", "right": True, "error": "", "shapes": [[*shape] for shape in shapes]}


def is_ours(error: BaseException) -> bool:
    """Whether an error is no compiler's: it was raised without triton."""
    at = error.__traceback__
    while at is not None:
        if "/triton/" in at.tb_frame.f_code.co_filename:
            return False
        at = at.tb_next
    return not isinstance(error, LeftOut)


def small(shapes: list[tuple[int, ...]], count: int) -> list[tuple[int, ...]]:
    """The smallest that are worth it; of a family that has none, the largest."""
    ordered = sorted(shapes, key=math.prod)
    return [s for s in ordered if math.prod(s) >= WORTH_IT][:count] or ordered[-count:]


def innermost(error: BaseException) -> str:
    """What an error says; of Triton's, which wrap one another and quote the source, what the innermost does."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {getattr(error, 'error_message', None) or error}"


def alive() -> bool:
    """Whether the GPU still answers this process: not after an illegal access."""
    torch = sys.modules["torch"]
    try:
        torch.cuda.synchronize()
    except Exception:
        return False
    return True


if __name__ == "__main__":
    main()
