"""What does Dagster see of a model's audits? A check each, a summary a run, and an evaluation for days worth a look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import dagster as dg
from dagster import AssetCheckEvaluation
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData as Materialized,
)

from backfill_assets.audits.judge import expected_text
from backfill_assets.audits.result import AuditResult
from backfill_assets.core.escaping import markdown_code, one_line, visible
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Audit, Model, Project
from backfill_assets.defs.links import review_link
from backfill_assets.defs.names import model_key

MOST_EVALUATED = 31
"""Runs of up to this many intervals evaluate every one; longer ones only what failed: an event costs 10 ms."""
MOST_LISTED = 20

Target = Callable[[str], Materialized | None]
"""Partition key → its newest materialization."""


def check_specs(project: Project, model: Model) -> list[dg.AssetCheckSpec]:
    """A check for each audit; its description says the thresholds."""
    return [
        dg.AssetCheckSpec(
            audit.name,
            asset=model_key(project, model.name),
            description=f"{expected_text(model, audit)}, in every {model.cadence.unit}"
            + ("" if audit.blocking else " (a warning: it blocks nothing)"),
            blocking=audit.blocking,
            metadata={name: str(value) for name, value in audit.arguments.items()}
            | {"kind": audit.kind}
            | review_link("model", model.name),
        )
        for audit in model.audits
    ]


def newest_results(model: Model, results: Iterable[AuditResult], ranges: Ranges) -> list[AuditResult]:
    """The last result of each of the model's audits in each interval of the ranges. `results` are oldest first."""
    known = {audit.name for audit in model.audits}
    last = {(r.interval, r.check): r for r in results if r.check in known and r.interval in ranges}
    return [last[key] for key in sorted(last)]


def summaries(project: Project, model: Model, results: Sequence[AuditResult]) -> list[dg.AssetCheckResult]:
    """One result a check, over all intervals. A check without any (intervals declared empty) passes, and says so."""
    return [
        dg.AssetCheckResult(
            asset_key=model_key(project, model.name),
            check_name=audit.name,
            passed=all(r.passed for r in own),
            severity=_severity(audit.blocking),
            description=_summary(own),
            metadata=_summary_metadata(model, audit, own),
        )
        for audit in model.audits
        for own in [[r for r in results if r.check == audit.name]]
    ]


def summary_evaluations(project: Project, model: Model, results: Sequence[AuditResult]) -> list[AssetCheckEvaluation]:
    """The same as events to log, for a step that is about to fail and so returns nothing."""
    return [
        AssetCheckEvaluation(
            asset_key=model_key(project, model.name),
            check_name=str(r.check_name),
            passed=r.passed,
            severity=r.severity,
            blocking=audit.blocking,
            description=r.description,
            metadata=r.metadata,
        )
        for audit, r in zip(model.audits, summaries(project, model, results), strict=True)
    ]


def evaluations(
    project: Project, model: Model, results: Sequence[AuditResult], count: int, target: Target
) -> list[AssetCheckEvaluation]:
    """An event per check and interval: all in a run of few intervals (`count`), else those that failed or warned.

    `target` gives the materialization of a partition that an evaluation is about.
    """
    return [
        AssetCheckEvaluation(
            asset_key=model_key(project, model.name),
            check_name=r.check,
            passed=r.passed,
            severity=_severity(r.blocking),
            blocking=r.blocking,
            partition=key,
            description=visible(f"{r.interval}: {r.observed}; expected {r.expected}"),
            metadata={"observed": visible(r.observed), "expected": visible(r.expected), "failures": r.failures}
            | (
                {"sample": dg.MetadataValue.md("\n".join(f"- {markdown_code(k)}" for k in r.sample))}
                if r.sample
                else {}
            ),
            target_materialization_data=target(key),
        )
        for r in results
        if count <= MOST_EVALUATED or not r.passed
        for key in [model.cadence.key(r.interval.start)]
    ]


def _summary(own: Sequence[AuditResult]) -> str:
    if not own:
        return "nothing to check: no rows were computed"
    bad = [r for r in own if not r.passed]
    if not bad:
        return f"passed in all {len(own)} intervals"
    return f"failed in {len(bad)} of {len(own)} intervals: {Ranges.of(r.interval for r in bad)}"


def _summary_metadata(model: Model, audit: Audit, own: Sequence[AuditResult]) -> dict[str, Any]:
    bad = [r for r in own if not r.passed]
    found: dict[str, Any] = {
        "expected": expected_text(model, audit),
        "intervals": len(own),
        "failed intervals": len(bad),
        **review_link("model", model.name),
    }
    if bad:
        found["failures"] = dg.MetadataValue.table(
            records=[
                dg.TableRecord(
                    {
                        "interval": str(r.interval),
                        "observed": one_line(r.observed),
                        "sample": one_line(", ".join(r.sample)) or "-",
                    }
                )
                for r in bad[:MOST_LISTED]
            ],
            schema=dg.TableSchema([dg.TableColumn(n, "string") for n in ("interval", "observed", "sample")]),
        )
    return found


def _severity(blocking: bool) -> dg.AssetCheckSeverity:
    return dg.AssetCheckSeverity.ERROR if blocking else dg.AssetCheckSeverity.WARN
