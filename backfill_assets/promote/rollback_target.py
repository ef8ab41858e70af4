"""What is gone back to? A named release, the one before the last change, or what was before the first: nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from backfill_assets.core.errors import PromotionError
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.select import one_of
from backfill_assets.state.environment import Environment
from backfill_assets.state.last_change import Change, last_change, last_rollback
from backfill_assets.state.releases import NOTHING_SHOWN, Release, before_all, find_release, shown_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is gone back to."""

    older: Release
    then: Mapping[str, Pointer]
    """What it showed, by model."""
    chosen: tuple[str, ...]
    """The models that are to go back; empty: all."""
    exact: bool
    """Whether also what routine runs alone have settled since goes back."""
    done: Change | None = None
    """The rollback to it that was the last change, where no release was named: one that is named undoes it."""


def rollback_target(
    project: Project,
    seen: Environment,
    releases: Sequence[Release],
    *,
    release: str | None,
    select: Sequence[str],
    exact: bool,
) -> Target:
    """What `propose_rollback` goes back to by its arguments of these names."""
    known = sorted({m.model for r in releases for m in r.moves} | set(seen.pointers))
    chosen = tuple(one_of(known, name) for part in select for name in part.replace(",", " ").split())
    if release == NOTHING_SHOWN:
        _refuse_code(project, seen, chosen)
        return Target(older=before_all(seen.name), then={}, chosen=chosen, exact=True)
    asked, back = find_older(releases, release, chosen), last_rollback(releases, chosen)
    if back is None or asked != back.before:
        then = shown_at(seen.pointers, releases, asked)
        return Target(older=asked, then=then, chosen=chosen, exact=exact or bool(chosen))
    done = back if release is None else None
    older = find_release(releases, back.last.back_to) if done else asked
    then = shown_at(seen.pointers, releases, older)
    return Target(older=older, then=then, chosen=chosen, exact=bool(chosen), done=done)


def find_older(releases: Sequence[Release], name: str | None, models: Collection[str] = ()) -> Release:
    """The release to go back to: the named one, or the one before the last change.

    `models` says of which of them (empty: of any). Raises PromotionError when there is none.
    """
    if name is not None:
        return find_release(releases, name)
    if (change := last_change(releases, models)) is not None:
        return change.before
    about = f" of {', '.join(models)}" if models else ""
    raise PromotionError(
        f"there is no older release{about} to go back to",
        why="its first release is what is shown, and new intervals" if releases else "there was no release yet",
        fix="see `backfill releases`",
    )


def _refuse_code(project: Project, seen: Environment, chosen: Sequence[str]) -> None:
    """Raise PromotionError unless all that nobody is to see any more is named, and is no model of the code."""
    if not chosen:
        raise PromotionError(
            f"{seen.name} is not emptied",
            why="no model is named, and all of them would go",
            fix=f"name those that are to go: backfill rollback {NOTHING_SHOWN} --select MODEL",
        )
    if there := [name for name in chosen if name in project.models]:
        raise PromotionError(
            f"{', '.join(there)} cannot be taken out of {seen.name}",
            why="the code has it: it would be promoted again, and whoever reads the code takes it to be there",
            fix="delete its file first; or go back to an older release of it, see `backfill releases`",
        )
