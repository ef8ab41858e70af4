"""Who decides which of two Spark drivers gets a commit in S3? The store, asked by a log store of ours.

Delta's own looks whether the entry is there and writes it then, so that the later of two takes the place of the other;
Hadoop's client makes a conditional write only for who asks by its builder (decision 0050). It is one class of Java,
`log_store/`, whose source lies beside the jar.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.adapters.own_jar import OwnJar
from backfill_assets.core.errors import SettingsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_STORE_JAR = OwnJar(
    Path(__file__).with_name("log_store") / "conditional-log-store.jar",
    "90395d56ec0a5b2c0123935de2b6de2465c1be9b22df6ae0bb4870d1aa08b51e",
)
LOG_STORE = "backfill_assets.ConditionalLogStore"
WRITER = "backfill.writer"
"""The property of a table, and the setting of a session, that name the process which may write. The log store knows it
by the same name."""
_KEYS = ("spark.delta.logStore.s3.impl", "spark.delta.logStore.s3a.impl")
_CLASS = "spark.delta.logStore.class"
_DELTAS_OWN = "S3SingleDriverLogStore"


def log_store_settings(conf: Mapping[str, str]) -> dict[str, str]:
    """What a session is told so that it commits by the log store; nothing where `conf` names one of its own.

    >>> log_store_settings({"spark.delta.logStore.s3.impl": "io.delta.storage.S3DynamoDBLogStore"})
    {}
    """
    return {} if chosen(conf) else dict.fromkeys(_KEYS, LOG_STORE)


def chosen(conf: Mapping[str, str]) -> str:
    """The log store that a configuration names for S3; "" when it names none, which is Delta's own."""
    return next((said for key in (_CLASS, *_KEYS) if (said := conf.get(key, ""))), "")


def check_log_store(session: SparkSession, warehouse: str) -> None:
    """Raise SettingsError where a session's commits in a bucket could take the place of another's."""
    named = chosen({key: session.conf.get(key, "") or "" for key in (_CLASS, *_KEYS)})
    if named and not named.endswith(_DELTAS_OWN):
        return
    raise SettingsError(
        f"this Spark session may not write to {warehouse}",
        why="its commits could take the place of another process's, as those of Delta's own log store do",
        fix=f"give Spark {LOG_STORE_JAR.path.name} (it is in {LOG_STORE_JAR.path.parent}) and "
        + ", ".join(f"{key}={LOG_STORE}" for key in _KEYS),
    )
