"""tlxgen generates Triton/TLX kernels from YAML specs, and verifies them without a GPU."""

__version__ = "0.1.0"
