"""Which models count as unchanged although their text is another one, and on which intervals is that tried?

Equal fingerprints of different texts are a claim about SQL. It is checked on data: a few intervals are computed by the
new text and compared with the table, before anything that the text computes may be promoted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backfill_assets.core.digest import digest
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import UNKNOWN, Model, Project
from backfill_assets.core.segments import Segments, revision_of
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.text_checks import TextCheck
from backfill_assets.state.versions import Version, records_of

Checks = Mapping[tuple[str, str, str], TextCheck]
"""By model, version and text."""
SAMPLED = 5
"""Intervals of each model that are computed again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedText:
    """A model whose version was built by another text than the one that is loaded."""

    model: str
    version: str
    text: str
    """`Model.text` of the loaded one."""
    intervals: Ranges
    kept: Segments
    """The rows that the version has of these intervals."""
    columns: tuple[str, ...]
    """What is compared."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What a check of it is found by."""
        return self.model, self.version, self.text

    @property
    def trial(self) -> str:
        """The revision that the sample is computed in by the loaded text."""
        return revision_of(self.version, f"text{self.text[:8]}")

    @property
    def trial_of_old(self) -> str:
        """The same by the text that built the version."""
        return revision_of(self.version, f"old{self.text[:8]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What was built by other texts than the loaded ones, and what came of comparing them."""

    changed: tuple[ChangedText, ...] = ()
    checks: Checks = field(default_factory=dict[tuple[str, str, str], TextCheck])
    """As far as somebody did."""

    @property
    def unchecked(self) -> tuple[ChangedText, ...]:
        """Those that nobody tried yet, or that could not be computed when somebody did."""
        return tuple(c for c in self.changed if (check := self.checks.get(c.key)) is None or check.error)

    @property
    def refuted(self) -> tuple[TextCheck, ...]:
        """What was tried and is not equal."""
        return tuple(k for c in self.changed if (k := self.checks.get(c.key)) is not None and not k.equal)


def remedy(project: Project, model: str) -> str:
    """What helps where a model's text gives other rows than the version that it counts as."""
    if model in project.overrides:
        return "correct the text, or remove its `same_as`, then backfill apply: it becomes a version of its own"
    return (
        'correct the text, or make it a version of its own: `code_version: "2"` in the header, then backfill apply '
        "(and report the two texts: the comparison of code should have told them apart)"
    )


def by_another_text(project: Project, name: str, record: Version) -> bool:
    """Whether another text than the loaded one built a version of the code, or nobody knows which one did: then it is
    their author's word."""
    # A version whose view lists fewer columns by now is computed by its own text, not by the one that is loaded.
    if name in project.hidden:
        return False
    return (name in project.overrides and record.signature == UNKNOWN) or not recorded_text(
        project.models[name], record
    )


def recorded_text(model: Model, record: Version) -> bool:
    """Whether a model's text is one that is recorded of a version: its rows are known to be those that it gives."""
    return any(same_text(model, each.definition) for each in records_of(record))


def changed_texts(
    project: Project,
    versions: Mapping[tuple[str, str], Version],
    coverage: Mapping[str, Coverage],
    heads: Mapping[str, int],
) -> tuple[ChangedText, ...]:
    """The models that have a table, built by another text, or nobody knows by what: then it is their author's word.

    `coverage` and `heads` are of the code's versions.
    """
    found: list[ChangedText] = []
    for name, have in coverage.items():
        model, version = project.models[name], project.fingerprints[name]
        record = versions.get((name, version))
        if record is None or not by_another_text(project, name, record):
            continue
        if sample := sample_intervals(
            have.green - have.partial - have.shown_apart.covers, model, seed=version + model.text
        ):
            marker = (model.updated_at or "").lower()
            found.append(
                ChangedText(
                    model=name,
                    version=version,
                    text=model.text,
                    intervals=sample,
                    kept=Segments.of_table(version, heads[name], sample),
                    columns=tuple(c for c, _ in record.columns if c.lower() != marker),
                )
            )
    return tuple(found)


def same_text(model: Model, definition: Mapping[str, object]) -> bool:
    """Whether a version's record is of the model's text, apart from comments and spacing."""
    built_by = definition.get("text")
    if built_by is None:  # a record of an earlier release
        return definition.get("code") == model.code and not definition.get("helpers")
    return built_by == model.text


def sample_intervals(built: Ranges, model: Model, *, seed: str) -> Ranges:
    """Always the same few intervals for a seed: the oldest, the newest, and some between them."""
    units = list(built.split(model.cadence))
    if len(units) <= SAMPLED:
        return Ranges.of(units)
    between = sorted(units[1:-1], key=lambda unit: digest(seed, unit.start.isoformat()))
    return Ranges.of([units[0], units[-1], *between[: SAMPLED - 2]])
