"""The order of lanes: tasks that hand tiles to each other are neighbours, and data flows to the right."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

import networkx as nx

from .facts import Facts

MEMORY = "global memory"  # the lane of TMA stores' results
STORED = "TMA store"  # the reader of a ring that is staged for a store, as in `plan.sketch`
MOST = 7  # limit of the lanes of which every order is tried
BACKWARD = 0.25  # extra cost of an edge to the left, in lanes


def flow(facts: Facts) -> nx.MultiDiGraph[str]:
    """Tasks, in the order of the plan, and an edge for each hand-off between two of them."""
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    graph.add_nodes_from(role["name"] for role in facts["roles"])
    for ring in facts["rings"]:
        for reader in ring["readers"]:
            graph.add_edge(ring["by"], lane_of(reader))
    for signal in facts["signals"]:
        graph.add_edge(signal["by"], signal["to"])
    return graph


def lane_of(reader: str) -> str:
    """The lane of a ring's reader."""
    return MEMORY if reader == STORED else reader


def order(facts: Facts) -> list[str]:
    """The lanes from left to right, in the order with the shortest edges; among equals, the first by data flow."""
    graph = flow(facts)
    place = {name: i for i, name in enumerate(graph)}
    loops = nx.condensation(graph)
    parts = {part: sorted(loops.nodes[part]["members"], key=place.__getitem__) for part in loops}
    sorted_parts = nx.lexicographical_topological_sort(loops, key=lambda part: place[parts[part][0]])
    flowing = [name for part in sorted_parts for name in parts[part]]
    if len(flowing) > MOST:
        return flowing
    orders = (lanes for lanes in permutations(flowing) if MEMORY not in lanes[:-1])  # it is rightmost
    return list(min(orders, key=lambda lanes: _length(graph, lanes)))


def _length(graph: nx.MultiDiGraph[str], lanes: Iterable[str]) -> float:
    at = {name: i for i, name in enumerate(lanes)}
    total = 0.0
    for source, target in graph.edges():
        total += abs(at[target] - at[source]) + (BACKWARD if at[target] < at[source] else 0)
    return total
