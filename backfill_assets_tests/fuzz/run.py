"""Many pairs, judged and run: what contradicts, what crashes, and how often caution was needless."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from backfill_assets_tests.fuzz.case import Pair
from backfill_assets_tests.fuzz.compiled import compiled
from backfill_assets_tests.fuzz.data import EMPTY, SPARK, rows
from backfill_assets_tests.fuzz.engine import Engine, Failure, Result, World
from backfill_assets_tests.fuzz.frames import is_python
from backfill_assets_tests.fuzz.oracle import Claim, Contradiction, claim, contradiction, really_equal, unaffected
from backfill_assets_tests.fuzz.verdict import Refused, Verdict, verdicts

PERMUTATIONS = (1, 2, 3, 4)
_GROUP = {"duckdb": 24, "spark": 200}
"""Pairs that are judged together. The PySpark models among them are compiled at one start of the worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A pair of which something was said that is not so; or on which the product crashed."""

    pair: Pair
    what: Contradiction
    crash: bool = False


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a run came to. Counts are of edited or reading models, `pairs` of pairs."""

    pairs: int = 0
    invalid: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    unrepeatable: int = 0
    claims: Counter[str] = field(default_factory=Counter)
    careful: Counter[str] = field(default_factory=Counter)
    """Of the claims that rows or columns may differ, those over rows that could show it."""
    needless: Counter[str] = field(default_factory=Counter)
    """Of these, those where nothing did."""
    by_kind: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)


def run(
    pairs: Iterable[Pair],
    engine: Engine,
    *,
    precision: bool = True,
    enough: int | None = None,
    report: Callable[[Found], None] = lambda _: None,
) -> Tally:
    """Judge and run pairs. Without `precision`, what nothing is said of is not run. `enough`: findings to end at."""
    tally = Tally()
    coming = iter(pairs)
    while group := sorted(islice(coming, _GROUP[engine.name]), key=lambda p: p.dataset):
        for found in _group(group, engine, tally, precision):
            tally.found.append(found)
            report(found)
            if len(tally.found) == enough:
                return tally
    return tally


def check(pair: Pair, engine: Engine) -> list[Found]:
    """What is wrong with one pair."""
    return list(_group([pair], engine, Tally(), precision=False))


def _group(pairs: Sequence[Pair], engine: Engine, tally: Tally, precision: bool) -> Iterator[Found]:
    judged: list[tuple[Pair, dict[str, Verdict], tuple[str, ...]]] = []
    python = compiled((t for p in pairs for t in (*p.old.values(), *p.new.values()) if is_python(t)), SPARK)
    for pair in pairs:
        tally.pairs += 1
        try:
            said = verdicts(pair, python)
        except Refused as why:
            tally.refused[str(why).split("`")[0]] += 1
            continue
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = Contradiction(
                model="",
                said="a crash",
                found=f"{type(error).__name__}: {error} ({where.filename.rsplit('/', 1)[-1]}:{where.name})",
            )
            yield Found(pair=pair, what=what, crash=True)
            continue
        only = tuple(n for n in pair.reached if precision or claim(said[n]) is not Claim.ROWS)
        judged.append((pair, said, only))
    worlds = [w for pair, _, only in judged for w in _worlds(pair, only)]
    results = engine.run(worlds)
    for index, (pair, said, only) in enumerate(judged):
        before, after = results[2 * index], results[2 * index + 1]
        yield from _compare(pair, said, only, before, after, engine, tally)


def _worlds(pair: Pair, only: tuple[str, ...]) -> tuple[World, World]:
    there = pair.rows or rows(pair.dataset)
    return (
        World(models=pair.old, tables=pair.tables, rows=there, only=only),
        World(models=pair.new, tables=pair.tables, rows=there, only=only),
    )


def _compare(
    pair: Pair, said: dict[str, Verdict], only: Sequence[str], before, after, engine: Engine, tally: Tally
) -> Iterator[Found]:
    if any(isinstance(r, Failure) and r.invalid for r in (*before.values(), *after.values())):
        tally.invalid += 1
        return
    for name in only:
        old, new = before[name], after[name]
        if isinstance(old, Failure) or isinstance(new, Failure):
            tally.failed += 1
            continue
        kind = claim(said[name])
        direct = name in pair.edited
        tally.claims[kind] += 1
        if kind in (Claim.ROWS, Claim.COLUMNS) and pair.dataset != EMPTY:  # nothing differs where nothing is
            tally.careful[kind] += 1
            equal = really_equal(old, new)
            tally.needless[kind] += equal
            if direct:
                tally.by_kind[(pair.kind, kind.value, equal)] += 1
        wrong = contradiction(name, said[name], old, new) or unaffected(pair, name, said, old, new)
        if wrong is None:
            continue
        if not _repeatable(pair, name, said, engine):
            tally.unrepeatable += 1
            continue
        yield Found(pair=pair, what=wrong)
        return


def _repeatable(pair: Pair, name: str, said: dict[str, Verdict], engine: Engine) -> bool:
    """Whether old and new give one thing each, in whatever order tables give their rows, and still contradict."""
    worlds = _worlds(pair, (name,))
    seen: list[tuple[Result, Result]] = []
    for permutation in PERMUTATIONS:
        old, new = (found[name] for found in engine.run(worlds, permutation))
        if isinstance(old, Failure) or isinstance(new, Failure):
            return False
        seen.append((old, new))
    for old, new in seen:
        for one, first in ((old, seen[0][0]), (new, seen[0][1])):
            if one.of(list(one.types)) != first.of(list(first.types)):
                return False
    return all(
        (contradiction(name, said[name], o, n) or unaffected(pair, name, said, o, n)) is not None for o, n in seen
    )
