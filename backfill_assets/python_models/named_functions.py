"""Which function of Spark does a call of PySpark name? `F.now()` and `F.call_function("now")` are one."""

from __future__ import annotations

import ast

from backfill_assets.python_models.names import Names

SPARK = "pyspark."
_CALL_BY_NAME = ("call_function", "call_udf")


def functions_of(dotted: str, call: ast.Call, names: Names) -> tuple[list[str] | None, list[ast.expr]]:
    """The functions that a call of a full name of PySpark may be of, and their arguments; None: nobody can read them.

    A function that is called by its name may be written in any letters, with its catalog and schema.
    """
    given = [*call.args, *(k.value for k in call.keywords)]
    last = dotted.rpartition(".")[2]
    if last not in _CALL_BY_NAME or not given:
        return [last], given
    texts = names.texts(given[0])
    return None if texts is None else [t.rpartition(".")[2].strip("` ").lower() for t in texts], given[1:]
