"""What does an environment show of one model? Segments that follow each other in time, and the columns of its view."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.model import Column
from backfill_assets.core.segments import IntervalCounts, Segment, Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """What an environment shows of a model: segments that follow each other in time, and the columns, in order."""

    model: str
    time_column: str
    timestamps: bool
    """Whether the time column holds instants (hourly models) rather than dates."""
    columns: tuple[tuple[str, str], ...]
    """Name and Spark SQL type of every column, in the view's order."""
    segments: Segments
    """May be given as any sequence."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", Segments(self.segments))

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
                "columns": self.columns,
                "segments": [
                    {
                        "version": s.version,
                        "commit": s.commit,
                        "start": s.interval.start.isoformat(),
                        "end": s.interval.end.isoformat(),
                    }
                    | ({"columns": s.columns} if s.columns else {})
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
    return Pointer(
        model=raw["model"],
        time_column=raw["time_column"],
        timestamps=raw["timestamps"],
        columns=tuple((name, kind) for name, kind in raw["columns"]),
        segments=Segments(
            Segment(
                version=s["version"],
                commit=s["commit"],
                interval=Interval(utc(s["start"]), utc(s["end"])),
                columns=tuple((name, kind) for name, kind in s.get("columns", ())),
                held=_held(s["held"]) if "held" in s else None,
            )
            for s in raw["segments"]
        ),
    )


def _held_json(held: IntervalCounts) -> dict[str, object]:
    start, end = held.interval.start.isoformat(), held.interval.end.isoformat()
    return {"start": start, "end": end, "files": held.files, "rows": held.rows}


def _held(raw: Mapping[str, Any]) -> IntervalCounts:
    return IntervalCounts(interval=Interval(utc(raw["start"]), utc(raw["end"])), files=raw["files"], rows=raw["rows"])
