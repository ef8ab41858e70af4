# ruff: noqa: E501 (tables)
"""What a model's audits say, and each way in which they can be wrong: at its line, with a remedy, without a JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.kinds import KINDS
from backfill_assets.core.errors import ProjectError
from backfill_assets.core.model import Audit
from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.project.helpers import SOURCES, project, sql

QUERY = "SELECT ds, campaign_id, clicks, spend FROM events WHERE ds >= :start AND ds < :end"
HEADER = "start: 2024-01-01\ngrain: [ds, campaign_id]\n"
MONTHLY = sql(
    "SELECT CAST(trunc(ds, 'MONTH') AS DATE) AS ds, sum(clicks) AS clicks FROM events WHERE ds >= :start AND ds < :end GROUP BY 1",
    "start: 2024-01-01\ngrain: [ds]\ncadence: monthly\n",
)
READER = sql("SELECT ds, campaign_id, clicks FROM m WHERE ds >= :start AND ds < :end", HEADER)


def a_project(root: Path, entries: str, queries: dict[str, str] | None = None, sources: str = SOURCES) -> Path:
    """A model `m` over `events` with these entries of `audits:` (from line 5 on), one `monthly`, one `reader` of m."""
    for name, text in (queries or {}).items():
        (root / "audits").mkdir(exist_ok=True)
        (root / "audits" / f"{name}.sql").write_text(text)
    body = "".join(f"  {line}\n" for line in entries.splitlines())
    text = sql(QUERY, f"{HEADER}audits:\n{body}")
    return project(root, m_sql=text, monthly_sql=MONTHLY, reader_sql=READER, sources=sources)


def audits(root: Path, entries: str, queries: dict[str, str] | None = None) -> list[Audit]:
    return list(load_project(a_project(root, entries, queries)).models["m"].audits[:-1])


@pytest.mark.parametrize(
    ("entry", "name", "arguments"),
    [
        ("- not_null: ds", "not_null", {"columns": ("ds",)}),
        ("- not_null: {columns: [ds, CLICKS], tolerate: 0.50%, where: clicks > 1}", "not_null", {"columns": ("ds", "CLICKS"), "tolerate": "0.5%", "where": "clicks > 1"}),
        ("- unique: [clicks, ds]", "unique_clicks_ds", {"columns": ("clicks", "ds")}),
        ("- null_rate: {column: spend, max_percent: 5}", "null_rate_spend", {"column": "spend", "max_percent": 5.0}),
        ("- expression: spend >= clicks", "expression", {"expression": "spend >= clicks"}),
        ("- relationships: {columns: campaign_id, to: RAW.AD_EVENTS}", "relationships_RAW_AD_EVENTS", {"columns": ("campaign_id",), "to": "raw.ad_events"}),
        ("- entities: {column: campaign_id, of: Events, tolerate: 2}", "entities_campaign_id", {"column": "campaign_id", "of": "events", "tolerate": 2}),
        ("- entities: {column: campaign_id, values: [1, 2]}", "entities_campaign_id", {"column": "campaign_id", "values": (1, 2)}),
        ("- aggregate: {metric: sum(spend), min: 0, max: 9.5}", "aggregate", {"metric": "sum(spend)", "min": 0, "max": 9.5}),
        ("- reconcile: {metric: count(*), of: prod, by: campaign_id, within: 2}", "reconcile_prod", {"metric": "count(*)", "of": "prod", "by": {"campaign_id": "campaign_id"}, "within": 2.0}),
        ("- reconcile: {metric: sum(spend), of: events, by: {campaign_id: CAMPAIGN_ID}}", "reconcile_events", {"metric": "sum(spend)", "of": "events", "by": {"campaign_id": "CAMPAIGN_ID"}}),
        ("- reconcile: {metric: sum(clicks), of: monthly, period: monthly}", "reconcile_monthly", {"metric": "sum(clicks)", "of": "monthly", "period": "monthly"}),
        ("- unique: {columns: clicks, scope: table}", "unique_clicks", {"columns": ("clicks",), "scope": "table"}),
        ("- unique: {columns: clicks, scope: interval}", "unique_clicks", {"columns": ("clicks",)}),
        ("- trend: {max_change_percent: 50, explained: {2024-01-06: Epiphany}}", "trend", {"metric": "count(*)", "max_change_percent": 50.0, "neighbours": 7, "explained": {"2024-01-06": "Epiphany"}}),
        ("- known_records: [{ds: 2024-01-06, campaign_id: 7, spend: 1.5, clicks: null}]", "known_records", {"records": ({"ds": "2024-01-06", "campaign_id": 7, "spend": 1.5, "clicks": None},)}),
    ],
)  # fmt: skip
def test_what_an_entry_says(tmp_path: Path, entry: str, name: str, arguments: dict[str, object]) -> None:
    """Short forms are spelled out, other tables have their declared spelling, names say what is looked at."""
    [found] = audits(tmp_path, entry)
    assert (found.name, found.arguments, found.blocking, found.line) == (name, arguments, True, 5)


def test_a_query_is_part_of_its_audit(tmp_path: Path) -> None:
    """The file's text and what it reads are in the arguments: another text is another digest, and the same version."""
    entry = "- sql: {file: odd, severity: warn}"
    one = load_project(a_project(tmp_path, entry, {"odd": "SELECT * FROM M JOIN raw.ad_events USING (campaign_id);\n"}))
    [found, _] = one.models["m"].audits
    assert (found.name, found.blocking) == ("odd", False)
    assert found.arguments == {
        "file": "odd",
        "query": "SELECT * FROM M JOIN raw.ad_events USING (campaign_id)",
        "reads": ("m", "raw.ad_events"),
    }
    (tmp_path / "audits" / "odd.sql").write_text("SELECT 1 FROM m")
    other = load_project(tmp_path)
    assert audits_digest(other.models["m"]) != audits_digest(one.models["m"])
    assert other.fingerprints == one.fingerprints


def test_a_model_comes_after_what_its_audits_look_at(tmp_path: Path) -> None:
    """So that it is built and audited after it."""
    assert audits(tmp_path, "- reconcile: {metric: sum(clicks), of: EVENTS}")[0].arguments["of"] == "events"
    later = project(
        tmp_path / "b",
        a_sql=sql(QUERY, f"{HEADER}audits: [{{relationships: {{columns: ds, to: z}}}}]\n"),
        z_sql=sql(QUERY, HEADER),
    )
    assert list(load_project(later).models) == ["events", "z", "a"]


CASES: list[tuple[str, str, str, str]] = [
    # entry, what, remedy, the file it is reported in
    ("- null_rate: {column: spend}", "needs `min_percent`", "- null_rate: {", ""),
    ("- null_rate: {column: spend, min_percent: 9, max_percent: 5}", "is more than", "- null_rate: {", ""),
    ("- null_rate: {column: spend, max_percent: 101}", "`max_percent` is wrong", "- null_rate: {", ""),
    ("- unique: []", "not a column or a list of columns", "- unique: [", ""),
    ("- unique: [ds, DS]", "listed twice", "- unique: [", ""),
    ("- unique: {columns: [spnd]}", "`spnd` is not a column of `m`", "did you mean `spend`?", ""),
    ("- unique: {columns: [clicks], scope: all}", "`scope` is wrong", "- unique: [", ""),
    ("- unique: {columns: [clicks, DS], scope: table}", "asks nothing more of the key (clicks, DS)", "remove `scope`", ""),
    ("- unique_grain: {scope: table}", "asks nothing more of the grain", "remove `scope`", ""),
    ("- reconcile: {metric: sum(clicks), of: events, period: daily}", "a day does not consist of several daily", "write one of weekly, monthly", ""),
    ("- reconcile: {metric: sum(clicks), of: events, period: yearly}", "`period` is wrong", "- reconcile: {", ""),
    ("- reconcile: {metric: sum(clicks), of: monthly, period: weekly}", "compare by weekly intervals", "declare it in `monthly`", ""),
    ("- not_null: {columns: [ds], tolerate: 0.5}", "not a number of rows such as 10", "- not_null", ""),
    ("- not_null: {columns: [ds], tolerate: 200%}", "a share such as 0.5%", "- not_null", ""),
    ("- not_null: {columns: [ds], where: 'spend >'}", "not valid SQL", "- not_null", ""),
    ("- not_null: {columns: [ds], where: sped > 1}", "`sped` is not a column", "did you mean `spend`?", ""),
    ("- not_null: {columns: [ds], severity: fatal}", "`severity`", "- not_null", ""),
    ("- expression: sum(spend) > 1", "it aggregates rows; `aggregate`", "- expression:", ""),
    ("- expression: spend > (SELECT 1)", "belong in an `sql` audit", "- expression:", ""),
    ("- expression: ds >= :start", "parameters are known in `sql`", "- expression:", ""),
    ("- expression: 1 = 1; DROP TABLE x", "not one SQL expression", "- expression:", ""),
    ("- aggregate: {metric: spend, min: 0}", "it aggregates nothing", "- aggregate: {", ""),
    ("- aggregate: {metric: max(IDENTIFIER('spend')), min: 0}", "names something by a text", "- aggregate: {", ""),
    ("- aggregate: {metric: sum(spend)}", "needs `min`, `max`", "- aggregate: {", ""),
    ("- aggregate: {metric: sum(sped), min: 1}", "`sped` is not a column", "did you mean `spend`?", ""),
    ("- range: {column: clicks, min: few}", "`clicks` is bigint, and 'few' is not a number", "write a number", ""),
    ("- range: {column: ds, max: 7}", "`ds` is date", "write a date or an instant", ""),
    ("- accepted_values: {column: clicks, values: [1, '2']}", "'2' is not a number", "write a number", ""),
    ("- not_future: DS", "of the time column says nothing", "name another date", ""),
    ("- not_future: clicks", "`clicks` is bigint, not a date or a timestamp", "CAST(… AS TIMESTAMP) AS clicks", ""),
    ("- relationships: {columns: campaign_id, to: evnts}", "looks at `evnts`", "did you mean `events`?", ""),
    ("- relationships: {columns: campaign_id, to: events, fields: id}", "`id` is not a column of `events`", "use one of: ds", ""),
    ("- relationships: {columns: [ds, clicks], to: events, fields: [ds]}", "go in pairs", "- relationships: {", ""),
    ("- relationships: {columns: clicks, to: prod}", "`prod` is this model as it is shown", "- relationships: {", ""),
    ("- entities: {column: clicks, of: prod}", "`prod` is this model as it is shown", "- entities: {", ""),
    ("- relationships: {columns: clicks, to: M}", "compares `m` with itself", "write an `sql` audit", ""),
    ("- relationships: {columns: clicks, to: raw.ad_events, fields: channel}", "`clicks` is bigint, `channel` of `raw.ad_events` is string", "CAST", ""),
    ("- relationships: {columns: clicks, to: reader}", "which is built after `m`", "declare it in `reader`, about `m`", ""),
    ("- reconcile: {metric: count(*), of: reader}", "which is built after `m`", "declare it in `reader`", ""),
    ("- reconcile: {metric: count(*), of: monthly}", "cannot compare by daily intervals", "declare it in `monthly`", ""),
    ("- reconcile: {metric: count(*), of: raw.ad_events}", "cannot compare by daily", "add `time_column:`", ""),
    ("- reconcile: {metric: sum(clicks), of: events, of_metric: sum(clikcs)}", "`clikcs` is not a column of `events`", "`clicks`?", ""),
    ("- reconcile: {metric: sum(clicks), of: events, by: [channel]}", "`channel` is not a column of `m`", "use one of", ""),
    ("- entities: {column: ds}", "say which entities", "- entities: {", ""),
    ("- entities: {column: ds, values: [a], of: events}", "say which entities", "- entities: {", ""),
    ("- trend: {max_change_percent: 0}", "`max_change_percent`", "- trend: {", ""),
    ("- trend: {max_change_percent: 9, explained: {soon: x}}", "not a date", "- trend: {", ""),
    ("- known_records: {ds: 2024-01-01}", "unknown key `ds`", "known keys", ""),
    ("- known_records: [{ds: 2024-01-01, spend: 1}]", "does not say its `campaign_id`", "add `campaign_id: …`", ""),
    ("- known_records: [{ds: x, campaign_id: 1}]", "not a date or an instant", "2024-01-31", ""),
    ("- known_records: [{ds: 2024-01-01, campaign_id: 1}, {ds: 2024-01-01, campaign_id: 1, spend: 2}]", "the same row", "keep one", ""),
    ("- range: {column: clicks, max: 1}\n  severity: warn", "an audit is a name, or one", "write `severity` among the arguments of `range`", ""),
    ("- not_null: ds\n  range: {column: clicks, max: 1}", "an audit is a name, or one", "write one kind an entry", ""),
    ("- sql: gone", "there is no file audits/gone.sql", "write the query into audits/gone.sql", ""),
    ("- sql: od", "there is no file audits/od.sql", "did you mean `odd`?", ""),
    ("- sql: ../odd", "`file` is wrong", "- sql: no_orphans", ""),
    ("- sql: syntax", "not valid SQL", "correct the query", "syntax"),
    ("- sql: two", "holds one query", "write one SELECT", "two"),
    ("- sql: drop", "holds one query", "write one SELECT", "drop"),
    ("- sql: parameter", "unknown parameter `:least`", "into the query", "parameter"),
    ("- sql: table", "reads `evnts`", "did you mean `events`?", "table"),
    ("- sql: column", "no column `clikcs`", "did you mean `clicks`?", "column"),
    ("- sql: travel", "read at a fixed version", "remove", "travel"),
]  # fmt: skip
QUERIES = {
    "odd": "SELECT * FROM m",
    "syntax": "SELECT *\nFROM m x y z",
    "two": "SELECT 1;\nSELECT 2",
    "drop": "\n\nDROP TABLE m",
    "parameter": "SELECT *\nFROM m WHERE spend < :least",
    "table": "SELECT *\nFROM evnts",
    "column": "SELECT ds,\n clikcs FROM m",
    "travel": "SELECT *\nFROM events VERSION AS OF 3",
}


@pytest.mark.parametrize(
    ("entry", "what", "fix", "file"), CASES, ids=[f"{n}-{c[0][2:40]}" for n, c in enumerate(CASES)]
)
def test_what_is_wrong(tmp_path: Path, entry: str, what: str, fix: str, file: str) -> None:
    """The problem is at the entry's line, or in the query's file; it says what to do."""
    with pytest.raises(ProjectError) as caught:
        load_project(a_project(tmp_path, f"- completeness\n{entry}", QUERIES))
    problems = caught.value.problems
    assert any(what in f"{p.what} {p.why}" and fix in p.fix for p in problems), "\n".join(map(str, problems))
    line = 6 if not file else {"two": 1, "drop": 3}.get(file, 2)
    assert {(p.file.name, p.line) for p in problems} == {(f"{file}.sql" if file else "m.sql", line)}


def test_every_kind_has_an_example_that_parses(tmp_path: Path) -> None:
    """The remedies show entries that are right but for the names in them."""
    with pytest.raises(ProjectError) as caught:
        load_project(a_project(tmp_path, "\n".join(kind.example for kind in KINDS.values())))
    about_names = ("is not a column", "looks at `raw.campaigns`", "there is no file", "is bigint, and")
    assert [p for p in caught.value.problems if not any(words in p.what for words in about_names)] == []
    assert not any("does not say" in p.what for p in caught.value.problems)


def test_a_left_join_on_an_audited_grain_keeps_rows(tmp_path: Path) -> None:
    """As files declare it: rows of the model do not depend on those of the other side; unless its audit only warns."""
    joined = "SELECT e.ds, e.campaign_id, o.spend FROM events e LEFT JOIN other o ON e.ds = o.ds AND e.campaign_id = o.campaign_id WHERE e.ds >= :start AND e.ds < :end"

    def rows(name: str, other_query: str, more: str = "") -> str:
        root = project(tmp_path / name, m_sql=sql(joined, HEADER), other_sql=sql(other_query, HEADER + more))
        return load_project(root).signatures["m"].rows

    changed = QUERY + " AND clicks > 1"
    assert rows("one", QUERY) == rows("two", changed)
    for number, loose in enumerate(("severity: warn", "tolerate: 3")):
        more = f"audits: [unique_grain: {{{loose}}}]\n"
        assert rows(f"three{number}", QUERY, more) != rows(f"four{number}", changed, more)
