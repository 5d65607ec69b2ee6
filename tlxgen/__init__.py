"""tlxgen: Triton/TLX kernels generated from YAML specs, and proven before they meet a GPU."""

__version__ = "0.1.0"
