"""A fingerprint changes when rows may change, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.core.errors import ProjectError
from backfill_assets.plan.category import change_between
from backfill_assets.project.fingerprint import sql_logic
from backfill_assets.project.loader import load_project
from backfill_assets.sql.parsing import parse
from backfill_assets_tests.unit.project.helpers import EVENTS, PYTHON, REPORT, SOURCES, project

FILES = {"report_sql": REPORT, "p_py": "import _h\n" + PYTHON, "_h_py": "def f():\n    return 1\n"}
# what changes: file, old text, new text, the models that get another fingerprint
ALL = {"events", "report", "roi"}
CASES: list[tuple[str, str, str, set[str]]] = [
    ("events_sql", "count(*)", "count( *\n) -- a comment\n", set()),
    ("events_sql", "SELECT CAST", "select /* x */ cast", set()),
    ("events_sql", "start: 2024-01-01", "start: 2023-01-01\nowner: me\nbatch_size: 3\ndescription: x", set()),
    ("events_sql", "grain: [ds, campaign_id]", "grain: [ds, campaign_id]\naudits: [completeness]", set()),
    ("events_sql", "start:", "spark: {spark.sql.shuffle.partitions: 4}\nstart:", set()),
    ("events_sql", "start:", "spark: {spark.sql.ansi.enabled: false}\nstart:", ALL),
    ("events_sql", "start:", "lookback: 1\nstart:", ALL),
    ("events_sql", "start:", "code_version: 2\nstart:", ALL),
    ("events_sql", "start:", 'ready: "0 6 * * *"\nstart:', set()),
    ("p_py", 'start="2024-01-01"', 'start="2024-01-01", code_version="2"', {"roi"}),
    ("events_sql", "count(*)", "count(1)", set()),
    ("events_sql", "count(*)", "count(channel)", ALL),
    ("events_sql", "event_time <", "channel = 'A' AND event_time <", ALL),
    ("events_sql", "start:", "write: merge\nstart:", ALL),
    ("events_sql", "start:", "write: replace\nstart:", set()),
    ("events_sql", "start:", "dedupe: {order_by: [spend desc]}\nstart:", ALL),
    ("events_sql", "start:", "dedupe: exact\nstart:", ALL),
    ("report_sql", "sum(clicks)", "max(clicks)", {"report"}),
    ("report_sql", "grain", "cadence: weekly\ngrain", {"report"}),
    ("sources", "data/ad_events", "data/other", ALL),
    ("sources", "path:", "owner: me\n    path:", set()),
    ("sources", "path:", "format: parquet\n    path:", ALL),
    ("p_py", "Return on spend.", "Something else.", set()),
    ("p_py", 'start="2024-01-01"', 'start="2023-01-01", owner="me"', set()),
    ("p_py", "return events", "# why\n    return (events)", set()),
    ("p_py", "return events", "return events.distinct()", {"roi"}),
    ("_h_py", "return 1", "return 2", {"roi"}),
    ("backfill", "", "spark: {spark.sql.mapKeyDedupPolicy: LAST_WIN}\n", ALL),
]


@pytest.mark.parametrize(("file", "old", "new", "changed"), CASES)
def test_changes(tmp_path: Path, file: str, old: str, new: str, changed: set[str]) -> None:
    """The models whose rows may change, those that read them, and no others."""
    before = {"sources": SOURCES, "events_sql": EVENTS, "backfill": "", **FILES}
    assert old in before[file]
    after = before | {file: before[file].replace(old, new, 1)}
    one = load_project(project(tmp_path / "one", **before)).fingerprints
    two = load_project(project(tmp_path / "two", **after)).fingerprints
    assert {name for name in one if one[name] != two[name]} == changed


MERGED = EVENTS.replace(
    "start:",
    "write: merge\nupdated_at: at\ndedupe: {order_by: [spend desc]}\nallow_nondeterministic: a time of loading\nstart:",
).replace("sum(spend) AS spend", "sum(spend) AS spend, max(spend) AS most, current_timestamp() AS at")
MERGE_CASES: list[tuple[str, str, str]] = [
    ("write: merge\nupdated_at: at", "write: replace", "breaking: rows may differ"),
    ("spend desc", "spend asc", "breaking: rows may differ"),
    ("spend desc", "spend desc, most desc", "breaking: rows may differ"),
    ("sum(spend) AS spend", "sum(spend) * 2 AS spend", "breaking: rows may differ"),
    ("grain: [ds, campaign_id]", "grain: [campaign_id]", "breaking: rows may differ"),
    ("max(spend)", "max(spend) + 1", "breaking: most may differ"),
    ("updated_at: at", "tags: {a: b}", "breaking: at may differ"),
    ("most,", "most, min(spend) AS least,", "additive, non-breaking: adds least"),
    ("spend desc", "Spend  DESC", "unchanged"),
    (", current_timestamp() AS at", "", "breaking: at may differ"),
    ("updated_at: at", "updated_at: changed", "breaking: at may differ; adds changed"),
]


@pytest.mark.parametrize(("old", "new", "said"), MERGE_CASES)
def test_what_a_merge_writes_is_part_of_the_rows(tmp_path: Path, old: str, new: str, said: str) -> None:
    """The write mode, the key and the order that picks a row decide rows, and so do the columns that the order names.
    The marker decides only its own column."""
    assert old in MERGED
    one, two = (
        load_project(project(tmp_path / name, events_sql=text)).signatures["events"]
        for name, text in (("one", MERGED), ("two", MERGED.replace(old, new)))
    )
    assert str(change_between(one, two)) == said


def test_form(tmp_path: Path) -> None:
    """16 hex digits each."""
    fingerprints = load_project(project(tmp_path, **FILES)).fingerprints
    assert set(fingerprints) == ALL
    assert all(len(f) == 16 and int(f, 16) >= 0 for f in fingerprints.values())


JOINED = """\
/*
start: 2024-01-01
grain: [ds, campaign_id]
*/
SELECT a.ds, a.campaign_id, a.clicks, b.MORE AS more
FROM events AS a LEFT JOIN events AS b ON b.ds = a.ds AND b.campaign_id = a.campaign_id
WHERE a.ds >= :start AND a.ds < :end
"""


@pytest.mark.parametrize("audits", ["", "audits: [{unique_grain: {severity: warn}}]\n"])
def test_a_model_joined_on_its_grain_keeps_the_rows(tmp_path: Path, audits: str) -> None:
    """Its grain is audited as unique without being asked; only when that does not block may a row find two partners."""
    upstream = EVENTS.replace("*/", f"{audits}*/")
    found = [
        load_project(project(tmp_path / more, m_sql=JOINED.replace("MORE", more), events_sql=upstream)).signatures["m"]
        for more in ("clicks", "spend")
    ]
    assert found[0].rows == found[1].rows
    assert found[0].columns["more"] != found[1].columns["more"]
    other = JOINED.replace("MORE", "spend").replace(" AND b.campaign_id = a.campaign_id", "")
    changed = load_project(project(tmp_path / "other", m_sql=other, events_sql=upstream)).signatures["m"]
    assert changed.rows != found[0].rows


WITH_NAMES = (
    SOURCES
    + """\
  - name: raw.names
    path: data/names
    columns: {campaign_id: bigint, name: string}
"""
)
NAMED = EVENTS.replace("FROM raw.ad_events", "FROM raw.ad_events LEFT JOIN raw.names USING (campaign_id)")


@pytest.mark.parametrize("key", ["", "    key: [Campaign_ID]\n", "    key: [name]\n", "    key: [campaign_id, name]\n"])
def test_a_sources_key_keeps_the_rows_of_a_join(tmp_path: Path, key: str) -> None:
    """A LEFT JOIN on what `sources.yml` says is unique adds no row; on anything else it may."""
    plain = load_project(project(tmp_path / "a", events_sql=EVENTS, sources=WITH_NAMES + key)).signatures["events"]
    joined = load_project(project(tmp_path / "b", events_sql=NAMED, sources=WITH_NAMES + key)).signatures["events"]
    assert (plain.rows == joined.rows) == ("[Campaign_ID]" in key)


def test_a_sources_key_is_of_its_columns(tmp_path: Path) -> None:
    """Another name is wrong, at its line."""
    with pytest.raises(ProjectError) as caught:
        load_project(project(tmp_path, events_sql=EVENTS, sources=WITH_NAMES + "    key: [campaign_idd]\n"))
    [problem] = caught.value.problems
    assert (problem.what, problem.fix) == ("`raw.names` has no column `campaign_idd`", "did you mean `campaign_id`?")
    assert problem.line == WITH_NAMES.count("\n") + 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT to_json(struct(x AS Date))", "SELECT to_json(struct(x AS date))"),
        ("SELECT to_json(struct(Date))", "SELECT to_json(struct(date))"),
        ("SELECT CAST(st AS STRUCT<Date: INT>)", "SELECT CAST(st AS STRUCT<date: INT>)"),
        (r"SELECT g LIKE '\%'", "SELECT g LIKE '%'"),
        (r"SELECT r'\n'", r"SELECT '\n'"),
        ("SELECT 1L", "SELECT 1"),
        ('SELECT "a"', "SELECT 'a'"),
    ],
)
def test_what_is_compared_as_a_whole(one: str, other: str) -> None:
    """Tokens are as they are written where rows may show it; the case of words and comments are nothing."""
    assert sql_logic(parse(f"{one} FROM t")) != sql_logic(parse(f"{other} FROM t"))
    assert sql_logic(parse(f"{one} FROM t")) == sql_logic(
        parse(f"{one.replace('SELECT', 'select /* a */')} -- b\nfrom t")
    )
