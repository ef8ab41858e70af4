"""What does reading a project take from the records of a warehouse? The versions that its models' overrides name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from backfill_assets.core.model import Model, Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What another version is compared with."""

    signature: Signature
    cadence: str
    time_column: str
    time_zone: str = ""
    named_by: int = 0
    """The algorithm that its version's name is of; 0: nobody asked."""
    columns: tuple[str, ...] = ()
    """Those of its table, lower-cased."""


Records = Mapping[tuple[str, str], Recorded]
"""By model and version."""
ReadRecords = Callable[[str], Records]
"""The versions of a warehouse; asked only when some model has an override."""


def recorded_as(model: Model, own: Signature, records: Records) -> Signature:
    """A Python model's signature as a version recorded it that was built from all the same; its own when there is none.

    How a model is told apart without executing its code.
    """
    if not own.whole:
        return own
    same = (r.signature for (name, _), r in records.items() if name == model.name and r.signature.whole == own.whole)
    return next(same, own)


def no_records(warehouse: str) -> Records:
    """Of a warehouse in which nothing was built."""
    return {}


def named(models: Mapping[str, Model], records: Records) -> Records:
    """What the models' overrides depend on."""
    versions = {m.same_as.version for m in models.values() if m.same_as}
    return {key: found for key, found in records.items() if key[1] in versions}
