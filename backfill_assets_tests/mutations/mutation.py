"""What is broken, and which tests have to notice?"""

from __future__ import annotations

from dataclasses import dataclass

from backfill_assets_tests.mutations.copies import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A rule that holds no more. `tests` are pure ones, under `backfill_assets_tests/unit`: each has to fail."""

    what: str
    edit: Edit
    tests: tuple[str, ...]


def broken(what: str, file: str, old: str, new: str, *tests: str) -> Mutation:
    """`file` is in `backfill_assets`."""
    return Mutation(what=what, edit=Edit(file=f"backfill_assets/{file}", old=old, new=new), tests=tests)
