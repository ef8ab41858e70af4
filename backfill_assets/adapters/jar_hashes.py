"""Are these the jars that were published? Delta's and Unity Catalog's, by their SHA-256, before a JVM loads them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from backfill_assets.core.errors import SettingsError

PUBLISHED: Mapping[str, str] = {
    "io.delta_delta-kernel-api-4.4.0.jar": "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    "io.delta_delta-kernel-defaults-4.4.0.jar": "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    "io.delta_delta-kernel-unitycatalog-4.4.0.jar": "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa",
    "io.delta_delta-spark_4.2_2.13-4.4.0.jar": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "io.delta_delta-storage-4.4.0.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    "io.unitycatalog_unitycatalog-client-0.6.0.jar": "48257499a86b801a3e2372cec55ac226ca1c1c7eabe5c118e7302f29a1fdbc19",
    "io.unitycatalog_unitycatalog-hadoop-0.6.0.jar": "c47b63c961c87102b9e1d63809a0915ba4c86b7652f57c8d39ca3a05b441a150",
}
"""What Maven Central has of the version that `delta-spark` is pinned to, named as Ivy's cache names it."""


def check_jars(jars: Iterable[Path]) -> None:
    """Raise SettingsError for a jar whose content is not what was published under its name; others pass."""
    for jar in jars:
        wanted = PUBLISHED.get(jar.name)
        if wanted is None:
            continue
        with jar.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != wanted:
            raise SettingsError(
                f"{jar} is not the jar that was published",
                why=f"its SHA-256 is {found}, and {wanted} was published",
                fix="remove it, then it is fetched again; where jars are put by hand, copy it again",
            )
