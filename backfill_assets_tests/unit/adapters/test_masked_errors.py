"""What Spark says when old and new rows cannot be compared quotes values: of masked columns none of them is told."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from backfill_assets.adapters.diff import diff_model
from backfill_assets.compare.questions import ask
from backfill_assets.contracts.masked_answers import ViewMasks, masked_rerun
from backfill_assets.contracts.rerun import Answer, Rerun
from backfill_assets.core.consumer import ConsumerQuery
from backfill_assets.core.errors import BuildError
from backfill_assets.evidence.make import make
from backfill_assets_tests.fakes import FakeTables, a_model, a_pointer, days
from backfill_assets_tests.packets import a_proof, some_inputs

SECRET = "ann@example.com"
SAID = f'[CAST_INVALID_INPUT] The value \'{SECRET}\' of the type "STRING" cannot be cast to "INT"'


class Spark:
    """A session whose every query fails on a value."""

    def newSession(self) -> Spark:
        return self

    @property
    def conf(self) -> Any:
        return self

    def get(self, name: str) -> str:
        return ""

    def set(self, *_: object) -> None: ...

    def sql(self, _: str) -> Any:
        from pyspark.errors import PySparkException

        raise PySparkException(SAID)


def refused(*mask: str) -> BuildError:
    model = a_model("users", mask=mask)
    sides = [a_pointer("users", version, days("01", "02")) for version in ("1", "2")]
    question = ask(model, *sides, FakeTables())
    spark: Any = Spark()
    with pytest.raises(BuildError) as error:
        diff_model(question, lambda: spark, "/w", lambda: b"salt", sample=3)
    return error.value


def test_a_comparison_that_fails_on_a_masked_value() -> None:
    """Neither the error nor what it came from says the value; without a mask it does, for it helps."""
    masked, open_ = refused("email"), refused()
    told = f"{masked}\n{''.join(traceback.format_exception(masked))}"
    assert SECRET not in told and "***" in str(masked) and "compare users" in str(masked)
    assert SECRET in str(open_)


def test_a_packet_of_answers_that_failed_on_one() -> None:
    """A reader's query that may show masked values keeps neither rows, nor totals, nor what its error quotes."""
    query = ConsumerQuery(name="newest", sql="SELECT max(email) AS c FROM prod.users")
    views = ViewMasks(columns={"prod.users": ["email"]}, masks={"prod.users": ["email"]})
    failed = Answer(columns=("c",), rows=1, sample=((SECRET,),), sums={"c": 77123.0}, error=SAID)
    asked = Rerun(consumer="board", query="newest", candidate=failed, shown=failed)
    answer = masked_rerun(asked, query, views, views, b"salt").candidate
    assert SECRET not in str(answer) and not answer.sums
    rerun = {
        "consumer": "board", "query": "newest", "evaluation": "", "met": False, "missed": [f"it fails: {answer.error}"],
        "same": False, "shown": {"rows": 0, "error": answer.error}, "candidate": {"rows": 0, "error": answer.error},
    }  # fmt: skip
    _, files = make(some_inputs(proofs={"consumers": a_proof("consumers", document={"reruns": [rerun]}, findings=())}))
    assert all(SECRET not in text.decode() for text in files.values())
    assert "[CAST_INVALID_INPUT] ***" in files["packet.html"].decode()
