"""What does a consumer see that is kept on a release, and may it be? Exactly what the release showed of its models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from backfill_assets.core.consumer import Consumer
from backfill_assets.core.errors import LostRaceError, PromotionError, StateError, UsageError
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.wording import did_you_mean
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.promote import ViewCatalog, promote, recover
from backfill_assets.promote.rehearsal import Readability, doubtful, rehearse, unreadable
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment, Environments
from backfill_assets.state.pinned import PinnedConsumer, pin_environment, pinned_as
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.releases import Difference, Release, compare, find_release, shown_at
from backfill_assets.state.tables import TableLog, TableStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class PinRequest:
    """Who is kept on which release until when, and why."""

    consumer: str
    release: str
    until: date
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What a consumer is kept on by now, and what it was kept on `before`."""

    pin: PinnedConsumer
    before: PinnedConsumer | None
    doubtful: tuple[Obstacle, ...]
    """Rows of it that nobody vouches for any more: it is shown them as the release showed them."""

    @property
    def moved(self) -> bool:
        """Whether anything was to be done."""
        return self.before != self.pin


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpinned:
    """What changes for a consumer that reads the environment again. `pin` is None: it was not pinned."""

    consumer: str
    environment: str
    pin: PinnedConsumer | None
    changes: tuple[Difference, ...] = ()
    """Of the models that it read while it was pinned: those that the environment shows otherwise."""
    owner: str = ""
    notice: int = 0
    """How many days before a change its owner wants to know of it."""
    done: bool = False
    """Whether it reads the environment by now; otherwise it was only asked what would change."""


def keep(
    control: Control,
    log: TableLog,
    storage: TableStorage,
    consumer: Consumer,
    request: PinRequest,
    *,
    environment: str,
    by: str,
    views: ViewCatalog | None,
) -> Pinned:
    """Point the consumer's own environment at what a release of `environment` showed of the models that it reads.

    Where it is kept on that release already, all that it is kept on stays, whether it is named as read any more or not.
    Raises what `pin_consumer` does.
    """
    seen = recover(control.environments, pin_environment(consumer.name), views)
    check_home(control.environments, seen, consumer.name)
    before = pinned_as(control, seen)
    if before is not None and before.environment != environment:
        raise StateError(
            f"{consumer.name} is kept on a release of {before.environment}",
            why=f"this is about {environment}, and a consumer is kept in one environment of a warehouse",
            fix=f"backfill unpin {consumer.name}, then pin it here",
        )
    current = control.environments.read(environment).pointers  # before the releases
    releases = control.releases.all(environment)
    release = find_release(releases, request.release)
    stays = before.pointers if before is not None and before.release == release.id else {}
    reads = [name for name in consumer.reads if name not in stays]
    if stays:
        shown = shown_at(current, releases, release)
        reads = [name for name in reads if name in shown]
    pointers = {**stays, **shown_to(replace(consumer, reads=tuple(reads)), current, releases, release)}
    proofs = rehearse(list(pointers.values()), storage, log, control.ledger)
    check_readable(release, seen, pointers, proofs)
    kept = request.reason or (before.reason if before and before.release == release.id else "")
    wanted = PinnedConsumer(
        consumer=consumer.name, environment=environment, release=release.id, until=request.until, reason=kept,
        by=by, at=datetime.now(UTC), pointers=pointers,
    )  # fmt: skip
    doubts = tuple(doubtful(proofs))
    if before is not None and (before.said, before.pointers) == (wanted.said, wanted.pointers):
        return Pinned(pin=before, before=before, doubtful=doubts)
    moved = pinned_as(control, _move(control, seen, pointers, views, by=by, said=wanted.said))
    assert moved is not None
    return Pinned(pin=moved, before=before, doubtful=doubts)


def let_go(
    control: Control,
    log: TableLog,
    project: Project,
    seen: Environment,
    *,
    by: str,
    views: ViewCatalog | None,
    dry_run: bool = False,
) -> Unpinned:
    """Say what changes for the consumer that `seen` is the environment of, and drop that (`dry_run`: only say it)."""
    pin = pinned_as(control, seen)
    assert pin is not None
    now = control.environments.read(pin.environment).pointers
    cadences = {name: model.cadence for name, model in project.models.items()}
    declared = project.consumers.get(pin.consumer)
    found = Unpinned(
        consumer=pin.consumer,
        environment=pin.environment,
        pin=pin,
        changes=tuple(compare(pin.pointers, {n: now[n] for n in pin.pointers if n in now}, log, cadences)),
        owner=declared.owner if declared else "",
        notice=declared.notice if declared else 0,
    )
    if dry_run:
        return found
    _move(control, seen, {}, views, by=by)
    return replace(found, done=True)


_LONGEST = 128
"""Characters of a schema's name, at most."""


def known_consumer(name: str, known: Collection[str]) -> None:
    """Raises UsageError, naming the one that comes close, for a consumer that is not one of these."""
    if name in known:
        return
    listed = ", ".join(sorted(known)) or "nobody"
    raise UsageError(
        f"no consumer named {name}",
        why=f"consumers.yml names {listed}",
        fix=did_you_mean(name, sorted(known), "write it into consumers.yml: who it is, and what it reads", quote=""),
    )


def check_until(until: date, today: date) -> None:
    """Raises UsageError for a day that is over."""
    if until < today:
        raise UsageError(
            f"{until} is over", why=f"today is {today}; it is the last day of a pin", fix="name today, or a later day"
        )


def check_home(environments: Environments, seen: Environment, consumer: str) -> None:
    """Raises UsageError, StateError when there cannot be a schema for the consumer."""
    if len(pin_environment(consumer)) > _LONGEST:
        raise UsageError(
            f"{consumer} cannot be pinned",
            why=f"the schema {pin_environment(consumer)} would have more than {_LONGEST} characters",
            fix="give the consumer a shorter name in consumers.yml",
        )
    try:
        environments.refuse_twin(seen)
    except StateError as error:
        raise StateError(
            f"{consumer} cannot be pinned: {error.what}", why=error.why, fix="rename the consumer in consumers.yml"
        ) from None


def shown_to(
    consumer: Consumer, current: Mapping[str, Pointer], releases: Sequence[Release], release: Release
) -> dict[str, Pointer]:
    """What a release showed of the models that a consumer reads. `current` was read before the `releases`.

    Raises PromotionError where it showed none of one of them.
    """
    shown = shown_at(current, releases, release)
    if lacking := [name for name in consumer.reads if name not in shown]:
        later = next(_that_show(consumer, current, releases, after=release), None)
        raise PromotionError(
            f"release {release.id} does not show {', '.join(lacking)}",
            why=f"{consumer.name} reads that",
            fix=f"release {later.id} is the first one after it that shows all it reads"
            if later
            else f"no later release does, either: correct `reads` of {consumer.name} in consumers.yml",
        )
    return {name: shown[name] for name in consumer.reads}


def check_readable(
    release: Release, home: Environment, pointers: Mapping[str, Pointer], proofs: Sequence[Readability]
) -> None:
    """Raises PromotionError when a table of these is gone or is going, or a file of it cannot be read. One that was
    removed since the release and made anew has other rows under the name that it had."""
    going = [
        Obstacle(model=p.model, what=f"the janitor is removing {s.version}", remedy="name another release")
        for p in pointers.values()
        for s in p.segments
        if (p.model, s.version) in home.marked_for_deletion
    ]
    gone = [
        Obstacle(model=p.model, what=f"the janitor has removed {version}", remedy="name another release")
        for p in pointers.values()
        for version in dict.fromkeys(s.version for s in p.segments)
        if home.removals.get((p.model, version), -1) > release.revision
    ]
    if wrong := [*going, *gone, *unreadable(proofs)]:
        raise PromotionError(
            f"release {release.id} cannot be read any more",
            why="; ".join(f"{o.model}: {o.what}" for o in wrong),
            fix="name a newer release (`backfill releases`), or restore the files from a backup",
        )


def _that_show(
    consumer: Consumer, current: Mapping[str, Pointer], releases: Sequence[Release], *, after: Release
) -> Iterator[Release]:
    for release in sorted(releases, key=lambda r: r.revision):
        if release.revision > after.revision and set(consumer.reads) <= set(shown_at(current, releases, release)):
            yield release


def _move(
    control: Control,
    seen: Environment,
    pointers: Mapping[str, Pointer],
    views: ViewCatalog | None,
    *,
    by: str,
    said: Mapping[str, object] | None = None,
) -> Environment:
    """Point the consumer's environment at these, and at nothing else, in one commit."""
    gone = sorted(set(seen.pointers) - set(pointers))
    try:
        note = ReleaseNote(by=by, pin=said or {})
        return promote(control.environments, seen, list(pointers.values()), views, remove=gone, note=note)
    except LostRaceError as error:
        raise StateError(
            f"somebody else moved {seen.name} meanwhile; nothing was changed",
            why=error.why,
            fix="see `backfill consumers` for what it is kept on now, then run this again",
        ) from None
