"""Of which audits did rows only give a warning? Nothing stops for them, so whoever lets rows go up is told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from backfill_assets.audits.result import AuditResult
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.wording import amount
from backfill_assets.state.results import AuditResults

Parts = Mapping[tuple[str, str], Ranges]
"""By model and version: which intervals are asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """An audit that does not block, and in which intervals it found something."""

    model: str
    check: str
    count: int
    """Intervals."""
    unit: str
    """What so many are, as people say it: `440 days`."""
    first: Interval
    observed: str
    """Of the first interval."""

    def __str__(self) -> str:
        where = f"on {self.first}" if self.count == 1 else f"on {self.unit}, the first of them {self.first}"
        return f"{self.model}.{self.check} gave a warning {where}: {self.observed}"


def find_warned(results: AuditResults, models: Mapping[str, Model], parts: Parts) -> tuple[Warned, ...]:
    """The audits that warn of these intervals by their newest results. Reads nothing where no model has such audits."""
    asked = {key: part for key, part in parts.items() if part and key[0] in models}
    checks = {name: {a.name for a in models[name].audits if not a.blocking} for name, _ in asked}
    found = [r for name, version in asked if checks[name] for r in results.read(models=[name], version=version)]
    return _warned(found, models, checks, asked)


def _warned(
    results: Iterable[AuditResult],
    models: Mapping[str, Model],
    checks: Mapping[str, Collection[str]],
    parts: Parts,
) -> tuple[Warned, ...]:
    newest: dict[tuple[str, str, str, Interval], AuditResult] = {}
    for result in results:  # oldest first
        within = parts.get((result.model, result.version))
        if within and result.check in checks.get(result.model, ()) and within & Ranges((result.interval,)):
            newest[result.model, result.version, result.check, result.interval] = result
    found: dict[tuple[str, str], list[AuditResult]] = defaultdict(list)
    for result in newest.values():
        if not result.passed:
            found[result.model, result.check].append(result)
    return tuple(
        Warned(
            model=model,
            check=check,
            count=len(of),
            unit=amount(len(of), models[model].cadence),
            first=(first := min(of, key=lambda r: r.interval)).interval,
            observed=first.observed,
        )
        for (model, check), of in sorted(found.items())
    )
