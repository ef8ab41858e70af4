"""What does a SQL model's file say? A `/* … */` block of YAML, then one query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from backfill_assets.core.errors import Problem
from backfill_assets.files.documents import Document, read_yaml
from backfill_assets.files.texts import read_text
from backfill_assets.files.validation import name_problem
from backfill_assets.project.draft import Draft, DraftRead
from backfill_assets.project.fingerprint import sql_logic
from backfill_assets.project.header import parse_header
from backfill_assets.project.undeclared_lookback import lookback_problems
from backfill_assets.sql.nondeterministic import FunctionUse, uses_in_query
from backfill_assets.sql.parsing import Sql, SqlError, named_by_text, parse

_EXAMPLE = "WHERE event_time >= :start AND event_time < :end"
_PARAMETERS = ("start", "end")
_HEADER_LIKE = re.compile(r"\s*/\*[^*]*?^\s*((?:start|grain|owner|cadence|audits)\s*:)", re.MULTILINE)


def read_sql_model(path: Path, problems: list[Problem], *, recorded: bool = False) -> Draft:
    """The model in a `.sql` file; its own problems are appended. One that cannot be read is nothing but a name."""
    text = read_text(path, problems)
    if text is None:
        return Draft(
            name=path.stem, path=path, language="sql", code="", document=Document(file=path), header=None, read=False
        )  # fmt: skip
    name = path.stem
    if problem := name_problem(name):
        what, why = f"`{name[:60]}` cannot name a model", problem
        fix = "rename the file: ASCII letters (a-z, A-Z), digits and _, not starting with a digit"
        problems.append(Problem(file=path, line=1, what=what, why=why, fix=fix))
    header_text, header_line, code, code_line = _split(text)
    header, wrong = None, frozenset[str]()
    document = Document(file=path, line=header_line)
    if header_text is None:
        problems.append(_no_header(path, text))
    elif (read := read_yaml(header_text, path, problems, first_line=header_line)) is not None:
        document = read
        header, wrong = parse_header(document, problems)
    if (second := _HEADER_LIKE.match(code)) is not None:
        line = code_line + code.count("\n", 0, second.start(1))
        what, fix = "the file has a second header", "move its keys into the first one, or write comments with `--`"
        problems.append(Problem(file=path, line=line, what=what, fix=fix))
    sql = _query(path, code, code_line, problems)
    if sql is not None:
        code = sql.code
    reads: dict[str, DraftRead] = {}
    for reference in sql.references if sql else ():
        reads.setdefault(reference.key, DraftRead(name=reference.name, line=code_line + reference.line - 1))
    draft = Draft(
        name=name, path=path, language="sql", code=code, code_line=code_line, text=text, document=document,
        header=header,
        wrong=wrong, reads=tuple(reads.values()), sql=sql, logic=sql_logic(sql) if sql else "",
        uses=tuple(_uses(sql, code_line)) if sql else (),
    )  # fmt: skip
    if not recorded:
        problems += lookback_problems(draft)
    return draft


def _no_header(path: Path, text: str) -> Problem:
    """Why there is none: it is not closed, it is further down, or it was never written."""
    fix = "begin the file with /* and lines such as `start: 2024-01-01`, `grain: [ds]`, then */ and the query"
    at = text.find("/*")
    line = text.count("\n", 0, max(at, 0)) + 1
    if not text.strip():
        return Problem(file=path, line=1, what="the file is empty", fix=fix)
    if at >= 0 and not text[:at].strip():
        return Problem(file=path, line=line, what="the model's header is not closed", fix="end it with a line `*/`")
    if at >= 0 and _HEADER_LIKE.match(text[at:]):
        why = f"the file begins with `{text.strip().splitlines()[0][:40]}`"
        fix = "move it to the top of the file, above the query"
        return Problem(file=path, line=line, what="the model has no header: it is not at the top", why=why, fix=fix)
    return Problem(file=path, line=1, what="the model has no header", fix=fix)


def _uses(sql: Sql, code_line: int) -> Iterator[FunctionUse]:
    for statement in sql.statements:
        for use in uses_in_query(statement):
            yield replace(use, line=code_line + use.line - 1)


def _split(text: str) -> tuple[str | None, int, str, int]:
    """The header's text and first line, the query's text and first line."""
    blank = len(text) - len(text.lstrip())
    if not text.startswith("/*", blank) or (close := text.find("*/", blank)) < 0:
        code, header, header_line, code_at = text.strip(), None, 1, blank
    else:
        header, header_line = text[blank + 2 : close], text.count("\n", 0, blank) + 1
        rest = text[close + 2 :]
        code = rest.strip()
        code_at = close + 2 + (len(rest) - len(rest.lstrip()) if code else 0)
    return header, header_line, code, text.count("\n", 0, code_at) + 1


def _query(path: Path, code: str, code_line: int, problems: list[Problem]) -> Sql | None:
    """The one query of a model; None, and problems, when there is not exactly one, or it is not a query."""

    def report(line: int, what: str, why: str = "", fix: str = "") -> None:
        problems.append(Problem(file=path, line=code_line + line - 1, what=what, why=why, fix=fix))

    try:
        sql = parse(code)
        if len(sql.statements) == 1 and (end := _semicolon(sql)) is not None:
            sql = parse(code[:end].rstrip())
    except SqlError as error:
        report(error.line, error.what, error.why, error.fix)
        return None
    if not sql.statements or not sql.tokens:
        report(1, "the model has no query", fix="write one SELECT below the header")
        return None
    if len(sql.statements) > 1:
        semicolon = next(t for t in sql.tokens if t.text == ";")
        why = f"there are {len(sql.statements)} statements"
        report(semicolon.line, "a model is one query", why, "keep one SELECT; make the others models of their own")
        return None
    tree = next(iter(sql.statements))
    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        word = sql.tokens[0].text.upper()
        fix = "write a SELECT that gives the rows; the system writes the table"
        report(sql.tokens[0].line, f"a model is a query, not {word}", "a model only says what rows it has", fix)
        return None
    for line in named_by_text(sql):
        why = "nobody can follow it: neither masks nor what the model reads"
        report(line, "IDENTIFIER(…) names something by a text", why, "write the name itself, without IDENTIFIER")
    for parameter, line in sql.parameters.items():
        if parameter not in _PARAMETERS:
            what = f"unknown parameter `:{parameter}`" if parameter != "?" else "a `?` parameter"
            report(line, what, "a query gets :start and :end, nothing else", "write the value into the query")
    if missing := [f":{p}" for p in _PARAMETERS if p not in sql.parameters]:
        why = "without them every batch would compute the whole table"
        report(1, f"the query does not use {' and '.join(missing)}", why, f"filter what it reads, as in `{_EXAMPLE}`")
    for reference in sql.references:
        if reference.time_travel:
            why = "plans freeze which commit of each table a build reads"
            what = f"`{reference.name}` is read at a fixed version"
            report(reference.line, what, why, "remove the VERSION or TIMESTAMP AS OF")
    return sql


def _semicolon(sql: Sql) -> int | None:
    """The offset of the semicolon that ends the text (it would break the query when that becomes part of another)."""
    last = sql.tokens[-1] if sql.tokens else None
    while last is not None and last.text == ";":
        index = sql.tokens.index(last)
        if sql.tokens[index - 1].text != ";":
            return last.start
        last = sql.tokens[index - 1]
    return None
