"""Pydantic bases of every spec: strictness, the keys that all families share, and faults that span keys."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema

from tlxgen.spec.choices import choices
from tlxgen.spec.source import DataPath
from tlxgen.words import printable

NAME_PATTERN = r"^[a-z][a-z0-9_]*$"
GUARD_PATTERN = r"^[A-Z][A-Z0-9_]*$"


# The language of conditions, as error messages describe it.
LANGUAGE = (
    "Python's syntax: dotted keys of the spec (tile.m), numbers, text in quotes ('pingpong'), True, False, None; "
    "+ - * / // % **; == != < <= > >=, also chained; in, not in; and, or, not; A if B else C; lists; min, max, abs, "
    "len, cdiv(a, b) (a / b rounded up), is_pow2(n). A key without a value is None."
)

Fault = tuple[DataPath, str]  # the path of the key that is blamed, and a message of one line


class SpecFault(ValueError):
    """Faults that span keys, raised by a `@model_validator(mode="after")`.

    Each is a path relative to the model whose validator raises, and a message of one line:
    `SpecFault((("tile", "m"), "tile.m must ..."), ...)`.
    """

    def __init__(self, *faults: Fault) -> None:
        super().__init__("; ".join(message for _, message in faults))
        self.faults = faults


def _relax_tuples(schema: Any) -> None:
    if isinstance(schema, dict):
        if schema.get("type") == "tuple":
            schema["strict"] = False
        for key, value in schema.items():
            if key != "metadata":
                _relax_tuples(value)
    elif isinstance(schema, (list, tuple)):
        for value in schema:
            _relax_tuples(value)


class SpecModel(BaseModel):
    """A mapping of a spec: frozen, unknown keys are errors, types are exact.

    An integer is accepted as a float; a bool is never accepted as a number. Fields that hold a sequence are tuples, and
    YAML's lists are accepted for them.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accepts lists for tuples. A strict tuple field would accept only a tuple, which YAML cannot express."""
        schema = handler(source)
        _relax_tuples(schema)
        return schema


def filled(data: Any, defaults: Mapping[str, Any]) -> Any:
    """`data` with `defaults` for the keys that it does not give. A value that should be a mapping but is not stays."""
    if not isinstance(data, Mapping):
        return data
    nested = {key: filled(data.get(key, {}), value) for key, value in defaults.items() if isinstance(value, Mapping)}
    return {**defaults, **data, **nested}


def default_of(model: type[BaseModel], path: str) -> Any:
    """The default of a key in a group, by its dotted path: what the class of the group says."""
    *groups, key = path.split(".")
    for group in groups:
        model = model.model_fields[group].annotation  # type: ignore[assignment]
    return model.model_fields[key].get_default()


def _no_keyword(name: str) -> str:
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise ValueError(f"{name!r} is a Python keyword")
    return name


def _readable(text: str) -> str:
    """Refuses text with control or format characters, which could end a comment, colour a terminal or reverse text."""
    hidden = next((c for c in text if c not in "\n\t" and not c.isspace() and printable(c) != c), None)
    hidden = hidden or next((c for c in text if c in "\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029"), None)
    if hidden is not None:
        raise ValueError(f"the character {printable(hidden)} is not for a docstring")
    return text


def canonical(value: Any) -> Any:
    """A hashable value that is equal for equal YAML values. 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return ("map", frozenset((key, canonical(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return ("seq", tuple(canonical(item) for item in value))
    return value


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    seen: set[Any] = set()
    faults: list[Fault] = []
    for index, value in enumerate(values):
        key = canonical(value)
        if key in seen:
            faults.append(((index,), "this value is in the list already"))
        seen.add(key)
    if faults:
        raise SpecFault(*faults)
    return values


AxisValues = Annotated[tuple[Any, ...], Field(min_length=1), AfterValidator(_distinct)]
GuardName = Annotated[str, Field(pattern=GUARD_PATTERN)]
Extent = Annotated[int, Field(ge=1, le=2**31 - 1)]  # the limit of TMA


class Variants(SpecModel):
    """The variants of a spec: every combination of the axes' values that satisfies the conditions."""

    axes: dict[str, AxisValues] = Field(
        default={}, description="Dotted path of a key -> the values it takes. The last axis varies fastest."
    )
    require: tuple[str, ...] = Field(default=(), description=f"Expressions that must be true of a variant. {LANGUAGE}")
    exclude: tuple[str, ...] = Field(
        default=(), description=f"Expressions of which none may be true of a variant. {LANGUAGE}"
    )
    always: tuple[dict[str, Any], ...] = Field(
        default=(),
        description="With tuned: variants that are generated whatever the table says, each entry by the values of some "
        "axes, dotted path -> value; for shapes that no class of the table is near.",
    )


class Check(SpecModel):
    """How a generated kernel is checked against its reference."""

    shapes: tuple[Annotated[tuple[Extent, ...], Field(min_length=1)], ...] = Field(
        default=(),
        description="Problem shapes to check beside the family's own: lists of its extents, which "
        "`tlxgen tune --help` names.",
    )
    rtol: Annotated[float, Field(gt=0)] | Literal["auto"] = Field(
        default="auto", description="Relative tolerance; auto derives it from the dtypes and the reduction's length."
    )
    repeats: int = Field(default=20, ge=1, le=1_000_000, description="Runs of each shape on a GPU, on fresh inputs.")


class CommonSpec(SpecModel):
    """The keys that the specs of all families share.

    `in_source` has the paths of a family's own keys of which a module's source shows the value, and on which the inputs
    of a problem do not depend. A key that is new and among them leaves the simulator's records of other specs as they
    are. `fixed` has paths of keys in groups whose defaults are the same whatever else a spec says.
    """

    in_source: ClassVar[frozenset[str]] = frozenset()
    fixed: ClassVar[frozenset[str]] = frozenset()

    kernel: str = Field(description="The kernel family, such as gemm.")
    name: Annotated[str, Field(pattern=NAME_PATTERN, max_length=60), AfterValidator(_no_keyword)] = Field(
        description="Name of the kernel and of its file: a-z, 0-9 and _, at most 60 characters."
    )
    arch: Literal["sm90", "sm100"] = Field(
        description="Target: sm90 is Hopper, sm100 is Blackwell.",
        json_schema_extra=choices(
            sm90="Hopper (H100, H200): wgmma by warpgroups, accumulators in registers.",
            sm100="Blackwell (B200, GB200): tcgen05 by one thread, accumulators in tensor memory.",
        ),
    )
    toolchain: Literal["fbtriton", "utlx"] = Field(
        default="fbtriton",
        repr=False,  # no plan depends on it
        description="What compiles the kernel. For utlx, variants that stock Triton lacks something for are rejected.",
        json_schema_extra=choices(
            fbtriton="fbtriton, which has all of TLX.",
            utlx="Stock Triton with the plug-in triton-utlx, and fbtriton too; docs/toolchains.md says what it lacks.",
        ),
    )
    description: Annotated[str, AfterValidator(_readable)] = Field(
        default="", description="A sentence for the generated file's docstring."
    )
    guards: dict[GuardName, bool | Literal["keep"]] = Field(
        default={},
        description="Guard -> true or false resolves it when generating; keep leaves a tl.constexpr parameter.",
    )
    bake: tuple[str, ...] = Field(default=(), description="Config axes to generate as constants: dotted paths.")
    keep: tuple[str, ...] = Field(default=(), description="Axes to keep as tl.constexpr parameters: dotted paths.")
    variants: Variants = Field(default_factory=Variants, description="The kernel's variants: axes and conditions.")
    tuned: str | None = Field(
        default=None,
        description="File of `tlxgen tune`, relative to the folder that holds specs/: only its winners are generated.",
    )
    check: Check = Field(default=Check(), description="How the kernel is checked.")

    def faults(self) -> Sequence[Fault]:
        """Combinations of keys that a family does not allow."""
        return ()

    @model_validator(mode="after")
    def _combinations(self) -> CommonSpec:
        if found := self.faults():
            raise SpecFault(*found)
        return self
