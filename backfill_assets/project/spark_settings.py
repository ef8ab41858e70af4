"""Which Spark settings decide rows? All but those that are known not to. And which are the same in every session?"""

from __future__ import annotations

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
_OF_QUERIES = (
    "spark.sql.ansi.", "spark.sql.caseSensitive", "spark.sql.storeAssignmentPolicy", "spark.sql.timestampType",
    "spark.sql.legacy.", "spark.sql.parser.", "spark.sql.groupBy", "spark.sql.orderByOrdinal",
    "spark.sql.mapKeyDedupPolicy", "spark.sql.decimalOperations.", "spark.sql.session.", "spark.sql.collation.",
    "spark.sql.charAsVarchar", "spark.sql.readSideCharPadding", "spark.sql.preserveCharVarcharTypeInfo",
    "spark.sql.files.ignore", "spark.sql.sources.partitionColumnTypeInference.", "spark.sql.json", "spark.sql.csv.",
    "spark.sql.parquet.mergeSchema", "spark.sql.parquet.binaryAsString", "spark.sql.parquet.int96",
    "spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.inferTimestampNTZ.", "spark.sql.parquet.fieldId.",
    "spark.sql.orc.mergeSchema", "spark.sql.avro.datetimeRebaseModeInRead", "spark.sql.execution.pandas.",
    "spark.sql.execution.pythonUDF.",
)  # fmt: skip
"""How the names of settings begin that are known to decide rows. A version is of all that are not known to be harmless,
where a project has them; a folder for all of a company's sessions has many that nobody here knows."""
_OF_NONE = ("spark.sql.legacy.createHiveTableByDefault", "spark.sql.legacy.bucketedTableScan.")
SPARKS_OWN = {
    "spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "false", "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION", "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false", "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.parquet.mergeSchema": "false", "spark.sql.sources.partitionColumnTypeInference.enabled": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ", "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.groupByOrdinal": "true", "spark.sql.orderByOrdinal": "true",
}  # fmt: skip
"""What Spark 4 has of settings that decide rows where nobody sets them: what a version is of that says nothing."""
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


def of_no_version(conf: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """What a configuration's folder says of how queries compute rows, and neither a project's own settings nor every
    session: no version's name would have it.

    >>> of_no_version({"spark.sql.ansi.enabled": "true", "spark.sql.shuffle.partitions": "4"}, {})
    []
    >>> of_no_version({"spark.sql.ansi.enabled": "false", "spark.sql.caseSensitive": "true"}, {
    ...     "spark.sql.caseSensitive": "true"})
    ['spark.sql.ansi.enabled']
    """
    return sorted(
        name
        for name, value in settings_that_count(conf).items()
        if name.startswith(_OF_QUERIES) and not name.startswith(_OF_NONE)
        if name not in own and name not in SESSION and value.upper() != SPARKS_OWN.get(name, "").upper()
    )


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
"""What results depend on, whatever a configuration or a model says."""
_OTHER_ZONES = (
    "which days and hours are over is told by it. For days of a place give the model a `time_zone`, such as "
    "America/New_York; convert other instants in the query, as by from_utc_timestamp(at, 'America/New_York')"
)


def wrong_setting(settings: Mapping[str, str]) -> str:
    """Why a project or a model cannot have these settings; empty when it can.

    >>> wrong_setting({"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4"})
    ''
    >>> wrong_setting({"spark.sql.variable.substitute": "true"})
    '`spark.sql.variable.substitute` is false in every session'
    """
    for name, fixed in SESSION.items():
        if (value := settings.get(name)) is not None and value not in (fixed, fixed.title()):
            own = f": {_OTHER_ZONES}" if name == SESSION_ZONE else ""
            return f"`{name}` is {fixed} in every session{own}"
    return ""


def of_a_version(settings: Mapping[str, str]) -> dict[str, str]:
    """What a version's session has by its definition. One of an earlier release may have a time zone of its own, which
    its rows are computed by for as long as it is shown; nothing else of what every session has.

    >>> of_a_version({"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.variable.substitute": "true"})
    {'spark.sql.session.timeZone': 'Asia/Tokyo'}
    """
    return {name: value for name, value in settings.items() if name == SESSION_ZONE or name not in SESSION}


def is_region(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True
