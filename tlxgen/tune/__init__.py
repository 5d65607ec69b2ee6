"""`tlxgen tune`: the search for each shape's fastest variant, and the checked-in file that `build` reads.

`space` has the candidates, `search` decides which of them are measured, `lab` compiles and measures them in child
processes, which may hang or crash, and `table` writes the file. Only the children import torch and triton.
"""
