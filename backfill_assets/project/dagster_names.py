"""What may a project be called by in Dagster? Prefixes that its keys, names and tags can begin with."""

from __future__ import annotations

import re
from collections.abc import Sequence

from backfill_assets.core.settings import DagsterNames

APPLY_STEP = "build_what_is_missing"
"""The step of the job `apply`, under which its configuration is."""
LONGEST = 40
"""Characters of a prefix: keys of tags may have 63 in all."""
_NAME = re.compile(r"[A-Za-z0-9_]+")


def with_prefixes(
    names: DagsterNames,
    *,
    key_prefix: str | Sequence[str] | None = None,
    job_prefix: str | None = None,
    existing_assets: Sequence[str] | None = None,
) -> DagsterNames:
    """The names, with what is given in the place of what they say. Raises ValueError for what Dagster would refuse.

    >>> with_prefixes(DagsterNames(job_prefix="eu_"), key_prefix="marketing/eu").key_prefix
    ('marketing', 'eu')
    """
    return DagsterNames(
        key_prefix=names.key_prefix if key_prefix is None else key_parts(key_prefix),
        job_prefix=names.job_prefix if job_prefix is None else name_prefix(job_prefix),
        existing_assets=names.existing_assets if existing_assets is None else tuple(existing_assets),
    )


def job_text(names: DagsterNames, command: str) -> str:
    """How a message tells which job does what a command does.

    >>> job_text(DagsterNames(job_prefix="eu_"), "apply")
    'the job `eu_apply`'
    """
    return f"the job `{names.job_prefix}{command}`"


def key_parts(prefix: str | Sequence[str]) -> tuple[str, ...]:
    """The parts of a prefix of keys: a list, or as Dagster shows it, `marketing/eu`. Raises ValueError."""
    parts = tuple(prefix.split("/") if prefix else ()) if isinstance(prefix, str) else tuple(prefix)
    for part in parts:
        if not _NAME.fullmatch(part) or not part.isascii():
            raise ValueError(f"{part!r} is not a part of a key: ASCII letters, digits and _ are allowed")
    if len("/".join(parts)) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} characters")
    return parts


def name_prefix(prefix: str) -> str:
    """A prefix of names. Raises ValueError."""
    if prefix and (not _NAME.fullmatch(prefix) or not prefix.isascii() or len(prefix) > LONGEST):
        raise ValueError(f"{prefix!r}: ASCII letters, digits and _ are allowed, {LONGEST} characters at most")
    return prefix
