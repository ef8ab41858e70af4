"""Whose approval does a change of a model's rows need, and as what? By the rules in force and by the project's files.

Neither takes a question away that the other asks: an edited file adds somebody at the most.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from backfill_assets.state.rules import Rules

OWNER, VALIDATION_OWNER = "owner", "validation owner"

Roles = Mapping[str, tuple[str, ...]]
"""Name ("": anybody, the model has no owner) → as what they are asked."""


def needed_from(rules: Rules, files: Rules, model: str) -> dict[str, tuple[str, ...]]:
    """Who has to approve other rows of a model: its owners, its validation owners, the owners of asked consumers.

    `files` is what the project's files say. Owners come first; a model without one asks somebody ("").
    """
    declared = files.owners.get(model, "")
    owners = [name for name in (rules.owners.get(model, declared), declared) if name] or [""]
    validation = [name for said in (rules, files) if (name := said.validation.get(model, ""))]
    readers = [
        (reader.owner, f"owner of consumer {consumer}")
        for said in (rules, files)
        for consumer, reader in sorted(said.consumers.items())
        if reader.owner and model in reader.reads
    ]
    return merged_roles(
        [*((name, (OWNER,)) for name in owners), *((name, (VALIDATION_OWNER,)) for name in validation),
         *((name, (role,)) for name, role in readers)]
    )  # fmt: skip


def merged_roles(found: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Each name once, with all its roles."""
    joined: dict[str, tuple[str, ...]] = {}
    for name, roles in found:
        joined[name] = tuple(dict.fromkeys((*joined.get(name, ()), *roles)))
    return joined


def titled(name: str, roles: Collection[str], nobody: str = "somebody") -> str:
    """A name, and as what it is asked where that is not as the owner.

    >>> titled("ana@example.com", ("validation owner",)), titled("ana@example.com", ("owner",))
    ('ana@example.com (validation owner)', 'ana@example.com')
    """
    as_what = "" if OWNER in roles else f" ({', '.join(roles)})"
    return f"{name or nobody}{as_what}"


def everybody(rules: Rules, shown: Collection[str]) -> set[str]:
    """All whom these rules ask about one of the models."""
    return (
        {owner for model, owner in rules.owners.items() if model in shown}
        | {name for model, name in rules.validation.items() if model in shown}
        | {reader.owner for reader in rules.consumers.values() if set(reader.reads) & set(shown)}
    )
