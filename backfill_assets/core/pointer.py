"""What does an environment show of one model? Segments that follow each other in time, and the columns of its view."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.model import Column
from backfill_assets.core.segments import Held, Names, Segment, Segments, logic_of, shown_name, stored_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """What an environment shows of a model: segments that follow each other in time, and the columns, in order."""

    model: str
    time_column: str
    timestamps: bool
    """Whether the time column holds instants (hourly models) rather than dates."""
    columns: tuple[tuple[str, str], ...]
    """Name and Spark SQL type of every column, in the view's order, as readers know them."""
    segments: Segments
    """May be given as any sequence."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", Segments(self.segments))
        newest = [s for s in self.segments if s.logic == self.segments[-1].logic]
        if len({s.names for s in newest}) > 1:
            raise ValueError(f"{self.model} would show tables of one logic by different names of their columns")
        if any(s.names and not s.columns for s in self.segments if s not in newest):
            raise ValueError(f"{self.model} would show older rows by names of columns that are not told")

    @property
    def id(self) -> str:
        """A hash of all that the pointer says: equal ids show equal rows."""
        said = replace(self, segments=Segments(replace(s, held=None) for s in self.segments))
        return hashlib.sha256(said.to_json().encode()).hexdigest()[:16]

    @property
    def covers(self) -> Ranges:
        """The time that the pointer has rows for."""
        return self.segments.covers

    @property
    def version(self) -> str:
        """The logic of the newest segment: what a routine run extends."""
        return self.segments[-1].logic

    @property
    def older(self) -> Segments:
        """What it shows by other logic than the newest: a change was made forward only."""
        return self.segments.of_other_logic(self.version)

    @property
    def names(self) -> Names:
        """The columns that are shown under another name than the tables of the newest logic have."""
        return self.segments[-1].names

    def stored(self, segment: Segment) -> dict[str, tuple[str, str]]:
        """What each column is called in a segment's table, and its type; by its lower-cased name to readers."""
        if segment.columns:
            return {shown_name(segment.names, name).lower(): (name, kind) for name, kind in segment.columns}
        return {name.lower(): (stored_name(segment.names, name), kind) for name, kind in self.columns}

    def cut(self, to: Ranges) -> Pointer:
        """The pointer with what it shows within these ranges."""
        return replace(self, segments=self.segments.cut(to))

    def to_json(self) -> str:
        """As it is stored; `pointer_from_json` reads it back."""
        return json.dumps(
            {
                "model": self.model,
                "time_column": self.time_column,
                "timestamps": self.timestamps,
                "columns": [
                    [name, kind, *((there,) if (there := stored_name(self.names, name)) != name else ())]
                    for name, kind in self.columns
                ],
                "segments": [
                    {
                        "version": s.version,
                        "commit": s.commit,
                        "start": s.interval.start.isoformat(),
                        "end": s.interval.end.isoformat(),
                    }
                    | ({"columns": _columns_json(s)} if s.columns else {})
                    | ({"held": _held_json(s.held)} if s.held else {})
                    for s in self.segments
                ],
            },
            sort_keys=True,
        )


def as_written(stored: Sequence[tuple[str, str]], written: Sequence[Column]) -> tuple[tuple[str, str], ...]:
    """A table's columns (name, type) in the order in which the code writes them, as far as that is known."""
    place = {column.name.lower(): number for number, column in enumerate(written)}
    return tuple(sorted(stored, key=lambda column: place.get(column[0].lower(), len(place))))


def lists(pointer: Pointer, columns: Sequence[str]) -> bool:
    """Whether the view has just these columns (lower-cased), in any order; none: any."""
    return not columns or {name.lower() for name, _ in pointer.columns} == set(columns)


def pointer_from_json(text: str) -> Pointer:
    """The pointer that `Pointer`'s JSON says."""
    raw = json.loads(text)
    newest = logic_of(raw["segments"][-1]["version"]) if raw["segments"] else ""
    names: Names = tuple((name, *there) for name, _, *there in raw["columns"] if there)

    def names_of(said: Mapping[str, Any]) -> Names:
        if "columns" in said:
            return tuple((*shown, name) for name, _, *shown in said["columns"] if shown)
        return names if logic_of(said["version"]) == newest else ()

    return Pointer(
        model=raw["model"],
        time_column=raw["time_column"],
        timestamps=raw["timestamps"],
        columns=tuple((name, kind) for name, kind, *_ in raw["columns"]),
        segments=Segments(
            Segment(
                version=s["version"],
                commit=s["commit"],
                interval=Interval(utc(s["start"]), utc(s["end"])),
                columns=tuple((name, kind) for name, kind, *_ in s.get("columns", ())),
                names=names_of(s),
                held=_held(s["held"]) if "held" in s else None,
            )
            for s in raw["segments"]
        ),
    )


def _columns_json(segment: Segment) -> list[list[str]]:
    """A table's columns: name, type, and what readers call it where that is another name. A release that knows of no
    other names cannot read that, and takes nothing for NULL."""
    names = segment.names
    return [
        [name, kind, *((shown,) if (shown := shown_name(names, name)) != name else ())]
        for name, kind in segment.columns
    ]


def _held_json(held: Held) -> dict[str, object]:
    start, end = held.interval.start.isoformat(), held.interval.end.isoformat()
    return {"start": start, "end": end, "files": held.files, "rows": held.rows}


def _held(raw: Mapping[str, Any]) -> Held:
    return Held(interval=Interval(utc(raw["start"]), utc(raw["end"])), files=raw["files"], rows=raw["rows"])
