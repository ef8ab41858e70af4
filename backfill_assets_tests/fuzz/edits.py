"""What does an author change? One part of a query made otherwise, moved, dropped, doubled, or in other words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

from backfill_assets_tests.fuzz.tree import Node, Path, nodes, put, seq

_SPELLINGS: tuple[tuple[str, str], ...] = (
    (r"(?<!LEFT|FULL|IGHT|UTER|SEMI|ANTI|NNER) JOIN ", " INNER JOIN "), (r" INNER JOIN ", " JOIN "),
    (r" LEFT JOIN ", " LEFT OUTER JOIN "), (r" LEFT OUTER JOIN ", " LEFT JOIN "), (r"count\(\*\)", "count(1)"),
    (r"count\(1\)", "count(*)"), (r" <> ", " != "), (r"\bcoalesce\(", "COALESCE("), (r" AS (\w+) FROM", r" \1 FROM"),
    (r"nvl\(", "coalesce("), (r" ELSE NULL END", " END"), (r"(THEN [\w.]+) END", r"\1 ELSE NULL END"),
    (r"\(([\w.]+) \+ ([\w.]+)\)", r"(\2 + \1)"), (r"([\w.]+) = ([\w.]+)", r"\2 = \1"), (r"([\w.]+) > ([\w.]+)", r"\2 < \1"),
    (r"([\w.]+) < ([\w.]+)", r"\2 > \1"), (r"CAST\(([\w.]+) AS INT\)", r"(\1)::INT"), (r" WHERE ", " WHERE true AND "),
    (r" ASC\b", ""), (r"\bDESC\b", "DESC NULLS LAST"), (r" IS NOT NULL", " IS NULL"), (r" AND ", " OR "), (r"\(", "( "),
    (r"SELECT ", "select /* c */ "), (r"\bIS NOT DISTINCT FROM\b", "="), (r" LIMIT (\d)", r" LIMIT \1 "),
    (r"UNION ALL", "UNION"), (r"\bNOT \(", "("), (r" WHERE (.+?) AND ", r" WHERE (\1) AND "), (r"\bAS (\w+),", r"AS \1 ,"),
)  # fmt: skip


def edited(query: Node, random: Random) -> tuple[Node | str, str] | None:
    """The query after one edit, and of which kind that is; None where the edit found no place."""
    ways: list[tuple[int, Callable[[Node, Random], tuple[Node | str, str] | None]]] = [
        (6, _again), (4, _choice), (3, _items), (3, _exchange), (2, _spelling), (2, _wrap),
    ]  # fmt: skip
    (way,) = random.choices([w for _, w in ways], [n for n, _ in ways])
    found = way(query, random)
    return found if found is not None and str(found[0]) != str(query) else None


def _sites(query: Node, random: Random, wanted: Callable[[Node], bool]) -> tuple[Path, Node] | None:
    there = [(path, node) for path, node in nodes(query) if wanted(node)]
    return random.choice(there) if there else None


def _again(query: Node, random: Random) -> tuple[Node | str, str] | None:
    """A part made anew: another expression, subquery, window, a clause more or less."""
    site = _sites(query, random, lambda n: n.again is not None and n.separator is None)
    if site is None or site[1].again is None:
        return None
    return put(query, site[0], site[1].again()), f"another {site[1].kind.split()[0]}"


def _choice(query: Node, random: Random) -> tuple[Node | str, str] | None:
    site = _sites(query, random, lambda n: len(set(n.others)) > 1)
    if site is None:
        return None
    path, node = site
    word = random.choice([o for o in node.others if o != str(node)])
    return put(query, path, replace(node, parts=(word,))), "another word"


def _items(query: Node, random: Random) -> tuple[Node | str, str] | None:
    site = _sites(query, random, lambda n: n.separator is not None)
    if site is None:
        return None
    path, node = site
    items = list(node.parts)
    kinds = (
        ["swap"] * (len(items) > 1)
        + ["drop"] * (len(items) > node.least)
        + ["twice"]
        + ["add"] * 2 * (node.again is not None)
    )
    match random.choice(kinds):
        case "swap":
            one, other = random.sample(range(len(items)), 2)
            items[one], items[other] = items[other], items[one]
            kind = "items swapped"
        case "drop":
            items.pop(random.randrange(len(items)))
            kind = "an item less"
        case "twice":
            items.append(random.choice(items))
            kind = "an item twice"
        case _:
            assert node.again is not None
            items.insert(random.randint(0, len(items)), node.again())
            kind = "an item more"
    return put(query, path, replace(node, parts=tuple(items))), kind


def _exchange(query: Node, random: Random) -> tuple[Node | str, str] | None:
    """Two parts of one kind and scope change places."""
    site = _sites(query, random, lambda n: bool(n.kind) and n.scope is not None)
    if site is None:
        return None
    path, node = site
    others = [
        (p, n)
        for p, n in nodes(query)
        if n.kind == node.kind and n.scope == node.scope and p[: len(path)] != path and path[: len(p)] != p
    ]
    if not others:
        return None
    other_path, other = random.choice(others)
    return put(put(query, path, other), other_path, node), "parts exchanged"


def _spelling(query: Node, random: Random) -> tuple[Node | str, str] | None:
    """Other words for the same, and some that only look so."""
    text = str(query)
    there = [(p, w) for p, w in _SPELLINGS if re.search(p, text)]
    if not there:
        return None
    pattern, word = random.choice(there)
    found = random.choice(list(re.finditer(pattern, text)))
    return text[: found.start()] + found.expand(word) + text[found.end() :], "other words"


def _wrap(query: Node, random: Random) -> tuple[Node | str, str] | None:
    """An expression within something that gives the same or nearly so; a query within another."""
    site = _sites(query, random, lambda n: n.kind in ("int", "string", "boolean", "date") or n.kind.startswith("query"))
    if site is None:
        return None
    path, node = site
    forms = {
        "int": ("({})", "coalesce({}, 0)", "CAST({} AS INT)", "({} + 0)", "abs({})"),
        "string": ("({})", "coalesce({}, '')", "CAST({} AS STRING)", "lower({})"),
        "boolean": ("({})", "NOT (NOT ({}))", "coalesce({}, false)", "({}) IS NOT NULL"),
        "date": ("({})", "CAST({} AS DATE)"),
    }
    wrapped = random.choice(
        forms.get(
            node.kind,
            (
                "SELECT * FROM ({}) AS wrap",
                "SELECT * FROM ({}) AS wrap LIMIT 100",
                "SELECT DISTINCT * FROM ({}) AS wrap",
            ),
        )
    )
    before, after = wrapped.split("{}")
    return put(
        query, path, replace(node, parts=(before, seq(*node.parts) if node.separator is None else node, after))
    ), "wrapped"
