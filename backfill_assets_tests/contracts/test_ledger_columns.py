"""What columns of the ledger tell is what its rows say, read as plain dictionaries, day by day."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.app.status import unfinished
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.state.history import History
from backfill_assets.state.in_flight import open_or_failed
from backfill_assets.state.ledger import LEDGER, Entry, Kind, Ledger, by_version
from backfill_assets.state.pieces import BuiltEntries
from backfill_assets.state.store import Row, Store, TableSpec
from backfill_assets_tests.memory_store import MemoryStore

AT = utc("2024-03-29")  # clocks change in Europe two days later
DAYS = [AT + timedelta(days=n) for n in range(6)]
FIRST_RELEASE = replace(
    LEDGER,
    sequence="",
    grows=False,
    columns={n: k for n, k in LEDGER.columns.items() if n not in ("through", "changes", "origin", "sequence")},
)
"""The ledger as the first release made it."""


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Rows of two models, in the order in which they happened. A batch has a table commit of its own."""
    found: list[Row] = []
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from((*[Kind.BUILT] * 5, *[Kind.AUDITED] * 4, *Kind)))
        model, first, count = draw(st.sampled_from("aab")), draw(st.integers(0, 4)), draw(st.sampled_from((1, 1, 1, 2)))
        row = {
            "id": f"{number:04}", "at": AT + timedelta(minutes=number), "kind": kind.value, "model": model,
            "version": "v", "start": DAYS[first], "end": DAYS[first] + timedelta(days=count), "batch": f"b{number}",
            "table_commit": number if kind is Kind.BUILT else -1, "attempt": 1, "run": "", "inputs": "{}", "bytes": 0,
            "audits": "", "rows": number % 3, "seconds": 1.0, "reason": "",
        }  # fmt: skip
        earlier = [r for r in found if r["model"] == model and r["kind"] == Kind.BUILT.value]
        if kind in (Kind.AUDITED, Kind.INVALIDATED, Kind.WITHDRAWN) and earlier:
            of = draw(st.sampled_from(earlier))
            row |= {name: of[name] for name in ("batch", "table_commit", "start", "end")}
        if kind in (Kind.AUDITED, Kind.INVALIDATED):
            row["audits"] = draw(st.sampled_from(("now", "then")))
        found.append(row)
    return found


def _state(rows: Sequence[Row], model: str, day: datetime) -> tuple[str, object]:
    """What a day is, and the table commit that made it so, by the last word on it."""
    on = [r for r in rows if r["model"] == model and r["start"] <= day < r["end"]]  # type: ignore[operator]
    words = [r for r in on if r["kind"] not in ("started", "failed", "audited")]
    if not words:
        return "missing", None
    last = max(words, key=lambda r: (r["table_commit"], r["at"]))
    if last["kind"] != "built":
        return {"empty": "empty", "withdrawn": "missing"}.get(str(last["kind"]), "refused"), None
    passed = any(r["kind"] == "audited" and r["batch"] == last["batch"] and r["audits"] == "now" for r in on)
    return "green" if passed else "unaudited", last["table_commit"]


def _told(history: History, model: str, day: datetime) -> tuple[str, object]:
    if (model, "v") not in history:
        return "missing", None
    have, one = history[model, "v"].coverage("now", None), Interval(day, day + timedelta(days=1))
    for name in ("green", "unaudited", "empty"):
        if one in getattr(have, name):
            made = [e.table_commit for part, e in BuiltEntries.of(have.sources) if part.holds(day)]
            return name, made[0] if made else None
    return ("refused" if any(part.holds(day) for part, _ in have.refused) else "missing"), None


def _unfinished(rows: Sequence[Row], model: str) -> list[object]:
    """Batches that began, and nothing of their time began or ended since."""
    mine = [r for r in rows if r["model"] == model and r["kind"] in ("started", "built", "failed")]
    return [
        row["id"]
        for at, row in enumerate(mine)
        if row["kind"] == "started"
        and not any(r["start"] < row["end"] and row["start"] < r["end"] for r in mine[at + 1 :])  # type: ignore[operator]
    ]


def _built_again(row: Row, later: Row) -> bool:
    return later["kind"] == "built" and (later["start"], later["end"]) == (row["start"], row["end"])


def _overtaken(row: Row, others: Sequence[Row]) -> bool:
    """Whether what was said of a commit's rows is of none that count: a newer commit built the interval."""
    newer = (r for r in others if r["table_commit"] > row["table_commit"])  # type: ignore[operator]
    return row["kind"] == "invalidated" and any(_built_again(row, r) for r in newer)


def _agree(store: Store, recorded: Sequence[Row]) -> None:
    history, status = History(Ledger(store)), by_version(open_or_failed(Ledger(store)))
    for model in "ab":
        assert [_told(history, model, day) for day in DAYS] == [_state(recorded, model, day) for day in DAYS]
        known = status.get((model, "v"), [])
        assert [e.id for e in unfinished(known)] == _unfinished(recorded, model)
        of_model = [r for r in recorded if r["model"] == model]
        failed = [(at, r) for at, r in enumerate(of_model) if r["kind"] in ("failed", "invalidated")]
        told = [e.id for e in known if e.kind in (Kind.FAILED, Kind.INVALIDATED)]
        failed = [(at, r) for at, r in failed if not _overtaken(r, of_model)]
        last = [r["id"] for at, r in failed if not any(_built_again(r, later) for later in of_model[at + 1 :])]
        assert [each for each in told if each in last] == last
        assert set(told) <= {r["id"] for r in of_model if r["kind"] in ("failed", "invalidated")}


def _append(store: Store, spec: TableSpec, some: Sequence[Row]) -> None:
    blank: Mapping[str, object] = {"through": utc("1970-01-01"), "changes": "", "origin": "", "sequence": 0}
    store.table(spec).append([{name: {**blank, **row}[name] for name in spec.columns} for row in some])


@settings(max_examples=60)
@given(rows())
def test_as_rows_say_it(recorded: list[Row]) -> None:
    """What is built, audited, refused and under way, and which commit made it."""
    store = MemoryStore()
    for row in recorded:
        _append(store, LEDGER, [row])
    _agree(store, recorded)


@settings(max_examples=5)
@given(rows(), st.integers(0, 12), st.randoms(use_true_random=False))
def test_in_a_table_of_the_first_release(recorded: list[Row], old: int, order: random.Random) -> None:
    """The oldest rows lack columns, and are in files in any order; the others came later, and what was read of it all
    is the same after small files were joined."""
    with tempfile.TemporaryDirectory() as folder:
        store, first = DeltaStore(folder), recorded[:old]
        order.shuffle(first)
        for at in range(0, len(first), 3):
            _append(store, FIRST_RELEASE, first[at : at + 3])
        for row in recorded[old:]:
            _append(store, LEDGER, [row])
        _agree(store, recorded)
        store.table(LEDGER).compact(0)
        _agree(store, recorded)


def test_another_ledger_is_put_in_its_place() -> None:
    """Entries that were there when the columns were read, and are gone when they are asked for, are an error that says
    so: they are never left out."""
    store, entry = MemoryStore(), Entry(kind=Kind.BUILT, model="a", version="v", interval=Interval(*DAYS[:2]), at=AT)
    built = replace(entry, table_commit=1, batch="b")
    Ledger(store).append([built, replace(built, model="b"), replace(built, model="b", kind=Kind.INVALIDATED)])
    have, later = History(Ledger(store))["a", "v"].coverage("now", None), History(Ledger(store))
    store.tables["ledger"].rows.pop()
    with pytest.raises(StateError, match="lost entries while it was read"):
        later["b", "v"].coverage("now", None)
    store.tables["ledger"].rows.clear()
    with pytest.raises(StateError, match="lost entries while it was read"):
        list(have.sources)
