"""How is a model's history changed, and what has to hold afterwards? Chosen from the change, unless somebody says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from backfill_assets.core.errors import UsageError
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.patch import Patch


class Strategy(StrEnum):
    """The ways, each with its own proof."""

    FULL_REBUILD = "full-rebuild"
    """Every interval again, in a table of its own."""
    COLUMN_ENRICHMENT = "column-enrichment"
    """New columns beside old ones, which stay what they were."""
    PARTITION_REPAIR = "partition-repair"
    """Some published intervals again; their neighbours are not touched."""
    FORWARD_ONLY = "forward-only"
    """New logic from a day on, older rows stay."""
    COLUMN_RENAME = "column-rename"
    """The rows that are shown, copied under other names of columns to a table of its own."""
    VIEW_ONLY = "view-only"
    """The view lists other columns of the same tables."""
    REVERT = "revert"
    """Back to what an earlier release showed, from its own tables."""
    DUAL_RUN = "dual-run"
    """Built and compared beside what is shown, which goes on; a later plan moves it."""


PROOF: Mapping[Strategy, str] = {
    Strategy.FULL_REBUILD: "every day is computed again, audited, and compared with what is shown",
    Strategy.COLUMN_ENRICHMENT: "only columns come on top: rows and old columns must be what they were, day by day",
    Strategy.PARTITION_REPAIR: "only these days are computed again, all others stay the same files at the same commit",
    Strategy.FORWARD_ONLY: "the new logic begins with that day, older days stay the same files at the same commit",
    Strategy.COLUMN_RENAME: "signatures prove the same rows and values under other names: what is shown is copied, the"
    " rest computed, all of it audited and compared",
    Strategy.VIEW_ONLY: "all days stay the same files at the same commit; what the view does not list is still in them",
    Strategy.REVERT: "tables of an earlier release are used again, what they lack is built; all days are compared",
    Strategy.DUAL_RUN: "what is shown stays; both can be compared for as long as you like",
}


def strategies(
    changes: Mapping[str, TableChange],
    patches: Mapping[str, Patch],
    asked: Mapping[str, str],
    *,
    reverted: Collection[str] = (),
    listing: Collection[str] = (),
    renamed: Collection[str] = (),
) -> dict[str, Strategy]:
    """Model → strategy, of the patched models and of those that changed. `asked` are the author's choices, by model,
    `reverted` the models whose code is that of an earlier release again, `listing` those whose view changes alone,
    `renamed` those that are what is shown under other names.

    Raises UsageError for a model that the plan is not about, and for a strategy that does not fit the change.
    """
    found = {name: _way(change) for name, change in changes.items() if change.category is not Category.UNCHANGED}
    found |= dict.fromkeys(renamed, Strategy.COLUMN_RENAME)
    found |= {name: Strategy.REVERT for name in reverted if name in found}
    found |= dict.fromkeys(listing, Strategy.VIEW_ONLY)
    for name, patch in patches.items():
        restated = patch.version != logic_of(patch.version)
        found[name] = Strategy.PARTITION_REPAIR if restated else Strategy.FORWARD_ONLY
    for name, wanted in asked.items():
        if name not in found:
            raise UsageError(
                f"--strategy {name}={wanted} names no model that this plan changes",
                why=f"what changes is: {', '.join(found) or 'nothing'}",
                fix="check the name, or select the model",
            )
        found[name] = _chosen(name, wanted, found[name])
    return found


def _way(change: TableChange) -> Strategy:
    return Strategy.COLUMN_ENRICHMENT if change.category is Category.ADDITIVE else Strategy.FULL_REBUILD


def alternatives(fitting: Strategy) -> tuple[Strategy, ...]:
    """What `--strategy` may ask for instead of what fits a change.

    >>> [str(way) for way in alternatives(Strategy.COLUMN_ENRICHMENT)]
    ['dual-run', 'full-rebuild']
    """
    if fitting in (Strategy.PARTITION_REPAIR, Strategy.FORWARD_ONLY, Strategy.VIEW_ONLY):
        return ()
    whole = fitting in (Strategy.COLUMN_ENRICHMENT, Strategy.COLUMN_RENAME)
    return (Strategy.DUAL_RUN, Strategy.FULL_REBUILD) if whole else (Strategy.DUAL_RUN,)


def _chosen(name: str, wanted: str, fitting: Strategy) -> Strategy:
    free = [fitting, *alternatives(fitting)]
    if wanted in free:
        return Strategy(wanted)
    why = {
        Strategy.COLUMN_ENRICHMENT.value: "more than new columns differs from what is shown",
        Strategy.COLUMN_RENAME.value: "nothing proves that it is what is shown under other names",
        Strategy.PARTITION_REPAIR.value: "it is about certain days: --restate MODEL:DAY..DAY",
        Strategy.FORWARD_ONLY.value: "it is about a first day: --forward-only DAY",
    }
    raise UsageError(
        f"{name} cannot be changed by {wanted}",
        why=why.get(
            wanted, "the plan is about parts of history" if wanted in list(Strategy) else "there is no such way"
        ),
        fix=f"possible here: {', '.join(free)}",
    )
