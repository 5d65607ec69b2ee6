"""Mutation testing of the simulator: faults put into kernels mechanically, and how many of them are found.

`generate` makes the mutants of a module, `subjects` says which modules and on which configs and shapes, `execute` runs
them in child processes, `equivalent` holds what is argued to be no fault. `python -m tests.sim.mutation` does it all.
`beyond` runs what nothing finds on more seeds, and on fewer SMs.
"""
