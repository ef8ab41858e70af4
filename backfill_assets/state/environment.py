"""What does an environment show of each model? Pointers made of segments, moved for many models in one commit.

The journal of an open promotion is a row of the same table: opening, flipping and withdrawing exclude each other. So
are the record of each release, written by the commit that moves the pointers, and the tables that the janitor removes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from backfill_assets.core.attempts import attempts
from backfill_assets.core.errors import ConflictError, LostRaceError, PromotionError, StateError, too_busy
from backfill_assets.core.pointer import Pointer, pointer_from_json
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.store import Records, Row, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A promotion in progress: which release moves which models, opened when and by which process."""

    release: str
    models: tuple[str, ...]
    opened: datetime
    host: str
    pid: int
    began: str = ""
    """When the process did (`core/processes.py`); "" where nothing tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One consistent look at an environment: every pointer in it is of the same revision."""

    name: str
    revision: int
    pointers: Mapping[str, Pointer]
    releases: Mapping[str, str]
    """Model → the release (promotion) that moved its pointer last."""
    promotion: Promotion | None = None
    """The promotion that is under way: it may have altered views, and has not finished."""
    marked_for_deletion: frozenset[tuple[str, str]] = frozenset()
    """(model, version) of the tables that the janitor is removing: nothing can be pointed at them."""
    removals: Mapping[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """The same and all that it has removed, with the revision in which each was marked for deletion."""

    @property
    def versions(self) -> dict[str, str]:
        """Model → the version that its pointer shows."""
        return {name: pointer.version for name, pointer in self.pointers.items()}


ENVIRONMENTS = TableSpec(
    name="environments",
    columns={
        "environment": "text",
        "model": "text",
        "pointer_id": "text",
        "pointer": "text",
        "release": "text",
        "at": "time",
    },
    partition="environment",  # releases grow, and whoever reads pointers should not read them
)


class Environments(Records):
    """The table of pointers: a row per environment and model."""

    spec = ENVIRONMENTS

    def read(self, name: str) -> Environment:
        """The environment as it is now; an unknown one is empty."""
        rows, revision = self._table.read_at({"environment": [name, REMOVALS]})
        return _environment(name, rows, revision)

    def names(self, among: Collection[str] | None = None) -> list[str]:
        """Every environment that shows something; `among` these, without a look at the others and their releases."""
        rows = self._table.read(None if among is None else {"environment": list(among)})
        return sorted({name for row in rows if "/" not in (name := cast(str, row["environment"]))})

    def refuse_twin(self, seen: Environment) -> None:
        """Raises StateError when an environment that shows nothing yet would share its schema with another one."""
        if seen.pointers:
            return
        for other in self.names():
            if other != seen.name and _schema(other) == _schema(seen.name):
                raise StateError(
                    f"there cannot be an environment {seen.name} beside {other}",
                    why="catalogs do not tell capital letters apart: both would have the same views",
                    fix=f"write `environment: {other}` in backfill.yml, or another name",
                )

    def compact(self) -> None:
        """Join small files, unless a promotion is open: it would have to look again."""
        if not self._table.read({"model": [_JOURNAL]}):
            self._table.compact()

    def open(self, seen: Environment, promotion: Promotion) -> Environment:
        """Write a promotion down before it touches any view. Raises ConflictError when anything moved since `seen`."""
        assert seen.promotion is None
        return self._commit(seen, [_journal_row(seen.name, promotion)], [_JOURNAL], promotion.release)

    def take_over(self, seen: Environment, promotion: Promotion) -> Environment:
        """Put one's own name under the open promotion: whoever opened it cannot flip any more. Raises ConflictError."""
        assert seen.promotion is not None
        return self._commit(seen, [_journal_row(seen.name, promotion)], [_JOURNAL], promotion.release)

    def close(self, seen: Environment) -> Environment:
        """The open promotion is over, or withdrawn. Raises ConflictError when anything moved since `seen`."""
        assert seen.promotion is not None
        return self._over(self._commit(seen, [], [_JOURNAL], seen.promotion.release))

    def flip(
        self,
        seen: Environment,
        pointers: Sequence[Pointer],
        *,
        remove: Collection[str] = (),
        release: str,
        at: datetime,
        note: ReleaseNote | None = None,
        check: Callable[[], object] = lambda: None,
    ) -> Environment:
        """Move the given pointers (and drop the models in `remove`) in one commit, all or nothing.

        `note` is what is said of the release; without one this is none, but a candidate that follows its plan. A lost
        race is retried when the environment is as `seen` had it: another one moved. `check` is asked before each
        attempt, and says no by raising. Otherwise LostRaceError, and
        nothing moved: whoever moves models looked at those beside them, too.
        """
        models = sorted({p.model for p in pointers} | set(remove))
        rows = [_to_row(seen.name, p, release, at) for p in pointers]
        current = seen
        for _ in attempts():
            check()
            self.refuse_twin(current)
            refuse_other_letters(seen.name, current.pointers.keys() - set(remove), [p.model for p in pointers])
            _refuse_removed(current, pointers, since=seen.revision)
            record = _release_row(current, pointers, models, release, at, note) if note is not None else None
            try:
                moved_to = self._commit(current, rows, models, release, record)
                return self._over(moved_to) if record else moved_to
            except ConflictError:
                current = self.read(seen.name)
                either = sorted({*current.pointers, *seen.pointers})
                moved = [m for m in either if current.pointers.get(m) != seen.pointers.get(m)]
                if moved or current.promotion != seen.promotion:
                    raise LostRaceError(
                        f"{seen.name} moved while this promotion was under way; nothing was changed by it",
                        why=f"{', '.join(moved)} already point elsewhere" if moved else "the promotion was withdrawn",
                        fix="run `backfill plan` to see what is left to do, then promote again",
                    ) from None
        raise too_busy(f"{seen.name} is too busy", PromotionError)

    def _over(self, moved: Environment) -> Environment:
        """After a promotion's last commit: every plan reads all releases, and each of them leaves a small file."""
        if moved.promotion is None:
            with suppress(StateError):  # it is recorded: whoever comes after makes up for it
                self.compact()
        return moved

    def fence(self) -> None:
        """Move nothing, in a commit: whoever flips after it has looked at the records again, as it loses its race."""
        for _ in attempts():
            with suppress(ConflictError):
                where = {"environment": [FENCE]}
                self._table.replace([], where=where, revision=self._table.revision(), note={"environment": FENCE})
                return
        raise too_busy("environments are too busy")

    def _commit(
        self, seen: Environment, rows: Sequence[Row], models: Sequence[str], release: str, record: Row | None = None
    ) -> Environment:
        """Returns the environment as this commit left it: what others commit right after it is theirs to explain."""
        revision = self._table.replace(
            [*rows, record] if record else rows,
            where={"environment": [seen.name, releases_of(seen.name)], "model": [*models, release]}
            if record
            else {"environment": [seen.name], "model": models},
            revision=seen.revision,
            note={"release": release, "environment": seen.name},
        )
        moved = _environment(seen.name, rows, revision)
        return Environment(
            name=seen.name,
            revision=revision,
            pointers={**{m: p for m, p in seen.pointers.items() if m not in models}, **moved.pointers},
            releases={**{m: r for m, r in seen.releases.items() if m not in models}, **moved.releases},
            promotion=moved.promotion if _JOURNAL in models else seen.promotion,
            marked_for_deletion=seen.marked_for_deletion,
            removals=seen.removals,
        )


def refuse_other_letters(environment: str, shown: Collection[str], models: Collection[str]) -> None:
    """Raises StateError for a model that only capital letters tell from another one that the environment shows."""
    known = {name.casefold(): name for name in shown}
    for name in models:
        other = known.get(name.casefold(), name)
        if other != name and name not in shown:
            raise StateError(
                f"there cannot be a model {name}: {environment} shows {other}",
                why="Spark takes both for one name: its published rows would be those of another model",
                fix=f"keep the name {other}, or take one that differs in more than capital letters",
            )


def schema_name(environment: str) -> str:
    """Where an environment's views are: Spark's schemas have no hyphens, candidates (`plan-<id>`) do."""
    return environment.replace("-", "_")


def _schema(environment: str) -> str:
    """How catalogs compare the names of environments' schemas."""
    return schema_name(environment).casefold()


def releases_of(environment: str) -> str:
    """Under which name the table keeps an environment's releases; no environment has a slash in its name."""
    return f"{environment}/releases"


_JOURNAL = ""
"""The model name of the row that holds the open promotion."""
FENCE = "/fence"
"""The environment of commits that move nothing; it has no rows."""
REMOVALS = "/removals"
"""Under which name the table keeps what the janitor removes; see `removals.py`."""
MARKED, GONE = "condemned", "gone"
"""What a removal's row says in `release`."""


def _environment(name: str, rows: Sequence[Row], revision: int) -> Environment:
    shown = {cast(str, row["model"]): row for row in rows if row["environment"] == name}
    removals = [row for row in rows if row["environment"] == REMOVALS]
    journal = shown.pop(_JOURNAL, None)
    return Environment(
        name=name,
        revision=revision,
        pointers={model: pointer_from_json(cast(str, row["pointer"])) for model, row in shown.items()},
        releases={model: cast(str, row["release"]) for model, row in shown.items()},
        promotion=_promotion(journal) if journal else None,
        marked_for_deletion=frozenset(table_of(row) for row in removals if row["release"] == MARKED),
        removals={table_of(row): json.loads(cast(str, row["pointer"]))["revision"] for row in removals},
    )


def table_of(removal: Row) -> tuple[str, str]:
    """Model and version of the table that a removal's row is about."""
    model, _, version = cast(str, removal["model"]).partition("/")
    return model, version


def _refuse_removed(current: Environment, pointers: Sequence[Pointer], *, since: int) -> None:
    """Refuse tables that are being removed, or were since whoever wants to point at them had a look."""
    tables = {(p.model, s.version) for p in pointers for s in p.segments}
    if lost := {t for t in tables if t in current.marked_for_deletion or current.removals.get(t, -1) > since}:
        raise PromotionError(
            f"{current.name} cannot show {', '.join(f'{m} {v}' for m, v in sorted(lost))}; nothing was changed",
            why="nothing needed it for longer than the retention, and the janitor removes it",
            fix="let `backfill janitor --apply` finish, build it again with `backfill apply`, then promote",
        )


def _release_row(
    before: Environment,
    pointers: Sequence[Pointer],
    models: Sequence[str],
    release: str,
    at: datetime,
    note: ReleaseNote,
) -> Row:
    """What moved from where to where, and what is said of it; `releases.py` reads it back."""
    after = {p.model: p.to_json() for p in pointers}
    moves = [
        [model, old.to_json() if (old := before.pointers.get(model)) else None, after.get(model)] for model in models
    ]
    said = {**note.to_json(), "revision": before.revision + 1, "moves": moves}
    return {
        "environment": releases_of(before.name),
        "model": release,
        "pointer_id": "",
        "pointer": json.dumps(said),
        "release": release,
        "at": at,
    }


def _to_row(environment: str, pointer: Pointer, release: str, at: datetime) -> Row:
    return {
        "environment": environment,
        "model": pointer.model,
        "pointer_id": pointer.id,
        "pointer": pointer.to_json(),
        "release": release,
        "at": at,
    }


def _journal_row(environment: str, promotion: Promotion) -> Row:
    return {
        "environment": environment,
        "model": _JOURNAL,
        "pointer_id": "",
        "pointer": json.dumps(
            {"models": promotion.models, "host": promotion.host, "pid": promotion.pid}
            | ({"began": promotion.began} if promotion.began else {})
        ),
        "release": promotion.release,
        "at": promotion.opened,
    }


def _promotion(row: Row) -> Promotion:
    said = json.loads(cast(str, row["pointer"]))
    return Promotion(
        release=cast(str, row["release"]),
        models=tuple(said["models"]),
        opened=cast(datetime, row["at"]),
        host=said["host"],
        pid=said["pid"],
        began=said.get("began", ""),
    )
