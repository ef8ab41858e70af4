"""Which release does an environment show of a model, of which plan, and who let it? What was recorded, read only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from backfill_assets.app.context import Context
from backfill_assets.app.evidence import read_release_evidence, release_folder
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.intervals import utc
from backfill_assets.evidence.write import RELEASE_PAGE
from backfill_assets.state.releases import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class LetThrough:
    """Whose approval a release rests on, of the model. `reason` may be empty."""

    by: str
    owner: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRelease:
    """Why an environment shows what it shows of a model."""

    release: Release
    """The last one that moved it: a promotion, a routine run, a rollback."""
    decided: Release | None
    """The newest one up to there that is of a plan: a routine run extends what somebody decided on. None: none is."""
    plan: str
    """Of `decided`."""
    approvals: tuple[LetThrough, ...]
    """Those that `decided` rests on."""
    packet: str
    """The page of the packet of `release`, as Markdown; "" where it has none, or a damaged one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sealed:
    page: str = ""
    approvals: tuple[tuple[frozenset[str], LetThrough], ...] = ()
    """Each with its models; without any it is of all."""


def shown_releases(context: Context, releases: Sequence[Release], models: Mapping[str, str]) -> dict[str, ShownRelease]:
    """Of models, each with the release that moved it last; one that is not recorded is left out. `releases` are those
    of the environment, the oldest first. Every packet is read once. Raises StateError for records that cannot be read.
    """
    places = {release.id: at for at, release in enumerate(releases)}
    plans = {record.id: record.versions for record in context.control.plans.all()}
    packets: dict[str, _Sealed] = {}

    def packet(release: Release) -> _Sealed:
        if release.id not in packets:
            packets[release.id] = _sealed(context, release)
        return packets[release.id]

    found: dict[str, ShownRelease] = {}
    for name, last in models.items():
        if last not in places:
            continue
        decided, plan = None, ""
        for each in made_of(releases, places, last, name):
            if named := [p for p in each.evidence if name in plans.get(p, ())]:
                decided, plan = each, named[-1]
                break
        rests = packet(decided).approvals if decided else ()
        release = releases[places[last]]
        found[name] = ShownRelease(
            release=release,
            decided=decided,
            plan=plan,
            approvals=tuple(one for scope, one in rests if not scope or name in scope),
            packet=packet(release).page,
        )
    return found


def made_of(releases: Sequence[Release], places: Mapping[str, int], last: str, model: str) -> Iterator[Release]:
    """The releases that made what a model shows since `last`, the newest first: from a rollback on those that led to
    the one that it went back to."""
    at = places[last]
    while at >= 0:
        each = releases[at]
        at -= 1
        if any(move.model == model for move in each.moves):
            yield each
            at = min(at, places.get(each.back_to, at))


def _sealed(context: Context, release: Release) -> _Sealed:
    try:
        said = read_release_evidence(context, release.id).said
        page = (release_folder(context, release.id).read(RELEASE_PAGE) or b"").decode()
    except BackfillError:  # `verify` and the gate tell of it
        return _Sealed()
    return _Sealed(
        page=page,
        approvals=tuple(
            (
                frozenset(a["scope"]),
                LetThrough(by=a["by"], owner=a["owner"], at=utc(a["at"]), reason=a["reason"]),
            )
            for a in said.get("approvals", ())
        ),
    )
