"""A consumer is kept on a release, on real Delta tables: the rows of then, whatever prod does, until it is let go."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

import backfill_assets
from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.app.context import Context
from backfill_assets.app.janitor import remove_garbage
from backfill_assets.app.pins import pin_consumer, unpin_consumer
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.watch import watch_environment
from backfill_assets.core.errors import PromotionError, StateError, UsageError
from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets.promote.interrupted_pins import interrupted_pins
from backfill_assets.promote.pinning import PinRequest
from backfill_assets.promote.promote import promote
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.pinned import pinned_consumers
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.watch.notice import NoticeKind
from backfill_assets_tests.fakes import Catalog, Crash, FakeViews, Life, MortalStore
from backfill_assets_tests.projects import (
    DAILY,
    backfill_here,
    release_by_hand,
    small_project,
    write_events,
    write_project,
)
from backfill_assets_tests.unsparked import build, extend, unsparked

LAST = date(2024, 2, 1)
CONSUMERS = """\
last_verified: 2024-01-03
consumers:
  - {name: cfo, owner: cfo@example.com, criticality: high, notice: 3 days, reads: [daily]}
  - {name: board, reads: [daily, running]}
  - {name: CFO, reads: [daily]}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """`daily` was released at version one, then at version two."""
    root = small_project(tmp_path / "project", days=2)
    (root / "consumers.yml").write_text(CONSUMERS)
    for version in ("one", "two"):
        release_by_hand(Context.open(root), version)
    return root


def releases(root: Path) -> list[str]:
    return [r.id for r in Context.open(root).control.releases.all("prod")]


def kept(root: Path) -> dict[str, str]:
    """Consumer → the version of `daily` that it is kept on."""
    return {p.consumer: p.pointers["daily"].version for p in pinned_consumers(Context.open(root).control, "prod")}


def pin(root: Path, number: int, consumer: str = "cfo", until: date = LAST) -> None:
    request = PinRequest(consumer=consumer, release=releases(root)[number], until=until)
    assert pin_consumer(Context.open(root), request).pin.pointers["daily"].version == ("one", "two")[number]


def clock(root: Path, at: datetime, **more: object) -> None:
    settings = json.loads((root / "backfill.yml").read_text()) | {"clock": f"{at:%Y-%m-%d}"} | more
    (root / "backfill.yml").write_text(json.dumps(settings))


def test_the_commands(root: Path) -> None:
    """Pinned, again, for longer, moved, listed, let go, and again: each says what became of it."""
    one, two = releases(root)
    before = Context.open(root).control.environments.read("prod").pointers
    said = backfill_here("pin", "cfo", one[-6:], "--until", "2024-02-01", "--reason", "close", project=root, user="ana")
    assert said.code == 0 and f"cfo is kept on release {one} until 2024-02-01, by ana: close" in said.out
    assert "pin_cfo.daily" in said.out and kept(root) == {"cfo": "one"}
    revision = Context.open(root).control.environments.revision()
    said = backfill_here("pin", "cfo", one, "--until", "2024-02-01", project=root)
    assert "nothing was changed" in said.out and Context.open(root).control.environments.revision() == revision
    said = backfill_here("pin", "cfo", one, "--until", "2024-02-09", "--json", project=root)
    assert said.json["changed"] and (said.json["until"], said.json["reason"]) == ("2024-02-09", "close")
    said = backfill_here("pin", "cfo", two, "--until", "2024-02-09", project=root)
    assert f"It was kept on {one} until 2024-02-09: it moves." in said.out and kept(root) == {"cfo": "two"}
    pin(root, 0)
    for command in ("status", "consumers"):
        assert f"cfo is kept on release {one} until 2024-02-01" in backfill_here(command, project=root).out
    listed = backfill_here("consumers", "--json", project=root).json["consumers"]
    assert [(c["name"], (c["pin"] or {}).get("release")) for c in listed] == [
        ("cfo", one),
        ("board", None),
        ("CFO", None),
    ]
    assert [p["consumer"] for p in backfill_here("status", "--json", project=root).json["pins"]] == ["cfo"]

    said = backfill_here("unpin", "cfo", "--dry-run", project=root)
    assert re.search(r"daily +other rows: 2024-01-01..2024-01-02", said.out) and "Nothing was changed" in said.out
    assert "Tell cfo@example.com, who wants 3 days' notice" in said.out and kept(root) == {"cfo": "one"}
    said = backfill_here("unpin", "cfo", "--json", project=root)
    assert said.json["done"] and [c["model"] for c in said.json["changes"]] == ["daily"] and kept(root) == {}
    said = backfill_here("unpin", "cfo", project=root)
    assert said.code == 0 and "cfo is not pinned: it reads prod" in said.out
    assert Context.open(root).control.environments.read("prod").pointers == before, "prod never moved"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("cof", "{0}", "--until", "2024-02-01"), 2, ("no consumer named cof", "did you mean cfo?")),
        (("cfo", "rx", "--until", "2024-02-01"), 1, ("no release rx",)),
        (("cfo", "r", "--until", "2024-02-01"), 1, ("several releases are called r",)),
        (("cfo", "{0}", "--until", "2024-01-02"), 2, ("2024-01-02 is over", "today is 2024-01-03")),
        (("cfo", "{0}", "--until", "soon"), 2, ("--until soon is no day",)),
        (("board", "{0}", "--until", "2024-02-01"), 1, ("does not show running", "correct `reads` of board")),
    ],
)
def test_what_cannot_be(root: Path, arguments: Sequence[str], code: int, words: Sequence[str]) -> None:
    """Unknown names, days that are over, releases from before a model was: refused, and nothing is written."""
    said = backfill_here("pin", *(a.format(*releases(root)) for a in arguments), project=root)
    assert said.code == code and all(word in said.err for word in words), said.err
    assert kept(root) == {}


def test_names_that_are_one_schema(root: Path) -> None:
    """Catalogs do not tell capital letters apart; a name that no schema can have is refused."""
    pin(root, 0)
    with pytest.raises(StateError, match="CFO cannot be pinned: there cannot be an environment pin-CFO beside pin-cfo"):
        pin(root, 0, "CFO")
    (root / "consumers.yml").write_text(CONSUMERS.replace("board", "b" * 125))
    with pytest.raises(UsageError, match="cannot be pinned"):
        pin(root, 0, "b" * 125)
    assert kept(root) == {"cfo": "one"}


def test_a_release_that_is_gone(root: Path) -> None:
    """Vacuumed, or removed: said before anything is written; the release that is there can be named."""
    next((Path(Context.open(root).warehouse) / "daily" / "one").glob("ds=2024-01-02/*.parquet")).unlink()
    with pytest.raises(PromotionError, match="cannot be read any more") as raised:
        pin(root, 0)
    assert "ds=2024-01-02" in raised.value.why and kept(root) == {}
    pin(root, 1)


def test_the_janitor_keeps_what_a_pin_needs(root: Path) -> None:
    """Long after the retention: the rows are there; let go, they stay as long as one could pin it again, then go."""
    pin(root, 0, until=date(2099, 1, 1))
    rows = backfill_assets.read("daily", consumer="cfo", project=root)
    folder = Path(Context.open(root).warehouse) / "daily" / "one"
    later = datetime.now(UTC) + timedelta(days=40)
    clock(root, later, retention_days=14)
    place = Context.open(root)
    swept = remove_garbage(place, today=later.date()).swept
    assert swept is not None and swept.removed == () and folder.exists()
    assert backfill_assets.read("daily", consumer="cfo", project=root) == rows
    assert backfill_assets.read("daily", environment="pin-cfo", project=root) == rows
    assert not [n for n in watch_environment(place).notices if n.kind is NoticeKind.PINNED]
    unpin_consumer(place, "cfo")
    clock(root, datetime.now(UTC) + timedelta(days=13), retention_days=14)
    remove_garbage(Context.open(root), today=(datetime.now(UTC) + timedelta(days=13)).date())
    assert folder.exists()
    clock(root, later, retention_days=14)
    remove_garbage(Context.open(root), today=later.date())
    assert not folder.exists() and backfill_assets.read("daily", consumer="cfo", project=root).num_rows == 2


def test_who_reads_for_a_consumer(root: Path) -> None:
    """`read(consumer=…)`: what it is kept on, else the environment; a name that nobody has is no consumer."""
    pin(root, 0)
    shown = Context.open(root).control.environments.read("pin-cfo").pointers["daily"]
    assert {s.version for s in shown.segments} == {"one"}
    assert backfill_assets.read("daily", consumer="board", project=root).num_rows == 2
    with pytest.raises(UsageError, match="no consumer named cof"):
        backfill_assets.read("daily", consumer="cof", project=root)
    with pytest.raises(UsageError, match="an environment and a consumer"):
        backfill_assets.read("daily", consumer="cfo", environment="prod", project=root)


def test_what_was_provisional_then(tmp_path: Path) -> None:
    """Of what a consumer is kept on, that is provisional which was when its release was made: its views
    say it. Prod's own goes on."""
    text = DAILY.format(batch_size=10, batch_concurrency=1).replace("grain:", "settle: 1 day\ngrain:", 1)
    for days in (4, 6):
        write_events(tmp_path, days=days)
        write_project(tmp_path, {"daily.sql": text}, clock=f"2024-01-{days + 1:02}")
        (tmp_path / "consumers.yml").write_text(CONSUMERS.replace(", running", ""))
        place = unsparked(tmp_path)
        if days == 4:
            build(place)
            assert promote_plan(place).verdict.open
        else:
            assert extend(place) == ()
    pin_consumer(place, PinRequest(consumer="cfo", release=releases(tmp_path)[0], until=LAST))
    environments = place.control.environments
    said = {name: str(place.provisional(environments.read(name))["daily"]) for name in ("pin-cfo", "prod")}
    assert said == {"pin-cfo": "2024-01-03..2024-01-04", "prod": "2024-01-05..2024-01-06"}


def test_a_pin_is_of_its_environment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for a candidate, or another environment, is not given what is kept; nor does that move the pin."""
    pin(root, 0)
    place = Context.open(root)
    environments, shown = place.control.environments, place.control.environments.read("prod").pointers
    for name in ("plan-1f3a9c02", "dev"):
        promote(environments, environments.read(name), list(shown.values()), None, note=ReleaseNote(by="ana"))
    seen = {name: versions_read(root, monkeypatch, name) for name in ("prod", "plan-1f3a9c02", "dev")}
    assert seen == {"prod": {"one"}, "plan-1f3a9c02": {"two"}, "dev": {"two"}}
    clock(root, datetime(2024, 1, 3), environment="dev")
    release = Context.open(root).control.releases.all("dev")[-1].id
    with pytest.raises(StateError, match="cfo is kept on a release of prod") as refused:
        pin_consumer(Context.open(root), PinRequest(consumer="cfo", release=release, until=LAST))
    assert "backfill unpin cfo" in refused.value.fix and kept(root) == {"cfo": "one"}
    assert backfill_here("status", "--json", project=root).json["pins"] == []


def versions_read(root: Path, monkeypatch: pytest.MonkeyPatch, environment: str) -> set[str]:
    """Of which versions the rows are that `read(consumer=)` gives."""
    found: set[str] = set()
    monkeypatch.setattr(
        "backfill_assets.adapters.reader.read_pointer",
        lambda pointer, *_, **__: found.update(s.version for s in pointer.segments),
    )
    monkeypatch.setenv("BACKFILL_ENVIRONMENT", environment)
    backfill_assets.read("daily", consumer="cfo", project=root)
    monkeypatch.undo()
    return found


def test_what_is_kept_stays_when_readers_name_other_models(root: Path) -> None:
    """For longer: what consumers.yml does not name any more stays, what the release did not show is no obstacle, and
    what is read since is read where others read it."""
    pin(root, 0)
    (root / "consumers.yml").write_text(CONSUMERS.replace("reads: [daily]}", "reads: [running]}", 1))
    said = backfill_here("pin", "cfo", releases(root)[0], "--until", "2024-03-01", project=root)
    assert said.code == 0 and "pin_cfo.daily" in said.out and kept(root) == {"cfo": "one"}, said.err
    with pytest.raises(StateError, match="prod does not show running"):
        backfill_assets.read("running", consumer="cfo", project=root)


def test_the_watch(root: Path) -> None:
    """Quiet until its last day; then overdue, unknown, damaged: each with what to do."""

    def found() -> list[str]:
        notices = watch_environment(Context.open(root)).findings
        return [f"{n.model}: {n.what} → {n.remedy}" for n in notices if n.kind is NoticeKind.PINNED]

    pin(root, 0)
    clock(root, datetime(2024, 2, 1))
    assert found() == []
    clock(root, datetime(2024, 2, 2))
    [late] = found()
    assert "until 2024-02-01, which is over" in late and "backfill unpin cfo" in late
    assert "that day is over" in backfill_here("status", project=root).out
    assert backfill_here("watch", project=root).code == 3
    (root / "consumers.yml").write_text("last_verified: 2024-01-03\n")
    assert len(found()) == 2 and "does not name it any more" in found()[1]
    next((Path(Context.open(root).warehouse) / "daily" / "one").glob("ds=2024-01-02/*.parquet")).unlink()
    damaged = [n for n in watch_environment(Context.open(root)).findings if n.kind is NoticeKind.PINNED][-1]
    assert "cannot be read: ds=2024-01-02" in found()[2], found()
    assert str(damaged.intervals) == "2024-01-02"
    assert unpin_consumer(Context.open(root), "cfo").done, "one that nobody names can be let go"


class WithViews(Context):
    """A place whose catalog of views is shared, as one process uses it."""

    views: FakeViews

    def shared_views(self) -> FakeViews:  # type: ignore[override]
        return self.views


class DriftingViews(FakeViews):
    def drifted(self, environment: Environment) -> dict[str, str]:
        return {m: "" for m, p in environment.pointers.items() if self.catalog.views.get(m) != p}


def said_unfinished(root: Path) -> list[tuple[str, bool]]:
    """The consumers whose pin somebody died over, and whether the records keep them on a release."""
    place = Context.open(root)
    return [(p.consumer, p.pinned) for p in interrupted_pins(place.control, "prod", now=datetime.now(UTC))]


def as_process(root: Path, catalog: Catalog, life: Life) -> WithViews:
    place = Context.open(root)
    control = Control.over(MortalStore(DeltaStore(place.warehouse), life))
    found = WithViews(project=place.project, control=control, log=place.log)
    found.views = DriftingViews(catalog, life)
    return found


@pytest.mark.parametrize("action", ["pin", "move", "unpin"])
def test_killed_anywhere(root: Path, action: str) -> None:
    """After each death the same command finishes it: pointers and views agree, and nobody read a mixture. Until then
    the watch, the status and the doctor name it, where there is anything to finish."""
    one, two = releases(root)
    named = 0

    def do(place: Context, what: str) -> None:
        if what == "unpin":
            unpin_consumer(place, "cfo")
        else:
            release = one if what == "pin" else two
            pin_consumer(place, PinRequest(consumer="cfo", release=release, until=LAST))

    for crash in range(1, 60):
        catalog = Catalog()
        do(as_process(root, catalog, Life()), "unpin")
        if action != "pin":
            do(as_process(root, catalog, Life()), "pin")
        life = Life(crash)
        try:
            do(as_process(root, catalog, life), action)
        except Crash:
            left = Context.open(root).control.environments.read("pin-cfo")
            if left.promotion is None:
                assert said_unfinished(root) == [] and catalog.views == dict(left.pointers)
            else:
                assert said_unfinished(root) == [("cfo", bool(left.pointers))]
                if not named:
                    for command in ("watch", "status", "doctor"):
                        assert "was never finished" in " ".join(backfill_here(command, project=root).out.split())
                named += 1
        else:
            break
        do(as_process(root, catalog, Life()), action)
        assert said_unfinished(root) == []
        wanted = {"pin": {"cfo": "one"}, "move": {"cfo": "two"}, "unpin": {}}[action]
        assert kept(root) == wanted
        home = Context.open(root).control.environments.read("pin-cfo")
        assert home.promotion is None and catalog.views == dict(home.pointers)
    else:
        pytest.fail("it never came to its end")
    assert crash > 5 and named > 2


def test_two_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else pins it elsewhere while we look: we are told, and nothing of ours is written."""
    from backfill_assets.promote import pinning

    real = pinning.check_readable

    def slow(*arguments: object) -> None:
        monkeypatch.setattr(pinning, "check_readable", real)
        pin(root, 1)
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pinning, "check_readable", slow)
    with pytest.raises(StateError, match="somebody else moved pin-cfo meanwhile"):
        pin(root, 0)
    assert kept(root) == {"cfo": "two"}


def test_the_jobs(root: Path, instance: dg.DagsterInstance) -> None:
    """The same in Dagster: pinned, refused, let go."""
    one, _ = releases(root)

    def run(job: str, op: str, **config: object) -> bool:
        found = build_definitions(root).resolve_job_def(job)
        config = {"ops": {op: {"config": config}}}
        return found.execute_in_process(run_config=config, instance=instance, raise_on_error=False).success

    assert run("pin", "keep_consumer", consumer="cfo", release=one, until="2024-02-01") and kept(root) == {"cfo": "one"}
    assert not run("pin", "keep_consumer", consumer="cof", release=one, until="2024-02-01")
    assert run("unpin", "let_go", consumer="cfo", dry_run=True) and kept(root) == {"cfo": "one"}
    assert run("unpin", "let_go", consumer="cfo") and kept(root) == {}


def test_prod_goes_on(root: Path) -> None:
    """A rollback of prod, and a later release, leave the pin where it is; a backup has what it needs."""
    pin(root, 0)
    place = Context.open(root)
    before = place.control.environments.read("pin-cfo").pointers
    release_by_hand(place, "three")
    environments = place.control.environments
    note = ReleaseNote(by="ana", back_to=releases(root)[0])
    promote(environments, environments.read("prod"), [before["daily"]], None, note=note)
    assert environments.read("pin-cfo").pointers == before and kept(root) == {"cfo": "one"}
    assert [r.id for r in place.control.releases.all("prod")] == releases(root) and len(releases(root)) == 4
