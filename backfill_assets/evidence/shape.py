"""What is in a packet? Every part of `packet.json`; the published JSON Schema is made from this."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_ID = "urn:backfill-assets:packet:1"

Range = tuple[str, str]
"""A half-open pair of ISO 8601 instants, UTC: `["2024-01-01T00:00:00+00:00", "2024-01-02T00:00:00+00:00"]`."""
Section = dict[str, Any]
"""What another part of the system says in its own form."""


class Part(BaseModel):
    """A part of the packet; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Summary(Part):
    """The answers at a glance, as sentences."""

    headline: str
    changed: list[str] = Field(description="Which intervals changed, model by model.")
    depends: list[str] = Field(description="Who reads them.")
    tests: list[str] = Field(description="Which tests passed, and which did not.")
    accepted: list[str] = Field(description="Who accepted what.")
    mind: list[str] = Field(description="What a reader must know: a part of history only, failures, foreign commits.")


class PlanPart(Part):
    """The stored plan."""

    id: str
    environment: str = Field(description="What it is promoted to, such as prod.")
    status: Literal["open", "applied", "promoting", "superseded", "abandoned", "promoted"] = Field(
        description="When the packet was written; promoting: all was ready, and the environment was about to move."
    )
    by: str
    opened: str
    since: str = Field(description="When it got this status.")
    now: str = Field(description="The instant that decided which intervals were over.")
    stages: list[Section] = Field(description="What was to be done, in order, as the plan was stored.")
    kept: dict[str, str] = Field(description="Model → why it was not touched.")
    why: str = Field(default="", description="What the change is for, in its author's words; empty: nobody said.")
    amended: list[str] = Field(
        default_factory=list,
        description="What became of the world since it was opened: other releases, new intervals, other sources.",
    )


class Change(Part):
    """How a model differs from what the environment showed."""

    category: str
    rows: bool = Field(description="Whether any row may differ.")
    columns: list[str] = Field(description="Columns whose values may differ.")
    added: list[str]
    removed: list[str]
    renamed: dict[str, str] = Field(description="Old name → new name.")
    because: list[str]


class ColumnPart(Part):
    """A column, before and after."""

    name: str
    old_type: str | None
    new_type: str | None
    what: Literal["same", "values", "type", "added", "removed"]
    description: str = Field(default="", description="What its header says of it.")


class Code(Part):
    """The definition, before and after."""

    language: str
    old: str | None
    new: str
    diff: str = Field(description="A unified diff; empty when the text is the same.")
    settings: dict[str, tuple[Any, Any]] = Field(description="Header settings that differ: old and new value.")


class RangesPart(Part):
    """Which time the model is about."""

    recomputed: list[Range] = Field(description="What this plan computed.")
    count: int = Field(description="How many intervals that is.")
    copied: list[Range] = Field(
        default=[], description="What of it was copied from what was shown, under new names of columns, not computed."
    )
    where: str = Field(
        default="", description="Of which rows of it; the others are copies of what was shown. Empty: of all."
    )
    by_key: bool = Field(
        default=False, description="Whether that is all rows of a key for which it holds, before or after."
    )
    shown: list[Range] = Field(description="What the environment shows of the new table after the promotion.")
    kept: list[Range] = Field(description="What it goes on to show from older tables.")
    missing: list[Range] = Field(description="What is over and not there.")
    provisional: list[Range] = Field(
        default=[],
        description="What of the shown was not settled at the plan's `now`: rows of it may still come, and routine runs"
        " replace it then.",
    )
    partial: bool = Field(description="Whether the new logic or data is in a part of history only.")


class TablePart(Part):
    """The version's table at the commit that is promoted. Commits and files, one by one, are in tables.json."""

    path: str = Field(description="Below the warehouse.")
    commit: int
    commits: int
    foreign: list[int] = Field(description="Commits that this system did not make.")
    files: int
    bytes: int
    digest: str = Field(description="SHA-256 over the table's entry in tables.json.")


class Batch(Part):
    """One commit of a run of intervals."""

    interval: Range
    commit: int
    batch: str
    attempt: int
    run: str
    rows: int
    bytes: int
    seconds: float
    at: str
    inputs: dict[str, Any] = Field(description="Upstream → what was read of it: a Delta commit, or digests of files.")


class Count(Part):
    """Rows of one interval, before and after; None: it was not there."""

    start: str
    old: int | None
    new: int | None


class ModelPart(Part):
    """One model that the plan changes."""

    model: str
    kind: Literal["new", "changed", "restated", "forward", "extended", "relisted", "returned"]
    owner: str
    description: str
    cadence: Literal["hourly", "daily", "weekly", "monthly"]
    grain: list[str]
    version: str
    before: str | None = Field(description="The version that was shown; None: none, or it is not recorded.")
    until: str = Field(
        default="", description="Of a model that is not shown any more: the release that took `before` out of sight."
    )
    same_rows: bool = Field(default=False, description="Of such a model: whether it comes back with the rows it had.")
    change: Change | None
    columns: list[ColumnPart]
    code: Code
    ranges: RangesPart
    begun: bool = Field(default=True, description="Whether anything of the version was ever built.")
    table: TablePart | None = Field(description="None: it was never built, or is gone.")
    batches: list[Batch]
    rows: list[Count]
    lineage: list[str] = Field(default=[], description="Which columns read others than before, in sentences.")


class Read(Part):
    """One state of a source that batches read."""

    pin: Section = Field(description="A Delta commit, a digest of files, or why it could not be frozen.")
    models: list[str]


class SourcePart(Part):
    """What was read of a table that others write."""

    name: str
    reads: list[Read]


class Failure(Part):
    """A test that did not pass in one interval."""

    interval: Range
    observed: str
    sample: list[str]


class Check(Part):
    """One test of one model, over all intervals that are to be shown, or that a test keeps out."""

    model: str
    check: str
    blocking: bool
    means: str = Field(description="What it makes sure of, in plain words.")
    expected: str = Field(description="The same, exactly, with its thresholds.")
    tested: int
    passed: int
    failures: list[Failure]


class ConsumerPart(Part):
    """Somebody who reads the views."""

    name: str
    kind: str
    owner: str
    description: str
    url: str
    reads: list[str]
    affected: list[str] = Field(description="The changed models among them.")
    confirmed: str | None = Field(description="The day on which somebody last made sure of this entry.")
    how: str = Field(
        default="", description="view: sees it at once; export: with its next run; extract: when its copy is refreshed."
    )


class Consumers(Part):
    """Who reads the views, and when that list was last confirmed."""

    confirmed: str | None
    readers: list[ConsumerPart]


class ApprovalPart(Part):
    """Who accepted, when, and exactly what."""

    owner: str = Field(description="In whose name: the owner of models.")
    by: str
    at: str
    expires: str
    digest: str = Field(description="Of the rows, what made them, their tests and all that was found out about them.")
    scope: dict[str, list[Range]] = Field(description="Model → the published intervals that were accepted to change.")
    reason: str
    accepted: dict[str, str] = Field(description="Finding → why it is accepted.")
    own: bool = Field(description="Whether the plan's own author gave it, or may have.")
    account: str = Field(default="", description="The account that gave it, as the system asserted it.")
    host: str = Field(default="", description="The machine on which it was given.")
    recorded: str = Field(default="", description="When it was recorded.")
    statement: str = Field(description="The exact text that was accepted, and signed if it was.")
    signature: str = Field(description="An SSH signature of the statement; empty: none.")
    plan: str = Field(default="", description="Another plan, of the same rows, that it was given for; empty: this one.")
    doubt: str = Field(description="Why it did not count when the packet was written; empty: it did.")


class RulesPart(Part):
    """The rules in force when the packet was written: by them the approvals were judged."""

    number: int = Field(description="Which record of the environment's rules; 0: none was recorded yet.")
    id: str
    approvals: dict[str, Any]
    people: dict[str, list[str]] = Field(description="Person → accounts.")
    signers: str = Field(description="The text of allowed_signers that signatures are checked with.")
    owners: dict[str, str] = Field(description="Model → its owner in force.")
    validation: dict[str, str] = Field(default={}, description="Model → its validation owner in force.")
    consumers: dict[str, str] = Field(default={}, description="Consumer → who is asked for it, about which models.")
    notes: list[str] = Field(description="That approvals are off, and where the project's files say something else.")


class NeededPart(Part):
    """Somebody whose approval the plan needs, because published rows of theirs change."""

    owner: str = Field(description="Empty: of models without one.")
    models: list[str]
    roles: list[str] = Field(default=["owner"], description="As what they are asked.")
    command: str = Field(description="How they give it.")
    given: bool


class FindingPart(Part):
    """A difference that has to be accepted by its name."""

    name: str
    model: str
    text: str


class ProofPart(Part):
    """Something that was found out about the plan's rows."""

    content: str = Field(description="Which rows it is about.")
    holds: bool | None = Field(description="Whether those are the rows of this packet; None: nobody looked.")
    at: str
    digest: str
    findings: list[FindingPart]
    document: Section


class Spent(Part):
    """What it was thought to take, and what it took."""

    estimate: Section
    actual: Section
    sentence: str


class MaintenancePart(Part):
    """The windows in which it is built, as they were said when it was opened."""

    windows: str
    sentence: str
    notice: str = Field(description="A draft for those whom it concerns, Markdown.")


class Target(Part):
    """What the environment showed of a model before; no segments: nothing."""

    model: str
    version: str | None
    segments: list[Section]


class Rollback(Part):
    """How to go back."""

    known: bool = Field(description="Whether what was shown before is recorded.")
    to: list[Target]
    command: str
    text: str


class Packet(Part):
    """All that can be shown for a plan: what changed, who depends on it, which tests passed, who accepted, how to go
    back."""

    packet: Literal[1] = Field(description="The version of this form.")
    as_of: str = Field(description="The newest record that went into it.")
    summary: Summary
    plan: PlanPart
    models: list[ModelPart]
    sources: list[SourcePart]
    checks: list[Check]
    consumers: Consumers
    approvals: list[ApprovalPart]
    needed: list[NeededPart] = Field(default=[], description="Whose approval it needs; nothing once it has ended.")
    spent: Spent
    rollback: Rollback
    data_diff: ProofPart | None = Field(description="Old and new data compared; None: they were not.")
    contract_impact: list[Section] | None = Field(description="What it means for each reader; None: nobody looked.")
    query_reruns: ProofPart | None = Field(description="The readers' own queries, run on the new data.")
    kept: ProofPart | None = Field(description="Whether tables that were left as they are would come out the same.")
    proofs: dict[str, ProofPart] = Field(description="Further proofs, by kind.")
    rules: RulesPart | None = Field(default=None, description="None in packets of earlier releases.")
    maintenance: MaintenancePart | None = Field(default=None, description="None where builds run at any time.")

    @property
    def findings(self) -> list[FindingPart]:
        """All that has to be accepted by name."""
        every = [self.data_diff, self.query_reruns, self.kept, *self.proofs.values()]
        return [finding for proof in every if proof and proof.holds is not False for finding in proof.findings]


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of `packet.json`."""
    made = Packet.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID} | made


if __name__ == "__main__":
    import json
    from pathlib import Path

    Path(__file__).with_name("packet.schema.json").write_text(json.dumps(json_schema(), indent=1) + "\n")
