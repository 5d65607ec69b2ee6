"""Kernels of other repositories in the simulator: how each is launched, and what is known of its findings.

NAME.py has host functions that call them, NAME.verify.yaml the cases, NAME.about.yaml where they come from and what
their findings mean. No foreign code is here: it is read from a folder that the user names.
"""
