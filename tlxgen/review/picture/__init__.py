"""Pictures of plans: lanes of tasks with the rings between them, and maps of SMEM and tensor memory, as SVG.

`facts` needs nothing; `draw` lays out with networkx, of the extra `review`.
"""
