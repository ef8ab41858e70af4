"""What does a plan consist of? A frozen list of stages that explaining, applying and promoting all read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from backfill_assets.core.codec import from_plain, of_fields, to_fields, to_plain
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Override
from backfill_assets.plan.bounds import CutOff
from backfill_assets.plan.category import TableChange
from backfill_assets.plan.changed_texts import ChangedText
from backfill_assets.plan.copied import Copied
from backfill_assets.plan.frozen import Continued
from backfill_assets.plan.ids import Ids
from backfill_assets.plan.lineage_changes import LineageChange
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.smallest import Smallest
from backfill_assets.plan.strategy import PROOF, Strategy
from backfill_assets.state.required_approvals import OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """Compute and audit what is missing of one version."""

    stage: Literal["build"] = "build"
    model: str
    version: str
    intervals: Ranges
    count: int
    batches: tuple[Interval, ...]
    concurrency: int
    reason: str
    open: Ranges = NOTHING
    """Which of the intervals is not over yet: it is recorded as partial, through the plan's moment."""
    sized: str = ""
    """Why its batches are as long as they are; "" where the model or the settings say how long."""

    def to_plain(self) -> dict[str, Any]:
        """The stage as plain values."""
        return {name: said for name, said in to_fields(self).items() if said or name != "sized"}

    @classmethod
    def of_plain(cls, raw: Mapping[str, Any]) -> Build:
        return of_fields(cls, raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditStage:
    """Audit what is built already: its audits are newer than their results, or a run died before them."""

    stage: Literal["audit"] = "audit"
    model: str
    version: str
    intervals: Ranges
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The models of an owner ("" where they have none), or of somebody else who is asked about them."""

    owner: str
    models: tuple[str, ...]
    roles: tuple[str, ...] = (OWNER,)
    """As what they are asked (`state/required_approvals.py`)."""

    def __str__(self) -> str:
        as_what = () if OWNER in self.roles else self.roles
        about = ", ".join([*as_what, f"for {', '.join(self.models)}"])
        return f"{self.owner or 'somebody'} ({about})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Ask the owners for their approval: these models show other rows for days that are published."""

    stage: Literal["approve"] = "approve"
    owners: tuple[Owned, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVersion:
    """A model, and the version that is to be shown of it."""

    model: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promote:
    """Point the environment at these versions, all in one commit."""

    stage: Literal["promote"] = "promote"
    environment: str
    models: tuple[ModelVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalidate:
    """Let what is built of a version that nobody is shown count for nothing: it was computed from what is restated."""

    stage: Literal["invalidate"] = "invalidate"
    model: str
    version: str
    intervals: Ranges
    count: int
    reason: str


Stage = Build | AuditStage | Approve | Promote | Invalidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody asked for: a range (None: everything) and models (empty: all)."""

    start: datetime | None = None
    end: datetime | None = None
    end_bounded: bool = False
    """Whether an interval that only begins before `end` is left out (the month of a range that ends within it)."""
    select: tuple[str, ...] = ()
    ignore_cron: bool = False
    """Whether the interval that is not over yet is included."""
    all_versions: bool = False
    """Whether the restated intervals of versions that are not published are invalidated as well."""
    restate: tuple[tuple[str, Interval], ...] = ()
    """Published history to compute again: model and range."""
    where: str = ""
    """Of the restated intervals only the rows for which this holds; "": all."""
    ids: Ids | None = None
    """Of the restated intervals only the rows of these keys."""
    forward_only: datetime | None = None
    """From when on changed models get their new logic; before that they keep the rows that are shown."""
    strategies: tuple[tuple[str, str], ...] = ()
    """The author's choices: model and strategy."""
    expect_moved: tuple[str, ...] = ()
    """What should be different afterwards: `model`, or `model.column`."""
    expect_unmoved: tuple[str, ...] = ()
    expect_filled: tuple[str, ...] = ()
    """How far new columns should be filled: `model.column=95%@2023-06-01`."""
    why: str = field(default="", compare=False)
    """What the change is for, in its author's words. It decides nothing: requests with other words ask for the same."""

    def to_plain(self) -> dict[str, Any]:
        """The request as plain values."""
        return to_fields(self) | {"restate": [[name, *i.to_plain()] for name, i in self.restate]}

    def decided(self) -> dict[str, Any]:
        """What of it is part of what is to be done, as plain values."""
        later = {"where", "ids", "expect_filled"}  # earlier releases had none: in no id where nobody asked for them
        said = replace(self, ids=None).to_plain() | {"ids": self.ids.digest if self.ids else None}
        return {n: one for n, one in said.items() if n != "why" and (one or n not in later)}

    @classmethod
    def of_plain(cls, said: Mapping[str, Any]) -> Request:
        """The request that `to_plain` says; what is not said was not asked for."""
        return of_fields(cls, {**said, "restate": [[name, [a, b]] for name, a, b in said.get("restate", ())]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """Intervals that cannot be built, and what they wait for."""

    model: str
    intervals: Ranges
    count: int
    upstream: str
    needs: Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWarning:
    """Something odd about a model, which is no error: at `place`, `what` and `why`, and how to mend it."""

    model: str
    place: str
    what: str
    why: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, and what is not. `models` are the selected ones, `kept` need nothing, with the reason.

    `sources` are the snapshots that the plan froze: source name → what identifies it.
    """

    environment: str
    now: datetime
    request: Request
    models: tuple[str, ...]
    stages: tuple[Stage, ...]
    blocked: tuple[Blocked, ...]
    kept: Mapping[str, str]
    sources: Mapping[str, Mapping[str, object]]
    patches: Mapping[str, Patch] = field(default_factory=dict[str, Patch])
    """Parts of a model's history that the plan replaces, the rest staying as it is shown; other models change whole."""
    changes: Mapping[str, TableChange] = field(default_factory=dict[str, TableChange])
    """How each model differs from what the environment shows."""
    because: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """What of the upstreams' changes each model reads, or that it reads none of them."""
    strategies: Mapping[str, Strategy] = field(default_factory=dict[str, Strategy])
    """How the history of each model that changes is changed."""
    reverts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Models whose code is that of an earlier release again, with the newest release that showed it."""
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Models of which only the view changes, with the columns (lower-cased) that it lists then."""
    copies: Mapping[str, Copied] = field(default_factory=dict[str, Copied])
    """What of the builds is not computed: rows that are shown are copied under the new names of their columns."""
    held: tuple[str, ...] = ()
    """Models that are built but not moved: dual runs, and what reads them."""
    cut_off: tuple[CutOff, ...] = ()
    """What is not expected of models yet, for want of rows to read."""
    overrides: tuple[Override, ...] = ()
    """The authors' words that it stands on."""
    warnings: tuple[PlanWarning, ...] = ()
    texts: tuple[ChangedText, ...] = ()
    """Models that count as unchanged although their text is another: a sample of each is to be compared."""
    whole: tuple[Build, ...] = ()
    """What building again all that changes, and all that reads it, would be, where that is more than is to be done."""
    smallest: Smallest | None = None
    """The smallest window that its consumers need; None where that was not looked for, or is no question."""
    smaller: tuple[Build, ...] = ()
    """What the plan that it offers would build, and what is left of this one beside."""
    rewired: tuple[LineageChange, ...] = ()
    """Columns that read others than in what the environment shows."""
    respelled: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict[str, tuple[tuple[str, str], ...]])
    """By model: columns that get other letters in the view, capital or small, as (shown, new) names."""
    continued: Continued = field(default_factory=Continued)
    """How what is left of an open plan reads sources that changed since."""

    @property
    def id(self) -> str:
        """A hash of what is to be done, and of what was asked for: the same situation gives the same id, whatever the
        clock says."""
        content: list[object] = [
            [self.environment, list(self.models)],
            [_decided(stage, self.patches) for stage in self.stages],
            dict(self.sources),
        ]
        if self.request != Request():
            content.append(self.request.decided())
        if self.views:
            content.append({name: list(columns) for name, columns in self.views.items()})
        if self.copies:
            content.append(to_plain(self.copies))
        if self.overrides:
            content.append([to_plain(override) | {"place": ""} for override in self.overrides])
        if self.continued.frozen:
            content.append(to_plain(self.continued.frozen))
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def proof_of(self, model: str) -> str:
        """What has to hold of a model afterwards, by its strategy and by what its author expects of new columns."""
        said = (text.strip().partition(".") for text in self.request.expect_filled)
        filled = [rest for name, _, rest in said if name == model]
        return PROOF[self.strategies[model]] + (f"; expected to be filled: {', '.join(filled)}" if filled else "")

    @property
    def work(self) -> tuple[Build | AuditStage, ...]:
        """The stages that make data, in dependency order."""
        return tuple(s for s in self.stages if isinstance(s, Build | AuditStage))

    @property
    def moves(self) -> tuple[tuple[str, str], ...]:
        """What it shows in the end, as (model, version)."""
        return tuple((m.model, m.version) for s in self.stages if isinstance(s, Promote) for m in s.models)

    @property
    def asked(self) -> tuple[Owned, ...]:
        """Whose approval is needed before anything moves, for which models, and as what."""
        return tuple(one for s in self.stages if isinstance(s, Approve) for one in s.owners)

    @property
    def owners(self) -> tuple[str, ...]:
        """Whose approval is needed before anything moves."""
        return tuple(one.owner for one in self.asked)

    @property
    def invalidations(self) -> tuple[Invalidate, ...]:
        """The stages that only write records."""
        return tuple(s for s in self.stages if isinstance(s, Invalidate))

    def to_json(self) -> dict[str, object]:
        """The plan as plain values; times are ISO 8601 UTC, intervals `[start, end)` pairs."""
        return {
            "id": self.id,
            "environment": self.environment,
            "now": self.now.isoformat(),
            "request": self.request.to_plain(),
            "models": list(self.models),
            "stages": to_plain(self.stages),
            "blocked": to_plain(self.blocked),
            "kept": dict(self.kept),
            "patches": to_plain(self.patches),
            "changes": {name: change_json(change, self.because.get(name, ())) for name, change in self.changes.items()},
            "strategies": {
                name: {"strategy": s.value, "proof": self.proof_of(name)} for name, s in self.strategies.items()
            },
            "reverts": dict(self.reverts),
            "views": to_plain(self.views),
            "copies": to_plain(self.copies),
            "held": list(self.held),
            "cut_off": to_plain(self.cut_off),
            "sources": {name: dict(pin) for name, pin in self.sources.items()},
            "overrides": to_plain(self.overrides),
            "warnings": to_plain(self.warnings),
            "texts": to_plain(self.texts),
            "whole": to_plain(self.whole),
            "smallest": to_plain(self.smallest),
            "smaller": to_plain(self.smaller),
            "lineage": to_plain(self.rewired),
            "respelled": to_plain(self.respelled),
            "continued": to_plain(self.continued),
        }


def _decided(stage: Stage, patches: Mapping[str, Patch]) -> Any:
    """What of a stage is part of what is to be done: also who is asked about which models, but not as what; of keys
    which they are, but not what their file was called; batches as somebody wants them, but not those that were found
    by measurement: another machine has others."""
    if isinstance(stage, Approve):
        return to_plain(stage) | {"owners": [{"owner": one.owner, "models": list(one.models)} for one in stage.owners]}
    if not isinstance(stage, Build):
        return to_plain(stage)
    found = {n: one for n, one in stage.to_plain().items() if not stage.sized or n not in ("batches", "sized")}
    if (patch := patches.get(stage.model)) and patch.scope and patch.scope.ids:
        return found | {"reason": stage.reason.replace(patch.scope.where, patch.scope.ids)}
    return found


def change_json(change: TableChange, because: tuple[str, ...]) -> dict[str, Any]:
    """How a model differs, and what of its upstreams' changes it reads, as plain values."""
    return to_plain(change) | {"renamed": dict(change.renamed), "because": list(because)}


_NOTHING: Mapping[str, Any] = {"request": {}, "models": [], "blocked": [], "sources": {}}
"""What the first release did not write."""


def plan_from_json(said: Mapping[str, Any]) -> Plan:
    """The plan that `Plan.to_json` says; what an older release did not say is empty. Raises ValueError."""
    changes = said.get("changes", {})
    return from_plain(
        Plan,
        {
            **_NOTHING,
            **said,
            "changes": {
                name: {**c, "renamed": list(map(list, c.get("renamed", {}).items()))} for name, c in changes.items()
            },
            "because": {name: c["because"] for name, c in changes.items() if c.get("because")},
            "strategies": {name: s["strategy"] for name, s in said.get("strategies", {}).items()},
            "texts": [{"kept": [], "columns": [], **t} for t in said.get("texts", ())],
            "rewired": said.get("lineage", []),
        },
    )
