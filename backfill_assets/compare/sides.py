"""Which rows does somebody mean by `prod`, `plan-1f3a9c02`, `r20240311` or `orders@1f3a`? A side: pointers by model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.errors import PromotionError, StateError
from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import DECIDING, by_version
from backfill_assets.state.releases import TakenOut, find_release, shown_at
from backfill_assets.state.tables import TableLog, version_coverage

VERSION_SIGN = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What is compared: a name, and what it shows of each model."""

    name: str
    pointers: Mapping[str, Pointer]
    until: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model → the release that took it out of sight: it is shown no more, and the pointer is that of before."""


def cut(side: Side, without: Mapping[str, Ranges]) -> Side:
    """The side without these intervals of its models; a model of which nothing is left is gone."""
    pointers = dict(side.pointers)
    for name, left_out in without.items():
        if (pointer := pointers.pop(name, None)) is None:
            continue
        if segments := pointer.segments.without(left_out):
            pointers[name] = replace(pointer, segments=segments)
    return replace(side, pointers=pointers)


def resolve_side(name: str, project: Project, control: Control, log: TableLog) -> Side:
    """The side that a name means: an environment (which shows nothing where all was taken out of it), what one showed
    after a release (a beginning or an end of its id will do), or `model@version` (a beginning of a version).

    Raises StateError, naming what there is, when it is none of these.
    """
    if VERSION_SIGN in name:
        return _version(name, project, control, log)
    shown = control.environments.read(name)
    if shown.pointers or control.releases.all(name):
        return Side(name=name, pointers=shown.pointers)
    return _release(name, control)


def replaced_side(shown: Environment, gone: Mapping[str, TakenOut]) -> Side:
    """What a plan's rows take the place of: what its environment shows, and what it showed last of models that are
    gone. Tables that the janitor removed since are not there to be compared with."""
    last = {model: left for model, out in gone.items() if (left := out.left)}
    until = {model: gone[model].release for model in last}
    return Side(name=shown.name, pointers={**last, **shown.pointers}, until=until)


def _release(name: str, control: Control) -> Side:
    """What an environment showed right after a release. Tables that the janitor removed since cannot be read."""
    releases = control.releases.everywhere()
    try:
        release = find_release(releases, name)
    except PromotionError as error:
        names = ", ".join(control.environments.names()) or "none yet"
        raise StateError(
            f"no environment or release {name} shows anything",
            why=f"environments that do: {names}; {error.why}",
            fix="name one of them, an open plan (see `backfill plans`), a release (see `backfill releases`), or "
            "model@version",
        ) from None
    mine = [r for r in releases if r.environment == release.environment]
    now = control.environments.read(release.environment).pointers
    return Side(name=release.id, pointers=shown_at(now, mine, release))


def _version(name: str, project: Project, control: Control, log: TableLog) -> Side:
    """A version's own table, as far as it is built and at its newest commit."""
    wanted, _, beginning = name.partition(VERSION_SIGN)
    known = [v for m, v in control.versions.all() if m == wanted]
    meant = [v for v in known if v == beginning] or [v for v in known if beginning and v.startswith(beginning)]
    if len(meant) != 1 or wanted not in project.models:
        raise StateError(
            f"{name} names {'several versions' if len(meant) > 1 else 'no version'} of a model",
            why=f"built were: {', '.join(meant or known) or 'none'}",
            fix="write model@version, with as much of the version as tells it from the others",
        )
    model, version = project.models[wanted], meant[0]
    entries = by_version(control.ledger.entries([wanted], kinds=DECIDING)).get((wanted, version), [])
    have, head = version_coverage(entries, log, model=wanted, version=version, audits=audits_digest(model))
    if not have.built:
        raise StateError(f"nothing of {wanted}@{version} is built", fix="build it, or name another version")
    pointer = Pointer(
        model=wanted,
        time_column=model.time_column,
        timestamps=model.cadence is Cadence.HOURLY,
        columns=control.versions.all()[wanted, version].columns,
        segments=Segments.of_table(version, head, have.built),
    )
    return Side(name=f"{wanted}{VERSION_SIGN}{version}", pointers={wanted: pointer})
