"""How do names, reasons and values get into Dagster's logs? As text that no terminal obeys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from backfill_assets.core.escaping import visible
from backfill_assets.plan.stages import PlanWarning


@dataclass(frozen=True, slots=True)
class Log:
    """The log of a step or a run: escape sequences and characters that turn the direction of text are shown."""

    step: Any
    """Whatever has a `log` of Dagster's."""

    def info(self, text: str) -> None:
        self.step.log.info(visible(text))

    def warning(self, text: str) -> None:
        self.step.log.warning(visible(text))


def log_warnings(log: Log, warnings: Sequence[PlanWarning]) -> None:
    """A line each."""
    for one in warnings:
        log.warning(f"{one.place}: {one.what}. {one.why}; {one.fix}")
