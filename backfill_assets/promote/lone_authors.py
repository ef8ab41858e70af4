"""For whom may nobody but a plan's author approve? Then nobody can: an author may not approve the own plan."""

from __future__ import annotations

from collections.abc import Collection

from backfill_assets.state.approval_validity import only_authors
from backfill_assets.state.rules import Rules

WAY_OUT = (
    "let another account make the plan, or list somebody else for {0} in approvals.owners of backfill.yml"
    " (backfill rules change, by another account as well)"
)


def lone_author_words(owners: Collection[str], rules: Rules, authors: Collection[str]) -> tuple[str, ...]:
    """A sentence that says so before anything is built, of the `owners` whom a plan asks; none where all can be."""
    stuck = [owner for owner in owners if only_authors(owner, rules, authors)] if rules.approvals.required else []
    if not stuck:
        return ()
    names = ", ".join(stuck)
    return (f"{lone(names)}, and may not: {WAY_OUT.format(names)}",)


def lone(owners: str) -> str:
    """The sentence that only the plan's author could approve for these owners."""
    return f"nobody but the plan's author may approve for {owners}"
