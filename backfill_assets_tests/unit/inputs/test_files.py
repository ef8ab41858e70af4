"""Files: each mistake is told at its file and line with a remedy, and does not hide one elsewhere in the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets_tests.unit.inputs import files
from backfill_assets_tests.unit.inputs.project import (
    CONSUMERS,
    FILES,
    HEADER,
    PYTHON,
    QUERY,
    SOURCES,
    assert_told,
    run,
    write,
)

YAML = ("backfill.yml", "sources.yml", "consumers.yml")


def _ids(cases: list[tuple[str, int, str]]) -> list[str]:
    return [f"{number}-{text[:40]!r}" for number, (text, _, _) in enumerate(cases)]


@pytest.mark.parametrize(("lines", "line", "words"), files.SETTINGS, ids=_ids(files.SETTINGS))
def test_settings(tmp_path: Path, lines: str, line: int, words: str) -> None:
    """backfill.yml; another wrong key below is told as well."""
    text = f"name: shop\n{lines}\nconsumers_stale_days: 0\n"
    told = run("status", project=write(tmp_path, {"backfill.yml": text}))
    last = text.count("\n")
    assert_told(told, 1, f"backfill.yml:{line}: ", words, "fix: ", f"backfill.yml:{last}: `consumers_stale_days`")


@pytest.mark.parametrize("file", YAML)
@pytest.mark.parametrize(("text", "line", "words"), [c[1:] for c in files.BROKEN], ids=[c[0] for c in files.BROKEN])
def test_no_yaml(tmp_path: Path, file: str, text: str, line: int, words: str) -> None:
    """What is no YAML, or too much of it; other files are read all the same."""
    broken = f"/*\n{HEADER}retries: -7\n*/\n{QUERY}\n"
    told = run("plan", project=write(tmp_path, {file: text, "models/daily.sql": broken}))
    assert_told(told, 1, f"{file}:{line}: ", words, "fix: ", "daily.sql:4: `retries`")
    assert "no model or source has that name" not in told.err  # nobody can tell


@pytest.mark.parametrize("file", [*YAML, "models/daily.sql", "models/py.py"])
@pytest.mark.parametrize(
    ("content", "line", "words"), [c[1:] for c in files.CONTENTS], ids=[c[0] for c in files.CONTENTS]
)
def test_no_text(tmp_path: Path, file: str, content: bytes, line: int, words: str) -> None:
    """Bytes that are no text, in any file."""
    told = run("plan", project=write(tmp_path, {"models/py.py": PYTHON, file: content}))
    place = f"{Path(file).name}:{line}: " if line else f"{Path(file).name}: "
    assert_told(told, 1, place, words, "fix: ")
    assert "1 problem in" in told.err, told.err  # no other file is blamed for it


@pytest.mark.parametrize("file", [*YAML, "models/daily.sql"])
def test_a_byte_order_mark_is_no_mistake(tmp_path: Path, file: str) -> None:
    """Editors on Windows write it, and end lines with CR LF."""
    content = b"\xef\xbb\xbf" + FILES[file].replace("\n", "\r\n").encode()
    told = run("plan", project=write(tmp_path, {file: content}))
    assert told.code == 0, told


@pytest.mark.parametrize(("entry", "offset", "words"), files.SOURCES, ids=_ids(files.SOURCES))
def test_sources(tmp_path: Path, entry: str, offset: int, words: str) -> None:
    """A wrong source; one after it is told as well, and readers of it are not blamed."""
    added = "\n".join(f"  {line}" for line in entry.splitlines())
    text = f"{SOURCES}{added}\n  - {{name: last, path: x, columns: {{a: nubmer}}}}\n"
    reader = f"/*\n{HEADER}*/\nSELECT ds FROM b WHERE ds >= :start AND ds < :end\n"
    told = run("plan", project=write(tmp_path, {"sources.yml": text, "models/reader.sql": reader}))
    first = SOURCES.count("\n") + 1
    assert_told(told, 1, f"sources.yml:{first + offset}: ", words, "fix: ", f"sources.yml:{text.count(chr(10))}: ")
    assert "`reader` reads `b`" not in told.err or "name: b" not in entry


@pytest.mark.parametrize(("lines", "offset", "words"), files.CONSUMERS, ids=_ids(files.CONSUMERS))
def test_consumers(tmp_path: Path, lines: str, offset: int, words: str) -> None:
    """A wrong consumer; one after it is told as well."""
    body = "\n".join(f"    {line}" for line in lines.splitlines())
    text = f"{CONSUMERS}  - name: two\n{body}\n  - {{name: three, reads: [daily], kind: nothing}}\n"
    told = run("consumers", project=write(tmp_path, {"consumers.yml": text}))
    first = CONSUMERS.count("\n") + 1
    last = text.count("\n")
    assert_told(told, 1, f"consumers.yml:{first + offset}: ", words, "fix: ", f"consumers.yml:{last}: `kind`")


@pytest.mark.parametrize(("query", "line", "words"), files.QUERIES, ids=_ids(files.QUERIES))
def test_queries(tmp_path: Path, query: str, line: int, words: str) -> None:
    """A query that is none, or not one that a model can be; a mistake in its header is told as well."""
    text = f"/*\n{HEADER}retries: -7\n*/\n{query}"
    told = run("plan", project=write(tmp_path, {"models/daily.sql": text}))
    assert_told(told, 1, f"daily.sql:{line}: ", words, "fix: ", "daily.sql:4: `retries`")


@pytest.mark.parametrize(("text", "line", "words"), files.HEADERLESS, ids=_ids(files.HEADERLESS))
def test_no_header(tmp_path: Path, text: str, line: int, words: str) -> None:
    """A SQL file without a header that holds; a mistake in the query is told as well."""
    wrong = text.replace("clicks FROM", "clicks, nope AS n FROM")
    told = run("plan", project=write(tmp_path, {"models/daily.sql": wrong}))
    assert_told(told, 1, f"daily.sql:{line}: ", words, "fix: ")
    assert "clicks" not in text or "not closed" in words or "no column `nope`" in told.err, told.err


@pytest.mark.parametrize(("text", "line", "words"), files.PYTHONS, ids=_ids(files.PYTHONS))
def test_python(tmp_path: Path, text: str, line: int, words: str) -> None:
    """A Python model that is none; what reads it is not blamed. Nothing is run for that."""
    reader = f"/*\n{HEADER}*/\nSELECT ds, clicks FROM py WHERE ds >= :start AND ds < :end\n"
    changes = {"models/py.py": text} | ({"models/reader.sql": reader} if "def py(" in text else {})
    told = run("plan", project=write(tmp_path, changes))
    assert_told(told, 1, f"py.py:{line}: ", words, "fix: ")
    assert "`reader` reads `py`" not in told.err, told.err
