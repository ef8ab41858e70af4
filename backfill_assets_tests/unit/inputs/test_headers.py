"""Headers: each mistake is told at its line with a remedy, and hides neither another one nor one in the query."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets_tests.unit.inputs.headers import AUDITS, CASES, GRAINS, STARTS
from backfill_assets_tests.unit.inputs.project import HEADER, QUERY, assert_told, run, write

ELSE = "retries: -7"
QUERY_WITH = QUERY.replace("clicks FROM", "clicks, nope AS n FROM")


def _ids(cases: list[tuple[str, str]]) -> list[str]:
    return [f"{number}-{text[:40]!r}" for number, (text, _) in enumerate(cases)]


def _check(root: Path, header: str, line: int, words: str, *, columns_too: bool) -> None:
    text = f"/*\n{header}\n{ELSE}\n*/\n{QUERY_WITH}\n"
    told = run("plan", project=write(root, {"models/daily.sql": text}))
    assert_told(told, 1, f"daily.sql:{line}: ", words, "fix: ", "`retries` is wrong")
    assert f"daily.sql:{text.count(chr(10), 0, text.index(ELSE)) + 1}: `retries`" in told.err
    if columns_too:
        assert "no column `nope`" in told.err


@pytest.mark.parametrize(
    ("lines", "offset", "words"), CASES, ids=[f"{n}-{lines[:40]!r}" for n, (lines, _, _) in enumerate(CASES)]
)
def test_a_key(tmp_path: Path, lines: str, offset: int, words: str) -> None:
    """A wrong value of any key."""
    columns = ("is not a column", "`clicks`?", "did you mean `clicks`", "needs a date")  # told of the query's columns
    resolved = any(word in words for word in columns)
    if resolved:  # what needs the query's columns is told once the query holds
        text = f"/*\n{HEADER}{lines}\n{ELSE}\n*/\n{QUERY}\n"
        told = run("plan", project=write(tmp_path, {"models/daily.sql": text}))
        assert_told(told, 1, f"daily.sql:{4 + offset}: ", words, "fix: ", "`retries` is wrong")
        return
    _check(tmp_path, f"{HEADER}{lines}", 4 + offset, words, columns_too=True)


@pytest.mark.parametrize(("line", "words"), STARTS, ids=_ids(STARTS))
def test_a_start(tmp_path: Path, line: str, words: str) -> None:
    """No date, no date that there is, none that a table can hold, none at all."""
    at = 1 if "missing" in words else 2
    _check(tmp_path, f"{line}\ngrain: [ds]", at, words, columns_too=True)


@pytest.mark.parametrize(("line", "words"), GRAINS, ids=_ids(GRAINS))
def test_a_grain(tmp_path: Path, line: str, words: str) -> None:
    """No columns, others, one twice, none at all."""
    resolved = "is not a column" in words
    text = f"/*\n{line}\nstart: 2024-01-01\n{ELSE}\n*/\n{QUERY if resolved else QUERY_WITH}\n"
    told = run("plan", project=write(tmp_path, {"models/daily.sql": text}))
    at = 1 if "missing" in words else 2
    assert_told(told, 1, f"daily.sql:{at}: ", words, "fix: ", "daily.sql:4: `retries`")
    assert resolved or "no column `nope`" in told.err


@pytest.mark.parametrize(("entry", "words"), AUDITS, ids=_ids(AUDITS))
def test_an_audit(tmp_path: Path, entry: str, words: str) -> None:
    """A wrong audit hides neither the header's other mistakes nor those of other audits."""
    text = f"/*\n{HEADER}{ELSE}\naudits:\n  {entry}\n  - not_nlul: [ds]\n*/\n{QUERY}\n"
    told = run("plan", project=write(tmp_path, {"models/daily.sql": text}))
    assert_told(told, 1, "daily.sql:6: ", words, "fix: ", "daily.sql:4: `retries`", "daily.sql:7: unknown audit")


def test_the_project_itself_is_right(tmp_path: Path) -> None:
    """Else none of these tests would say anything."""
    told = run("plan", project=write(tmp_path))
    assert told.code == 0, told
