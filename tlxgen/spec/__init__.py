"""Reads YAML text into validated specs and their variants.

`load` reads a file and what it extends, `validate` turns it into a model, `expand` into the points of its axes.
"""

from tlxgen.spec.choices import Choices, choices
from tlxgen.spec.document import Document, load
from tlxgen.spec.expression import Expression, ExpressionFault, compile_expression
from tlxgen.spec.model import Check, CommonSpec, Fault, SpecFault, SpecModel, Variants, filled
from tlxgen.spec.paths import axis_paths, paths
from tlxgen.spec.renamed import Renamed
from tlxgen.spec.retarget import retargeted
from tlxgen.spec.schema import json_schema
from tlxgen.spec.source import DataPath, Source, read
from tlxgen.spec.validate import validate
from tlxgen.spec.variants import Expansion, Point, at_point, expand, judge

__all__ = [
    "Check",
    "Choices",
    "CommonSpec",
    "DataPath",
    "Document",
    "Expansion",
    "Expression",
    "ExpressionFault",
    "Fault",
    "Point",
    "Renamed",
    "Source",
    "SpecFault",
    "SpecModel",
    "Variants",
    "at_point",
    "axis_paths",
    "choices",
    "compile_expression",
    "expand",
    "filled",
    "json_schema",
    "judge",
    "load",
    "paths",
    "read",
    "retargeted",
    "validate",
]
