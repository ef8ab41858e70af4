"""An author's word that code gives what a version has: when it holds, what it does, and when it is refused or void."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.core.errors import Problem, ProjectError
from backfill_assets.core.model import UNKNOWN, Project
from backfill_assets.plan.category import Category, change_between
from backfill_assets.project.loader import load_project
from backfill_assets.project.records import Recorded, Records
from backfill_assets.project.settings import cache_folder
from backfill_assets_tests.unit.project.helpers import EVENTS, REPORT, project

OTHER_ROWS = EVENTS.replace("event_time < :end", "event_time < :end AND TRUE")
"""The same rows, as anybody can see and no comparison of code can."""
GONE = "0123456789abcdef"


def records(loaded: Project) -> Records:
    """What the warehouse knows once all of a project was built."""
    return {
        (name, version): Recorded(
            signature=loaded.signatures[name],
            cadence=loaded.models[name].cadence.value,
            time_column=loaded.models[name].time_column,
        )
        for name, version in loaded.fingerprints.items()
    }


class Edit:
    """A project that was built, and `events` as it is edited now; `old` and `new` are its versions without a word."""

    def __init__(self, folder: Path, edited: str = OTHER_ROWS) -> None:
        self.folder, self.edited = folder, edited
        self.built = load_project(project(folder / "built", report_sql=REPORT))
        self.plain = load_project(project(folder / "plain", events_sql=edited, report_sql=REPORT))
        self.old, self.new = (p.fingerprints["events"] for p in (self.built, self.plain))
        self.records = records(self.built)

    def said(self, text: str, edited: str = "", read: Callable[[str], Records] | None = None, **more: str) -> Project:
        """The edited project with `same_as: {text}` on line 3 of events.sql."""
        code = (edited or self.edited).replace("start:", f"same_as: {{{text}}}\nstart:", 1)
        root = project(self.folder / "said", events_sql=code, report_sql=REPORT, **more)
        return load_project(root, read or (lambda warehouse: self.records))

    def word(self, reason: str = "TRUE is true", **more: str) -> str:
        keys = {"version": self.old, "code": self.new} | more
        return ", ".join(
            [*(f"{k}: {v!r}" if k != "columns" else f"{k}: {v}" for k, v in keys.items()), f"reason: {reason}"]
        )


@pytest.fixture
def edit(tmp_path: Path) -> Edit:
    return Edit(tmp_path)


def test_the_word_of_the_author_keeps_the_version(edit: Edit) -> None:
    """The model is the old version, what reads it as well; the project says by whose word, and what it reaches."""
    assert edit.plain.fingerprints != edit.built.fingerprints
    found = edit.said(edit.word())
    assert found.fingerprints == edit.built.fingerprints
    override = found.overrides["events"]
    assert (override.version, override.code, override.reason) == (edit.old, edit.new, "TRUE is true")
    assert override.columns == ("ds", "campaign_id", "clicks", "spend")
    assert override.reaches == ("report",)
    assert override.place == "models/events.sql:2"
    assert not any(found.warnings.values())


def test_a_column_more(tmp_path: Path) -> None:
    """What the version does not have is compared as ever: the change is additive, and who does not read it reaches its
    table."""
    edit = Edit(tmp_path, OTHER_ROWS.replace("AS spend", "AS spend, max(spend) AS most"))
    found = edit.said(edit.word())
    change = change_between(edit.built.signatures["events"], found.signatures["events"])
    assert (change.category, change.added) == (Category.ADDITIVE, ("most",))
    assert found.fingerprints["events"] not in (edit.old, edit.new)
    assert found.fingerprints["report"] == edit.built.fingerprints["report"]


def test_some_columns_only(tmp_path: Path) -> None:
    """The rows, the time column and what is named; the others may differ, and who reads those is built."""
    edit = Edit(tmp_path, OTHER_ROWS.replace("count(*)", "count(channel)").replace("sum(spend)", "sum(spend + 0)"))
    found = edit.said(edit.word(columns="[campaign_id, spend]"))
    change = change_between(edit.built.signatures["events"], found.signatures["events"])
    assert (change.category, change.columns) == (Category.BREAKING, ("clicks",))
    assert found.overrides["events"].columns == ("ds", "campaign_id", "spend")
    assert found.overrides["events"].reaches == ("report",)
    assert found.fingerprints["report"] not in (edit.built.fingerprints["report"], edit.plain.fingerprints["report"])


@pytest.mark.parametrize("query", ["sum(spend) AS spend, max(spend) AS most", "CAST(NULL AS INT) AS spend"])
def test_tables_of_two_texts_are_two(tmp_path: Path, query: str) -> None:
    """The same word about another text is another table, where one is built: the first may have been a mistake. Who
    reads what both are said to share does not care."""
    said = OTHER_ROWS.replace("sum(spend) AS spend", query)
    found: list[Project] = []
    for number, text in enumerate((said, said.replace("AND TRUE", "AND campaign_id > 0"))):
        edit = Edit(tmp_path / str(number), text)
        found.append(edit.said(edit.word(columns="[campaign_id, clicks]")))
    one, other = (f.fingerprints for f in found)
    assert one["events"] != other["events"]
    assert one["report"] == other["report"] == edit.built.fingerprints["report"]
    assert not change_between(found[0].signatures["events"], found[1].signatures["events"]).rows


def test_the_same_as_what_is_there_by_a_word(tmp_path: Path) -> None:
    """A version that is another one's like by an author's word can be vouched for as any other."""
    more = OTHER_ROWS.replace("AS spend", "AS spend, max(spend) AS most")
    first = Edit(tmp_path, more)
    shown = first.said(first.word())
    again = more.replace("AND TRUE", "AND TRUE AND TRUE")
    code = load_project(project(tmp_path / "again", events_sql=again, report_sql=REPORT)).fingerprints["events"]
    first.records = {**first.records, **records(shown)}
    found = first.said(first.word(version=shown.fingerprints["events"], code=code), edited=again)
    assert found.fingerprints == shown.fingerprints


def warned(found: Project) -> Problem:
    """The one warning of a project in which no word counts."""
    [problem] = [w for some in found.warnings.values() for w in some]
    assert not found.overrides
    assert (problem.file.name, problem.line) == ("events.sql", 2)
    assert problem.why and problem.fix
    return problem


def test_a_later_edit_voids_the_word(edit: Edit) -> None:
    """It was about another text: the model counts as what it says now, and the warning says what to write if it is
    still true."""
    later = OTHER_ROWS.replace("count(*)", "count(DISTINCT channel)")
    found = edit.said(edit.word(), edited=later)
    assert "does not count any more" in warned(found).what
    now = load_project(project(edit.folder / "later", events_sql=later, report_sql=REPORT)).fingerprints
    assert found.fingerprints == now
    assert f"code: {now['events']}" in warned(found).fix


def test_a_change_of_what_it_reads_voids_the_word(edit: Edit) -> None:
    """The author could not know of it."""
    sources = (edit.folder / "built" / "sources.yml").read_text().replace("data/ad_events", "data/other")
    found = edit.said(edit.word(), sources=sources)
    assert "does not count any more" in warned(found).what


def test_an_unknown_version(edit: Edit) -> None:
    """A warehouse without it (a fresh one, a misspelling) builds what the code says."""
    found = edit.said(edit.word(version=GONE))
    assert warned(found).what == f"there is no version {GONE} of events"
    assert found.fingerprints == edit.plain.fingerprints


def test_a_version_recorded_without_a_signature(edit: Edit) -> None:
    """Nothing is known of it but its table: that may be vouched for as a whole, if it has the code's columns."""
    edit.records = {k: replace(v, signature=UNKNOWN) for k, v in edit.records.items()}
    found = edit.said(edit.word())
    assert found.overrides["events"].version == edit.old
    assert found.fingerprints == edit.plain.fingerprints, "its name is given by the records: state/upgrades.py"
    assert "only a whole table can be the same" in warned(edit.said(edit.word(columns="[ds]"))).what
    edit.records = {k: replace(v, columns=("ds", "others")) for k, v in edit.records.items()}
    assert "its table has ds, others; the code gives" in refused(edit, edit.word()).why


def test_a_word_that_nobody_needs(edit: Edit) -> None:
    """The code is what it is said to be."""
    found = edit.said(edit.word(code=edit.old), edited=EVENTS)
    assert warned(found).what == "`same_as` is not needed"
    assert found.fingerprints == edit.built.fingerprints


def refused(edit: Edit, text: str, **more: str) -> Problem:
    with pytest.raises(ProjectError) as caught:
        edit.said(text, **more)
    [problem] = caught.value.problems
    assert (problem.file.name, problem.line) == ("events.sql", 2)
    assert problem.fix
    return problem


def test_a_word_about_no_code(edit: Edit) -> None:
    """The refusal gives the line to add."""
    problem = refused(edit, f"version: {edit.old!r}, reason: x")
    assert "does not say which code" in problem.what
    assert f"code: {edit.new}" in problem.fix


@pytest.mark.parametrize("reason", ["", "' '"])
def test_a_word_without_a_reason(edit: Edit, reason: str) -> None:
    """Whoever reviews the plan wants to know why."""
    assert "reason" in refused(edit, edit.word(reason)).what


def test_a_version_of_another_model(edit: Edit) -> None:
    """It is named."""
    other = edit.built.fingerprints["report"]
    assert refused(edit, edit.word(version=other)).what == f"version {other} is one of report"


@pytest.mark.parametrize("version", ["latest", "0a", GONE.upper()])
def test_what_is_no_version(edit: Edit, version: str) -> None:
    """It is refused without looking at any record."""
    assert "not a version as the plan prints it" in refused(edit, edit.word(version=version)).what


@pytest.mark.parametrize("column", ["clikcs", "most"])
def test_a_column_that_one_of_the_two_does_not_have(tmp_path: Path, column: str) -> None:
    """The version has no `most`, and neither has `clikcs`."""
    edit = Edit(tmp_path, OTHER_ROWS.replace("AS spend", "AS spend, max(spend) AS most"))
    with pytest.raises(ProjectError) as caught:
        edit.said(edit.word(columns=f"[{column}]"))
    assert all(f"no column `{column}`" in p.what for p in caught.value.problems)
    assert len(caught.value.problems) == (1 if column == "most" else 2)


def test_another_cadence(edit: Edit) -> None:
    """Days are no weeks: no reason makes one table of them."""
    weekly = OTHER_ROWS.replace("start:", "cadence: weekly\nstart:")
    with pytest.raises(ProjectError, match="that is daily by ds, this is weekly by ds"):
        edit.said(edit.word(), edited=weekly)


def test_records_are_read_only_for_a_word(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project without one never asks for the records; one with a word asks each time: they may know more."""
    monkeypatch.setenv("BACKFILL_CACHE", str(edit.folder / "cache"))
    asked: list[str] = []
    there: dict[tuple[str, str], Recorded] = {}

    def read(warehouse: str) -> Records:
        asked.append(warehouse)
        return there

    plain = edit.folder / "plain"
    assert load_project(plain, read) == load_project(plain, read)
    assert not asked
    found = edit.said(edit.word(), read=read)
    assert asked == [found.settings.warehouse]
    assert found.fingerprints == edit.plain.fingerprints
    there |= edit.records
    found = edit.said(edit.word(), read=read)
    assert found.fingerprints == edit.built.fingerprints
    files = len(list((cache_folder(found.root) / "project").glob("*.json")))
    assert edit.said(edit.word(), read=read) == found, "from the cache"
    assert len(list((cache_folder(found.root) / "project").glob("*.json"))) == files
    assert len(asked) == 4, "the first and the second time it was read, and looked at again for the cache"
    there.clear()
    assert edit.said(edit.word(), read=read).fingerprints == edit.plain.fingerprints
