"""What does dagster-pyspark's lazy resource give when the project has a session already? That one, as it is set up."""

from typing import Any

from dagster_pyspark import LazyPySparkResource
from pydantic import Field, PrivateAttr

from backfill_assets.app.context import Context


class EngineSession(LazyPySparkResource):
    """The engine's session under the interface of dagster-pyspark; `spark-conf/` and `spark:` configure it."""

    spark_config: dict[str, Any] = Field(default_factory=dict)
    _context: Context = PrivateAttr()

    @classmethod
    def of(cls, context: Context) -> "EngineSession":
        """The session of an open project, which is not opened yet."""
        made = cls()
        made._context = context
        return made

    def _init_session(self) -> None:
        self._spark_session = self._context.spark  # not kept: after a JVM died it is another one
