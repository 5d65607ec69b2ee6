"""`tlxgen tune`: the search for each shape's fastest variant, and the checked-in file that `build` reads.

`space` is what there is to choose from, `search` the order in which it is tried, `lab` where it is compiled and
measured (in child processes that may hang or crash), `table` the file. Only the child imports torch and triton.
"""
