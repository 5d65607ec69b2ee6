"""Writes an operator file for TritonBench, which times the generated kernels and their baselines by its own harness.

TritonBench finds an operator by the folder `tritonbench/operators/NAME/`; the file is that folder's `__init__.py`. It
imports tlxgen for inputs, work and baselines, so that both harnesses time the same thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tlxgen.render.layout import LINE_LENGTH

MARK = "Written by tlxgen bench --tritonbench"
HEAD = '''"""{name} in TritonBench. Place this file at tritonbench/operators/{name}/__init__.py.

{mark}; times what specs and modules at the paths below hold.
"""

from pathlib import Path

from tritonbench.utils.triton_op import BenchmarkOperator, register_benchmark, register_metric

from tlxgen.bench.spec import Bench

BENCH = Bench(Path({spec!r}), Path({folder!r}))
SHAPES = {shapes!r}


class Operator(BenchmarkOperator):
    DEFAULT_METRICS = ["latency", "tflops", "gbps", "speedup", "accuracy"]
    DEFAULT_PRECISION = "bypass"
    FWD_ONLY = True

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.DEFAULT_NUM_INPUTS = len(SHAPES)

    def get_input_iter(self):
        for shape in SHAPES:
            yield shape, BENCH.problem(shape, self.device).inputs()

    def get_x_val(self, example_inputs):
        return example_inputs[0]

    @register_metric()
    def flops(self, fn_name, example_inputs, metrics):
        return BENCH.problem(example_inputs[0], self.device).flops

    @register_metric()
    def gbps(self, fn_name, example_inputs, metrics):
        return BENCH.problem(example_inputs[0], self.device).bytes_moved / metrics.latency * 1e-6
'''

METHOD = """
    @register_benchmark({options})
    def {method}(self, shape, tensors):
        return BENCH.case({name!r}, shape).make(tensors)
"""


def source(
    name: str, spec: Path, folder: Path, shapes: Sequence[tuple[int, ...]], cases: Sequence[tuple[str, bool]]
) -> str:
    """The operator's source. `cases` are names as `Bench.cases` gives them, and whether each is a baseline."""
    import black

    baseline = next((name for name, is_baseline in cases if is_baseline), None)
    parts = [
        HEAD.format(mark=MARK, name=name, spec=str(spec.resolve()), folder=str(folder.resolve()), shapes=list(shapes))
    ]
    for case, _ in cases:
        options = "baseline=True" if case == baseline else ""
        parts.append(METHOD.format(options=options, method=_identifier(case), name=case))
    return black.format_str("".join(parts), mode=black.Mode(line_length=LINE_LENGTH))


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name).strip("_")
