"""What do all builds of one run share?"""

from __future__ import annotations

import threading
import time
from collections import ChainMap
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from backfill_assets.build.engine import Engine
from backfill_assets.build.events import Listener, silence
from backfill_assets.build.hold import Hold
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pin import Pin, Pins
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.copied import Copied
from backfill_assets.plan.frozen import Frozen, alike
from backfill_assets.plan.ids import Ids
from backfill_assets.plan.patch import Patch
from backfill_assets.state.control import Control
from backfill_assets.state.tables import TableLog


def _always() -> None:
    """Where nobody else may begin."""


def _no_lease(model: str, version: str) -> AbstractContextManager[Callable[[], None]]:
    """Where the tables' own logs keep writers apart."""
    return nullcontext(_always)


def _alone(model: str, version: str, interval: Interval) -> AbstractContextManager[bool]:
    """Where there is no other process."""
    return nullcontext(True)


def _nothing(_: Engine) -> None:
    """Where an engine cannot die."""


@dataclass(slots=True)
class DeadEngines:
    """The engines of a run that died."""

    engines: list[Engine] = field(default_factory=list[Engine])
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """Everything that builds of one run share. `engine` opens the Spark session when it is first called, and only then.

    `pins` are the frozen source snapshots. `sleep` takes seconds; tests give one that does not wait.
    """

    project: Project
    control: Control
    log: TableLog
    engine: Callable[[], Engine]
    pins: Pins
    run: str
    environment: str
    now: datetime
    """Decides which intervals are over. It is no later than the pins: rows of an open interval are read through it."""
    ignore_cron: bool = False
    """Whether an open interval needs the open ones of its upstreams as well."""
    patches: Mapping[str, Patch] = field(default_factory=dict[str, Patch])
    """What is built in a revision instead of the code's version."""
    ids: Ids | None = None
    """The keys that the plan froze, where a patch's scope is of keys."""
    planned: Mapping[str, tuple[Interval, ...]] = field(default_factory=dict[str, tuple[Interval, ...]])
    """The batches of the plan that is carried out, by model."""
    copies: Mapping[str, Copied] = field(default_factory=dict[str, Copied])
    """What of the plan that is carried out is copied instead of being computed, by model."""
    declared: Mapping[str, Model] = field(default_factory=dict[str, Model])
    """Models as their files say: those of `project` begin and end with what they read."""
    frozen: tuple[Frozen, ...] = ()
    """What some intervals read of sources instead of `pins`: what is left of an older plan."""
    shown: Mapping[str, Pointer] | None = None
    """What corrections inputs are read with: those of these pointers (None: of what the environment shows)."""
    forget: Callable[[Engine], None] = _nothing
    """Let go of an engine that died: the next call of `engine` opens another."""
    dead_engines: DeadEngines = field(default_factory=DeadEngines)
    beating: Callable[[], AbstractContextManager[None]] = nullcontext
    """Gives signs of life for the run while its block runs."""
    heard: Callable[[], None] = _always
    """Raises StateError when others may take the run for stopped: asked before each write."""
    only_builder: Callable[[str, str, Interval], AbstractContextManager[bool]] = _alone
    """Whether no other process builds some of an interval of a model's version while the block runs. It is not waited
    for."""
    lease: Callable[[str, str], AbstractContextManager[Callable[[], None]]] = _no_lease
    """That this process writes to a model's version while the block runs, where only one may. What it gives makes that
    known in the table, before a row is written. Both raise StateError when another process writes there."""
    listen: Listener = silence
    hold: Hold = field(default_factory=Hold)
    """What is asked before each batch."""
    sleep: Callable[[float], None] = time.sleep
    stop: threading.Event = field(default_factory=threading.Event)
    """Set it to stop: what runs is interrupted, what waits is not begun, what is done is kept."""

    def may_begin(self) -> bool:
        """Wait until a batch may begin; False where none begins any more."""
        return self.hold.may_begin(self.stop, self.listen)

    def pointers(self) -> Mapping[str, Pointer]:
        """What is shown, as builds see it."""
        return self.control.environments.read(self.environment).pointers if self.shown is None else self.shown

    def read_alike(self, name: str, intervals: Ranges) -> list[tuple[Ranges, Pins]]:
        """The intervals of a model by what they read of sources: all of `pins` but what is frozen for them."""
        return [
            (part, _over(own, self.pins) if own else self.pins) for part, own in alike(self.frozen, name, intervals)
        ]

    def sources(self, name: str, interval: Interval) -> Pins:
        """What an interval of a model reads of sources. All of it is read alike."""
        return self.read_alike(name, Ranges((interval,)))[0][1]

    def version(self, name: str) -> str:
        """The version of a model that is built."""
        return self.patches[name].version if name in self.patches else self.project.fingerprints[name]


def _over(own: Pins, others: Pins) -> Pins:
    """The pins of some sources before those of all. What is not there is asked of the others: they may say why."""
    return ChainMap(cast("dict[str, Pin]", own), cast("dict[str, Pin]", others))
