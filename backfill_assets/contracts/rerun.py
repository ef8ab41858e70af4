"""Do the consumers' queries still say something plausible? Their answers over a candidate and over prod, judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from backfill_assets.core.codec import to_plain
from backfill_assets.core.consumer import Consumer, ConsumerQuery
from backfill_assets.core.digest import digest
from backfill_assets.state.environment import Environment

SAMPLE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a query gave over one environment; `error` says why it gave nothing."""

    columns: tuple[str, ...] = ()
    rows: int = 0
    checksum: str = ""
    """Equal for equal rows in any order; doubles count with 12 digits."""
    sample: tuple[tuple[str, ...], ...] = ()
    extremes: Mapping[str, tuple[float | None, float | None]] = field(
        default_factory=dict[str, tuple[float | None, float | None]]
    )
    """Lowest and highest value of each column that has a bound."""
    sums: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    """The total of each column of numbers; nothing where the values are masked, and in records of earlier releases."""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """A consumer's query, or an evaluation of it, asked again. `missed`: what the candidate's answer lacks."""

    consumer: str
    query: str
    """The name of the query, or the command."""
    evaluation: str = ""
    candidate: Answer
    shown: Answer | None
    """None where only the candidate was asked: commands."""
    missed: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the candidate's answer is as it has to be."""
        return not self.missed

    @property
    def same(self) -> bool:
        """Whether both environments gave the same rows."""
        there = self.shown
        return there is not None and not there.error and not self.candidate.error and _content(there) == _content(
            self.candidate
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Reruns:
    """All of them for one plan, and which pointers they were about: they hold for these, and for no later ones."""

    plan: str
    at: datetime
    pointers: Mapping[str, str]
    """Model → id of the candidate's pointer."""
    reruns: tuple[Rerun, ...]

    @property
    def met(self) -> bool:
        """Whether every answer is as it has to be."""
        return all(r.met for r in self.reruns)

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        reruns = [to_plain(r) | {"met": r.met, "same": r.same} for r in self.reruns]
        return to_plain(self) | {"met": self.met, "reruns": reruns}


def queries_digest(consumers: Iterable[Consumer]) -> str:
    """What all consumers ask, and what they expect: another one where an answer has to be asked for again."""
    return digest(sorted((c.name, to_plain(c.queries), to_plain(c.evaluations)) for c in consumers))


def concerned(consumers: Iterable[Consumer], candidate: Environment, shown: Environment) -> tuple[Consumer, ...]:
    """Those who read a model that the candidate shows otherwise, also whom the plan calls unaffected: to see it."""
    moved = {name for name, pointer in candidate.pointers.items() if shown.pointers.get(name) != pointer}
    moved |= set(shown.pointers) - set(candidate.pointers)
    return tuple(c for c in consumers if moved & set(c.reads))


def rerun(consumer: Consumer, query: ConsumerQuery, candidate: Answer, shown: Answer, *, evaluation: str = "") -> Rerun:
    """The two answers, judged by what the consumer expects of the query."""
    return Rerun(
        consumer=consumer.name,
        query=query.name,
        evaluation=evaluation,
        candidate=candidate,
        shown=shown,
        missed=misses(query, candidate),
    )


def evaluated(consumer: Consumer, reruns: Iterable[Rerun]) -> tuple[Rerun, ...]:
    """The evaluations that are queries: the same answers, under the evaluation's name."""
    by_query = {r.query: r for r in reruns}
    return tuple(replace(by_query[e.query], evaluation=e.name) for e in consumer.evaluations if e.query in by_query)


def misses(query: ConsumerQuery, answer: Answer, hidden: Collection[str] = ()) -> tuple[str, ...]:
    """Everything in which an answer is not what is expected; an error misses everything.

    No value is told of columns that are `hidden`, lower-cased.
    """
    if answer.error:
        return (f"it fails: {answer.error}",)
    found: list[str] = []
    if query.min_rows is not None and answer.rows < query.min_rows:
        found.append(f"{answer.rows} rows; expected at least {query.min_rows}")
    for bound in query.bounds:
        extremes = answer.extremes.get(bound.column)
        if extremes is None:
            found.append(f"its result has no number named {bound.column}")
            continue
        lowest, highest = extremes
        low = bound.min is not None and lowest is not None and lowest < bound.min
        high = bound.max is not None and highest is not None and highest > bound.max
        if bound.column.lower() in hidden:
            found += [f"{bound.column} is beyond its bound"] if low or high else []
            continue
        if low:
            found.append(f"{bound.column} goes down to {lowest:g}; expected at least {bound.min:g}")
        if high:
            found.append(f"{bound.column} goes up to {highest:g}; expected at most {bound.max:g}")
    return tuple(found)


def _content(answer: Answer) -> tuple[tuple[str, ...], int, str]:
    return answer.columns, answer.rows, answer.checksum
