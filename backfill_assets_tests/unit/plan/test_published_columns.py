"""Which columns of a source, declared otherwise than when a model was published, keep routine runs off it?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import plan_rollback
from backfill_assets.app.routine import extend, published_context
from backfill_assets.core.model import Column, Project
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Build
from backfill_assets.promote.extend import as_published
from backfill_assets.state.versions import Version
from backfill_assets_tests.dagster_place import nothing_found
from backfill_assets_tests.projects import small_project, write_events
from backfill_assets_tests.unsparked import build, unsparked
from backfill_assets_tests.unsparked import extend as extended

STAR = """\
/*
start: 2024-01-01
owner: ana@example.com
grain: [ds, id]
*/
SELECT CAST(at AS DATE) AS ds, e.* FROM raw.events AS e WHERE at >= :start AND at < :end
"""
OPAQUE = '''\
from backfill_assets import model


@model(
    start="2024-01-01",
    grain=["ds"],
    owner="ana@example.com",
    columns={"ds": {"type": "date"}},
    upstream={"raw": "raw.events"},
)
def opaque(raw, interval):
    """Rows that nobody looks into."""
    return raw.toPandas()
'''
READ = 'columns: {id: bigint, at: timestamp, kind: string, amount: "decimal(10,2)"}'


def promoted(tmp_path: Path, *, options: str = "header: true", columns: str = "", **models: str) -> Path:
    """A project whose models prod shows."""
    root = small_project(tmp_path, days=3)
    sources = root / "sources.yml"
    sources.write_text(sources.read_text().replace("header: true", options))
    if columns:
        declare(root, columns)
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"approvals": {"required": False}}))
    for name, text in models.items():
        (root / "models" / name.replace("_", ".")).write_text(text)
    place = unsparked(root)
    build(place)
    assert promote_plan(place).verdict.open
    return root


def declare(root: Path, columns: str) -> None:
    """Other columns in `sources.yml`; files have `more` where it says so."""
    if "more" in columns:
        for rows in (root / "data").rglob("*.csv"):
            head, *lines = rows.read_text().splitlines()
            rows.write_text("\n".join([f"{head},more", *(f"{line},1" for line in lines)]) + "\n")
    file = root / "sources.yml"
    text = file.read_text()
    assert READ in text
    file.write_text(text.replace(READ, f"columns: {columns}"))


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ('{id: bigint, at: timestamp, kind: string, amount: "decimal(10,2)", more: int}', ""),
        ('{id: {type: bigint, description: x}, at: timestamp, kind: string, amount: "decimal(10,2)"}', ""),
        ('{id: int, at: timestamp, kind: string, amount: "decimal(10,2)"}', ""),
        ('{at: timestamp, kind: string, amount: "decimal(10,2)"}', ""),
        (
            '{id: bigint, at: timestamp, kind: string, amount: "decimal(10,0)"}',
            "column amount of its source raw.events is decimal(10,0) by now, and was decimal(10,2)",
        ),
        (
            '{id: bigint, at: date, kind: string, amount: "decimal(10,2)"}',
            "column at of its source raw.events is date by now, and was timestamp",
        ),
    ],
)
def test_what_plan_calls_a_change_is_not_extended(tmp_path: Path, columns: str, why: str) -> None:
    """The types of what a query reads; no routine run asks about a column that nobody reads."""
    root = promoted(tmp_path)
    before = unsparked(root).project.fingerprints
    declare(root, columns)
    place = unsparked(root)
    assert (place.project.fingerprints != before) == bool(why), "as plan sees it"
    found = published_context(place).project.redeclared
    assert found == ({"daily": f"{why} when it was published"} if why else {})


@pytest.mark.parametrize("header", [True, False])
def test_places_count_where_files_have_no_names(tmp_path: Path, header: bool) -> None:
    """With a header, values go by it."""
    root = promoted(tmp_path, options="header: true" if header else "header: true, enforceSchema: true")
    declare(root, '{id: bigint, at: timestamp, amount: "decimal(10,2)", kind: string}')
    found = published_context(unsparked(root)).project.redeclared
    assert found.keys() == (set() if header else {"daily"})
    assert header or "raw.events, whose files have no names for it, is at another place" in found["daily"]


def test_an_order_that_is_alphabetical_is_one(tmp_path: Path) -> None:
    """Records of older releases have columns so, which says nothing of them; those of this one say it."""
    letters = '{amount: "decimal(10,2)", at: timestamp, id: bigint, kind: string}'
    root = promoted(tmp_path, options="header: true, enforceSchema: true", columns=letters)
    assert published_context(unsparked(root)).project.redeclared == {}
    sources = root / "sources.yml"
    sources.write_text(sources.read_text().replace("id: bigint, kind: string", "kind: string, id: bigint"))
    assert "is at another place" in published_context(unsparked(root)).project.redeclared["daily"]


def test_new_days_are_left_out_and_said(tmp_path: Path) -> None:
    """Nothing is built by another type, nor what reads it."""
    root = promoted(tmp_path)
    declare(root, '{id: bigint, at: timestamp, kind: string, amount: "decimal(10,0)"}')
    write_events(root, days=4)
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"clock": "2024-01-05"}))
    shown = published_context(unsparked(root))
    plan, left = as_published(shown.project, plan_request(shown, resume=False))
    assert not [s for s in plan.stages if isinstance(s, Build)]
    assert [o.model for o in left] == ["daily", "running"]
    assert "column amount of its source raw.events is decimal(10,0) by now" in str(left[0])
    assert "put back what was there, or promote what is declared now" in str(left[0])
    told = extend(unsparked(root)).held
    assert [(o.model, o.remedy) for o in told] == [(o.model, o.remedy) for o in left], "once, with what to do"


@pytest.mark.parametrize(
    ("columns", "star", "opaque"),
    [
        ('{id: bigint, at: timestamp, kind: string, amount: "decimal(10,2)", more: int}', False, False),
        ('{id: int, at: timestamp, kind: string, amount: "decimal(10,2)"}', True, True),
        ("{id: bigint, at: timestamp, kind: string}", True, True),
    ],
)
def test_code_that_takes_all_columns(tmp_path: Path, columns: str, star: bool, opaque: bool) -> None:
    """It is given those that it was made from: one that was added since never reaches it."""
    root = promoted(tmp_path, star_sql=STAR, opaque_py=OPAQUE)
    declare(root, columns)
    text = (root / "models" / "daily.sql").read_text()
    (root / "models" / "daily.sql").write_text(text.replace("sum(amount)", "sum(id)"))
    found = published_context(unsparked(root)).project.redeclared
    assert ("star" in found, "opaque" in found) == (star, opaque)


def test_a_record_that_has_no_columns(tmp_path: Path) -> None:
    """One that does not say them is extended as ever; so is a source that says none."""
    root = promoted(tmp_path)
    place = unsparked(root)
    shown, versions = place.control.environments.read("prod"), place.control.versions.all()
    project = replace(place.project, fingerprints=dict.fromkeys(place.project.fingerprints, "other"))
    entry = json.loads(place.project.sources["raw.events"].declared)
    assert "columns" in entry

    def why(project: Project, entry: dict[str, object]) -> dict[str, str]:
        def old(record: Version) -> Version:
            said = {"sources": {"raw.events": json.dumps(entry)}, "spark": {}}
            return replace(record, definition={**record.definition, "project": said})

        made = {key: old(record) if record.model == "daily" else record for key, record in versions.items()}
        return dict(published(project, shown, made).redeclared)

    narrow = tuple(Column(name=c.name, type="int") for c in project.sources["raw.events"].columns)
    edited = {n: replace(s, columns=narrow) for n, s in project.sources.items()}
    assert why(replace(project, sources=edited), entry).keys() == {"daily"}
    unsaid = {n: replace(s, columns=()) for n, s in project.sources.items()}
    assert why(replace(project, sources=unsaid), entry) == {}
    del entry["columns"]
    assert why(replace(project, sources=edited), entry) == {}


def test_a_rollback_builds_nothing_by_another_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day came since, which the older version would compute by a type that it was never published from."""
    root = promoted(tmp_path)
    daily = root / "models" / "daily.sql"
    text = daily.read_text()
    daily.write_text(text.replace("sum(amount)", "sum(2 * amount)"))
    place = unsparked(root)
    build(place)
    monkeypatch.setattr("backfill_assets.app.promote.prove_built", nothing_found)
    assert promote_plan(place).verdict.open
    write_events(root, days=4)
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"clock": "2024-01-05"}))
    assert extended(unsparked(root)) == ()
    assert not [o for o in plan_rollback(unsparked(root))[0].losses if o.model == "daily"]
    declare(root, '{id: bigint, at: timestamp, kind: string, amount: "decimal(10,0)"}')
    [loss] = [o for o in plan_rollback(unsparked(root))[0].losses if o.model == "daily"]
    assert "column amount of its source raw.events is decimal(10,0) by now" in loss.what
    assert str(loss.intervals) == "2024-01-04" and "put it back" in loss.remedy
