"""Texts of failures, checks and logs in Dagster: nothing of them is obeyed by a terminal, nor ends a line of ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from backfill_assets.audits.result import AuditResult
from backfill_assets.build.events import BatchFailed
from backfill_assets.core.errors import BuildError
from backfill_assets.core.escaping import UNSEEN
from backfill_assets.core.model import Audit
from backfill_assets.defs.checks import evaluations, summaries
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.runs import tell
from backfill_assets.defs.safe_log import Log
from backfill_assets_tests.fakes import NOW, World, a_model, days

HOSTILE = "\x1b]8;;https://evil.example\x07x\x1b[31m\u202egnp\nPromoted 3 models"


def test_checks() -> None:
    """Descriptions, metadata and tables of a failing audit; a sample stays on its line."""
    world = World(a_model("m", audits=(Audit(name="check", kind="sql", arguments={"file": "check"}),)))
    project, model = world.project, world.project.models["m"]
    result = AuditResult(
        model="m", version="v", batch="b", interval=days("01"), check="check", blocking=True, passed=False, failures=1,
        observed=HOSTILE, expected=HOSTILE, at=NOW, sample=(HOSTILE,),
    )  # fmt: skip
    (event,) = evaluations(project, model, [result], 1, lambda _: None)
    (summary,) = summaries(project, model, [result])
    table: Any = summary.metadata["failures"].value
    said = [event.description, *(str(v.value) for v in event.metadata.values()), summary.description]
    cells = [str(v) for record in table.records for v in record.data.values()]
    assert cells and not any(UNSEEN.search(text or "") for text in [*said, *cells])
    assert not any("\n" in cell for cell in cells)


def test_failures() -> None:
    """What we refuse, and what nobody expected."""
    for error in (BuildError(f"cannot build {HOSTILE}", why=HOSTILE), RuntimeError(HOSTILE)):
        with pytest.raises(dg.Failure) as raised, short_failures():
            raise error
        assert not UNSEEN.search(str(raised.value.description))


def test_logs() -> None:
    """A batch's error as a line of the run's log."""
    lines: list[str] = []
    log = Log(SimpleNamespace(log=SimpleNamespace(info=lines.append, warning=lines.append)))
    listen = tell(log.info, log.warning)
    listen(BatchFailed(model="m", interval=days("01"), intervals=1, error=HOSTILE, again=False))
    log.info(HOSTILE)
    assert len(lines) == 2 and not any(UNSEEN.search(line) for line in lines)
