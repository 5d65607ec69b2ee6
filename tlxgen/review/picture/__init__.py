"""Pictures of plans: lanes of tasks with the rings between them, and maps of SMEM and tensor memory, as SVG.

`facts` needs no library. `draw` uses networkx for the layout, from the extra `review`.
"""
