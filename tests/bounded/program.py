"""As `echo`, for a nursery that has only to import it."""

from __future__ import annotations

from tests.bounded.echo import handle
from tlxgen.bounded.serve import serve

if __name__ == "__main__":
    serve(handle)
