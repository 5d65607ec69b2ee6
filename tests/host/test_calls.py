"""What a call does: allocates, launches through Triton first, then by its launcher, and stays right among threads."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tlxgen.loading import load_file  # noqa: E402

from .gpu import DEVICE, HANDLE, Gpu, Kernel  # noqa: E402


@pytest.fixture
def gpu(host: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    return Gpu(host, monkeypatch)


def call_of(host: ModuleType, kernel: Any, made: Any = None, **options: Any) -> Any:
    """c from a and b: descriptors of a and c, the address of b, a scalar."""
    made = {"c": torch.zeros(2, 3)} if made is None else made
    views = [("a", lambda t: ("a", t.data_ptr())), ("c", lambda t: ("c", t.data_ptr()))]
    launch = host.Launch(kernel, (5, 1, 1), views, ["b"], (42,), {"num_warps": 4})
    return host.Call(DEVICE, ("a", "b", "c"), ("c",), made, [launch], **options)


A, B = torch.zeros(8), torch.zeros(8)
GENERATED = Path(__file__).parents[2] / "generated"


def test_the_first_goes_through_triton_and_the_others_say_the_same_to_its_launcher(host: ModuleType, gpu: Gpu) -> None:
    kernel = Kernel(descriptors=2)
    call = call_of(host, kernel)
    first, second = call(A, B, None), call(A, B, None)
    ((grid, arguments, options),) = kernel.launches
    assert (grid, options) == ((5, 1, 1), {"num_warps": 4})
    assert arguments == (("a", A.data_ptr()), ("c", first.data_ptr()), B, 42)
    (told,) = gpu.told
    assert told[:5] == (5, 1, 1, 7, HANDLE) and told[-3:-1] == ("annotations", "signature")
    encoded = [("encoded", ("a", A.data_ptr()), 0), ("encoded", ("c", second.data_ptr()), 1)]
    assert told[-1] == [*encoded, B.data_ptr(), 42]


def test_what_is_given_is_written_and_comes_back(host: ModuleType, gpu: Gpu) -> None:
    call, c = call_of(host, Kernel(descriptors=2)), torch.zeros(2, 3)
    assert call(A, B, c) is c and call(A, B, c) is c and not gpu.made


def prepared(host: ModuleType, c: Any) -> Any:
    """A call that makes results like c."""
    given = {"a": A, "b": B, "c": None}
    return host.prepared(lambda **_: call_of(host, Kernel(descriptors=2), {"c": c}), given)


def test_the_first_call_has_the_results_that_were_made_to_prepare_it(host: ModuleType, gpu: Gpu) -> None:
    c = torch.zeros(2, 3)
    call = prepared(host, c)
    assert call(A, B, None) is c and call(A, B, None) is not c
    given = torch.zeros(2, 3)
    call = prepared(host, c)
    assert call(A, B, given) is given and call(A, B, None) is not c


def test_another_thread_whose_stream_may_be_another_makes_its_own_results(host: ModuleType, gpu: Gpu) -> None:
    c = torch.zeros(2, 3)
    for call in (prepared(host, c), call_of(host, Kernel(descriptors=2), {"c": c})):
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(call, A, B, None).result() is not c
        assert call(A, B, None) is not c
    assert call_of(host, Kernel(descriptors=2), {"c": c})(A, B, None) is not c  # nobody says that it comes at once


def test_results_of_the_class_of_an_argument_are_not_handed_out(host: ModuleType, gpu: Gpu) -> None:
    c = torch.nn.Parameter(torch.zeros(2, 3))
    assert type(prepared(host, c)(A, B, None)) is torch.Tensor


def test_several_results_come_in_their_order(host: ModuleType, gpu: Gpu) -> None:
    made = {"x": torch.zeros(2), "y": torch.zeros(3), "scratch": torch.zeros(4)}
    launch = host.Launch(Kernel(), (1, 1, 1), [], ["scratch", "y", "x"], (), {})
    call = host.Call(DEVICE, ("a", "x", "y"), ("y", "x"), made, [launch])
    for _ in range(2):
        y, x = call(A, None, None)
        assert (y.shape, x.shape) == ((3,), (2,))
    assert gpu.told[0][-1][1:] == [y.data_ptr(), x.data_ptr()]  # after an address of memory that nobody else sees


def test_a_scalar_that_varies_follows_the_others_and_is_not_kept(host: ModuleType, gpu: Gpu) -> None:
    kernel, c = Kernel(descriptors=2), torch.zeros(2, 3)
    call = call_of(host, kernel)
    for seed in (1, 2, 3, 2):
        call(A, B, c, varying=(seed,))
    assert kernel.launches[0][1][-2:] == (42, 1)
    assert [told[-1][-2:] for told in gpu.told] == [[42, 2], [42, 3], [42, 2]]


def test_descriptors_are_encoded_once_for_an_address(host: ModuleType, gpu: Gpu) -> None:
    call, c, other = call_of(host, Kernel(descriptors=2)), torch.zeros(2, 3), torch.zeros(2, 3)
    for into in (c, c, c, other, c, other):
        call(A, B, into)
    assert [name for name, _ in gpu.encoded] == ["a", "c", "c"]
    gpu.stream = 8
    call(A, B, c)
    assert gpu.told[-1][3] == 8 and len(gpu.encoded) == 3


def test_a_thread_has_a_context_before_a_descriptor_is_encoded(host: ModuleType, gpu: Gpu) -> None:
    """A thread that has not called CUDA has none: torch.nn.DataParallel calls a module in such threads."""
    call, seen = call_of(host, Kernel(descriptors=2)), list[int]()
    for into in (torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 3)):
        gpu.asked.clear()
        call(A, B, into)
        seen.append(len(gpu.asked))
    assert seen == [1, 1, 1]  # each time something is to be encoded


def test_a_table_of_descriptors_that_another_thread_empties_is_not_read_again(
    host: ModuleType, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between keeping a descriptor and telling it the table may have grown full, and been cleared."""
    keep = host.keep

    def keep_for_a_moment(known: dict[Any, Any], key: Any, value: Any) -> Any:
        kept = keep(known, key, value)
        known.clear()
        return kept

    monkeypatch.setattr(host, "keep", keep_for_a_moment)
    call, c = call_of(host, Kernel(descriptors=2)), torch.zeros(2, 3)
    for _ in range(3):
        call(A, B, c)
    assert len(gpu.told) == 2


def test_tables_are_bounded(host: ModuleType, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "MOST", 10)
    call, kept = call_of(host, Kernel(descriptors=2)), [torch.zeros(2, 3) for _ in range(50)]
    for c in kept:
        call(A, B, c)
    assert 0 < len(call.known) <= 10 and all(0 < len(known) <= 10 for known in call.launches[0].encoded)
    assert len(gpu.told) == 49


@pytest.mark.parametrize("rows", [1, 3])
def test_padded_rows_are_allocated_whole(host: ModuleType, gpu: Gpu, rows: int) -> None:
    """TMA writes up to the end of a chunk of 16 bytes, that of the last row, too."""
    padded = host.empty_rows(torch.empty(0), rows, 13, torch.bfloat16)
    call = call_of(host, Kernel(descriptors=2), {"c": padded})
    for c in (call(A, B, None), call(A, B, None)):
        assert (c.shape, c.stride(), c.dtype) == ((rows, 13), (16, 1), torch.bfloat16)
        assert c.untyped_storage().nbytes() == rows * 16 * 2 and c.storage_offset() == 0
    assert len(gpu.made) == 1


def test_a_result_with_heads_between_rows_is_allocated_as_it_lies(host: ModuleType, gpu: Gpu) -> None:
    like = torch.zeros(2, 5, 3, 8, dtype=torch.bfloat16).transpose(1, 2)
    call = call_of(host, Kernel(descriptors=2), {"c": like})
    for c in (call(A, B, None), call(A, B, None)):
        assert (c.shape, c.stride(), c.dtype) == (like.shape, like.stride(), like.dtype)


def test_a_kernel_may_take_the_address_of_a_part(host: ModuleType, gpu: Gpu) -> None:
    kernel, rows = Kernel(), torch.zeros(2, 8)
    launch = host.Launch(kernel, (1, 1, 1), [], ["rows", ("rows", lambda t: t[1])], (), {})
    call = host.Call(DEVICE, ("rows",), ("rows",), {}, [launch])
    call(rows)
    call(rows)
    assert kernel.launches[0][1][1].data_ptr() == rows[1].data_ptr()
    assert gpu.told[0][-1] == [rows.data_ptr(), rows.data_ptr() + 32]


def test_where_nothing_is_to_be_launched_the_results_are_filled_in(host: ModuleType, gpu: Gpu) -> None:
    call = host.Call(DEVICE, ("a", "c"), ("c",), {"c": torch.ones(2)}, [], instead=lambda a, c: c.fill_(a.sum()))
    for value in (3.0, 4.0):
        assert call(torch.tensor([value]), None).tolist() == [value] * 2
    assert not gpu.told


def test_a_kernel_that_triton_alone_can_launch_goes_through_triton_each_time(host: ModuleType, gpu: Gpu) -> None:
    for kernel in (Kernel(descriptors=1), Kernel(descriptors=2, scratch=64), Kernel(descriptors=2, hooked=True)):
        call = call_of(host, kernel)
        for _ in range(3):
            call(A, B, None)
        assert len(kernel.launches) == 3 and not gpu.told


def test_a_profilers_hook_sees_every_launch(host: ModuleType, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(descriptors=2)
    call = call_of(host, kernel)
    call(A, B, None)
    monkeypatch.setattr(host.knobs.runtime.launch_enter_hook, "calls", [lambda metadata: None])
    call(A, B, None)
    assert len(kernel.launches) == 2 and not gpu.told


def test_on_another_device_than_the_current_one_a_launch_is_on_the_tensors(
    host: ModuleType, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "several_devices", lambda: True)
    kernel, c = Kernel(descriptors=2), torch.zeros(2, 3)
    call = call_of(host, kernel)
    call(A, B, c)
    gpu.current = 1
    call(A, B, c)
    gpu.current = 0
    call(A, B, c)
    assert len(kernel.launches) == 1 and gpu.entered == [DEVICE.index] * 2 and len(gpu.told) == 2


def test_workspace_comes_last_by_its_own_names(host: ModuleType, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    sums, words = torch.zeros(16), torch.zeros(4)
    asked = []
    monkeypatch.setattr(host, "workspace", lambda *what: asked.append(what) or (sums, words))
    launch = host.Launch(Kernel(), (1, 1, 1), [], ["words", "c", "sums"], (), {})
    call = host.Call(DEVICE, ("a", "c"), ("c",), {"c": torch.zeros(2)}, [launch], workspace=(16, 4))
    call(A, None)
    c = call(A, None)
    assert asked == [(DEVICE, 16, 4)] * 2
    assert gpu.told[0][-1] == [words.data_ptr(), c.data_ptr(), sums.data_ptr()]


def test_a_call_keeps_what_its_kernel_was_compiled_to(host: ModuleType, gpu: Gpu) -> None:
    """Triton's cache has a place for it that another thread's compile of the same kernel takes."""
    kernel = Kernel(descriptors=2)
    call = call_of(host, kernel)
    call(A, B, None)
    kernel.compile()
    call(A, B, None)
    assert gpu.told[0][4] == HANDLE and kernel.unloaded == 0
    del call
    assert kernel.unloaded == 0  # calls of other shapes need it, too
    host.Launch.compiled_before.clear()
    assert kernel.unloaded == 1


def test_triton_is_not_asked_again_by_another_call_that_it_compiles_the_same_code_for(
    host: ModuleType, gpu: Gpu
) -> None:
    kernel, c = Kernel(descriptors=2), torch.zeros(2, 3)
    for _ in range(2):
        call_of(host, kernel)(A, B, c)
    again = call_of(host, kernel)
    for _ in range(2):
        again(A, B, c)
    assert len(kernel.launches) == 1 and len(gpu.told) == 3 and gpu.told[0] == gpu.told[1] == gpu.told[2]
    call_of(host, kernel)(A, B[1:], c)
    assert len(kernel.launches) == 2


INTEGERS = (0, 1, 2, 3, 16, 17, 48, -1, -16, 2**31 - 1, 2**31, 2**31 + 8, -(2**31), 2**40 + 1, 2**63)


def test_what_is_called_one_kind_triton_specialises_alike(host: ModuleType) -> None:
    specialised = pytest.importorskip("triton._C.libtriton").native_specialize_impl
    backend = pytest.importorskip("triton.backends.nvidia.compiler").CUDABackend
    launch = host.Launch(Kernel(), (1, 1, 1), [], [], (), {})
    tensors = [torch.zeros(64, dtype=dtype)[i:] for dtype in (torch.bfloat16, torch.float32) for i in (0, 1, 8, 16)]
    given = [*INTEGERS, True, False, 0.5, 1.0, *tensors]
    by_kind: dict[Any, set[Any]] = {}
    for value in given:
        by_kind.setdefault(launch.kind((value,)), set()).add(specialised(backend, value, False, True, True))
    assert all(len(of) == 1 for of in by_kind.values())
    assert len(by_kind) <= len(set().union(*by_kind.values())) + 4  # most of what Triton takes for one is one here


def test_a_kind_has_the_boxes_of_copies_and_the_constants(host: ModuleType) -> None:
    def kind(box: list[int], dtype: Any = torch.bfloat16, **options: Any) -> Any:
        described = host.Described(torch.zeros(8, 64, dtype=dtype), [8, 64], [64, 1], box)
        return host.Launch(Kernel(), (1, 1, 1), [], [], (), options).kind((described,))[1:]

    first = kind([8, 64], BLOCK=64)
    others = [kind([8, 32], BLOCK=64), kind([8, 64], torch.float16, BLOCK=64), kind([8, 64], BLOCK=32)]
    assert first == kind([8, 64], BLOCK=64) and first not in others


def test_first_launches_come_one_after_the_other(host: ModuleType, gpu: Gpu) -> None:
    """Triton compiles a kernel and loads it without a lock."""
    inside, most = 0, 0

    class Crowded(Kernel):
        def __getitem__(self, grid: Any) -> Any:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            time.sleep(0.005)
            inside -= 1
            return super().__getitem__(grid)

    kernel, ready = Crowded(descriptors=2), threading.Barrier(8)

    def first(_: int) -> None:
        call = call_of(host, kernel)
        ready.wait()
        call(A, B, None)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(first, range(8)))
    assert len(kernel.launches) == 8 and most == 1


def test_threads_that_share_a_call_each_get_a_result_of_their_own(host: ModuleType, gpu: Gpu) -> None:
    kernel, ready = Kernel(descriptors=2), threading.Barrier(8)
    call = call_of(host, kernel)

    def several(_: int) -> list[Any]:
        ready.wait()
        return [call(A, B, None) for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        results = [c for found in pool.map(several, range(8)) for c in found]
    launched = [arguments[1][1] for _, arguments, _ in kernel.launches] + [told[-1][1][1][1] for told in gpu.told]
    assert sorted(launched) == sorted(c.data_ptr() for c in results) and len(set(launched)) == 160


def shifted(like: Any, elements: int = 1) -> Any:
    """A tensor of the same layout that begins so many elements behind a multiple of 16 bytes."""
    return torch.zeros(like.numel() + elements)[elements:].view(like.shape)


def test_tensors_that_are_aligned_otherwise_have_a_call_of_their_own(host: ModuleType, gpu: Gpu) -> None:
    """A kernel is compiled, and its config picked, for what 16 divides."""
    kernels: list[Kernel] = []

    def prepare(a: Any, b: Any, c: Any, n: int) -> Any:
        kernels.append(Kernel(descriptors=2))
        return call_of(host, kernels[-1], {} if c is not None else None)

    call, c = host.prepared(prepare, {"a": A, "b": B, "c": None}, n=3), torch.zeros(2, 3)
    odd, elsewhere = shifted(B), shifted(A, 2)
    for a, b in ((A, B), (A, odd), (A, B), (A, odd), (elsewhere, B), (A, odd)):
        assert call(a, b, None).shape == c.shape
    assert [len(kernel.launches) for kernel in kernels] == [1, 1, 1]
    assert [told[-1][-2] for told in gpu.told] == [B.data_ptr(), odd.data_ptr(), odd.data_ptr()]
    assert [kernel.launches[0][1][0] for kernel in kernels] == [("a", t.data_ptr()) for t in (A, A, elsewhere)]


def test_what_no_config_takes_as_it_is_aligned_is_refused_each_time(host: ModuleType, gpu: Gpu) -> None:
    def prepare(a: Any, b: Any, c: Any) -> Any:
        if b.data_ptr() % 16:
            raise ValueError("b: copies take whole chunks")
        return call_of(host, Kernel(descriptors=2))

    call = host.prepared(prepare, {"a": A, "b": B, "c": None})
    for _ in range(2):
        call(A, B, None)
        with pytest.raises(ValueError, match="b: copies take whole chunks"):
            call(A, shifted(B), None)


@pytest.fixture
def calls(host: ModuleType) -> Any:
    if host.TensorGuards is None:
        pytest.skip("this torch has no TensorGuards")
    return host.Calls()


def test_a_layout_that_comes_twice_in_a_row_is_recognised(calls: Any) -> None:
    x, w = torch.zeros(4, 8), torch.zeros(8)
    calls.found("one", (1e-5,), x, w)
    assert not calls.latest[0](x, w)
    calls.found("one", (1e-5,), x, w)
    alike, numbers, call = calls.latest
    assert (numbers, call) == ((1e-5,), "one") and alike(torch.ones(4, 8), torch.ones(8))
    others = torch.zeros(5, 8), torch.zeros(4, 16)[:, ::2], x.double(), torch.nn.Parameter(x), None, x[None]
    assert not any(alike(other, w) for other in others)


def test_layouts_in_turns_are_looked_up(calls: Any) -> None:
    x, w = torch.zeros(4, 8), torch.zeros(8)
    for _ in range(3):
        calls.found("one", (), x, w)
        calls.found("other", (), x[:2], w)
    assert not calls.latest[0](x, w) and not calls.latest[0](x[:2], w)


def test_the_guard_follows_a_change_of_what_it_is_used_for(calls: Any) -> None:
    """Parameters while a model is trained, then the same layout where nothing requires a gradient."""
    x, w = torch.zeros(4, 8), torch.nn.Parameter(torch.zeros(8))
    for _ in range(2):
        calls.found("one", (), x, w)
    frozen = w.detach()
    assert calls.latest[0](x, w) and not calls.latest[0](x, frozen)
    for _ in range(2):
        calls.found("one", (), x, frozen)
    assert calls.latest[0](x, frozen)


def test_one_tensor_twice_is_looked_up_and_rarely_tried_again(calls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, tried = torch.zeros(8), []
    guards = calls.found.__func__.__globals__["TensorGuards"]
    monkeypatch.setitem(
        calls.found.__func__.__globals__, "TensorGuards", lambda *t, **o: (tried.append(1), guards(*t, **o))[1]
    )
    for _ in range(100):
        calls.found("one", (), x, x)
    assert not calls.latest[0](x, x) and len(tried) == 6


def test_a_call_is_recognised_as_a_method_and_need_not_be_passed_its_results(
    host: ModuleType, gpu: Gpu, calls: Any
) -> None:
    call = call_of(host, Kernel(descriptors=2))
    for _ in range(2):
        calls.found(call, (), A, B)
    alike, _, again = calls.latest
    assert alike(A, B) and again.__self__ is call
    for given in ((), (None,), ()):
        result = again(A, B, *given)
        assert result.shape == (2, 3)
    assert len(gpu.told) == 2 and len(gpu.made) == 2


def test_a_generated_function_recognises_tensors_and_passes_over_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = load_file(GENERATED / "hopper_gemm" / "hopper_gemm_pingpong.py")
    if module.CALLS.found.__func__.__globals__["TensorGuards"] is None:
        pytest.skip("this torch has no TensorGuards")
    seen: list[str] = []
    monkeypatch.setattr(module, "prepare", lambda a, b, out=None, config=None: lambda *given: (len(given), a.shape[0]))
    monkeypatch.setattr(module, "layout", lambda t: (seen.append("layout"), tuple(t.shape))[1])
    monkeypatch.setattr(module, "OPERATOR", lambda *arguments: "operator")

    def made(rows: int, grad: bool = False, **options: Any) -> tuple[Any, bool]:
        seen.clear()
        a, b = torch.zeros(rows, 8, requires_grad=grad), torch.zeros(8, 4)
        return module.hopper_gemm(a, b, **options), not seen

    assert [made(3) for _ in range(5)] == [((3, 3), False)] * 3 + [((3, 3), True)] * 2
    assert made(5) == ((3, 5), False)  # of another layout
    assert made(3, config=module.CONFIGS[0]) == ((3, 3), False)
    assert made(3, out=torch.zeros(3, 4))[1] is False
    assert made(3, grad=True) == ("operator", True)
    with torch.no_grad():
        assert made(3, grad=True) == ((3, 3), False)
    assert made(3) == ((3, 3), True)  # it stays known
