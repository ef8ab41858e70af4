"""What goes out with a plan? Its runbook, checklist and notes, from the records as they are now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.app.context import Context
from backfill_assets.app.evidence import look_at_plan
from backfill_assets.app.gate import cases_of
from backfill_assets.app.plan import plan_by_now
from backfill_assets.app.preflight import find_gaps
from backfill_assets.app.watch import watch_environment
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.codec import to_plain
from backfill_assets.core.digest import digest
from backfill_assets.core.errors import BackfillError, PlanError, UsageError
from backfill_assets.core.pointer import lists
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.stored import stored_plan
from backfill_assets.promote.lifecycle import named_or_newest_plan
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.releases import Release

if TYPE_CHECKING:
    from backfill_assets.evidence.checklist import ChecklistLine, PlanEvidence

_OURS = ("# Runbook of plan ", "# Safety checklist of plan ", "# Migration note: ", "Subject: ")
"""How the files begin: no other file is written over."""
_AS_WRITTEN = "<!-- as `backfill runbook` wrote it: {} -->"
"""The last line of a file, with a digest of all before it: what a person wrote into it since is not written over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runbook:
    """Everything of a plan that goes out, as Markdown by file name."""

    plan: str
    documents: Mapping[str, str]
    lines: tuple[ChecklistLine, ...]
    """Of the checklist."""

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "plan": self.plan,
            "checklist": [to_plain(line) for line in self.lines],
            "documents": dict(self.documents),
        }


def look_for_runbook(context: Context, plan: str | None = None) -> Runbook:
    """The documents of a plan (None: of the newest one). Writes nothing, and opens no session but `watch` does.

    Raises PlanError when there is no such plan, StateError for records that cannot be read.
    """
    from backfill_assets.evidence.checklist import checklist  # pydantic: planning has no need of it
    from backfill_assets.evidence.runbook import documents

    record = named_or_newest_plan(context.control, plan)
    known = _known(context, record)
    return Runbook(plan=record.id, documents=documents(known), lines=checklist(known))


def write_runbook(found: Runbook, to: str) -> tuple[Path, ...]:
    """Write the documents: into a folder, or all of them into one `.md` file. The files.

    Raises UsageError for a place that cannot be written to, and where a file is that is another one, or that somebody
    edited since it was written: then nothing is written at all.
    """
    from backfill_assets.evidence.runbook import runbook_text

    place = Path(to)
    try:
        place = place.expanduser()
        if place.suffix.lower() == ".md" and not place.is_dir():
            texts = {place: runbook_text(found.documents)}
        else:
            texts = {place / name: text for name, text in found.documents.items()}
        for path in texts:
            if path.exists():
                _refuse_to_lose(path)
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text.rstrip()}\n\n{_last_line(text)}\n", "utf-8")
    except (OSError, RuntimeError) as error:  # RuntimeError: nobody has that home
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise UsageError(f"{place} cannot be written", why=why, fix="name another place for --out") from error
    return tuple(texts)


def _refuse_to_lose(path: Path) -> None:
    text = path.read_text("utf-8", "replace")
    if not text.startswith(_OURS):
        raise UsageError(
            f"{path} is another file", why="nothing is written over it", fix="name another place for --out"
        )
    said, _, last = text.rstrip().rpartition("\n")
    if last != _last_line(said):
        unmarked = _AS_WRITTEN.partition("{")[0] not in text
        raise UsageError(
            f"{path} was edited since it was written" + (", or an older release wrote it" if unmarked else ""),
            why="what somebody ticked or noted in it would be lost; nothing is written over it",
            fix="rename it to keep it, "
            + ("delete it where nobody noted anything in it, " if unmarked else "")
            + "or name another place for --out",
        )


def _last_line(text: str) -> str:
    return _AS_WRITTEN.format(digest(text.rstrip()))


def _known(context: Context, record: PlanRecord) -> PlanEvidence:
    from backfill_assets.evidence.checklist import PlanEvidence

    said = stored_plan(context.control, record.id)
    if said is None:
        raise PlanError(f"plan {record.id} has no content", why="an earlier release stored it", fix="apply it again")
    every = context.control.releases.all(record.environment)
    shown = next((r for r in reversed(every) if record.id in r.evidence and not r.back_to), None)
    shown, undone = _since_and_until(every, shown, record) if shown else (None, None)
    back_to = every[every.index(shown) - 1].id if shown and every.index(shown) else ""
    if shown is None and every:
        back_to = every[-1].id
    sentence, closed = _watch(context, shown) if shown and undone is None else ("", False)
    return PlanEvidence(
        packet=look_at_plan(context, record),
        status=record.status.value,
        now=context.now(),
        options=apply_command(said.request).removeprefix("backfill apply").strip(),
        unfrozen=tuple(name for name, pin in said.sources.items() if "unpinned" in pin),
        gaps=_gaps(context, record),
        release=shown.id if shown else "",
        activated=shown.at if shown else None,
        taken_back=undone.id if undone else "",
        until=undone.at if undone else None,
        back_to=back_to,
        watch=sentence,
        watched=closed,
    )


def _since_and_until(every: Sequence[Release], first: Release, record: PlanRecord) -> tuple[Release, Release | None]:
    """By which release what the plan built is shown, and which one took some of it away: a rollback, a later plan. None
    where all of it is shown; a rollback may have brought it back."""
    since, undone = first, None
    gone: set[str] = set()
    for release in every:
        if release.revision <= first.revision:
            continue
        moves = {move.model: move for move in release.moves if not move.growth}
        for target in (t for t in record.targets if t.model in moves):
            after = moves[target.model].after
            there = after is not None and any(s.version == target.version for s in after.segments)
            if after is not None and there and lists(after, target.columns):
                gone.discard(target.model)
            else:
                gone.add(target.model)
        if gone and undone is None:
            undone = release
        elif undone and not gone:
            since, undone = release, None
    return since, undone


def _gaps(context: Context, record: PlanRecord) -> tuple[Gap, ...] | None:
    """What preflight misses of a plan that is open and of the loaded code; None of others."""
    if not record.live:
        return None
    facts = context.facts()
    cases = cases_of(context, facts)
    with suppress(PlanError):  # what it asks for is not there any more
        if cases.may_move(facts, record):
            return find_gaps(context, plan_by_now(context, facts, record), facts.environment)
    return None


def _watch(context: Context, shown: Release) -> tuple[str, bool]:
    """What the watch says, where the release is the last change."""
    try:
        found = watch_environment(context).closing
    except BackfillError as error:
        return f"it could not be looked at: {error.what}", False
    return (found.sentence, found.closed) if found.release == shown.id else ("", False)
