"""How does a user's own asset get the project's Spark session? By the resource `pyspark`, which opens it on first use.

The asset may declare it as dagster-pyspark's `LazyPySparkResource`: there is one session in a run, whoever asks first.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of its context, here `context_`.

import dagster as dg

from backfill_assets.app.context import Context

PYSPARK = "pyspark"


def spark_resource(context: Context) -> dg.ResourceDefinition:
    """The session of the engine that builds models, for assets beside them. Opens none, and imports no Spark."""

    @dg.resource(description="The Spark session that models are built in, opened when it is first used.")
    def pyspark(context_: dg.InitResourceContext) -> object:
        from backfill_assets.defs.engine_session import EngineSession

        return EngineSession.of(context)

    return pyspark
