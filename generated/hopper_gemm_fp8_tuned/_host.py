"""What the host functions of the modules in this folder share: checks, TMA descriptors, launches, operators of torch.

Written by tlxgen, the same for every folder; imports torch and triton only. A host function looks the layouts of its
arguments up in a table of calls. The first call of a layout checks everything and goes through Triton; each later one
hands Triton's launcher what it was told before.
"""

import ctypes
import functools
import importlib
import itertools
import math
import numbers
import operator
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import torch
import triton
from triton import knobs
from triton.backends.nvidia.driver import make_tensordesc_arg
from triton.runtime.driver import driver
from triton.tools.tensor_descriptor import TensorDescriptor

FIRST = threading.RLock()  # first launches one after the other: Triton compiles and loads a kernel without a lock
MOST = 1024  # entries of a table of what is known

data_ptr = torch.Tensor.data_ptr
is_compiling, is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled
transforms = torch._C._are_functorch_transforms_active

# What Inductor's code allocates with, on the current device: it takes half of torch.empty_strided's time. And what
# Dynamo recognises tensors by, in a fifth of the time that a look into a table takes. A torch may lack both.
empty_cuda = getattr(torch._C._dynamo.guards, "_empty_strided_cuda", None)
TensorGuards = getattr(torch._C._dynamo.guards, "TensorGuards", None)


# --- checks ---------------------------------------------------------------------------------------------------------


def check(tensor, name, shape, dtypes, device, wants=""):
    """Raises ValueError or TypeError unless `tensor` is what the kernel was generated for.

    `wants`: "contiguous", or "rows" for a contiguous last dimension, where the kernel addresses the tensor itself.
    Where one number is expected, shape (), a tensor of any rank that holds one will do.
    """
    tensor_of(tensor, name)
    if tensor.shape != shape and not (shape == () and tensor.numel() == 1):
        raise ValueError(f"{name}: shape {tuple(tensor.shape)}, expected {tuple(shape)}")
    if tensor.dtype not in dtypes:
        raise TypeError(f"{name}: {tensor.dtype}, expected {' or '.join(map(str, dtypes))}")
    if tensor.device != device:
        raise ValueError(f"{name}: on {tensor.device}, expected {device}")
    if wants == "contiguous" and not tensor.is_contiguous():
        raise ValueError(f"{name}: strides {tensor.stride()}; the kernel needs a contiguous tensor")
    if wants == "rows" and tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
        raise ValueError(f"{name}: stride {tensor.stride(-1)} along the last dimension; the kernel needs 1")


def tensor_of(value, name):
    """`value`. Raises TypeError unless it is a tensor that has strides."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name}: {type(value).__name__}, expected a tensor")
    if value.layout is not torch.strided:
        raise TypeError(f"{name}: a tensor of layout {value.layout}, expected a dense one ({name}.to_dense())")
    return value


def no_tensor(inputs, results):
    """The error for the first of these that is no tensor; a result may be None."""
    given = [*inputs.items(), *((name, value) for name, value in results.items() if value is not None)]
    name, value = next((name, value) for name, value in given if not isinstance(value, torch.Tensor))
    return TypeError(f"{name}: {type(value).__name__}, expected a tensor")


def writable(tensor, name):
    """Raises ValueError where elements of a result share memory, as those of an expanded tensor do."""
    end = 0
    for step, extent in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if extent > 1:
            if step <= end:
                raise ValueError(f"{name}: strides {tensor.stride()}; elements of a result may not share memory")
            end += (extent - 1) * step


def on_cuda(tensor, name):
    """The device of `tensor`. Raises TypeError or ValueError unless it is a tensor on a CUDA device."""
    tensor_of(tensor, name)
    if tensor.device.type != "cuda":
        raise ValueError(f"{name}: on {tensor.device}, expected a CUDA device")
    return tensor.device


def number(value, name):
    """`value` as a float. Raises TypeError or ValueError unless it is a finite number."""
    if type(value) is not float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"{name}: {type(value).__name__}, expected a number")
        value = as_float(value)
    if not -math.inf < value < math.inf:
        raise ValueError(f"{name}: {value}, expected a finite number")
    return value


def positive(value, name):
    """`value` as a float. Raises TypeError or ValueError unless it is a positive number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: {type(value).__name__}, expected a number")
    given, value = value, as_float(value)
    if not 0 < value < math.inf:
        raise ValueError(f"{name}: {given if math.isfinite(value) else value}, expected a positive number")
    return value


def as_float(value):
    """A number as a float; infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole(value, name, most=2**31 - 1):
    """`value` as an int. Raises TypeError or ValueError unless it is an integer from 0 to `most`."""
    if type(value) is not int:
        try:
            value = operator.index(value)
        except TypeError:
            raise TypeError(f"{name}: {type(value).__name__}, expected an integer") from None
    if not 0 <= value <= most:
        limit = "2**31 - 1" if most == 2**31 - 1 else most
        raise ValueError(f"{name}: {value}, expected 0 to {limit}")
    return value


def config_of(config, configs):
    """`config`, or None to have one picked. Raises TypeError or ValueError for what is no entry of CONFIGS."""
    return configs[index_of(config, configs)] if config is not None else None


def index_of(config, configs):
    """Which entry of CONFIGS `config` is; -1 for None, to have one picked. Raises TypeError or ValueError."""
    if config is None:
        return -1
    for i, known in enumerate(configs):
        if config is known:
            return i
    error = ValueError if isinstance(config, triton.Config) else TypeError
    raise error(f"config: {type(config).__name__}, expected an entry of this module's CONFIGS itself, or None")


def cdiv(dividend, divisor):
    """The quotient, rounded up."""
    return -(-dividend // divisor)


# --- layouts and memory ---------------------------------------------------------------------------------------------


def layout(tensor):
    """All of a tensor that a launch depends on but its address."""
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.get_device()


def keep(known, key, value):
    """Adds to what is known, which must not grow without end."""
    if len(known) >= MOST:
        known.clear()
    return known.setdefault(key, value)


class Described(NamedTuple):
    """A tensor as TMA addresses it, in elements. It has the fields of Triton's TensorDescriptor, but checks nothing."""

    base: torch.Tensor
    shape: list
    strides: list
    block_shape: list
    padding: str = "zero"
    round_f32_to_tf32: bool = False


_described = functools.partial(tuple.__new__, Described)  # all of its fields in a tuple: in half the time


def describe(tensor, name, box, remedy="", turned=""):
    """`tensor`, whose last dimension is contiguous, as TMA addresses it for copies of `box` elements.

    Raises ValueError naming the argument, the stride, the rule and a call that gives what TMA can address: `remedy`, of
    one that lies in another order. `turned`: ".T", say, if `tensor` is that of the argument.
    """
    size, extents, strides = tensor.element_size(), [*tensor.shape], [*tensor.stride()]
    last = extents[-1]
    if last > 1 and strides[-1] != 1:
        remedy = remedy or f"; {name}.contiguous() has it"
        raise ValueError(f"{name}: stride {strides[-1]} where TMA needs 1{remedy}")
    strides[-1] = 1
    for axis, stride in enumerate(strides[:-1]):
        if extents[axis] <= 1:
            strides[axis] = cdiv(last * size, 16) * 16 // size
        elif stride <= 0 or stride * size % 16:
            fill = -last % (16 // size)
            rows = f"torch.nn.functional.pad({name}{turned}, (0, {fill}))[..., :{last}]"
            remedy = rows if fill else f"{name}{turned}.clone(memory_format=torch.contiguous_format)"
            raise ValueError(
                f"{name}: stride of {stride} elements along dimension {axis} is {stride * size} bytes; "
                f"TMA needs a positive multiple of 16; {remedy}{turned} has such strides"
            )
    if tensor.data_ptr() % 16:
        raise ValueError(
            f"{name}: data_ptr() is {tensor.data_ptr() % 16} bytes past a multiple of 16; TMA needs one; "
            f"{name}.clone() has one"
        )
    return _described((tensor, extents, strides, [*box], "zero", False))


def copied_at_once(rows, name, remedy):
    """How many elements of a matrix, whose rows must be contiguous, a copy of 16, 8 or 4 bytes takes; or 1.

    All rows begin at multiples of them, and end there.
    """
    size, (count, length) = rows.element_size(), rows.shape
    if length > 1 and rows.stride(1) != 1:
        raise ValueError(f"{name}: stride {rows.stride(1)} where the kernel needs 1; {remedy} has it")
    step = rows.stride(0) * size if count > 1 else 16
    if not 0 <= step < 1 << 23:
        raise ValueError(f"{name}: rows are {step} bytes apart, expected 0 to {(1 << 23) - 1}")
    width = math.gcd(16, rows.data_ptr(), step, length * size)
    return width // size if width >= 4 else 1


def overlap(one, other):
    """Whether two tensors may have memory in common: exact for rows, columns and heads of one tensor.

    Two that lie between one another are apart if they are so within each period of some stride.
    """
    begin, end = _span(one, 1 << 62)
    other_begin, other_end = _span(other, 1 << 62)
    if begin == end or other_begin == other_end or end <= other_begin or other_end <= begin:
        return False
    for period in {step * x.element_size() for x in (one, other) for step in x.stride() if step > 0}:
        (x, x_end), (y, y_end) = _span(one, period), _span(other, period)
        if (y - x) % period >= x_end - x and (x - y) % period >= y_end - y:
            return False
    return True


def _span(tensor, period):
    """First and last address, by bytes, of what of a tensor lies within one period of its memory."""
    size, reach = tensor.element_size(), 0
    if not tensor.numel():
        return 0, 0
    for extent, step in zip(tensor.shape, tensor.stride(), strict=True):
        if step * size % period:
            reach += (extent - 1) * step * size
    return tensor.data_ptr(), tensor.data_ptr() + reach + size


def rows_of(tensor, name):
    """How many rows, and columns, a tensor of any leading dimensions has. Raises TypeError or ValueError."""
    on_cuda(tensor, name)
    if not tensor.dim():
        raise ValueError(f"{name}: expected a row, or rows")
    return tensor.shape[:-1].numel(), tensor.shape[-1]


def row_stride(tensor, name):
    """From one row of a tensor to the next. Raises ValueError where rows do not lie at one distance."""
    try:
        return tensor.view(tensor.shape[:-1].numel(), tensor.shape[-1]).stride(0)
    except RuntimeError:
        raise ValueError(f"{name}: rows at strides {tensor.stride()[:-1]}; the kernel needs one distance") from None


def addressable_by_tma(tensor, traced=False, dtype=None, step=16):
    """`tensor`, or a copy of it where TMA cannot address it or it is not of `dtype`.

    Kernels that load otherwise ask that rows begin at multiples of `step` bytes.

    Gradients come expanded, or from whatever computed them. Where torch traces, there are no addresses; what its code
    allocates begins at a multiple of 16 bytes.
    """
    row = tensor.shape[-1] * tensor.element_size()
    if not traced and tensor.is_contiguous() and tensor.dtype == (dtype or tensor.dtype) and not row % step:
        fits = True  # as most gradients do
    else:
        *leading, last = tensor.stride()
        fits = last == 1 and all(stride > 0 and not stride * tensor.element_size() % step for stride in leading)
    if fits and tensor.dtype == (dtype or tensor.dtype) and (traced or not tensor.data_ptr() % step):
        return tensor
    dtype, columns = dtype or tensor.dtype, tensor.shape[-1]
    rows = tensor.new_empty((*tensor.shape[:-1], columns + -columns % (16 // dtype.itemsize)), dtype=dtype)
    return rows[..., :columns].copy_(tensor)


def column_sums(tensor, like):
    """The sums of a matrix's columns, added up in fp32, in the type of `like`: the gradient by a bias."""
    return tensor.sum(0, dtype=torch.float32).to(like.dtype)


def empty_rows(like, rows, columns, dtype):
    """An uninitialised matrix where `like` is, whose rows are whole chunks of 16 bytes: TMA stores nothing less."""
    stride = columns + -columns % (16 // dtype.itemsize)
    whole = like.new_empty((rows, stride), dtype=dtype)
    return whole if stride == columns else whole[:, :columns]


@functools.cache
def sm_count(device_index):
    """How many SMs a device has."""
    return torch.cuda.get_device_properties(device_index).multi_processor_count


class Gpu(NamedTuple):
    """A device as estimates of time know it: clock in GHz, bytes a microsecond from memory and bytes of L2 by its data
    sheet; None where torch does not say."""

    name: str
    sms: int
    ghz: float = None
    memory: float = None
    l2: int = None


def pitch(matrix, axis):
    """Bytes from one row of a matrix to the next, along `axis`, modulo a line of L2; 0 of one row, which has none."""
    return matrix.stride(axis) * matrix.element_size() % 128 if matrix.shape[axis] > 1 else 0


@functools.cache
def several_devices():
    """Whether torch sees more than one."""
    return torch.cuda.device_count() > 1


@functools.cache
def gpu_of(device_index):
    """The device of that index."""
    told = torch.cuda.get_device_properties(device_index)
    khz, memory_khz, bits = (getattr(told, x, None) for x in ("clock_rate", "memory_clock_rate", "memory_bus_width"))
    memory = memory_khz * 2 * bits / 8e3 if memory_khz and bits else None
    l2 = getattr(told, "L2_cache_size", None)
    return Gpu(getattr(told, "name", ""), told.multi_processor_count, khz / 1e6 if khz else None, memory, l2 or None)


def resident(config):
    """How many CTAs of a config the registers of an SM are enough for, where it says how many a thread has."""
    return 65536 // (32 * config.num_warps * config.maxnreg)


def equal_shares(most, heads, shared, n_q, n_k, beside, block_m, block_n, programs):
    """How many of `heads` are worked on at a time, `most` at most, so that the CTA with the most to do has the least.

    Queries see the keys up to their own place and `beside` more. CTAs take items in turns: which tiles of queries a CTA
    gets follows from how many heads are at one before the next. Numbers that divide that of CTAs are tried, of heads
    that all have the `shared` ones of their K and V beside them. Where a CTA has many items, they differ little.
    """
    ends = range(block_m, n_q + block_m, block_m)
    steps = [-(-max(min(n_k, end + beside), 1) // block_n) + 1 for end in ends]

    def longest(together):
        """Tiles of keys, and one for each item, of that CTA. Heads at one tile take so many CTAs in a row."""
        changes, rounds, at = [0] * (2 * programs + 1), 0, 0
        for first in range(0, heads, together):
            width = min(together, heads - first)
            for step in reversed(steps):
                rounds += width // programs * step
                changes[at] += step
                at += width % programs
                changes[at] -= step
                at %= programs
        loads = list(itertools.accumulate(changes[:-1]))
        return rounds + max(map(sum, zip(loads[:programs], loads[programs:], strict=True)))

    most = min(most, heads)
    few = len(steps) * heads <= 40 * programs
    fewer = [x for x in range(shared, most * few, shared) if programs % x == 0 and 4 * x >= most]
    return min(most, *fewer, key=longest) if fewer else most


WORKSPACES = {}  # by device, stream and size: the kernels of a stream have it one after the other
CAPTURED = {}  # by device and stream: its latest capture, and the words of that one by their number
ZEROS = {}  # by device: zeros, and how many of them some stream or some graph has for good


def workspace(device, elements, words):
    """Memory for `elements` fp32, which holds anything, and `words` int32 that are 0, until the next kernel has ended.

    Kernels leave the words 0. All that is the stream's. A graph, which any stream may replay, has its own: its launches
    in one stream share the words.
    """
    stream = driver.active.get_current_stream(device.index)
    if torch.cuda.is_current_stream_capturing():
        capture, own = capture_of(stream), {}
        known, shared = CAPTURED.get((device.index, stream), (None, own))
        if capture is not None and capture == known:
            own = shared
        else:
            CAPTURED[device.index, stream] = capture, own
        if words not in own:
            own[words] = zeros(device, words)
        return torch.empty(elements, dtype=torch.float32, device=device), own[words]
    key = device.index, stream, elements, words
    kept = WORKSPACES.get(key)
    if kept is None:
        kept = lasting(torch.empty, elements, dtype=torch.float32, device=device), zeros(device, words)
        WORKSPACES[key] = kept
    return kept


def capture_of(stream):
    """A number for the graph that a stream is capturing now; None where the driver does not tell."""
    status, capture = ctypes.c_int(), ctypes.c_uint64()
    try:
        query = ctypes.CDLL("libcuda.so.1").cuStreamGetCaptureInfo_v2
    except (OSError, AttributeError):
        return None
    failed = query(ctypes.c_void_p(stream), ctypes.byref(status), ctypes.byref(capture), None, None, None)
    return None if failed else capture.value


def zeros(device, words):
    """`words` zeros for good: not made in a capture, where every replay of the graph would set them again."""
    with FIRST:
        stock, used = ZEROS.get(device.index, (None, 0))
        if stock is None or used + words > len(stock):
            if torch.cuda.is_current_stream_capturing():
                return torch.zeros(words, dtype=torch.int32, device=device)
            stock, used = lasting(torch.zeros, max(words, 1 << 18), dtype=torch.int32, device=device), 0
            torch.cuda.synchronize(device.index)  # other streams will have of them
        ZEROS[device.index] = stock, used + words
        return stock[used : used + words]


def lasting(make, *arguments, **options):
    """What `make` allocates for good, in a thread of its own.

    `torch.compile(mode="reduce-overhead")` takes all that its thread allocates from the memory of a graph, in which
    nothing may stay. Without a CUDA context there is no such memory.
    """
    if not torch.cuda.is_initialized():
        return make(*arguments, **options)
    stream = torch.cuda.current_stream(options["device"])

    def made():
        with torch.cuda.stream(stream):  # whose memory it is: what another stream has freed may still be in use there
            return make(*arguments, **options)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(made).result()


# --- launches -------------------------------------------------------------------------------------------------------


class Launch:
    """One kernel of a call: `descriptors` are pairs of a tensor's name and of how to describe it, `addresses` names of
    tensors, or pairs of a name and a part of it, `constants` the scalars that follow. `grid` has three extents.
    """

    compiled_before = {}  # by `kind`: the kernel, and what Triton found out of it

    def __init__(self, kernel, grid, descriptors, addresses, constants, options):
        self.kernel, self.grid, self.constants, self.options = kernel, grid, constants, options
        self.described = descriptors
        self.addressed = [(a, _whole) if type(a) is str else a for a in addresses]
        self.encoded = [{} for _ in descriptors]  # by address: tensors of one layout at one address have one descriptor
        self.ready = {}  # descriptors for the first launch, by their place, of tensors that were looked at before
        self.fixed = None  # all that Triton's launcher is told but grid, stream and arguments

    def arguments(self, tensors):
        """What Triton is told of these tensors. Raises ValueError for one that TMA cannot address."""
        ready, self.ready, found = self.ready, {}, []
        for i, (name, view) in enumerate(self.described):
            known, tensor = ready.get(i), tensors[name]
            found.append(known if known and known.base.data_ptr() == tensor.data_ptr() else view(tensor))
        for name, part in self.addressed:
            found.append(part(tensors[name]))
        return *found, *self.constants

    def by_triton(self, arguments, varying):
        """Launches as anyone would, and keeps what Triton found out: the kernel, and how it is launched.

        Triton is not asked if it has launched this kernel with arguments of the same `kind` before.
        """
        key = self.kind((*arguments, *varying))
        known = self.compiled_before.get(key)
        if known is not None and not getattr(knobs.runtime.launch_enter_hook, "calls", True):
            _, self.compiled, self.meta, self.fixed = known
            active, count, flat = driver.active, len(self.meta), []
            for one, meta in zip(arguments, self.meta, strict=False):  # descriptors come first
                flat += make_tensordesc_arg(one, meta, None)
            flat += map(data_ptr, arguments[count : count + len(self.addressed)])
            stream = active.get_current_stream(active.get_current_device())
            active.utils.launch(*self.grid, stream, *self.fixed, [*flat, *self.constants, *varying])
            return
        asked = [TensorDescriptor(*x[:4]) if isinstance(x, Described) else x for x in arguments]
        compiled = self.kernel[self.grid](*asked, *varying, **self.options)
        if compiled is None:  # a hook of Triton's has taken the launch over
            return
        run, meta = compiled.run, compiled.metadata
        self.meta, scratch = meta.tensordesc_meta or [], meta.global_scratch_size or meta.profile_scratch_size
        if len(self.meta) == len(self.described) and not scratch:
            # Its code is unloaded with it, and another thread may have replaced it in Triton's cache.
            self.compiled = compiled
            flags = run.launch_cooperative_grid, run.launch_pdl, compiled.packed_metadata
            self.fixed = (compiled.function, *flags, *[None] * 5, run.arg_annotations, run.kernel_signature)
            keep(self.compiled_before, key, (self.kernel, compiled, self.meta, self.fixed))

    def kind(self, arguments):
        """All that Triton compiles different code for: of a number its type, whether it is 1, and a multiple of 16."""
        found = [id(self.kernel), *self.options, *self.options.values()]
        for x in arguments:
            if type(x) is int:
                if 1 < x < 2**31:  # as nearly all are
                    found.append(32 if x & 15 else -32)
                else:
                    bits = 32 if -(2**31) <= x < 2**31 else 64 if x < 2**63 else 65
                    found.append("one" if x == 1 else bits if x & 15 else -bits)
            elif type(x) is Described:
                tensor, _, _, box, *_ = x
                found += (tensor.dtype, tensor.get_device(), *box)
            elif isinstance(x, torch.Tensor):
                found += (x.dtype, x.get_device(), x.data_ptr() % 16 == 0)
            elif hasattr(x, "block_shape"):  # Triton's own, of sequences one after the other
                found += (x.base.dtype, x.base.get_device(), *x.block_shape)
            else:
                found.append(float if isinstance(x, float) else x)
        return tuple(found)

    def tell(self, stream, tensors):
        """What Triton's launcher is told for these tensors: addresses, since of a tensor it would ask the driver."""
        flat = []
        for known, (name, view), meta in zip(self.encoded, self.described, self.meta, strict=True):
            address = tensors[name].data_ptr()
            flat += known.get(address) or keep(known, address, make_tensordesc_arg(view(tensors[name]), meta, None))
        flat += [part(tensors[name]).data_ptr() for name, part in self.addressed]
        return (*self.grid, stream, *self.fixed, [*flat, *self.constants])  # constexprs follow, and are not passed


def in_this_thread():
    """Makes a CUDA context current: a thread that has not called CUDA yet has none, and cannot encode a descriptor."""
    utils = getattr(driver.active, "utils", None)
    if utils is not None:
        utils.get_current_device()


def _whole(tensor):
    return tensor


def _part_of(index, part):
    """What takes a part of a tensor that is joined with others."""
    return lambda joined: part(joined[index])


class Calls(dict):
    """Calls by layout. `latest` has one that came twice in a row, for which no key is made: what tells whether tensors
    are like its own, the numbers that belong to it, and the call.
    """

    def __init__(self):
        self.latest, self.before, self.row = (_unlike, None, None), None, 0

    def found(self, call, numbers, *tensors):
        """Hears of a call that was looked up: the second, fourth, eighth time in a row it is to be recognised."""
        self.row = self.row + 1 if call is self.before else 1
        self.before = call
        if self.row > 1 and not self.row & (self.row - 1) and TensorGuards is not None:
            sizes, strides = [list(t.shape) for t in tensors], [list(t.stride()) for t in tensors]
            try:
                alike = TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check
            except (RuntimeError, SystemError, TypeError):
                return  # they are not public, and another torch may have them made otherwise
            if alike(*tensors):  # not where one tensor comes twice
                self.latest, self.row = (alike, numbers, getattr(call, "again", call)), 0


def _unlike(*tensors):
    return False


def prepared(prepare, tensors, **others):
    """The call that `prepare` makes of arguments, tensors by name, and makes again of like ones aligned otherwise."""
    call = prepare(**tensors, **others)
    if not hasattr(call, "by_alignment"):  # no Call, but a function that calls with other operands: for a K of 0, zeros
        return call
    call.prepare, call.names = functools.partial(prepare, **others), [*tensors]
    call.thread = threading.get_ident()
    call.by_alignment[call.alignment(tensors.values())] = call
    return call


class Call:
    """What a host function does with arguments of one layout: allocate what is missing, then launch.

    `tensors` names the arguments and results in the order in which the call gets them; those named by `results` come
    back. `made`: tensors like those that it allocates where it gets None or that nobody passes. `workspace`: elements
    and words, see there, which kernels know as "sums" and "words". Where there is nothing to launch, `instead` fills in
    the tensors, or None. `owner` is kept: its id may stand in the key of this call.
    """

    def __init__(self, device, tensors, results, made, launches, *, workspace=None, instead=None, owner=None):
        self.device, self.index, self.owner, self.instead = device, device.index, owner, instead
        self.tensors, self.results, self.given, places = _order((*tensors,), (*results,), (*made,))
        self.likes = [(i, *_like(tensor)) for i, tensor in zip(places, made.values(), strict=True)]
        self.made, self.returned = {*made}, results
        self.fresh = made  # for the first call, in the thread that has prepared it: that allocates in the same stream
        self.launches, self.workspace, self.known = launches, workspace, {}
        self.spaces = {}  # by stream: its workspace, which stays where it is
        self.prepare, self.by_alignment, self.thread = None, {}, None  # see `prepared`
        self.one_of_several = several_devices()
        self.hook = self  # that of Triton's profilers, once launches need Triton no more: not while they use it

    def __call__(self, *tensors, varying=()):
        """Of results, which follow the arguments, those need not be passed behind which nobody gives one."""
        elsewhere = self.one_of_several and torch.cuda.current_device() != self.index
        hook = knobs.runtime.launch_enter_hook  # as a condition it is a function of Python
        if elsewhere or hook is not self.hook or hook.calls:
            return self._by_triton(tensors, varying)
        given, tensors = len(tensors), [*tensors]
        for i, make in self.makers:
            if i >= given:
                tensors.append(make())
            elif tensors[i] is None:
                tensors[i] = make()
        stream, space = self.stream(self.index), ()
        if self.workspace is not None:
            if torch.cuda.is_current_stream_capturing():
                tensors += workspace(self.device, *self.workspace)
            else:
                space = self.spaces.get(stream) or keep(self.spaces, stream, workspace(self.device, *self.workspace))
        key = (stream, *map(data_ptr, tensors))
        known = self.known.get(key)
        if known is None:
            call = self._for_these(tensors)
            if call is not self:
                return call(*tensors[: len(self.names)], varying=varying)
            known = self._tell(key, [*tensors, *space])
        for told in known:
            self.launch(*(*told[:-1], [*told[-1], *varying]) if varying else told)
        return self.results(tensors)

    again = __call__  # a method is called sooner than an object that can be

    def join(self, names):
        """Itself, with one tensor for those of its results that have these names: all are of one layout, and allocated
        by it. Their rows begin at multiples of 16 bytes, as if each were a tensor; it comes back behind the others.
        """
        likes = {self.tensors[i]: (like, view) for i, like, view in self.likes}
        (shape, stride, dtype), _ = likes[names[0]]
        size = math.prod(shape)
        joined, row = ", ".join(names), size + -size % (16 // dtype.itemsize)
        likes[joined] = ((len(names), *shape), (row, *stride), dtype), None
        self.tensors = [*(name for name in self.tensors if name not in names), joined]
        self.returned = (*(name for name in self.returned if name not in names), joined)
        self.likes = [(self.tensors.index(name), *like) for name, like in likes.items() if name not in names]
        self.made = self.made.difference(names) | {joined}
        self.results = operator.itemgetter(*map(self.tensors.index, self.returned))
        for launch in self.launches:
            launch.addressed = [
                (joined, _part_of(names.index(name), part)) if name in names else (name, part)
                for name, part in launch.addressed
            ]
        return self

    def refuse_unaddressable(self, tensors):
        """Raises ValueError, before anything is launched, for one of these tensors by name that TMA cannot address; one
        that is None may be any."""
        for launch in self.launches:
            for i, (name, view) in enumerate(launch.described):
                if (tensor := tensors.get(name)) is not None:
                    launch.ready[i] = view(tensor)

    def alignment(self, tensors):
        """Of each tensor that was passed, or is made, how far it begins behind a multiple of 16 bytes."""
        return tuple([0 if tensor is None else tensor.data_ptr() % 16 for tensor in tensors])

    def _for_these(self, tensors):
        """The call for tensors of this alignment, by which configs are picked, kernels compiled: this or another."""
        if self.prepare is None:
            return self
        tensors = tensors[: len(self.names)]
        at = self.alignment(tensors)
        call = self.by_alignment.get(at)
        if call is None:
            given = {name: None if name in self.made else t for name, t in zip(self.names, tensors, strict=True)}
            call = keep(self.by_alignment, at, self.prepare(**given))
        return call

    def _by_triton(self, tensors, varying):
        """Launches through Triton, and at first asks it how to do without."""
        tensors = [*tensors, *[None] * (len(self.tensors) - len(tensors))]
        fresh, self.fresh = self.fresh if self.thread == threading.get_ident() else {}, {}
        for i, like, view in self.likes:
            if tensors[i] is None:
                tensors[i] = fresh.pop(self.tensors[i], None)
                if type(tensors[i]) is not torch.Tensor:  # nor one of a class that arguments have
                    tensors[i] = _maker(functools.partial(_empty, self.device), like, view)()
        if self.workspace is not None:
            tensors += workspace(self.device, *self.workspace)
        call = self._for_these(tensors)
        if call is not self:
            return call(*tensors[: len(self.names)], varying=varying)
        with FIRST, torch.cuda.device(self.index) if self.one_of_several else FIRST:
            self._launch_by_triton(tensors, varying)
        return self.results(tensors)

    def _launch_by_triton(self, tensors, varying):
        in_this_thread()
        named = self._named(tensors)
        arguments = [launch.arguments(named) for launch in self.launches]  # before anything is launched
        if self.instead is not None:
            self.instead(*tensors)
        for launch, told in zip(self.launches, arguments, strict=True):
            launch.by_triton(told, varying)
        if empty_cuda and self.launches and None not in [launch.fixed for launch in self.launches]:
            active, hook = driver.active, knobs.runtime.launch_enter_hook
            self.launch, self.stream = active.utils.launch, active.get_current_stream
            self.makers = [(i, _maker(empty_cuda, like, view)) for i, like, view in self.likes]
            if hasattr(hook, "calls"):
                self.hook = hook  # last: another thread looks at this

    def _named(self, tensors):
        """The tensors by name. Raises ValueError where a result that was given shares memory with another of them.

        Of one layout that depends on addresses alone, so what is known by them has been looked at.
        """
        extra = ("sums", "words") if self.workspace is not None else ()
        named = dict(zip([*self.tensors, *extra], tensors, strict=True))
        for name in self.given:
            for other, tensor in named.items():
                if other != name and tensor is not None and overlap(named[name], tensor):
                    raise ValueError(
                        f"{name}: shares memory with {other}; a kernel writes the one as it uses the other"
                    )
        return named

    def _tell(self, key, tensors):
        in_this_thread()
        named = self._named(tensors)
        return keep(self.known, key, [launch.tell(key[0], named) for launch in self.launches])


@functools.cache
def _order(tensors, results, made):
    """Names of a call's tensors, what takes its results, those of them that are given, and places of those made."""
    names = [*dict.fromkeys(tensors + made)]
    given = [name for name in results if name not in made]  # written, and somebody else's memory
    return names, operator.itemgetter(*map(names.index, results)), given, [*map(names.index, made)]


def missing(names, made, given):
    """Of results like `made`, those that nobody gave, by name."""
    if not isinstance(made, tuple):
        return {names[0]: made} if given[0] is None else {}
    return {name: tensor for name, tensor, one in zip(names, made, given, strict=True) if one is None}


def _empty(device, shape, stride, dtype):
    return torch.empty_strided(shape, stride, dtype=dtype, device=device)


def _like(tensor):
    """How to allocate a tensor like this one: what to ask for, and the view of it where more lies behind its rows."""
    shape, stride, dtype = tuple(tensor.shape), tensor.stride(), tensor.dtype
    whole = tensor.untyped_storage().nbytes() // tensor.element_size()
    used = math.prod(shape)
    if whole != used:
        used = sum((extent - 1) * step for extent, step in zip(shape, stride, strict=True)) + 1
    if whole <= used:
        return (shape, stride, dtype), None
    return ((whole,), (1,), dtype), (shape, stride)


def _maker(empty, like, view):
    """What allocates by `empty` what `_like` says."""
    return functools.partial(empty, *like) if view is None else lambda: empty(*like).as_strided(*view)


def pick(configs, tuned, clocks, shape, sms):
    """The entry of `configs` that was measured to be fastest for just this shape; else the one with the least estimated
    clocks. One that cannot take the shape, for which its clocks are infinite, is neither."""
    index = tuned.get(shape)
    if index is not None and clocks(configs[index], *shape, sms) < float("inf"):
        return configs[index]
    return min(configs, key=lambda config: clocks(config, *shape, sms))


def fastest(configs, tuned, times, shape):
    """The entry of `configs` that was measured to be fastest for just this shape; else that of the least of `times`."""
    index = tuned.get(shape)
    return configs[min(range(len(configs)), key=[*times].__getitem__) if index is None else index]


class Package(types.ModuleType):
    """The folder as people import it: by functions, each found in a module that is imported when it is first asked for.

    `FUNCTIONS` of the package says where they are: by name, the module and its own name of it; None for what several
    functions would be. A module that is called as a function is does not hide it.
    """

    @classmethod
    def take(cls, name):
        """Makes the package of that name one of these."""
        sys.modules[name].__class__ = cls

    def __getattr__(self, name):
        if name not in self.__dict__.get("FUNCTIONS", ()):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = self.FUNCTIONS[name]
        function = _one_of_several(name, self.FUNCTIONS) if found is None else self.module(found[0], found[1])
        setattr(self, name, function)
        return function

    def __setattr__(self, name, value):
        if not (isinstance(value, types.ModuleType) and name in self.__dict__.get("FUNCTIONS", ())):
            super().__setattr__(name, value)

    def __dir__(self):
        return sorted({*super().__dir__(), *self.__dict__.get("FUNCTIONS", ())})

    def module(self, module, name):
        return getattr(importlib.import_module(f".{module}", self.__name__), name)


def _one_of_several(name, functions):
    """What stands for a name that several functions could have: it says which there are."""
    others = ", ".join(other for other, found in functions.items() if found and other.startswith(f"{name}_"))

    def ambiguous(*arguments, **options):
        raise TypeError(f"{name}: the modules here compute different things; one of {others} is meant")

    return ambiguous


# --- operators of torch ---------------------------------------------------------------------------------------------


NO_BACKWARD = "requires grad, and there is no backward: call it under torch.no_grad(), or detach the argument"
NO_GRADIENT = "requires grad, and no gradient by it is known: detach it"


class Operator:
    """A host function as torch sees it: one node under torch.compile, and one of autograd.

    `run(*arguments, *picked)` launches and `fake(*arguments, *picked)` makes its results uninitialised; `schema` is
    that of a torch.library operator. `backward(how, needed, *arguments, *results, *gradients)` gives a gradient or None
    for each argument, by what is called `how` of the operators that it needs: "run" in eager mode, "node" where torch
    traces; `needed` says of which arguments one is asked for. It gets all numbers, and of the tensors those named in
    `saved`, of the results those whose index that has, or all if it has "results"; by default everything. In eager mode
    a call gives the first `seen` of the results, by default all: nobody asks for gradients by the others, so autograd
    need not know of them. `constants` names those by which no gradient is known, `refusal` says why there is none at
    all. `about` is what the host function computes, for those that go together with it, and `prepare` makes the call of
    arguments, for what looks calls up itself.
    """

    def __init__(
        self,
        name,
        schema,
        run,
        fake,
        backward=None,
        about=None,
        saved=None,
        seen=None,
        constants=(),
        refusal=NO_BACKWARD,
        picked=(),
        prepare=None,
    ):
        self.name, self.schema, self.about, self.prepare = name, schema, about or {}, prepare
        self.constants, self.refusal = constants, refusal
        self.picks = (-1,) if ", int config)" in schema else ()  # the last argument, where it has the config picked
        self.run, self.fake, self.backward, self.picked = run, fake, backward, picked
        if picked:
            run, fake = (lambda *given, of=of: of(*given, *picked) for of in (run, fake))
        free = name
        while hasattr(torch.ops.tlxgen, free):  # a copy of this module has been imported
            free += "_"
        define = torch.library.custom_op(f"tlxgen::{free}", run, mutates_args=(), schema=schema)
        define.register_fake(fake)
        define.register_autograd(self._node_backward, setup_context=self._keep)
        self.node = getattr(torch.ops.tlxgen, free).default
        self.names = [argument.name for argument in self.node._schema.arguments]
        self._order(saved, seen)
        self.function = type(free, (torch.autograd.Function,), self._eager())
        self.call = self._caller()

    def _order(self, saved, seen):
        """Which of its arguments and results are kept, and where they are then."""
        results = len(self.node._schema.returns)
        kinds = ["Tensor" in argument for argument in self.schema.partition(")")[0].split(",")] + [True] * results
        called = [*self.names, *range(results)]
        all_results = saved is None or "results" in saved

        def keeps(name):  # what nobody looks at would keep its memory
            return saved is None or name in saved or (all_results and isinstance(name, int))

        tensors = [i for i, is_tensor in enumerate(kinds) if is_tensor and keeps(called[i])]
        numbers = [i for i, is_tensor in enumerate(kinds) if not is_tensor]
        kept = [*tensors, *numbers]
        self.kept_tensors, self.tensors_of, self.numbers_of = tensors, _taker(tensors), _taker(numbers)
        self.given_of = _taker([kept.index(i) if i in kept else -1 for i in range(len(kinds))])
        self.seen = seen if seen is not None and seen < results else None
        self.unseen = () if self.seen is None else (None,) * (results - seen)

    def __call__(self, *arguments):
        if self.backward is None or self.constants:
            self.refuse_gradients(arguments)
        return self.call(*arguments)

    def _caller(self):
        """What calls it where a backward knows the gradients by all arguments: nothing is to be refused."""
        node, transformed = self.node, self.function.apply
        apply = super(torch.autograd.Function, self.function).apply  # without what is for functorch alone

        def call(*arguments):
            if is_compiling():
                return node(*arguments)
            return transformed(*arguments) if transforms() else apply(*arguments)

        return call

    def refuse_gradients(self, arguments):
        """Raises ValueError where a gradient is asked for that nobody knows: at once, not on its way back."""
        if is_grad_enabled():
            for name, value in zip(self.names, arguments, strict=True):
                if isinstance(value, torch.Tensor) and value.requires_grad:
                    if self.backward is None:
                        raise ValueError(f"{self.name}: {name} {self.refusal}")
                    if name in self.constants:
                        raise ValueError(f"{self.name}: {name} {NO_GRADIENT}")

    def _eager(self):
        """What autograd calls in eager mode: functions that find all they need at hand, since they run in each call."""
        run, picked, seen, unseen, backward = self.run, self.picked, self.seen, self.unseen, self.backward
        tensors_of, numbers_of, given_of = self.tensors_of, self.numbers_of, self.given_of
        alone = seen == 1 or len(self.node._schema.returns) == 1  # it has a gradient whenever it is asked for

        def forward(ctx, *arguments):
            results = run(*arguments, *picked)
            if backward is not None:
                given = (*arguments, *results) if isinstance(results, tuple) else (*arguments, results)
                ctx.save_for_backward(*tensors_of(given))
                ctx.numbers = numbers_of(given)
                if not alone:
                    ctx.set_materialize_grads(False)
            return results if seen is None else results[:seen]

        def gradients(ctx, *by):
            given = given_of((*ctx.saved_tensors, *ctx.numbers, None))
            return backward("run", ctx.needs_input_grad, *given, *by, *unseen)

        return self._entered(forward, gradients)

    def _entered(self, forward, gradients):
        once = torch.autograd.function.once_differentiable(gradients)

        def backward_of(ctx, *by):
            if is_grad_enabled():  # someone may differentiate again, and hears that kernels have no second gradients
                return once(ctx, *by)
            return gradients(ctx, *by)

        return {"forward": forward, "backward": backward_of}

    def _keep(self, ctx, inputs, output):
        """Saves tensors with autograd, which frees and checks them, and keeps all else. Absent gradients stay None."""
        if self.backward is None:  # of the node itself, which torch calls where an input requires grad
            name = next(name for name, needed in zip(self.names, ctx.needs_input_grad, strict=True) if needed)
            raise ValueError(f"{self.name}: {name} {self.refusal}")
        ctx.set_materialize_grads(False)
        given = (*inputs, *output) if isinstance(output, tuple) else (*inputs, output)
        ctx.save_for_backward(*self.tensors_of(given))
        ctx.numbers = self.numbers_of(given)

    def _node_backward(self, ctx, *gradients):
        given = self.given_of((*ctx.saved_tensors, *ctx.numbers, None))
        return self.backward("node", ctx.needs_input_grad, *given, *gradients)


class Paired(Operator):
    """The operator of a forward that has a backward, with a table of calls of its own: who finds one there before
    autograd is entered has all that a node must do. Its arguments are tensors, then numbers, none for the backward.

    `joined`: how many of the last results, which only the backward reads, are one tensor in eager mode.
    """

    def __init__(self, *arguments, joined, **options):
        self.calls, self.joined = Calls(), joined
        super().__init__(*arguments, **options)

    def _eager(self):
        """Of autograd's function the first argument is the call, the others are tensors."""
        count = sum(
            argument.startswith(("(Tensor", " Tensor")) for argument in self.schema.partition(")")[0].split(",")
        )
        results, numbers, backward = len(self.node._schema.returns), len(self.names) - count, self.backward
        seen, unseen, joined = results if self.seen is None else self.seen, self.unseen, self.joined
        places = {i - numbers * (i >= count) for i in self.kept_tensors}
        kept_of = _taker(sorted({min(i, count + results - max(joined, 1)) for i in places}))
        order = [*self.kept_tensors]
        given_of = _taker([order.index(i) if i in order else -1 for i in range(len(self.names) + results)])
        self.tensor_count = count

        def forward(ctx, call, *tensors):
            results = call(*tensors)
            ctx.save_for_backward(*kept_of(tensors + results))
            if seen == 1:
                return results[0]
            ctx.set_materialize_grads(False)
            return results[:seen]

        def gradients(ctx, *by):
            saved = ctx.saved_tensors
            if joined:
                saved = (*saved[:-1], *saved[-1].unbind())
            made = backward("run", ctx.needs_input_grad[1:], *given_of((*saved, None)), *by, *unseen)
            return None, *made[:count]

        return self._entered(forward, gradients)

    def _caller(self):
        """What calls it, and gives what people see. `asked`: by what, besides tensors, `calls.latest` knows a call."""
        node, transformed, count, seen = self.node, self.function.apply, self.tensor_count, self.seen
        apply = self.apply = super(torch.autograd.Function, self.function).apply  # without what is for functorch alone

        def call(*arguments, asked=None):
            if is_compiling():
                results = node(*arguments)
                return results if seen is None else results[0] if seen == 1 else results[:seen]
            tensors, numbers = arguments[:count], arguments[count:]
            if transforms():
                return transformed(lambda *given: self._found(given, numbers, None)(*given), *tensors)
            return apply(self._found(tensors, numbers, asked), *tensors)

        return call

    def _found(self, tensors, numbers, asked):
        """The call for arguments like these."""
        try:
            key = (*map(layout, tensors), *numbers)
            call = self.calls.get(key)
        except (AttributeError, RuntimeError, TypeError):  # of something that is no key
            self.prepare(*tensors, *numbers)  # says what is wrong with it
            raise
        if call is None:
            named = dict(zip(self.names, tensors, strict=False))
            return keep(self.calls, key, prepared(functools.partial(self._prepared, numbers), named))
        self.calls.found(call, asked, *tensors)
        return call

    def _prepared(self, numbers, **tensors):
        call = self.prepare(*tensors.values(), *numbers)
        return call.join(call.returned[-self.joined :]) if self.joined else call


def _taker(places):
    """What takes the values at these places as a tuple."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return (lambda values: (values[places[0]],)) if places else lambda values: ()


def operator_of(function, name, schema, about):
    """The operator of a host function. Raises TypeError or ValueError unless it computes what a backward is `about`."""
    operator = getattr(function, "operator", None)
    if not isinstance(getattr(operator, "about", None), dict):
        raise TypeError(f"{name}: expected the host function of a generated module")
    wrong = [
        f"{key} {operator.about.get(key)}, here {of}" for key, of in about.items() if operator.about.get(key) != of
    ]
    if wrong or operator.schema.replace(", int config)", ")") != schema:
        wrong = "; ".join(wrong) or operator.schema
        raise ValueError(f"{name}: {operator.name} does not go with this backward: {wrong}")
    return operator


def paired(forward, backward, gradients, saved=None, seen=1, joined=0):
    """The operator of a forward that has a backward; `gradients`, `saved` and `seen` are those of an `Operator`.

    It is a `Paired`, and `joined` is that one's, where the forward says how its calls are prepared.
    """
    kind = functools.partial(Paired, joined=joined, prepare=forward.prepare) if forward.prepare else Operator
    return kind(
        f"{forward.name}_{backward.name}",
        forward.schema.replace(", int config)", ")"),
        forward.run,
        forward.fake,
        gradients,
        saved=saved,
        seen=seen,
        picked=forward.picks,
    )
