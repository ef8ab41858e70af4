"""Under which contract is a model shown? A promise that is dropped builds nothing, and is told until it is promoted."""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.contracts.levels import Level, compare_contracts
from backfill_assets.contracts.publish import publish_contracts, read_contracts
from backfill_assets.core.model import Audit, Model, Terms
from backfill_assets.project.stored import to_definition
from backfill_assets.state.contracts import CONTRACTS
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version
from backfill_assets_tests.fakes import NOW, a_model, a_pointer, a_project, days
from backfill_assets_tests.memory_store import MemoryStore

FULL = a_model(
    "a",
    audits=(Audit(name="n", kind="not_null", arguments={"columns": ("id",)}),),
    terms=Terms(semantics={"id": "the order"}),
)
NULLS = replace(FULL, audits=())
SHOWN = Environment(name="prod", revision=1, pointers={"a": a_pointer("a", "a-1", days("01", "10"))}, releases={})


class Desk:
    """A warehouse in memory in which version a-1 was built by `FULL`."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.control = Control.over(self.store)
        self.put("a-1", FULL)

    def put(self, version: str, model: Model) -> None:
        self.control.versions.put(
            Version(
                model="a",
                version=version,
                upstream={},
                columns=(("ds", "date"), ("id", "bigint")),
                definition=to_definition(model),
                created=NOW,
            )
        )

    def levels(self, model: Model, shown: Environment = SHOWN) -> list[Level]:
        """What the plan would say of the loaded code."""
        found = read_contracts(a_project(model), self.control, shown)
        return [c.level for c in compare_contracts(found.old["a"], found.new["a"])]

    def promote(self, model: Model, *models: str, shown: Environment = SHOWN) -> None:
        publish_contracts(a_project(model), self.control, shown, models, at=NOW)

    @property
    def kept(self) -> int:
        return len(self.store.table(CONTRACTS).rows)


def test_what_a_version_was_built_under() -> None:
    """Its own record says; promoting it stores nothing more."""
    desk = Desk()
    assert desk.levels(FULL) == []
    desk.promote(FULL, "a")
    assert desk.kept == 0


def test_a_promise_that_is_dropped() -> None:
    """It is breaking until it is promoted, by name; then it is what is promised, and taking it back is compatible."""
    desk = Desk()
    assert desk.levels(NULLS) == [Level.BREAKING]
    desk.promote(NULLS)
    assert desk.levels(NULLS) == [Level.BREAKING], "another model was promoted"
    desk.promote(NULLS, "a")
    assert desk.levels(NULLS) == [] and desk.kept == 1
    desk.promote(NULLS, "a")
    assert desk.kept == 1
    assert desk.levels(FULL) == [Level.COMPATIBLE]


def test_after_a_rollback() -> None:
    """What is shown counts: an older version has the contract that it was promoted under last."""
    desk = Desk()
    desk.promote(NULLS, "a")
    desk.put("a-2", FULL)
    newer = replace(SHOWN, pointers={"a": a_pointer("a", "a-2", days("01", "10"))})
    assert desk.levels(FULL, newer) == [] and desk.levels(FULL, SHOWN) == [Level.COMPATIBLE]


def test_a_version_that_the_code_does_not_say() -> None:
    """Nothing is recorded for a model that is shown by other code: the loaded code promises nothing about it."""
    desk = Desk()
    other = replace(SHOWN, pointers={"a": a_pointer("a", "a-0", days("01", "10"))})
    desk.promote(NULLS, "a", shown=other)
    assert desk.kept == 0
    assert desk.levels(NULLS, other) == [Level.UNKNOWN], "an earlier release made it"
