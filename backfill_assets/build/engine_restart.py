"""What if the engine dies? Another one is opened, once a run; what was under way is done again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from backfill_assets.build.bench import Workbench
from backfill_assets.build.engine import Engine
from backfill_assets.build.events import EngineRestarted
from backfill_assets.core.errors import EngineDiedError, RunEndedError, SettingsError

T = TypeVar("T")
MOST_RESTARTS = 1
"""How often another engine is opened in a run. One death may be an accident; two are a batch that is too big for it."""


def on_engine(bench: Workbench, model: str, do: Callable[[Engine], T], *, again: bool = True) -> T:
    """What `do` gives on the run's engine, and on another one if that one dies meanwhile.

    `again=False`: the other one is opened, and EngineDiedError raised, for who has to look first what is done.
    Raises RunEndedError when the other one dies as well, or cannot be opened.
    """
    while True:
        engine = _engine(bench)
        try:
            return do(engine)
        except EngineDiedError as error:
            _replace_engine(bench, model, engine, error)
            if not again:
                raise


def _engine(bench: Workbench) -> Engine:
    try:
        return bench.engine()
    except SettingsError as error:
        if not bench.dead_engines.engines:
            raise
        fix = f"{error.fix}; then run the same command again: finished batches are kept"
        raise RunEndedError(error.what, why=error.why, fix=fix) from error


def _replace_engine(bench: Workbench, model: str, engine: Engine, error: EngineDiedError) -> None:
    with bench.dead_engines.lock:
        if any(engine is one for one in bench.dead_engines.engines) and _engine(bench) is not engine:
            return  # another thread has seen it
        if len(bench.dead_engines.engines) >= MOST_RESTARTS:
            raise RunEndedError(
                f"{error.what}, for the second time in this run",
                why=error.why,
                fix="raise `spark.driver.memory` (or the limit of the container), or lower the models' `batch_size:` "
                "or `batch_concurrency:`; then run the same command again: finished batches are kept",
            ) from error
        bench.dead_engines.engines.append(engine)
        if bench.stop.is_set():
            return
        bench.forget(engine)
        bench.listen(EngineRestarted(model=model, error=str(error)))
