"""Another release's hashes: what was built is proved to be what the code says from its own stored files, once."""

from __future__ import annotations

import json
import sys
import tarfile
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import pytest

from backfill_assets.app.context import Context
from backfill_assets.core.errors import ProjectError
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.plan.category import Category, change_between
from backfill_assets.plan.changes import unproved
from backfill_assets.plan.facts import Shown
from backfill_assets.project import algorithm, fingerprint, sql_files, stored, upgrade
from backfill_assets.promote.promote import promote
from backfill_assets.state import upgrades
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.versions import Version, Versions
from backfill_assets_tests.projects import CHECKOUT, days, write_project

SOURCES = """\
sources:
  - name: raw.events
    format: csv
    path: data/events
    columns: {id: bigint, at: timestamp, kind: string, amount: double}
"""
DAILY = """\
/*
start: 2024-01-01
grain: [ds, kind]
audits: [unique_grain, {sql: odd_ones}]
*/
SELECT CAST(at AS DATE) AS ds, kind, count(*) AS n, sum(amount) AS total
FROM raw.events WHERE at >= :start AND at < :end GROUP BY CAST(at AS DATE), kind HAVING count(*) > 0
"""
TOTALS = """\
/*
start: 2024-01-01
grain: [ds]
*/
SELECT ds, sum(total) AS total FROM daily WHERE ds >= :start AND ds < :end GROUP BY ds
"""
SCALED = """\
from _scale import FACTOR
from backfill_assets import model

@model(start='2024-01-01', grain=['ds'], columns={'ds': {'type': 'date'}, 'total': {'type': 'double'}})
def scaled(totals, interval):
    return totals.selectExpr('ds', f'total * {FACTOR} AS total')
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three models, all of them shown, as the first release built them."""
    return shown_project(tmp_path)


def shown_project(tmp_path: Path) -> Path:
    write_project(tmp_path, {"daily.sql": DAILY, "totals.sql": TOTALS, "scaled.py": SCALED}, sources=SOURCES)
    (tmp_path / "models" / "_scale.py").write_text("FACTOR = 2\n")
    (tmp_path / "audits").mkdir()
    (tmp_path / "audits" / "odd_ones.sql").write_text("SELECT * FROM daily WHERE ds >= :start AND ds < :end AND n < 0")
    place = Context.open(tmp_path)
    for name, model in place.project.models.items():
        place.control.versions.put(
            Version(
                model=name,
                version=place.project.fingerprints[name],
                upstream={
                    u.name: place.project.fingerprints[u.name]
                    for u in model.upstreams
                    if u.name in place.project.models
                },
                columns=(("ds", "date"),),
                definition=stored.to_definition(model) | stored.made_from(place.project, model),
                signature=place.project.signatures[name],
                created=datetime.now(UTC),
            )
        )
    pointers = [
        Pointer(
            model=name,
            time_column="ds",
            timestamps=False,
            columns=(("ds", "date"),),
            segments=(Segment(version=version, commit=0, interval=days("2024-01-01", "2024-01-05")),),
        )
        for name, version in place.project.fingerprints.items()
    ]
    environments = place.control.environments
    promote(environments, environments.read("prod"), pointers, None, note=ReleaseNote(by="ana"))
    return tmp_path


def another_release(patch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that hashes everything otherwise."""
    for module in (algorithm, stored, upgrades):
        patch.setattr(module, "ALGORITHM", algorithm.ALGORITHM + 1)
    patch.setattr(fingerprint, "_DIALECT", "another release")
    patch.setenv("BACKFILL_CACHE", str(tmp_path / "cache of another release"))


def test_what_did_not_change_keeps_its_versions(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQL, a model of a model, and Python with a helper; also when a text is formatted otherwise; and only once."""
    before = Context.open(root).project
    with monkeypatch.context() as patch:
        another_release(patch, tmp_path)
        (root / "models" / "totals.sql").write_text(TOTALS.replace("SELECT ds,", "SELECT\n  ds,"))
        after = Context.open(root).project
        assert after.fingerprints == before.fingerprints
        assert after.signatures != before.signatures
        patch.setattr(upgrade, "signature_now", lambda *_: pytest.fail("it is recorded already"))
        assert Context.open(root).project.fingerprints == before.fingerprints


def test_a_younger_rule_is_not_asked_of_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an author has to write since (`lookback: 0`) makes no new version; what was built without it is proved."""
    early = TOTALS.replace("ds >= :start", "ds >= date_sub(:start, 1)")
    monkeypatch.setattr(sys.modules[__name__], "TOTALS", early)
    with monkeypatch.context() as patch:  # no release asked for it then
        patch.setattr(sql_files, "lookback_problems", lambda _: ())
        root = shown_project(tmp_path)
        before = Context.open(root).project
    with monkeypatch.context() as patch:
        another_release(patch, tmp_path)
        with pytest.raises(ProjectError, match="no `lookback`"):
            Context.open(root)
        (root / "models" / "totals.sql").write_text(early.replace("grain:", "lookback: 0\ngrain:"))
        assert Context.open(root).project.fingerprints == before.fingerprints


@pytest.mark.parametrize("by_name", [True, False])
def test_an_order_of_columns_that_a_record_does_not_say(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_name: bool
) -> None:
    """Where files have no header, places decide. Records that have columns by their names are of the order of now."""
    before = Context.open(root).project
    entry = json.loads(before.sources["raw.events"].declared)
    if by_name:
        entry["columns"] = dict(sorted(entry["columns"].items()))
        old = {key: _with_entry(v, entry) for key, v in Context.open(root).control.versions.all().items()}
        monkeypatch.setattr(Versions, "all", lambda _: old)
    sources = root / "sources.yml"
    with monkeypatch.context() as patch:
        another_release(patch, tmp_path)
        assert Context.open(root).project.fingerprints == before.fingerprints
    with monkeypatch.context() as patch:
        another_release(patch, tmp_path)
        sources.write_text(SOURCES.replace("id: bigint, at: timestamp", "at: timestamp, id: bigint"))
        assert (Context.open(root).project.fingerprints == before.fingerprints) is by_name


def _with_entry(record: Version, entry: object) -> Version:
    project = {**dict(record.definition["project"]), "sources": {"raw.events": json.dumps(entry)}}  # type: ignore[call-overload]
    return replace(record, definition={**record.definition, "project": project})


def test_a_change_is_told_by_column(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit beside the upgrade is what it is without: additive, and nothing for the readers."""
    before = Context.open(root).project
    with monkeypatch.context() as patch:
        another_release(patch, tmp_path)
        (root / "models" / "daily.sql").write_text(DAILY.replace("AS total\n", "AS total, max(amount) AS largest\n"))
        place = Context.open(root)
        assert {n for n, v in place.project.fingerprints.items() if before.fingerprints[n] != v} == {"daily"}
        shown = place.control.versions.all()["daily", before.fingerprints["daily"]]
        assert change_between(shown.signature, place.project.signatures["daily"]).category is Category.ADDITIVE


def test_a_changed_helper_is_a_change(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored helper counts, not the one that is there now."""
    before = Context.open(root).project
    with monkeypatch.context() as patch:
        another_release(patch, tmp_path)
        (root / "models" / "_scale.py").write_text("FACTOR = 3\n")
        after = Context.open(root).project
        assert {n for n, v in after.fingerprints.items() if before.fingerprints[n] != v} == {"scaled"}


def test_two_queries_that_an_older_release_took_for_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older parser lost HAVING: the shown version has the hash of the loaded text, and is another table."""
    loaded = DAILY.replace("count(*) > 0", "count(*) > 1")
    (root / "models" / "daily.sql").write_text(loaded)
    place = Context.open(root)
    shown = place.control.environments.read("prod").pointers["daily"].version
    lossy = replace(place.control.versions.all()["daily", shown], signature=place.project.signatures["daily"])
    with monkeypatch.context() as patch:
        another_release(patch, tmp_path)
        patch.setattr(type(place.control.versions), "all", _with(type(place.control.versions).all, lossy))
        place = Context.open(root)
        assert place.project.fingerprints["daily"] != shown


def test_a_record_that_does_not_say_enough(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken for the same on trust."""
    place = Context.open(root)
    shown = place.control.environments.read("prod").pointers["daily"].version
    record = place.control.versions.all()["daily", shown]
    bare = replace(record, definition={k: v for k, v in record.definition.items() if k != "files"})
    with monkeypatch.context() as patch:
        another_release(patch, tmp_path)
        patch.setattr(type(place.control.versions), "all", _with(type(place.control.versions).all, bare))
        place = Context.open(root)
        assert place.project.fingerprints["daily"] != shown
    with pytest.raises(upgrade.Unproved, match="does not hold its files"):
        upgrade.signature_now("daily", shown, {("daily", shown): {**bare.definition, "upstream": {}}})


WORD = "grain: [ds]\nsame_as: {{version: {version}, code: '{code}', reason: rounding is the same}}\n"
ROUNDED = TOTALS.replace("sum(total) AS total", "sum(round(total, 9)) AS total, max(n) AS most")


def test_what_was_built_by_an_authors_word(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own text proves it, so it keeps its version; the word itself is about a hash that nobody can make again."""
    old = Context.open(root).project.fingerprints["totals"]
    totals = root / "models" / "totals.sql"
    totals.write_text(ROUNDED)
    code = Context.open(root).project.fingerprints["totals"]
    totals.write_text(ROUNDED.replace("grain: [ds]\n", WORD.format(version=old, code=code)))
    place = Context.open(root)
    by_word = place.project.fingerprints["totals"]
    assert by_word not in (old, code) and "totals" in place.project.overrides
    record = place.control.versions.all()["totals", old]
    model = place.project.models["totals"]
    definition = stored.to_definition(model) | stored.made_from(place.project, model)
    signature = place.project.signatures["totals"]
    built = replace(record, version=by_word, definition=definition, signature=signature)
    place.control.versions.put(built)
    environments = place.control.environments
    seen = environments.read("prod")
    pointer = seen.pointers["totals"]
    segments = tuple(replace(s, version=by_word) for s in pointer.segments)
    promote(environments, seen, [replace(pointer, segments=segments)], None, note=ReleaseNote(by="ana"))
    with monkeypatch.context() as patch:
        another_release(patch, tmp_path)
        after = Context.open(root).project
        assert after.fingerprints["totals"] == by_word
        [void] = [w for w in after.warnings["totals"] if "same_as" in w.what]
        assert "perhaps only because this release makes hashes by other rules" in void.why


def test_the_plan_says_what_it_cannot_prove(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record of a release before 0.2 has no files: the model is built, and the plan says why."""
    (root / "data" / "events").mkdir(parents=True)
    (root / "data" / "events" / "1.csv").write_text("1,2024-01-01 00:00:00,a,1.5\n")
    place = Context.open(root)
    shown = place.control.environments.read("prod").pointers["daily"].version
    record = place.control.versions.all()["daily", shown]
    bare = replace(record, definition={k: v for k, v in record.definition.items() if k != "files"})
    with monkeypatch.context() as patch:
        another_release(patch, tmp_path)
        patch.setattr(type(place.control.versions), "all", _with(type(place.control.versions).all, bare))
        place = Context.open(root)
        facts = place.facts()
        said = unproved(place.project, facts, "daily")
    assert f"nothing proves that {shown}, which is shown, is what the code says" in said[0]
    assert unproved(place.project, replace(facts, shown=Shown(signatures=place.project.signatures)), "daily") == ()


def test_the_parser_is_the_one_that_the_algorithm_names() -> None:
    """A new pin of sqlglot needs a new number, or versions of two parsers would pass for one."""
    assert installed("sqlglot") == algorithm.SQLGLOT == algorithm.RELEASES[max(algorithm.RELEASES)]
    pins = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert f'"sqlglot=={algorithm.SQLGLOT}"' in pins


def _with(everything: object, record: Version) -> object:
    """`Versions.all` of a warehouse that has this record in place of its own."""

    def read(self: object) -> dict[tuple[str, str], Version]:
        found = everything(self)  # type: ignore[operator]
        key = (record.model, record.version)
        return found | ({key: record} if found[key].algorithm <= record.algorithm else {})

    return read


@pytest.fixture
def built_by_another_parser(tmp_path: Path) -> Path:
    """Four models, all shown, whose records the last release (algorithm 4) wrote with sqlglot 30.30.0."""
    with tarfile.open(CHECKOUT / "backfill_assets_tests" / "fixtures" / "shop-sqlglot-30.30.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def test_two_releases_of_the_parser(built_by_another_parser: Path) -> None:
    """What another release built with another parser keeps its versions; what changed since is told by column; a
    condition of HAVING, which that parser reads otherwise, is a change."""
    root = built_by_another_parser
    assert installed("sqlglot") != "30.30.0"
    place = Context.open(root)
    shown = {n: p.version for n, p in place.control.environments.read("prod").pointers.items()}
    assert place.project.fingerprints == shown and set(shown) == {"busy", "daily", "scaled", "totals"}

    daily = root / "models" / "daily.sql"
    daily.write_text(DAILY.replace("AS total\n", "AS total, max(amount) AS largest\n"))
    place = Context.open(root)
    assert {n for n, v in place.project.fingerprints.items() if shown[n] != v} == {"daily"}
    old = place.control.versions.all()["daily", shown["daily"]]
    assert change_between(old.signature, place.project.signatures["daily"]).category is Category.ADDITIVE

    daily.write_text(DAILY.replace("count(*) > 0", "count(*) > 1"))
    place = Context.open(root)
    assert {n for n, v in place.project.fingerprints.items() if shown[n] != v} == {"daily", "totals", "scaled"}
    old = place.control.versions.all()["daily", shown["daily"]]
    assert change_between(old.signature, place.project.signatures["daily"]).category is Category.BREAKING


def test_variables_that_an_older_release_put_into_queries(root: Path) -> None:
    """`${env:HOME}` was replaced when these rows were built, and is a text now: they are not said to be the same."""
    records = {
        key: {**r.definition, "upstream": r.upstream} for key, r in Context.open(root).control.versions.all().items()
    }
    [key] = [key for key in records if key[0] == "totals"]
    older: dict[upgrade.Key, dict[str, Any]] = {
        k: {**found, "algorithm": algorithm.SUBSTITUTED} for k, found in records.items()
    }
    assert upgrade.signature_now(*key, older) == upgrade.signature_now(*key, records)
    for k, found in older.items():
        texts = {
            name: text.replace("kind,", "kind, '${env:HOME}' AS home,", 1) for name, text in found["files"].items()
        }
        found["files"] = texts if k[0] == "daily" else found["files"]
    with pytest.raises(upgrade.Unproved, match="in the text of daily"):
        upgrade.signature_now(*key, older)
    newer = {k: {**found, "algorithm": algorithm.ALGORITHM} for k, found in older.items()}
    assert upgrade.signature_now(*key, newer)
