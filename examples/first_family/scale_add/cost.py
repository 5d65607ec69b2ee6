"""The work in a problem (M, N)."""

from tlxgen.arch import DTYPES

from .spec import ScaleAddSpec


def bytes_moved(spec: ScaleAddSpec, shape: tuple[int, int]) -> int:
    """Bytes of A, B and C, each once."""
    return 3 * shape[0] * shape[1] * DTYPES[spec.problem.dtype].bytes
