"""The C++ form of a package: `translate` has host functions in C++, `folder` writes sources beside `launcher.h`."""

from .folder import Made, sources, write

__all__ = ["Made", "sources", "write"]
