"""How does a team begin that has many tables? A draft of a model for each, which says what is guessed of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backfill_assets.adapters.adoption import reading
from backfill_assets.adapters.drafting import Guess, guess, tables_in
from backfill_assets.app.context import Context
from backfill_assets.core.errors import Problem, StateError
from backfill_assets.files.saving import save_text
from backfill_assets.sql.text import quoted

_PLAIN = re.compile(r"[A-Za-z_/][\w./-]*", re.ASCII)
_NO_NAMES = frozenset({"yes", "no", "on", "off", "true", "false", "null"})
_HEAD = ("# A draft: move these entries to sources.yml, with the models that read them.", "sources:")
FOLDER = "drafts"
"""Beside `models/`, and not read by the project: a draft becomes a model when somebody moves it there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """What was written, by path from the project's folder, and what was left alone, with why."""

    written: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    guesses: tuple[Guess, ...]


def draft_models(context: Context, where: str) -> Drafted:
    """Write `drafts/models/NAME.sql` for each table of a folder or a schema, and the entries of `sources.yml` that they
    read. No file is written over; a table that cannot be read is left. Raises StateError when there are no
    tables, or none can be read."""
    root = context.project.root
    guesses: list[Guess] = []
    with reading(where):
        tables, unknown = tables_in(context.spark, where, root)
    left = [(name, f"it cannot be read: {why}") for name, why in unknown.items()]
    for name, place in tables:
        try:
            with reading(place.text):
                guesses.append(guess(context.spark, name, place))
        except StateError as error:
            left.append((place.text, f"it cannot be read: {error.why}"))
    if not guesses and left:
        raise StateError(
            f"no table of {where} can be read",
            why="; ".join(f"{n}: {why}" for n, why in left[:3]),
            fix="mend what is said of them, or name a folder or a schema of tables",
        )
    written: list[str] = []
    for said in guesses:
        path = f"{FOLDER}/models/{said.name}.sql"
        if said.name in context.project.models:
            left.append((path, f"there is a model {said.name}"))
        elif save_text(root / path, _model(said), new=True):
            written.append(path)
        else:
            left.append((path, "it is there already"))
    path = f"{FOLDER}/sources.yml"
    why_left = _add_sources(root / path, guesses)
    if why_left:
        left.append((path, why_left))
    else:
        written.append(path)
    return Drafted(written=tuple(written), left=tuple(left), guesses=tuple(guesses))


def _add_sources(path: Path, guesses: Sequence[Guess]) -> str | None:
    """Write the file, or below what it has the entries that it lacks; why nothing was written, if so."""
    if save_text(path, "\n".join([*_HEAD, *_entries(guesses), ""]), new=True):
        return None
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        return f"it is there already, and cannot be read: {error}"
    there = _names(text)
    new = [g for g in guesses if there is not None and f"legacy.{g.name}" not in there]
    if there is None or not new:
        return "it is there already" if there else "it is there already, and is no list of sources"
    more = "\n".join(["" if text.endswith("\n") else "\n", *_entries(new), ""]).removeprefix("\n")
    if _names(text + more) != [*there, *(f"legacy.{g.name}" for g in new)]:
        return f"it is there already, and does not end as a draft does; new is {', '.join(g.name for g in new)}"
    with path.open("a", encoding="utf-8") as file:
        file.write(more)
    return None


def _names(text: str) -> list[object] | None:
    """The names in a list of sources; None when the text is none."""
    from backfill_assets.files.documents import read_yaml  # YAML, which no plan has need of

    problems: list[Problem] = []
    document = read_yaml(text, Path(FOLDER), problems)
    match document.data if document and not problems else None:
        case {"sources": [*entries]} if all(isinstance(entry, dict) for entry in entries):
            return [entry.get("name") for entry in entries]
        case _:
            return None


def _model(said: Guess) -> str:
    kind = dict(said.columns).get(said.time_column, "")
    day = said.time_column if kind == "date" else "ds"
    grain = ", ".join(map(_scalar, [day, *said.grain]))
    sure = "no two rows of a sample are alike in these" if said.unique else "rows of a sample ARE alike in these"
    columns = [quoted(c) for c, _ in said.columns]
    if kind != "date" and said.time_column:
        columns.insert(0, f"CAST({quoted(said.time_column)} AS DATE) AS ds")
    time = quoted(said.time_column) if said.time_column else "TODO"
    noted = f"the only likely column is {said.time_column}" if said.time_column else "no column is a date or timestamp"
    return "\n".join(
        [
            "/*",
            f"# A draft, made from the data of {_inert(said.place.text)}.",
            "# What is guessed says so: look at it, then move this file to models/, and the source's entry from",
            "# drafts/sources.yml to sources.yml.",
            f"start: {said.first or 'TODO'}  # guessed: the first day that has rows",
            f"time_column: {_scalar(day or 'TODO')}  # guessed: {_inert(noted)}",
            f"grain: [{grain}]  # guessed: {sure}",
            "cadence: daily  # guessed",
            "owner: TODO",
            "*/",
            "-- The old table itself, until you write what computes it:",
            f"SELECT {', '.join(columns)}",
            f"FROM legacy.{said.name if said.name.isidentifier() else quoted(said.name)}",
            f"WHERE {time} >= :start AND {time} < :end",
            "",
        ]
    )


def _entries(guesses: Sequence[Guess]) -> list[str]:
    lines: list[str] = []
    for said in guesses:
        place = said.place
        where = f"path: {_scalar(place.location)}" if place.location else f"table: {_scalar(place.table)}"
        lines += [f"  - name: {_scalar(f'legacy.{said.name}')}", f"    {where}"]
        lines += [f"    format: {place.format}"] if place.location else []
        lines += [f"    time_column: {_scalar(said.time_column)}  # guessed"] if said.time_column else []
        lines += [
            "    columns:",
            *(f"      {_scalar(c)}: {json.dumps(kind)}" for c, kind in said.columns),
        ]
    return lines


def _scalar(text: str) -> str:
    """A name as YAML has it, in quotes where it would mean something else without."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NO_NAMES:
        return text
    return json.dumps(text, ensure_ascii=False).replace("*/", "*\\/")  # it may be in a comment of SQL


def _inert(text: str) -> str:
    """A name in a comment, which it does not end."""
    return " ".join(text.split()).replace("*/", "* /")
