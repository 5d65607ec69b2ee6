"""The C++ form of a package: a folder of sources that a build compiles and links with tvm-ffi."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlxgen import __version__
from tlxgen.errors import TlxgenError
from tlxgen.package.cpp.translate import LINE, Config, Host, has_host, host_of
from tlxgen.package.folder import MANIFEST, Source, file_of
from tlxgen.package.specialise import Cubin

LAUNCHER = "launcher.h"
BYTES_A_LINE = 28
_ELEMENTS = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    "i1": "bool_",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
}
_SCALARS = {"i1": "BOOL", "i32": "I32", "u32": "U32", "i64": "I64", "u64": "U64", "fp32": "FP32", "fp64": "FP64"}
_PASSED = {"tensor": "tvm::ffi::TensorView", "float": "double", "float?": "tvm::ffi::Optional<double>"}
_PASSED |= {"int": "int64_t", "bool": "bool"}

_BUILD = """\
# Builds {name}.so, a module of tvm-ffi. The headers of CUDA and of tvm-ffi are needed, no compiler for CUDA.
cmake_minimum_required(VERSION 3.18)
project({name} LANGUAGES CXX)

find_package(CUDAToolkit REQUIRED)
find_package(Python COMPONENTS Interpreter REQUIRED)
execute_process(
  COMMAND ${{Python_EXECUTABLE}} -m tvm_ffi.config --cmakedir
  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE tvm_ffi_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(tvm_ffi CONFIG REQUIRED)

add_library({name} SHARED {name}.cc {name}_cubins.cc)
set_target_properties({name} PROPERTIES PREFIX "" CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}} ${{CUDAToolkit_INCLUDE_DIRS}})
target_link_libraries({name} PUBLIC tvm_ffi_header tvm_ffi_shared ${{CMAKE_DL_LIBS}})
"""

_README = """\
# {name}, in C++

Compiled kernels for {arch} (compute capability {capability}) and the functions that launch them, made by
tlxgen {version} from `{spec}`.
Needed are the headers of CUDA and tvm-ffi (`pip install apache-tvm-ffi`), and at run time a driver for
CUDA {driver} or newer.

```bash
g++ -std=c++17 -O2 -shared -fPIC {name}.cc {name}_cubins.cc -o {name}.so \\
    $(python -m tvm_ffi.config --cxxflags) -I$CUDA_HOME/include \\
    $(python -m tvm_ffi.config --ldflags) -ltvm_ffi -ldl
```

`{name}.h` has the functions: one for each kernel and config. The caller picks; results are the caller's. From Python:

```python
import tvm_ffi

{name} = tvm_ffi.load_module("./{name}.so")
{name}.{first}({arguments})
```
"""


@dataclass(frozen=True)
class Made:
    """The files of a C++ form by name, and why each module that is not in it has none."""

    texts: Mapping[str, str]
    refused: Sequence[TlxgenError]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(len(text.encode()) for text in self.texts.values())


def write(out: Path, made: Made) -> None:
    """Writes a C++ form into `out`, in place of an earlier one.

    Raises TlxgenError where `out` holds something else, or cannot be written.
    """
    if out.exists() and any(out.iterdir()) and not (out / LAUNCHER).is_file():
        raise TlxgenError(f"{out} is not empty, and holds no package in C++: nothing is written")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".tlxgen-") as temporary:
            folder = Path(temporary) / "cpp"
            folder.mkdir()
            for file, text in made.texts.items():
                (folder / file).write_text(text, encoding="utf-8")
            if out.exists():
                shutil.rmtree(out)
            folder.rename(out)
    except OSError as error:
        raise TlxgenError(f"cannot write {out}: {error.strerror or error}") from error


def sources(source: Source, told: Mapping[str, Any], cubins: Sequence[Sequence[Cubin]]) -> Made:
    """The C++ form of what the manifest `told` describes. Raises TlxgenError where no module has one."""
    name = source.name
    hosts, refused = [], []
    for file, text in source.modules.items():
        if not file.startswith("_") and has_host(text):
            try:
                hosts.append(host_of(file.removesuffix(".py"), text))
            except TlxgenError as error:
                refused.append(error)
    if not hosts:
        raise refused[0]
    first = hosts[0]
    driver = told["driver"]
    facts = {
        "name": name,
        "version": __version__,
        "spec": source.spec,
        "arch": source.arch,
        "capability": ".".join(map(str, told["capability"])),
        "driver": f"{driver // 1000}.{driver % 1000 // 10}",
        "first": f"{first.name}_0",
        "arguments": ", ".join(parameter.name for parameter in first.parameters),
    }
    files = _files(told, hosts)
    data = {file_of(cubin): cubin.data for some in cubins for cubin in some if file_of(cubin) in files}
    texts = {
        LAUNCHER: Path(__file__).with_name(LAUNCHER).read_text(encoding="utf-8"),
        f"{name}.h": _header(name, source, hosts),
        f"{name}.cc": _functions(name, source, told, hosts),
        f"{name}_cubins.cc": _cubins(name, source, data),
        "CMakeLists.txt": _BUILD.format(**facts),
        "README.md": _README.format(**facts),
        MANIFEST: json.dumps(told, indent=1) + "\n",
    }
    return Made(texts, refused)


def _files(told: Mapping[str, Any], hosts: Sequence[Host]) -> list[str]:
    """The cubins that these launch."""
    kernels = {kernel for host in hosts for kernel in host.kernels}
    rows = [row for kernel in kernels for row in told["kernels"][kernel]["launches"]]
    return sorted({cubin["file"] for row in rows for cubin in row["cubins"]})


def _header(name: str, source: Source, hosts: Sequence[Host]) -> str:
    guard = f"{name.upper()}_H_"
    lines = [
        f"/* {name} for {source.arch}: a function for each kernel and config, on the environment's stream.",
        " *",
        f" * Written by tlxgen {__version__} from {source.spec}; edit that, not this file.",
        " */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <tvm/ffi/tvm_ffi.h>",
        "",
        f"namespace {name} {{",
    ]
    for host in hosts:
        lines += ["", *_comment(_doc(host)), f"constexpr int {host.name}_configs = {len(host.configs)};"]
        told = ", ".join(f"{_PASSED[p.kind]} {p.name}" for p in host.parameters)
        for i, config in enumerate(host.configs):
            lines += ["", *wrapped(f"/* {_constants(config)} */"), *wrapped(f"void {host.name}_{i}({told});")]
    lines += ["", f"}}  // namespace {name}", "", f"#endif  // {guard}", ""]
    return "\n".join(lines)


def _doc(host: Host) -> list[str]:
    """The Python function's docstring, where it holds here too."""
    text = re.sub(r"\nconfig: .*", "", host.doc)
    text = re.sub(r";\s+allocated when absent(, rows then padded to a multiple of 16 bytes)?", "", text)
    text = re.sub(r"\nReturns .*", "", text)
    text = re.sub(
        r"\nRaises ValueError or TypeError for", "\nThrows tvm::ffi::Error, a ValueError or TypeError, for", text
    )
    return re.sub(r"\n\n\n+", "\n\n", text).splitlines()


def wrapped(line: str) -> list[str]:
    """A declaration or a comment in lines of a page's width."""
    return textwrap.wrap(
        line, LINE, subsequent_indent="   " if line.startswith("/*") else "    ", break_long_words=False
    )


def _comment(lines: Sequence[str]) -> list[str]:
    return [f"/* {lines[0]}", *(f" * {line}".rstrip() for line in lines[1:]), " */"]


def _functions(name: str, source: Source, told: Mapping[str, Any], hosts: Sequence[Host]) -> str:
    major, minor = told["capability"]
    files = _files(told, hosts)
    lines = [
        f"/* {name} for {source.arch}: what arguments must be, and how their like are launched.",
        " *",
        f" * Written by tlxgen {__version__} from {source.spec}; edit that, not this file.",
        " */",
        f'#include "{name}.h"',
        "",
        f'#include "{LAUNCHER}"',
        "",
        f"namespace {name} {{",
        "",
        *(f"extern const unsigned char {_symbol(file)}[];  // in {name}_cubins.cc" for file in files),
        "",
        "namespace {",
        "",
        "using namespace tlxgen;  // NOLINT: this file's own launcher",
        "using Row = std::vector<Cubin>;",
        "using tvm::ffi::Optional;",
        "using tvm::ffi::TensorView;",
        "",
        f'const Package PACKAGE{{"{name}", "{source.arch}", {major}, {minor}, {told["driver"]}}};',
        "",
        "}  // namespace",
    ]
    for host in hosts:
        lines += ["", *_module(host, told["kernels"])]
    lines += ["", f"}}  // namespace {name}", ""]
    for host in hosts:
        for i in range(len(host.configs)):
            lines.append(f"TVM_FFI_DLL_EXPORT_TYPED_FUNC({host.name}_{i}, {name}::{host.name}_{i});")
    return "\n".join([*lines, ""])


def _module(host: Host, kernels: Mapping[str, Any]) -> Iterator[str]:
    space = host.name
    yield f"namespace {space} {{"
    yield "namespace {"
    yield ""
    names = [*host.configs[0].constants]
    yield "struct Config {"
    yield f"  int64_t index, {', '.join(names)}, num_warps, maxnreg;"
    yield "};"
    yield ""
    yield "const Config CONFIGS[] = {"
    for i, config in enumerate(host.configs):
        values = [i, *map(int, config.constants.values()), config.num_warps, config.maxnreg or 0]
        yield f"    {{{', '.join(map(str, values))}}},"
    yield "};"
    for kernel in dict.fromkeys(host.kernels):
        yield ""
        yield from _kernel(kernel, kernels[kernel], host)
    for helper in host.helpers:
        yield ""
        yield from helper.splitlines()
    told = ", ".join([f"{_INSIDE[p.kind]} {p.name}" for p in host.parameters])
    yield ""
    yield "/* Checks the arguments and launches. */"
    yield from wrapped(f"void launch(const Config& config, {told}) {{")
    for line in host.body:
        yield f"  {line}" if line else line
    yield "}"
    yield ""
    yield "}  // namespace"
    yield f"}}  // namespace {space}"
    yield ""
    told = ", ".join(f"{_PASSED[p.kind].removeprefix('tvm::ffi::')} {p.name}" for p in host.parameters)
    given = ", ".join(p.name for p in host.parameters)
    for i in range(len(host.configs)):
        yield from wrapped(f"void {host.name}_{i}({told}) {{")
        yield from wrapped(f"  {space}::launch({space}::CONFIGS[{i}], {given});")
        yield "}"


_INSIDE = {
    "tensor": "const Tensor&",
    "float": "double",
    "float?": "const Optional<double>&",
    "int": "int64_t",
    "bool": "bool",
}


def _kernel(name: str, told: Mapping[str, Any], host: Host) -> Iterator[str]:
    """A kernel's parameters, and its cubins in the order of CONFIGS."""
    parameters = told["parameters"]
    if len(parameters) > 64:
        raise TlxgenError(f"{name} takes {len(parameters)} parameters; the C++ form has 64 at most")
    rows = {_key(row["constants"], row): row for row in told["launches"]}
    yield f"const Kernel {name}("
    yield f'    PACKAGE, "{name}",'
    yield "    {"
    for parameter in parameters:
        yield f"        {_parameter(*parameter)},"
    yield "    },"
    yield "    {"
    bits = {parameter[0]: 1 << i for i, parameter in enumerate(parameters)}
    for i, config in enumerate(host.configs):
        constants = {c: config.constants.get(c) for c in told["constants"]}
        row = rows.get(
            _key(constants, {"num_warps": config.num_warps, "ctas_per_cga": config.cluster, "maxnreg": config.maxnreg})
        )
        if row is None:
            raise TlxgenError(f"{host.name}: {name} was not compiled for config {i}: {_constants(config)}")
        yield "        Row{"
        for cubin in row["cubins"]:
            asks = ", ".join(str(sum(bits[name] for name in cubin[of])) for of in ("divisible", "ones"))
            yield (
                f'            Cubin{{{asks}, {_symbol(cubin["file"])}, "{cubin["entry"]}", {32 * cubin["warps"]}, '
                f"{cubin['shared']},"
            )
            boxes = ", ".join(map(_box, cubin["descriptors"]))
            yield f"                  {{{boxes}}}}},"
        yield "        },"
    yield "    });"


def _key(constants: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[Any, ...]:
    return *constants.items(), options["num_warps"], tuple(options["ctas_per_cga"]), options["maxnreg"]


def _parameter(name: str, kind: str, specialized: bool) -> str:
    whether = str(specialized).lower()
    if kind.startswith(("tensordesc", "*")):
        element = kind.removeprefix("*").removeprefix("tensordesc<").partition("[")[0]
        what = "ADDRESS" if kind.startswith("*") else "DESCRIPTOR"
        return f'{{"{name}", Parameter::{what}, {whether}, {_ELEMENTS[element]}}}'
    return f'{{"{name}", Parameter::{_SCALARS[kind]}, {whether}}}'


def _box(told: Mapping[str, Any]) -> str:
    extents = ", ".join(map(str, told["box"]))
    rest = f"{told['swizzle']}, {told['element']}, {told['element_bytes']}, {str(told['fp4_padded']).lower()}"
    return f"Box{{{{{extents}}}, {rest}}}"


def _constants(config: Config) -> str:
    words = [f"{name} {value}" for name, value in config.constants.items()]
    if config.num_warps != 4:
        words.append(f"{config.num_warps} warps")
    return ", ".join(words)


def _symbol(file: str) -> str:
    return f"cubin_{file.partition('.')[0][:16]}"


def _cubins(name: str, source: Source, data: Mapping[str, bytes]) -> str:
    lines = [
        f"/* The cubins of {name} for {source.arch}, by their SHA-256.",
        " *",
        f" * Written by tlxgen {__version__} from {source.spec}.",
        " */",
        f"namespace {name} {{",
    ]
    for file, one in sorted(data.items()):
        lines += [
            "",
            f"extern const unsigned char {_symbol(file)}[];",
            f"alignas(64) const unsigned char {_symbol(file)}[] =",
        ]
        for at in range(0, len(one), BYTES_A_LINE):
            lines.append('    "' + "".join(f"\\{byte:03o}" for byte in one[at : at + BYTES_A_LINE]) + '"')
        lines[-1] += ";"
    return "\n".join([*lines, "", f"}}  // namespace {name}", ""])
