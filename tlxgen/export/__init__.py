"""`tlxgen export`: functions of a spec in the form that another project loads."""

from .flashinfer import Definition, read_definition, solution

__all__ = ["Definition", "read_definition", "solution"]
