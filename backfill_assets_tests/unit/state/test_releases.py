"""What was released: recorded by the commit that moves the pointers, told apart from growth, comparable, never lost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.core.errors import PromotionError
from backfill_assets.core.intervals import Cadence, Ranges, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.promote.promote import promote
from backfill_assets.state.control import Control
from backfill_assets.state.environment import ENVIRONMENTS, Environment, releases_of
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.releases import compare, elsewhere, find_release, grown, shown_at
from backfill_assets.state.store import Store
from backfill_assets_tests.fakes import Catalog, Cell, Crash, FakeTables, FakeViews, Life, MortalStore, a_pointer, days
from backfill_assets_tests.memory_store import MemoryStore

AT = utc("2024-02-01")
A1, A2 = (a_pointer("a", v, days("01", "05")) for v in ("a-1", "a-2"))
A1_MORE = a_pointer("a", "a-1", days("01", "07"), commit=2)
B1 = a_pointer("b", "b-1", days("01", "05"))


@pytest.fixture(params=["memory", "delta"])
def control(request: pytest.FixtureRequest, tmp_path: Path) -> Control:
    return Control.over(MemoryStore() if request.param == "memory" else DeltaStore(str(tmp_path)))


def move(control: Control, *pointers: Pointer, remove: tuple[str, ...] = (), by: str = "ana") -> Environment:
    environments = control.environments
    return promote(environments, environments.read("prod"), pointers, None, remove=remove, note=ReleaseNote(by=by))


def test_each_promotion_leaves_its_record(control: Control) -> None:
    """In order, with who did it and what was there before; compaction of the table changes nothing."""
    move(control, A1, B1)
    move(control, A1_MORE, by="routine")
    move(control, A2, remove=("b",), by="bob")
    first, second, third = control.releases.all("prod")
    assert [r.by for r in (first, second, third)] == ["ana", "routine", "bob"]
    assert [(m.model, m.before, m.after) for m in first.moves] == [("a", None, A1), ("b", None, B1)]
    assert [(m.model, m.before, m.after) for m in second.moves] == [("a", A1, A1_MORE)]
    assert [(m.model, m.before, m.after) for m in third.moves] == [("a", A1_MORE, A2), ("b", B1, None)]
    assert [r.growth for r in (first, second, third)] == [False, True, False]
    for table in (control.environments, control.ledger):
        table.compact()
    control.environments._table.compact(0)
    assert control.releases.all("prod") == [first, second, third] == control.releases.everywhere()
    assert set(control.environments.read("prod").releases.values()) == {third.id}


@pytest.mark.parametrize("kind", ["memory", "delta"])
def test_releases_are_read_again_after_anything_was_written(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read is kept for whoever asks again, and nobody can change it; what others write is seen at once."""
    store = MemoryStore() if kind == "memory" else DeltaStore(str(tmp_path))
    mine, control = Control.over(store), Control.over(store)
    assert mine.releases.all("prod") == []
    move(control, A1)
    [first] = mine.releases.all("prod")
    mine.releases.all("prod").clear()
    with monkeypatch.context() as patch:
        patch.setattr(type(store.table(ENVIRONMENTS)), "read", lambda *_: pytest.fail("it is read again"))
        assert mine.releases.all("prod") == [first]
    move(control, A2)
    assert mine.releases.all("prod") == control.releases.all("prod") != [first]
    assert mine.releases.all("dev") == []


def test_candidates_make_no_releases(control: Control) -> None:
    """Neither are releases environments."""
    environments = control.environments
    environments.flip(environments.read("plan-1"), [A1], release="plan-1", at=AT)
    move(control, A1)
    assert control.releases.all("plan-1") == [] and environments.names() == ["plan-1", "prod"]


def test_what_was_shown_at_each_release(control: Control) -> None:
    """Every model as it was then, also those that went later; and what came later is not there."""
    moves = [((A1, B1), ()), ((A1_MORE,), ()), ((A2,), ("b",))]
    then = [dict(move(control, *pointers, remove=gone).pointers) for pointers, gone in moves]
    releases = control.releases.all("prod")
    now = control.environments.read("prod").pointers
    assert [shown_at(now, releases, r) for r in releases] == then


def test_releases_that_were_made_before_records_are_not_needed() -> None:
    """An environment that was filled before there were records: what it showed then is in the first record."""
    control = Control.over(MemoryStore())
    environments = control.environments
    environments.flip(environments.read("prod"), [A1, B1], release="old", at=AT)
    move(control, A2)
    move(control, A1)
    first, _ = control.releases.all("prod")
    assert shown_at(environments.read("prod").pointers, control.releases.all("prod"), first) == {"a": A2, "b": B1}


def killed(store: Store, steps: int | None, catalog: Catalog) -> int:
    life = Life(steps)
    environments = Control.over(MortalStore(store, life)).environments
    with suppress(Crash):
        promote(environments, environments.read("prod"), [A2], FakeViews(catalog, life), note=ReleaseNote(by="ana"))
    return life.steps


def test_no_crash_parts_a_move_from_its_record() -> None:
    """Killed before or after any step: the pointer has moved and the release is there, or neither."""
    outcomes: set[tuple[str, int]] = set()
    for steps in range(30):
        store, catalog = MemoryStore(), Catalog({"a": A1})
        move(Control.over(store), A1)
        killed(store, steps, catalog)
        control = Control.over(store)
        outcomes.add((control.environments.read("prod").pointers["a"].version, len(control.releases.all("prod"))))
    assert outcomes == {("a-1", 1), ("a-2", 2)}


def test_growth() -> None:
    """More days of the same tables are growth, at whatever commit; other tables, columns or fewer days are not."""
    restated = replace(
        A1_MORE,
        segments=(
            Segment(version="a-1", commit=2, interval=days("01", "03")),
            Segment(version="a-1.x", commit=1, interval=days("04")),
            Segment(version="a-1", commit=2, interval=days("05", "07")),
        ),
    )
    assert grown(A1, A1) and grown(A1, A1_MORE)
    assert not grown(A1_MORE, A1) and not grown(A1, A2) and not grown(A1, restated)
    assert not grown(A1, replace(A1_MORE, columns=(*A1.columns, ("more", "int"))))
    assert str(elsewhere(A1, restated)) == "2024-01-04" and not elsewhere(A1, A1_MORE)


def test_rows_that_were_written_again_in_their_table() -> None:
    """By the batches of commits, as the gate judges: recorded with the release, and compared where a log is at hand."""
    tables = FakeTables()
    tables.create("a", "a-1")
    for part in (days("01", "05"), days("03")):
        cells = {unit.start: Cell(batch=str(part)) for unit in Cadence.DAILY.split(part)}
        tables.write("a", "a-1", str(part), part, cells)
    again = a_pointer("a", "a-1", days("01", "05"), commit=2)
    control = Control.over(MemoryStore())
    environments = control.environments
    promote(environments, environments.read("prod"), [A1], None, note=ReleaseNote(changed={}))
    promote(
        environments, environments.read("prod"), [again], None, note=ReleaseNote(changed={"a": Ranges((days("03"),))})
    )
    first, second = (r.moves[0] for r in control.releases.all("prod"))
    assert first.changed == Ranges() and str(second.changed) == str(second.again) == "2024-01-03"
    assert not second.growth and grown(A1, again)
    (found,) = compare({"a": A1}, {"a": again}, tables)
    assert str(found.changed) == "2024-01-03" and compare({"a": A1}, {"a": again}) == []
    tables.drop("a", "a-1")
    assert compare({"a": A1}, {"a": again}, tables) == []


def test_comparison() -> None:
    """Days of other tables, days gained and lost, columns, models that came or went; nothing about equals."""
    wide = replace(
        A2, columns=(*A2.columns, ("more", "int")), segments=a_pointer("a", "a-2", days("02", "06")).segments
    )
    found = {d.model: d for d in compare({"a": A1, "b": B1}, {"a": wide, "c": a_pointer("c", "c", days("01"))})}
    assert set(found) == {"a", "b", "c"}
    a = found["a"]
    assert (str(a.changed), str(a.gained), str(a.lost)) == ("2024-01-02..2024-01-05", "2024-01-06", "2024-01-01")
    assert a.added == ("more",) and a.removed == ()
    assert found["b"].lost == B1.covers and found["c"].gained
    assert compare({"a": A1}, {"a": A1}) == []


@given(st.lists(st.sampled_from([A1, A2, A1_MORE, B1]), min_size=1, max_size=6), st.data())
def test_history_is_consistent(moves: list[Pointer], data: st.DataObject) -> None:
    """Whatever moved in whatever order: undoing gives what was there."""
    control = Control.over(MemoryStore())
    then = [dict(move(control, pointer).pointers) for pointer in moves]
    releases = control.releases.all("prod")
    index = data.draw(st.integers(0, len(moves) - 1))
    assert shown_at(control.environments.read("prod").pointers, releases, releases[index]) == then[index]


def test_finding_a_release() -> None:
    """By a beginning or an end; nothing and nonsense find nothing."""
    control = Control.over(MemoryStore())
    with pytest.raises(PromotionError, match="no release x"):
        find_release(control.releases.all("prod"), "x")
    move(control, A1)
    [release] = control.releases.all("prod")
    assert find_release([release], release.id[:5]) == release == find_release([release], release.id[-4:])
    with pytest.raises(PromotionError):
        find_release([release], "")


def test_files_do_not_grow_with_releases(tmp_path: Path) -> None:
    """Every plan reads all releases: promotions join the small files that they leave."""
    control, other = (Control.over(DeltaStore(str(tmp_path))) for _ in range(2))
    for commit in range(1, 71):
        move(control, replace(A1, segments=(replace(A1.segments[0], commit=commit),)))
    files = DeltaTable(str(tmp_path / "_control" / "environments")).file_uris()
    assert len(files) < 16, "joined by the 65th"
    move(other, B1)  # by whoever saw none of it
    assert len(other.releases.all("prod")) == 71 and other.releases.all("prod") == control.releases.all("prod")


def test_what_was_read_is_read_again_where_it_was_written_again(tmp_path: Path) -> None:
    """A release that a backup brought back says what it says there; of the others each is the same value."""
    control = Control.over(DeltaStore(str(tmp_path)))
    move(control, A1)
    move(control, A2)
    first, second = control.releases.all("prod")
    move(control, B1)
    again = control.releases.all("prod")
    assert again[0] is first and again[1] is second and len(again) == 3
    table = control.environments._table
    where = {"environment": [releases_of("prod")], "release": [second.id]}
    [row] = table.read(where)
    table.replace(
        [{**row, "pointer": str(row["pointer"]).replace('"ana"', '"eva"')}],
        where=where,
        revision=table.revision(),
        note={},
    )
    assert [r.by for r in control.releases.all("prod")] == ["ana", "eva", "ana"]
