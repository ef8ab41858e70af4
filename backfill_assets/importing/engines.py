"""Of which engine is a dialect of SQL?"""

from __future__ import annotations

SAME_ENGINE = ("spark", "databricks", "spark2", "hive")
"""Dialects whose functions are Spark's."""


def engine_of(dialect: str) -> str:
    """What a dialect is called, without its settings, in lower case.

    >>> engine_of("Snowflake, normalization_strategy = case_sensitive")
    'snowflake'
    """
    return dialect.split(",")[0].strip().lower()
