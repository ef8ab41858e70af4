"""Which Spark settings decide rows? All but those that are known not to. And which values can they not have?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

_HARMLESS = (
    # Resources, places, what is shown, credentials.
    "spark.app.", "spark.master", "spark.submit.", "spark.driver.", "spark.executor.", "spark.cores.", "spark.task.",
    "spark.memory.", "spark.local.", "spark.ui.", "spark.eventLog.", "spark.history.", "spark.jars", "spark.scheduler.",
    "spark.dynamicAllocation.", "spark.speculation", "spark.locality.", "spark.network.", "spark.rpc.", "spark.port.",
    "spark.shuffle.", "spark.reducer.", "spark.io.", "spark.serializer", "spark.kryo", "spark.rdd.", "spark.cleaner.",
    "spark.broadcast.", "spark.storage.", "spark.yarn.", "spark.kubernetes.", "spark.log", "spark.metrics.",
    "spark.redaction.", "spark.remote",
    "spark.hadoop.fs.", "spark.default.parallelism", "spark.checkpoint.", "spark.stage.", "spark.excludeOnFailure.",
    "spark.sql.warehouse.dir", "spark.sql.ui.", "spark.sql.catalogImplementation",
    # How a query is carried out.
    "spark.sql.shuffle.", "spark.sql.adaptive.", "spark.sql.autoBroadcastJoinThreshold", "spark.sql.broadcastTimeout",
    "spark.sql.codegen.", "spark.sql.inMemoryColumnarStorage.", "spark.sql.cbo.", "spark.sql.statistics.",
    "spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes", "spark.sql.files.minPartitionNum",
    "spark.sql.files.maxPartitionNum", "spark.sql.files.maxRecordsPerFile",
    "spark.sql.sources.parallelPartitionDiscovery.",
    "spark.sql.sources.bucketing.", "spark.sql.parquet.compression.", "spark.sql.parquet.enableVectorizedReader",
    "spark.sql.parquet.filterPushdown", "spark.sql.orc.compression.", "spark.sql.join.preferSortMergeJoin",
    "spark.sql.execution.arrow.", "spark.sql.debug.", "spark.sql.maxPlanStringLength",
    # Files of Delta tables.
    "spark.databricks.delta.snapshotPartitions", "spark.databricks.delta.delta.log.cache",
    "spark.databricks.delta.optimizeWrite.",
    "spark.databricks.delta.autoCompact.", "spark.databricks.delta.stalenessLimit",
    "spark.databricks.delta.retentionDurationCheck.", "spark.databricks.delta.properties.defaults.",
)  # fmt: skip
_VALUES_ONLY = frozenset({
    "spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles", "spark.sql.mapKeyDedupPolicy",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.parquet.mergeSchema", "spark.sql.sources.partitionColumnTypeInference.enabled",
})  # fmt: skip


def spark_conf(values: Mapping[Any, Any]) -> dict[str, str]:
    """Spark settings as Spark wants them: YAML's `true` is the text `true`."""
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in values.items()}


def settings_that_count(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that may decide rows: they are a part of a version's name.

    >>> settings_that_count({"spark.sql.shuffle.partitions": "4", "spark.sql.files.ignoreCorruptFiles": "true"})
    {'spark.sql.files.ignoreCorruptFiles': 'true'}
    """
    return {name: value for name, value in settings.items() if not name.startswith(_HARMLESS)}


def read_as_usual(settings: Mapping[str, str]) -> bool:
    """Whether a query's text means under these settings what it means without them: names, literals, ordinals.

    >>> read_as_usual({"spark.sql.session.timeZone": "UTC"}), read_as_usual({"spark.sql.caseSensitive": "true"})
    (True, False)
    """
    return settings_that_count(settings).keys() <= _VALUES_ONLY


SESSION_ZONE = "spark.sql.session.timeZone"
SESSION = {
    SESSION_ZONE: "UTC",
    # Delta's parser drops the named parameters of Spark >= 4.1 (delta-io/delta #7640): bind them in the analyzer.
    "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
    # `'${env:HOME}'` in a query would be the account's home, and `'${name}'` nothing at all.
    "spark.sql.variable.substitute": "false",
}
"""What results depend on, whatever the configuration says; a model may choose a time zone of its own."""
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?[-+](\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2}))?")
_SHORT = frozenset(
    ("Z", "UTC", "GMT", "UT", "ACT", "AET", "AGT", "ART", "AST", "BET", "BST", "CAT", "CNT", "CST", "CTT", "EAT", "ECT",
     "EST", "HST", "IET", "IST", "JST", "MIT", "MST", "NET", "NST", "PLT", "PNT", "PRT", "PST", "SST", "VST")
)  # fmt: skip
"""What Java knows beside regions and offsets."""


def wrong_setting(settings: Mapping[str, str]) -> str:
    """Why Spark would stop at these settings, or read something else into them; empty when it would not.

    >>> wrong_setting({"spark.sql.session.timeZone": "Europe/Berlin"})
    ''
    >>> wrong_setting({"spark.sql.session.timeZone": "Berlin"})
    '`spark.sql.session.timeZone` is no time zone: write UTC, Europe/Berlin or "+02:00"'
    """
    zone = settings.get(SESSION_ZONE)
    if zone is None or _is_zone(zone):
        return ""
    return f'`{SESSION_ZONE}` is no time zone: write UTC, Europe/Berlin or "+02:00"'


def overridden(settings: Mapping[str, str]) -> str:
    """Why a project's settings would have no effect on its session; empty when they have.

    >>> overridden({"spark.sql.session.timeZone": "UTC"})
    ''
    >>> overridden({"spark.sql.session.timeZone": "Europe/Berlin"})
    '`spark.sql.session.timeZone` is UTC in every project: a model that needs another one says so in its header'
    >>> overridden({"spark.sql.variable.substitute": "true"})
    '`spark.sql.variable.substitute` is false in every project'
    """
    for name, fixed in SESSION.items():
        if (value := settings.get(name)) is not None and value.lower() != fixed.lower():
            own = ": a model that needs another one says so in its header" if name == SESSION_ZONE else ""
            return f"`{name}` is {fixed} in every project{own}"
    return ""


def _is_zone(name: str) -> bool:
    if (offset := _OFFSET.fullmatch(name)) is not None:
        hours, minutes, seconds = (int(part or 0) for part in offset.groups())
        return minutes < 60 and seconds < 60 and (hours, minutes, seconds) <= (18, 0, 0)
    return name in _SHORT or is_region(name) or not is_region("Europe/Berlin")  # no time zones on this machine


def is_region(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True
