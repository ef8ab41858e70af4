"""What if the engine dies? Another one is opened, once a run; what was under way is done again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from backfill_assets.build.engine import Engine
from backfill_assets.build.events import EngineRestarted
from backfill_assets.core.errors import EngineDiedError, RunEndedError

if TYPE_CHECKING:
    from backfill_assets.build.bench import Workbench

T = TypeVar("T")
MOST_DEATHS = 1
"""Deaths after which another engine is opened. One may be an accident; two are a batch that is too big for it."""


@dataclass(slots=True)
class Deaths:
    """The engines of a run that died."""

    dead: list[Engine] = field(default_factory=list[Engine])
    lock: threading.Lock = field(default_factory=threading.Lock)


def on_engine(bench: Workbench, model: str, do: Callable[[Engine], T], *, again: bool = True) -> T:
    """What `do` gives on the run's engine, and on another one if that one dies meanwhile.

    `again=False`: the other one is opened, and EngineDiedError raised, for who has to look first what is done.
    Raises RunEndedError when the other one dies as well.
    """
    while True:
        engine = bench.engine()
        try:
            return do(engine)
        except EngineDiedError as error:
            _bury(bench, model, engine, error)
            if not again:
                raise


def _bury(bench: Workbench, model: str, engine: Engine, error: EngineDiedError) -> None:
    with bench.deaths.lock:
        if any(engine is one for one in bench.deaths.dead) and bench.engine() is not engine:
            return  # another thread has seen it
        if len(bench.deaths.dead) >= MOST_DEATHS:
            raise RunEndedError(
                f"{error.what}, for the second time in this run",
                why="it was killed, or ran out of memory, again; no model's code is to blame for the message that is "
                "left of it",
                fix="raise `spark.driver.memory` (or the limit of the container), or lower the models' `batch_size:` "
                "or `batch_concurrency:`; then run the same command again: finished batches are kept",
            ) from error
        bench.deaths.dead.append(engine)
        if bench.stop.is_set():
            return
        bench.forget(engine)
        bench.listen(EngineRestarted(model=model, error=str(error)))
