"""How do names, reasons and values get into Dagster's logs? As text that no terminal obeys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from backfill_assets.core.escaping import visible


@dataclass(frozen=True, slots=True)
class Log:
    """The log of a step or a run: escape sequences and characters that turn the direction of text are shown."""

    step: Any
    """Whatever has a `log` of Dagster's."""

    def info(self, text: str) -> None:
        self.step.log.info(visible(text))

    def warning(self, text: str) -> None:
        self.step.log.warning(visible(text))
