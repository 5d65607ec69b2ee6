"""Instrumented twins of kernels, and what their stamps tell: where each task waits, for whom and how long."""
