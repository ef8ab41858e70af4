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
from backfill_assets.core.errors import StateError
from backfill_assets.sql.text import quoted

_PLAIN = re.compile(r"[A-Za-z_/][\w./-]*", re.ASCII)
_NO_NAMES = frozenset({"yes", "no", "on", "off", "true", "false", "null"})
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
        raise StateError(f"no table of {where} can be read", why="; ".join(f"{n}: {why}" for n, why in left[:3]))
    texts = {f"{FOLDER}/models/{g.name}.sql": _model(g) for g in guesses}
    texts[f"{FOLDER}/sources.yml"] = _sources(guesses)
    written: list[str] = []
    for path, text in texts.items():
        name = Path(path).stem
        if name in context.project.models:
            left.append((path, f"there is a model {name}"))
        elif _write(root / path, text):
            written.append(path)
        else:
            left.append((path, "it is there already"))
    return Drafted(written=tuple(written), left=tuple(left), guesses=tuple(guesses))


def _write(path: Path, text: str) -> bool:
    """Write a file that is not there yet; whether it was not."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    except OSError as error:
        raise StateError(
            f"{path} cannot be written", why=error.strerror or str(error), fix="make room for it"
        ) from None
    return True


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


def _sources(guesses: Sequence[Guess]) -> str:
    lines = ["# A draft: move these entries to sources.yml, with the models that read them.", "sources:"]
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
    return "\n".join([*lines, ""])


def _scalar(text: str) -> str:
    """A name as YAML has it, in quotes where it would mean something else without."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NO_NAMES:
        return text
    return json.dumps(text, ensure_ascii=False).replace("*/", "*\\/")  # it may be in a comment of SQL


def _inert(text: str) -> str:
    """A name in a comment, which it does not end."""
    return " ".join(text.split()).replace("*/", "* /")
