"""Did a Python model's function give a DataFrame of Spark? What else it gave is told, with the function's line."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backfill_assets.core.errors import BuildError, Problem
from backfill_assets.core.model import Model

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def frame_of(made: Any, model: Model, root: Path) -> DataFrame:
    """What the model's function returned, when it is a DataFrame, also of Spark Connect. Raises BuildError else."""
    from pyspark.sql import DataFrame

    if isinstance(made, DataFrame):
        return made
    what, fix = _told(made, model)
    place = Problem(file=model.path, line=_line(model), what="").place(root)
    raise BuildError(
        f"`{model.name}` returns {what} ({place})",
        why="a batch is written by Spark: the function has to return a DataFrame of it",
        fix=fix,
    )


def _told(made: Any, model: Model) -> tuple[str, str]:
    kind = type(made)
    library = kind.__module__.partition(".")[0]
    upstream = next((u.parameter or u.name for u in model.upstreams), "upstream")
    make = f"return `{upstream}.sparkSession.createDataFrame(…)` of it"
    if made is None:
        return "None", "end each way through the function with `return` and the frame"
    if kind.__name__ == "GroupedData":
        return "groups without a result (GroupedData)", "say what is computed of each group: `.agg(…)`"
    if kind.__module__.startswith("pyspark.pandas"):
        return "a DataFrame of pandas on Spark", "return `….to_spark()` of it"
    if library in ("pyspark", "builtins"):
        article = "an" if kind.__name__[0] in "aeiou" else "a"
        fix = make if isinstance(made, list | tuple) else "return the frame itself"
        return f"{article} {kind.__name__}, not a DataFrame", fix
    return f"a {library} {kind.__name__}, not Spark's", make


def _line(model: Model) -> int:
    """The line of the function in its file; 0 where the text is another's."""
    nodes = ast.walk(ast.parse(model.code))
    return next((n.lineno for n in nodes if isinstance(n, ast.FunctionDef) and n.name == model.name), 0)
