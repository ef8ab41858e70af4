"""Where can a folder of data be, and what can an environment be called? Paths, URIs and the names of schemas."""

from __future__ import annotations

import os
import re
from pathlib import Path

from backfill_assets.project.object_store import is_s3, plain_uri, wrong_bucket, wrong_s3_location


def resolve_location(location: str, base: Path) -> str:
    """A path made absolute against `base`; a URI as it is, `s3a://…` as `s3://…`."""
    if "://" in location:
        return plain_uri(location)
    return str((base / Path(location).expanduser()).resolve())


_SCHEMES = ("file", "s3", "s3a", "gs", "az", "abfs", "abfss", "adl", "azure", "wasb", "wasbs", "hdfs", "viewfs", "dbfs",
            "oss", "memory")  # fmt: skip


LONGEST = 4_000
"""Bytes of a path; systems take 4,095 of the whole one."""
RESERVED = frozenset({"default", "global_temp", "information_schema", "session", "spark_catalog", "sys", "system"})
"""Schemas that Spark, Databricks or a metastore have for themselves, in lower case as catalogs compare them."""
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def plain_path(path: str) -> str:
    """A path without what says nothing: `./data//t/` is `data/t`. `..` stays, as there may be links."""
    if "://" in path:
        return path
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def wrong_environment(name: str) -> str:
    """Why an environment cannot have this name, which is that of its views' schema; empty when it can.

    >>> wrong_environment("prod"), wrong_environment("Global_Temp")
    ('', 'catalogs keep the schema `global_temp` for themselves')
    """
    folded = name.lower()
    if not _SCHEMA.fullmatch(name) or not name.isascii() or len(name) > 128:
        rule = "ASCII letters, digits and _ are allowed, no digit first, 128 characters at most"
        return f"{rule}: it is the schema of the views"
    if folded in RESERVED:
        return f"catalogs keep the schema `{folded}` for themselves"
    if folded.startswith("plan_"):
        return "names that begin with `plan_` are the schemas of open plans' candidates"
    if folded.startswith("pin_"):
        return "names that begin with `pin_` are the schemas of pinned consumers"
    return ""


def wrong_location(location: str, *, written: bool = True) -> str:
    """Why no folder can be there; empty when one can. `written`: by us; what others wrote may be a pattern to Spark, or
    have any name."""
    if not location.strip():
        return "it is empty"
    scheme, separator, rest = location.partition("://")
    if separator:
        if scheme.lower() not in _SCHEMES:
            return f"`{scheme}://` is none of {', '.join(f'{s}://' for s in _SCHEMES[:8])} …"
        if not rest.strip("/"):
            return "the URI names no place"
        if is_s3(location):
            return wrong_s3_location(location) if written else wrong_bucket(location)
        return ""
    try:
        Path(location).expanduser()
    except RuntimeError:
        return "there is no such user's home"
    if len(os.fsencode(location)) > LONGEST:
        return f"the path is longer than {LONGEST:,} bytes"
    return (
        "a part of the path is longer than 255 bytes"
        if any(len(os.fsencode(p)) > 255 for p in Path(location).parts)
        else ""
    )
