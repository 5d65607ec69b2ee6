"""From the host functions of generated modules to C++: what `prepare` decides is said once, in Python.

`prepare` of a generated module checks arguments and says which kernels are launched how. Its statements are few in
kind, and each has one form in C++ that the functions of launcher.h complete. Two things are fixed there: results are
the caller's, and so is the choice of a config. What a module does beyond that is refused with its line.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tlxgen.errors import TlxgenError

LINE = 120
_TYPES = {"Tensor": "tensor", "float": "float", "float?": "float?", "int": "int", "bool": "bool"}  # of a schema
CPP_TYPES = {"tensor": "const Tensor&", "float": "double", "float?": "std::optional<double>", "int": "int64_t"}
CPP_TYPES |= {"bool": "bool", "config": "const Config&"}

# Functions of launcher.h that stand for those of _host.py, and what they give.
_RUNTIME = {
    "on_cuda": "device",
    "check": "none",
    "writable": "none",
    "number": "float",
    "positive": "float",
    "whole": "int",
    "row_stride": "int",
    "rows_of": "tuple2",
    "overlap": "bool",
    "equal_shares": "int",
}
_DTYPES = {"bool": "bool_"}
_OPERATORS: dict[type[ast.AST], tuple[str, int]] = {
    ast.Mult: ("*", 5),
    ast.FloorDiv: ("/", 5),
    ast.Mod: ("%", 5),
    ast.Div: ("/", 5),
    ast.Add: ("+", 6),
    ast.Sub: ("-", 6),
    ast.Lt: ("<", 9),
    ast.LtE: ("<=", 9),
    ast.Gt: (">", 9),
    ast.GtE: (">=", 9),
    ast.Eq: ("==", 10),
    ast.NotEq: ("!=", 10),
    ast.And: ("&&", 14),
    ast.Or: ("||", 15),
}  # with C++'s precedence: a smaller number binds more tightly
_ATOM, _UNARY, _CONDITIONAL = 1, 3, 16


@dataclass(frozen=True)
class Value:
    """An expression in C++: its text, its type, and the precedence of its outermost operator."""

    text: str
    kind: str
    binds: int = _ATOM

    def within(self, binds: int) -> str:
        return f"({self.text})" if self.binds > binds else self.text


@dataclass(frozen=True)
class Parameter:
    """An argument of a host function. `result`: written by the kernels."""

    name: str
    kind: str
    result: bool = False


@dataclass(frozen=True)
class Config:
    """A row of a module's CONFIGS."""

    constants: Mapping[str, int]
    num_warps: int
    cluster: tuple[int, ...]
    maxnreg: int | None


@dataclass
class Host:
    """A module's host function in C++. `kernels`: the names of those that it launches; `doc`: of the Python one."""

    name: str
    function: str
    parameters: list[Parameter]
    configs: list[Config]
    doc: str
    helpers: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)


def host_of(name: str, text: str) -> Host:
    """The host function of a generated module `name`. Raises TlxgenError for one that C++ has nothing for."""
    return _Module(name, text).host()


def has_host(text: str) -> bool:
    """Whether a module launches kernels itself, as those that only choose among others do not."""
    tree = ast.parse(text)
    assigned = {ast.unparse(t) for n in tree.body if isinstance(n, ast.Assign) for t in n.targets}
    return "CONFIGS" in assigned and any(isinstance(n, ast.FunctionDef) and n.name == "prepare" for n in tree.body)


class _Module:
    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.tree = ast.parse(text)
        self.functions = {n.name: n for n in self.tree.body if isinstance(n, ast.FunctionDef)}
        self.translated: dict[tuple[str, tuple[str, ...]], tuple[list[int], str]] = {}
        self.helpers: list[str] = []

    def refuse(self, node: ast.AST, what: str = "") -> NoReturn:
        text = what or f"{ast.unparse(node).splitlines()[0]!r} has no form in C++ yet"
        raise TlxgenError(f"{self.name}.py:{getattr(node, 'lineno', 1)}: {text}", remedy="the Python form has all")

    def assigned(self, name: str) -> ast.expr:
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and any(ast.unparse(t) == name for t in node.targets):
                return node.value
        raise TlxgenError(f"{self.name}.py has no {name}")

    def host(self) -> Host:
        prepare = self.functions["prepare"]
        operator = self.assigned("OPERATOR")
        assert isinstance(operator, ast.Call)
        schema = ast.literal_eval(operator.args[1])
        public = next(f for f in self.functions.values() if f"{f.name}.operator = OPERATOR" in ast.unparse(self.tree))
        parameters = self.parameters(prepare, schema)
        host = Host(
            self.name, public.name, parameters, [*self.configs()], ast.get_docstring(public) or "", helpers=self.helpers
        )
        known = {p.name: p.kind for p in parameters} | {"config": "config"}
        results = [p.name for p in parameters if p.result]
        scope = _Scope(self, known, results)
        scope.block(prepare.body)
        host.body = _without_unused(scope.lines)
        host.kernels = scope.kernels
        return host

    def parameters(self, prepare: ast.FunctionDef, schema: str) -> list[Parameter]:
        words = [part.split(" ") for part in re.split(r",\s*", schema[1 : schema.index(")")])]
        given = {name: kind for kind, name in words}
        found = []
        for argument in prepare.args.args:
            name = argument.arg
            if name in ("config", "outputs"):
                continue
            if name not in given:
                found.append(Parameter(name, "tensor", result=True))
            elif given[name] not in _TYPES:
                self.refuse(prepare, f"{name} is of {given[name]}, which no function in C++ takes yet")
            else:
                found.append(Parameter(name, _TYPES[given[name]]))
        return found

    def configs(self) -> Iterator[Config]:
        table = self.assigned("CONFIGS")
        assert isinstance(table, ast.List)
        for row in table.elts:
            assert isinstance(row, ast.Call)
            told = {k.arg: ast.literal_eval(k.value) for k in row.keywords}
            cluster = tuple(told.get("ctas_per_cga") or (1, 1, 1))
            yield Config(ast.literal_eval(row.args[0]), told.get("num_warps", 4), cluster, told.get("maxnreg"))

    def call(self, name: str, node: ast.Call, arguments: Sequence[Value]) -> Value:
        """A call of a function of the module, which is translated for the types of its arguments."""
        key = name, tuple(value.kind for value in arguments)
        if key not in self.translated:
            function = self.functions[name]
            names = [a.arg for a in function.args.args]
            if len(names) != len(arguments):
                self.refuse(node)
            scope = _Scope(self, dict(zip(names, key[1], strict=True)), [])
            scope.block(function.body)
            lines = _without_unused(scope.lines)
            used = [i for i, n in enumerate(names) if re.search(rf"\b{n}\b", "\n".join(lines))]
            told = ", ".join(f"{CPP_TYPES[key[1][i]]} {names[i]}" for i in used)
            returns = scope.returns or "none"
            kind = {"int": "int64_t", "float": "double", "none": "void", "bool": "bool"}.get(returns, "auto")
            doc = (ast.get_docstring(function) or "").splitlines()
            comment = [f"/* {doc[0]} */"] if doc else []
            self.helpers.append("\n".join([*comment, f"{kind} {name}({told}) {{", *_indented(lines), "}"]))
            self.translated[key] = used, returns
        used, returns = self.translated[key]
        return Value(f"{name}({', '.join(arguments[i].text for i in used)})", returns)


class _Scope:
    """The statements of one function."""

    def __init__(self, module: _Module, known: Mapping[str, str], results: Sequence[str]) -> None:
        self.module, self.known, self.results = module, dict(known), results
        self.lines: list[tuple[list[str], list[str]]] = []  # of each statement what it defines, and its text
        self.returns = ""
        self.kernels: list[str] = []
        self.launches: dict[str, list[ast.Call]] = {}
        self.depth = 0

    # --- statements

    def block(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            getattr(self, f"_{type(node).__name__.lower()}", self.module.refuse)(node)

    def say(self, *text: str, defines: Sequence[str] = ()) -> None:
        self.lines.append(([*defines], [*text]))

    def _expr(self, node: ast.Expr) -> None:
        for part in node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]:
            self.say(f"{self.value(part).text};")

    def _assign(self, node: ast.Assign) -> None:
        target, *others = node.targets
        if others:
            self.module.refuse(node)
        name, text = ast.unparse(target), ast.unparse(node.value)
        if re.match(r"config_of\(|missing\(|config or pick_config\(", text):
            return  # the caller's choices
        if launches := _launches(node.value):
            self.launches[name] = launches
            return
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for one, value in zip(target.elts, node.value.elts, strict=True):
                self.bind(one, value)
        else:
            self.bind(target, node.value)

    def bind(self, target: ast.expr, node: ast.expr) -> None:
        value = self.value(node)
        if isinstance(target, ast.Tuple):
            names = [ast.unparse(one) for one in target.elts]
            self.known |= dict.fromkeys(names, "int")
            self.say(f"const auto [{', '.join(names)}] = {value.text};", defines=names)
            return
        name = ast.unparse(target)
        if value.text == name:
            return
        if name in self.known:
            if self.known[name] == "float?" and value.kind == "float":  # `scale`, of what was given or is usual
                self.known[name] = "float"
                self.lines.append(([], [f"const double {name}_ = {value.text};"]))
                self.renamed[name] = f"{name}_"
                return
            if value.kind == self.known[name] == "float":
                self.say(f"{value.text};")  # a check that gives back what it got
                return
            self.module.refuse(target, f"{name} is assigned anew, which has no form in C++ yet")
        if self.depth:
            self.module.refuse(target, f"{name} is assigned in a branch, which has no form in C++ yet")
        self.known[name] = value.kind
        kinds = {"int": "int64_t", "float": "double", "bool": "bool"}
        self.say(f"const {kinds.get(value.kind, 'auto')} {name} = {value.text};", defines=[name])

    @property
    def renamed(self) -> dict[str, str]:
        return self.__dict__.setdefault("_renamed", {})  # type: ignore[no-any-return]

    def _if(self, node: ast.If) -> None:
        if "operands_of_zeros" in ast.unparse(node):
            test = self.value(node.test)
            text = "K is 0, for which only the Python form has operands"
            self.say(f'if ({test.text}) TVM_FFI_THROW(ValueError) << "{text}";')
            return
        known = self.known_truth(node.test)
        if known is not None:
            self.block(node.body if known else node.orelse)
            return
        test = self.value(node.test)
        before, self.lines = self.lines, []
        self.depth += 1
        self.block(node.body)
        inner = [line for _, text in self.lines for line in text]
        self.lines = []
        self.block(node.orelse)
        other = [line for _, text in self.lines for line in text]
        self.depth -= 1
        self.lines = before
        head = f"if ({test.text}) {{"
        tail = ["} else {", *_indented(other), "}"] if other else ["}"]
        self.say(head, *_indented(inner), *tail)

    def known_truth(self, node: ast.expr) -> bool | None:
        """What a test is where all results are given; None where only a call tells."""
        told = re.fullmatch(r"(\w+) is (not )?None", ast.unparse(node))
        return bool(told[2]) if told and told[1] in self.results else None

    def _raise(self, node: ast.Raise) -> None:
        call = node.exc
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) in ("ValueError", "TypeError")):
            self.module.refuse(node)
        assert isinstance(call, ast.Call)
        text = call.args[0]
        parts = text.values if isinstance(text, ast.JoinedStr) else [text]
        shown = []
        for part in parts:
            if isinstance(part, ast.Constant):
                said = str(part.value)
                shown.append(_string(said.partition(": leave out= away")[0]))
            elif isinstance(part, ast.FormattedValue) and part.format_spec is None:
                shown.append(self.shown(part.value))
            else:
                self.module.refuse(part)
        kind = ast.unparse(call.func)
        self.say(*_wrapped(f"TVM_FFI_THROW({kind})", [f"<< {one}" for one in shown]))

    def shown(self, node: ast.expr) -> str:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "tuple":
            node = node.args[0]
        return self.value(node).within(5)

    def _return(self, node: ast.Return) -> None:
        value = node.value
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "Call":
            self.finish(value)
            return
        if value is None:
            self.module.refuse(node)
        if isinstance(value, ast.Tuple):
            parts = [self.value(one) for one in value.elts]
            self.say(f"return std::make_tuple({', '.join(part.text for part in parts)});")
            self.returns = f"tuple{len(parts)}"
            return
        found = self.value(value)
        self.returns = found.kind
        self.say(f"return {found.text};")

    def finish(self, call: ast.Call) -> None:
        """`return Call(...)`: what is launched, or fills in the results where there is nothing to launch."""
        told = {str(k.arg): k.value for k in call.keywords}
        if told.keys() - {"instead", "owner"}:
            self.module.refuse(
                call, f"{', '.join(sorted(told.keys() - {'instead', 'owner'}))} of a call has no form in C++ yet"
            )
        names, results = ast.literal_eval(call.args[1]), ast.literal_eval(call.args[2])
        named = [f'{{"{n}", {self.named(n)}{", true" if n in results else ""}}}' for n in names]
        launched = call.args[4]
        calls = self.launches.get(ast.unparse(launched))
        if isinstance(launched, ast.List):
            calls = [c for e in launched.elts for c in self.launches.get(ast.unparse(e)) or _launches(e)]
        if calls is None:
            self.module.refuse(call)
        if instead := told.get("instead"):
            assert isinstance(instead, ast.Lambda)
            parts = instead.body.elts if isinstance(instead.body, ast.Tuple) else [instead.body]
            for part in parts:
                self.say(f"{self.instead(part, names)};")
        if calls:
            self.say(*_call("refuse_overlap({", named, "});"))
        for one in calls:
            self.launch(one)
        if self.depth:
            self.say("return;")

    def instead(self, node: ast.expr, names: Sequence[str]) -> str:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            tensor = node.func.value
            if isinstance(tensor, ast.Subscript) and ast.unparse(tensor.value) == "tensors":
                name = names[ast.literal_eval(tensor.slice)]
                if node.func.attr == "zero_":
                    return f"zero({name})"
                if node.func.attr == "fill_" and ast.unparse(node.args[0]) == "float('-inf')":
                    return f"fill({name}, -std::numeric_limits<float>::infinity())"
        return self.module.refuse(node)

    def launch(self, call: ast.Call) -> None:
        kernel, grid, descriptors, addresses, scalars, options = call.args
        name = ast.unparse(kernel)
        self.kernels.append(name)
        for part in (grid, descriptors, addresses, scalars):
            if not isinstance(part, (ast.Tuple, ast.List)):
                self.module.refuse(part)
        assert isinstance(grid, ast.Tuple) and isinstance(descriptors, ast.List)
        assert isinstance(addresses, ast.List) and isinstance(scalars, ast.Tuple)
        pdl = False
        if isinstance(options, ast.Dict) and any(k is None for k in options.keys):
            more = {ast.unparse(k): v for k, v in zip(options.keys, options.values, strict=True) if k is not None}
            if more.keys() - {"'launch_pdl'"}:
                self.module.refuse(options)
            pdl = bool(more) and ast.literal_eval(more["'launch_pdl'"])
        elif ast.unparse(options) != "config.all_kwargs()":
            self.module.refuse(options, "constants that depend on the arguments have no form in C++ yet")
        parts = [
            "config.index",
            "device",
            _braced([self.value(one).text for one in grid.elts]),
            _braced([self.described(one) for one in descriptors.elts]),
            _braced([self.named(ast.literal_eval(one)) for one in addresses.elts]),
            _braced([self.value(one).text for one in scalars.elts]),
            *(["true"] if pdl else []),
        ]
        self.say(*_call(f"{name}(", parts, ");"))

    def described(self, node: ast.expr) -> str:
        """A descriptor: the pair of a tensor's name and of a function that describes it."""
        if not (isinstance(node, ast.Tuple) and isinstance(node.elts[1], ast.Lambda)):
            self.module.refuse(node)
        assert isinstance(node, ast.Tuple) and isinstance(node.elts[1], ast.Lambda)
        name, view = ast.literal_eval(node.elts[0]), node.elts[1]
        call = view.body
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "describe"):
            self.module.refuse(node)
        assert isinstance(call, ast.Call)
        scope = _Scope(self.module, self.known | {view.args.args[0].arg: "tensor"}, self.results)
        scope.renamed[view.args.args[0].arg] = self.named(name)
        words = [scope.value(call.args[0]).text, _string(ast.literal_eval(call.args[1]))]
        if len(call.args) > 3:
            words.append(_string(ast.literal_eval(call.args[3]).partition(":")[0]))
        return f"describe({', '.join(words)})"

    def named(self, name: str) -> str:
        if self.known.get(name) != "tensor":
            raise TlxgenError(f"{self.module.name}: {name} is made for a launch, which has no form in C++ yet")
        return name

    # --- expressions

    def value(self, node: ast.expr) -> Value:
        folded = _folded(node)
        if folded is not None:
            return Value(_constant(folded), "float" if isinstance(folded, float) else "int")
        found = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if found is None:
            self.module.refuse(node)
        value: Value = found(node)
        return value

    def _of_constant(self, node: ast.Constant) -> Value:
        kind = {str: "str", bool: "bool"}.get(type(node.value))
        if kind is None:
            self.module.refuse(node)
        return Value(_string(str(node.value)) if kind == "str" else str(node.value).lower(), kind)

    def _of_name(self, node: ast.Name) -> Value:
        if node.id not in self.known:
            self.module.refuse(node)
        return Value(self.renamed.get(node.id, node.id), self.known[node.id])

    def _of_attribute(self, node: ast.Attribute) -> Value:
        text = ast.unparse(node)
        if text.startswith("torch."):
            return Value(_DTYPES.get(node.attr, node.attr), "dtype")
        value = self.value(node.value)
        known = {
            ("tensor", "shape"): Value(f"{value.text}.shape()", "extents"),
            ("tensor", "T"): Value(f"{value.text}.transposed()", "tensor"),
            ("tensor", "dtype"): Value(f"{value.text}.type", "dtype"),
            ("device", "index"): Value(f"{value.text}.device_id", "int"),
            ("config", "num_warps"): Value(f"{value.text}.num_warps", "int"),
            ("config", "maxnreg"): Value(f"{value.text}.maxnreg", "int"),
        }
        return known.get((value.kind, node.attr)) or self.module.refuse(node)

    def _of_subscript(self, node: ast.Subscript) -> Value:
        text = ast.unparse(node)
        if match := re.fullmatch(r"made\['(\w+)'\]", text):
            return self.value(ast.Name(match[1]))
        if match := re.fullmatch(r"(\w+)\.kwargs\['(\w+)'\]", text):
            return Value(f"{match[1]}.{match[2]}", "int")
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            tensor = self.value(node.value.value)
            if isinstance(node.slice, ast.Slice) and ast.unparse(node.slice) == ":-1":
                return Value(f"{tensor.text}.leading()", "extents")
            return Value(f"{tensor.text}.size({ast.literal_eval(node.slice)})", "int")
        return self.module.refuse(node)

    def _of_tuple(self, node: ast.Tuple) -> Value:
        return Value(_braced([self.value(one).text for one in node.elts]), "list")

    def _of_call(self, node: ast.Call) -> Value:
        name = ast.unparse(node.func)
        if match := re.fullmatch(r"made\.get\('\w+', (\w+)\)", ast.unparse(node)):
            return self.value(ast.Name(match[1]))
        if isinstance(node.func, ast.Attribute) and name not in ("triton.cdiv",):
            tensor = self.value(node.func.value)
            if tensor.kind == "tensor" and node.func.attr in ("dim", "stride", "element_size", "numel", "data_ptr"):
                given = ", ".join(str(ast.literal_eval(a)) for a in node.args)
                if node.func.attr == "stride" and not given:
                    self.module.refuse(node)
                return Value(f"{tensor.text}.{node.func.attr}({given})", "int")
            if tensor.kind == "extents" and node.func.attr == "numel":
                return Value(f"{tensor.text}.numel()", "int")
            self.module.refuse(node)
        if node.keywords:
            self.module.refuse(node)
        if name == "resident":
            return Value(f"resident({self.value(node.args[0]).text})", "int")
        arguments = [self.value(one) for one in node.args]
        texts = [one.text for one in arguments]
        if name in ("cdiv", "triton.cdiv"):
            return Value(f"cdiv({', '.join(texts)})", "int")
        if name == "sm_count":
            return Value(f"sm_count({texts[0]})", "int")
        if name in ("min", "max") and len(texts) > 1:
            kind = "float" if any(a.kind == "float" for a in arguments) else "int"
            of = "double" if kind == "float" else "int64_t"
            given = ", ".join(texts) if len(texts) == 2 else _braced(texts)
            return Value(f"std::{name}<{of}>({given})", kind)
        if name in _RUNTIME:
            return Value(f"{name}({', '.join(texts)})", _RUNTIME[name])
        if name in self.module.functions:
            return self.module.call(name, node, arguments)
        return self.module.refuse(node)

    def _of_binop(self, node: ast.BinOp) -> Value:
        if type(node.op) not in _OPERATORS:
            self.module.refuse(node)
        sign, binds = _OPERATORS[type(node.op)]
        left, right = self.value(node.left), self.value(node.right)
        text = left.within(binds)
        if isinstance(node.op, ast.Div) and left.kind == right.kind == "int":
            text = f"static_cast<double>({left.text})"
        if isinstance(node.op, (ast.Mod, ast.FloorDiv)) and isinstance(node.left, ast.UnaryOp):
            self.module.refuse(node)  # C++ rounds to zero
        kind = "float" if "float" in (left.kind, right.kind) or isinstance(node.op, ast.Div) else "int"
        return Value(f"{text} {sign} {right.within(binds - 1)}", kind, binds)

    def _of_unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        sign = {ast.Not: "!", ast.USub: "-"}.get(type(node.op)) or self.module.refuse(node)
        if sign == "!" and value.kind == "int" and value.binds > _ATOM:
            return Value(f"{value.within(9)} == 0", "bool", 10)
        return Value(f"{sign}{value.within(_UNARY)}", "bool" if sign == "!" else value.kind, _UNARY)

    def _of_boolop(self, node: ast.BoolOp) -> Value:
        sign, binds = _OPERATORS[type(node.op)]
        left = [one for one in node.values if self.known_truth(one) is not isinstance(node.op, ast.And)]
        parts = [self.value(one) for one in left]
        if len(parts) == 1:
            return parts[0]
        tests = [Value(f"{p.within(9)} != 0", "bool", 10) if p.kind == "int" and " * " in p.text else p for p in parts]
        return Value(f" {sign} ".join(part.within(binds - 1) for part in tests), "bool", binds)

    def _of_compare(self, node: ast.Compare) -> Value:
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            value = self.value(node.left)
            if value.kind == "float?" and ast.unparse(node.comparators[0]) == "None":
                sign = "!" if isinstance(node.ops[0], ast.Is) else ""
                return Value(f"{sign}{value.text}", "bool", _UNARY)
            self.module.refuse(node)
        values = [self.value(one) for one in (node.left, *node.comparators)]
        parts = []
        for operator, left, right in zip(node.ops, values, values[1:], strict=False):
            if type(operator) not in _OPERATORS:
                self.module.refuse(node)
            sign, binds = _OPERATORS[type(operator)]
            parts.append(Value(f"{left.within(binds - 1)} {sign} {right.within(binds - 1)}", "bool", binds))
        if len(parts) == 1:
            return parts[0]
        return Value(" && ".join(part.within(13) for part in parts), "bool", 14)

    def _of_ifexp(self, node: ast.IfExp) -> Value:
        known = self.known_truth(node.test)
        if known is not None:
            return self.value(node.body if known else node.orelse)
        test, body, other = self.value(node.test), self.value(node.body), self.value(node.orelse)
        if test.text == f"!{other.text}" and other.kind == "float?":
            return Value(f"{other.text}.value_or({body.text})", "float")
        text = f"{test.within(_CONDITIONAL - 1)} ? {body.within(_CONDITIONAL - 1)} : {other.text}"
        return Value(text, body.kind, _CONDITIONAL)


def _launches(node: ast.expr) -> list[ast.Call]:
    """The calls of Launch that an expression is, or lists."""
    parts = node.elts if isinstance(node, ast.List) else [node]
    found = [p for p in parts if isinstance(p, ast.Call) and ast.unparse(p.func) == "Launch"]
    return found if len(found) == len(parts) else []


def _folded(node: ast.expr) -> int | float | None:
    """The value of an expression of numbers alone; its floats to the bit, whatever the C++ library has."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    if names - {"math"} or not isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Call, ast.Attribute)):
        return None
    allowed = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Call, ast.Attribute, ast.Name, ast.operator, ast.unaryop)
    if any(not isinstance(n, (*allowed, ast.expr_context)) for n in ast.walk(node)):
        return None
    if any(isinstance(n, ast.Attribute) and ast.unparse(n.value) != "math" for n in ast.walk(node)):
        return None
    if any(isinstance(n, ast.Constant) and type(n.value) not in (int, float) for n in ast.walk(node)):
        return None
    if any(isinstance(n, ast.Call) and not isinstance(n.func, ast.Attribute) for n in ast.walk(node)):
        return None
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval")
    found: Any = eval(code, {"__builtins__": {}, "math": math})  # numbers and functions of math, as just seen
    return found if type(found) in (int, float) else None


def _constant(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) > 2**31 - 1:
        return f"int64_t{{{value}}}"
    return repr(value)


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _braced(parts: Sequence[str]) -> str:
    return f"{{{', '.join(parts)}}}"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" if line else line for line in lines]


def _call(head: str, parts: Sequence[str], tail: str) -> list[str]:
    """A call on one line, or with an argument a line."""
    line = f"{head}{', '.join(parts)}{tail}"
    if len(line) <= LINE - 4:
        return [line]
    lines = [head]
    for i, part in enumerate(parts):
        end = tail if i + 1 == len(parts) else ","
        if len(part) > LINE - 12 and part.startswith("{"):
            inner = "    {"
            for one in _parts(part[1:-1]):
                if len(inner) + len(one) + len(end) + 5 > LINE:
                    lines.append(inner.rstrip())
                    inner = "     "
                inner += f"{one}, "
            lines.append(f"{inner[:-2]}}}{end}")
        elif len(lines) > 1 and len(lines[-1]) + len(part) + len(end) + 1 <= LINE - 4:
            lines[-1] += f" {part}{end}"
        else:
            lines.append(f"    {part}{end}")
    return lines


def _parts(text: str) -> Iterator[str]:
    """What lies between the commas that no bracket holds."""
    depth, begin, quoted = 0, 0, False
    for i, letter in enumerate(text):
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth and not quoted:
            yield text[begin:i].strip()
            begin = i + 1
    yield text[begin:].strip()


def _wrapped(head: str, parts: Sequence[str]) -> list[str]:
    lines = [head]
    for part in parts:
        if len(lines[-1]) + len(part) + 1 > LINE - 6:
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    lines[-1] += ";"
    return lines


def _without_unused(lines: Sequence[tuple[list[str], list[str]]]) -> list[str]:
    """The lines but for definitions of what none uses; a check among them stays, for what it says."""
    kept: list[list[str]] = []
    for defines, text in reversed(lines):
        used = {word for later in kept for line in later for word in re.findall(r"\w+", line)}
        if defines and not used & set(defines):
            value = "\n".join(text).partition(" = ")[2]
            if not re.search(r"\b(on_cuda|rows_of|shape_of|row_stride|number|positive)\(", value):
                continue
            text = [value]
        kept.insert(0, text)
    return [line for text in kept for line in text]
