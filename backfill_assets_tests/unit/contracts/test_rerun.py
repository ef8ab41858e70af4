"""Are the consumers' answers as they have to be? Judged without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from backfill_assets.adapters.consumer_queries import in_place_of, run_commands
from backfill_assets.contracts.confirmed import stale_since
from backfill_assets.contracts.rerun import Answer, Reruns, concerned, evaluated, misses, rerun
from backfill_assets.core.codec import from_plain
from backfill_assets.core.consumer import Bound, ConsumerQuery, Evaluation
from backfill_assets.core.pointer import Pointer
from backfill_assets.state.environment import Environment
from backfill_assets_tests.fakes import NOW, a_pointer, days
from backfill_assets_tests.unit.contracts.test_impact import a_consumer

QUERY = ConsumerQuery(name="q", sql="SELECT x FROM prod.a", min_rows=2, bounds=(Bound(column="x", min=0, max=10),))
GOOD = Answer(
    columns=("x",),
    rows=2,
    checksum="f",
    sample=(("1",), ("2",)),
    extremes={"x": (0.0, 10.0)},
    sums={"x": 3.0, "y": None},
)


def an_environment(name: str, *pointers: Pointer) -> Environment:
    return Environment(name=name, revision=1, pointers={p.model: p for p in pointers}, releases={})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (GOOD, ()),
        (replace(GOOD, rows=1), ("1 rows; expected at least 2",)),
        (replace(GOOD, extremes={"x": (-0.5, 3.0)}), ("x goes down to -0.5; expected at least 0",)),
        (replace(GOOD, extremes={"x": (1.0, 10.5)}), ("x goes up to 10.5; expected at most 10",)),
        (replace(GOOD, extremes={"x": (None, None)}), ()),
        (replace(GOOD, extremes={}), ("its result has no number named x",)),
        (Answer(error="no column x"), ("it fails: no column x",)),
        (replace(GOOD, rows=0, extremes={"x": (-1.0, 11.0)}), ("0 rows", "x goes down", "x goes up")),
    ],
)  # fmt: skip
def test_what_is_missed(answer: Answer, words: tuple[str, ...]) -> None:
    """Everything at once: rows, bounds on both sides, a column that is not there, an error. Bounds are included."""
    found = misses(QUERY, answer)
    assert len(found) == len(words) and all(word in one for word, one in zip(words, found, strict=True))


def test_same() -> None:
    """Answers are the same when columns, number and content of rows are; an error is never the same."""
    board = a_consumer()
    assert rerun(board, QUERY, GOOD, replace(GOOD, sample=())).same
    for other in (replace(GOOD, checksum="e"), replace(GOOD, rows=3), replace(GOOD, columns=("y",)), Answer(error="e")):
        assert not rerun(board, QUERY, GOOD, other).same
        assert not rerun(board, QUERY, other, GOOD).same
    assert not rerun(board, QUERY, Answer(error="e"), Answer(error="e")).same


def test_evaluations_that_are_queries() -> None:
    """An evaluation by a query is that query's answer, under its own name; one by a command is not among them."""
    span = days("01", "03")
    agent = a_consumer(
        queries=(QUERY,),
        evaluations=(
            Evaluation(name="replay", query="q", days=span),
            Evaluation(name="script", command="x", days=span),
        ),
    )
    [found] = evaluated(agent, [rerun(agent, QUERY, Answer(error="no"), GOOD)])
    assert (found.evaluation, found.query, found.met) == ("replay", "q", False)


def test_who_is_asked() -> None:
    """Everybody who reads a model that the candidate shows otherwise, or does not show at all; nobody else."""
    old, new = a_pointer("a", "a-1", days("01", "03")), a_pointer("a", "a-2", days("01", "03"))
    same = a_pointer("b", "b-1", days("01", "03"))
    a, b, both = a_consumer("a"), a_consumer("b", reads=("b",)), a_consumer("both", reads=("b", "a"))
    shown = an_environment("prod", old, same)
    assert concerned([a, b, both], an_environment("plan-1", new, same), shown) == (a, both)
    assert concerned([a, b, both], an_environment("plan-1", old), shown) == (b, both)
    assert concerned([a, b, both], shown, shown) == ()


def test_a_query_over_the_candidate() -> None:
    """The environment's views are replaced where they are named as tables: not in texts, comments or other schemas."""
    shown = an_environment("prod", a_pointer("a", "a-1", days("01", "03")))
    sql = "SELECT prod.a.x, 'prod.a' AS n FROM PROD.A JOIN prod.b ON b.x = a.x JOIN other.a o -- prod.a"
    assert in_place_of(shown, an_environment("plan-1", a_pointer("b", "b-1", days("01", "03"))), sql) == (
        "SELECT a.x, 'prod.a' AS n FROM `plan_1`.`a` AS A JOIN `plan_1`.`b` AS b ON b.x = a.x JOIN other.a o -- prod.a"
    )


def test_commands(tmp_path: Path) -> None:
    """A command runs in the project's folder and is told the candidate; its last words and its end are the answer."""
    (tmp_path / "say.sh").write_text('echo first; echo "$BACKFILL_ENVIRONMENT of $PWD"; exit $1\n')
    span = days("01")
    agent = a_consumer(
        evaluations=tuple(
            Evaluation(name=f"n{i}", command=command, days=span)
            for i, command in enumerate(("sh say.sh 0", "sh say.sh 3", "no-such-command-at-all", "sh 'open"))
        )
    )
    good, bad, absent, wrong = run_commands([agent], an_environment("plan-1"), tmp_path)
    assert good.met and good.candidate.sample == (("first",), (f"plan-1 of {tmp_path}",)) and good.shown is None
    assert bad.missed == (f"it ended with 3: plan-1 of {tmp_path}",)
    assert not absent.met and not wrong.met


def test_json() -> None:
    """What is stored comes back."""
    board = a_consumer(queries=(QUERY,))
    found = Reruns(
        plan="1f",
        at=NOW,
        pointers={"a": "id"},
        reruns=(rerun(board, QUERY, GOOD, Answer(error="e")), replace(rerun(board, QUERY, GOOD, GOOD), shown=None)),
    )
    assert from_plain(Reruns, json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize("age", [0, 89, 90, 91, 400])
def test_how_long_a_confirmation_holds(age: int) -> None:
    """For so many days, the last one included; never confirmed is stale at once."""
    today = date(2024, 6, 1)
    since = stale_since(today - timedelta(days=age), today, 90)
    assert (since is not None) == (age > 90)
    assert since is None or since <= today
    assert stale_since(None, today, 90) == today
