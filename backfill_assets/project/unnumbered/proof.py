"""Are sources and settings those that a record of 4096d34 was made with? Its code gives its hash with them, or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backfill_assets.core.model import Signature
from backfill_assets.project.reading import Reading
from backfill_assets.project.unnumbered.marks import Table
from backfill_assets.project.unnumbered.model import signature_then, table_then


def why_unproved(reading: Reading, stored: Mapping[str, Mapping[str, Any]], bare: Mapping[str, object]) -> str:
    """Why the hashes of the records `bare`, by model, are others than `reading` gives by the rules of then; else empty.

    `stored` has the records of all models of `reading`. The code is theirs, so what agrees is that the sources
    (format, place, options, types) and the Spark settings are the same.
    """
    project = reading.project
    tables = {n: Table(name=n, signature=project.signatures[n]) for n in project.sources}
    for name, model in project.models.items():
        if name not in stored:
            continue
        signed: Signature = stored[name]["signed"]
        if name in bare:
            spark = {**project.settings.spark, **model.spark}
            then = signature_then(model, reading.drafts[name], reading.outputs[name], spark, tables)
            if (then.rows, then.columns) != (signed.rows, signed.columns):
                read = ", ".join(u.name for u in model.upstreams if u.name in project.sources)
                of = f"sources.yml ({read}) or " if read else ""
                return (
                    f"the hash that {name} had then does not come out of its recorded code with {of}the Spark settings"
                    " of now: those are others, or this release reads the code otherwise"
                )
        tables[name] = table_then(model, signed)
    return ""
