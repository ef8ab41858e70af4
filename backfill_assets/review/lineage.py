"""What reads what of a plan? A picture, from left to right: sources, models with what changes of them, readers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from backfill_assets.core.escaping import visible
from backfill_assets.evidence.page import KINDS
from backfill_assets.evidence.questions import rows_moved
from backfill_assets.evidence.shape import ModelPart, Packet

MOST = 40
"""Nodes: a picture of more is not read by anybody."""
SHOWN = 5
"""How many changed columns a node lists."""
_WIDTH, _GAP_X, _GAP_Y, _LINE, _PAD = 212, 44, 18, 15, 9
_LETTERS = 32
_MARKS = {"added": "+", "removed": "−", "type": "~", "values": "~"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A table or a reader. `lines` are a class and a text each."""

    name: str
    kind: str
    lines: tuple[tuple[str, str], ...]
    link: str = ""


def picture(packet: Packet, upstreams: Mapping[str, Sequence[str]]) -> str:
    """An SVG; "" where there are too many nodes for one. `upstreams`: model → what it reads."""
    nodes, edges = graph(packet, upstreams)
    if not nodes or len(nodes) > MOST:
        return ""
    return _draw(nodes, edges, _ranks(nodes, edges))


def graph(packet: Packet, upstreams: Mapping[str, Sequence[str]]) -> tuple[dict[str, Node], list[tuple[str, str]]]:
    """The nodes by their keys, and which of them reads which: what the plan changes, what that reads, who reads it."""
    changed = {m.model: m for m in packet.models}
    reads = {name: list(upstreams.get(name, ())) for name in changed}
    for source in packet.sources:
        for model in {name for read in source.reads for name in read.models if name in reads}:
            if source.name not in reads[model]:
                reads[model].append(source.name)
    nodes = {f"t:{name}": _model(m) for name, m in changed.items()}
    for name in dict.fromkeys(n for names in reads.values() for n in names if n not in changed):
        why = packet.plan.kept.get(name, "")
        kind = "model, as it was" if why or name in upstreams else "source"
        nodes[f"t:{name}"] = Node(name=name, kind="kept", lines=(("soft", kind),))
    edges = [(f"t:{up}", f"t:{name}") for name, names in reads.items() for up in names]
    for reader in packet.consumers.readers:
        if reader.affected:
            said = tuple(("soft", text) for text in (reader.kind, reader.owner) if text)
            nodes[f"c:{reader.name}"] = Node(name=reader.name, kind="reader", lines=said, link="#readers")
            edges += [(f"t:{name}", f"c:{reader.name}") for name in reader.affected]
    return nodes, list(dict.fromkeys(edges))


def changed_columns(m: ModelPart) -> list[tuple[str, str]]:
    """What happens to which column: a mark (+ new, − gone, ~ other values or another type) and its name."""
    return [(_MARKS[c.what], c.name) for c in m.columns if c.what in _MARKS and (m.before or c.what != "added")]


def anchor(name: str) -> str:
    """A name as a part of an id on the page.

    >>> anchor("raw.orders"), anchor('x" y')
    ('raw.orders', 'x-22--20-y')
    """
    return re.sub(r"[^A-Za-z0-9_.]", lambda found: f"-{ord(found[0]):x}-", name)


def _model(m: ModelPart) -> Node:
    lines = [("soft", KINDS[m.kind]), ("rows", rows_moved(m))]
    columns = changed_columns(m)
    lines += [("column", f"{mark} {name}") for mark, name in columns[:SHOWN]]
    if len(columns) > SHOWN:
        lines.append(("soft", f"and {len(columns) - SHOWN} more columns"))
    return Node(
        name=m.model, kind="new" if m.kind == "new" else "changed", lines=tuple(lines), link=f"#model-{anchor(m.model)}"
    )


def _ranks(nodes: Mapping[str, Node], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """How far from the left each one is: one more than the furthest of what it reads. Readers are last."""
    ranks = dict.fromkeys(nodes, 0)
    for _ in nodes:
        moved = False
        for one, other in edges:
            if ranks[other] <= ranks[one] < len(nodes):
                ranks[other], moved = ranks[one] + 1, True
        if not moved:
            break
    last = max((rank for key, rank in ranks.items() if nodes[key].kind == "reader"), default=0)
    return {key: last if nodes[key].kind == "reader" else rank for key, rank in ranks.items()}


def _draw(nodes: Mapping[str, Node], edges: Sequence[tuple[str, str]], ranks: Mapping[str, int]) -> str:
    columns: dict[int, list[str]] = {}
    for key in nodes:
        columns.setdefault(ranks[key], []).append(key)
    heights = {key: 2 * _PAD + _LINE * (1 + len(node.lines)) for key, node in nodes.items()}
    tall = max(sum(heights[k] + _GAP_Y for k in keys) for keys in columns.values()) - _GAP_Y
    places: dict[str, tuple[int, float]] = {}
    for number, rank in enumerate(sorted(columns)):
        keys = columns[rank]
        y = (tall - sum(heights[k] + _GAP_Y for k in keys) + _GAP_Y) / 2
        for key in keys:
            places[key] = number * (_WIDTH + _GAP_X), y
            y += heights[key] + _GAP_Y
    wide = len(columns) * (_WIDTH + _GAP_X) - _GAP_X
    parts = [
        f'<svg class="lineage" viewBox="-1 -1 {wide + 2} {tall + 2:.0f}" width="{wide + 2}" height="{tall + 2:.0f}" '
        'role="group" aria-label="What reads what">'
    ]
    parts += [_edge(places[one], places[other], heights[one], heights[other]) for one, other in edges]
    parts += [part for key, node in nodes.items() for part in _node(node, places[key], heights[key])]
    return "".join([*parts, "</svg>"])


def _edge(one: tuple[int, float], other: tuple[int, float], high: int, low: int) -> str:
    x1, y1, x2, y2 = one[0] + _WIDTH, one[1] + high / 2, other[0], other[1] + low / 2
    bend = max((x2 - x1) / 2, 20)
    return f'<path class="edge" d="M{x1},{y1:.1f}C{x1 + bend:.1f},{y1:.1f} {x2 - bend:.1f},{y2:.1f} {x2},{y2:.1f}"/>'


def _node(node: Node, place: tuple[int, float], height: int) -> Iterator[str]:
    x, y = place
    whole = "\n".join([node.name, *(text for _, text in node.lines)])
    if node.link:
        yield f'<a href="{escape(node.link)}">'
    yield f'<g class="node {node.kind}"><title>{_text(whole)}</title>'
    yield f'<rect x="{x}" y="{y:.1f}" width="{_WIDTH}" height="{height}" rx="{16 if node.kind == "reader" else 6}"/>'
    for number, (kind, text) in enumerate([("name", node.name), *node.lines]):
        at = y + _PAD + _LINE * (number + 0.75)
        yield f'<text class="{kind}" x="{x + 11}" y="{at:.1f}">{_text(_short(text, _letters(kind)))}</text>'
    yield "</g>"
    if node.link:
        yield "</a>"


def _letters(kind: str) -> int:
    return _LETTERS - 6 if kind == "name" else _LETTERS - 2


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(text: str) -> str:
    return escape(visible(text).replace("\\n", " "))
