"""May the environment move? Every way to a release asks here: the rules below, in order, say all that is in the way.

Promotions of a request or of a plan, restatements, changes from a day on, routine runs, rollbacks, joined corrections
and Dagster's jobs make a Case each, and `release.py` moves what the gate lets through, and nothing else.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import logic_of
from backfill_assets.core.wording import amount_of, listed
from backfill_assets.plan.changed_texts import remedy
from backfill_assets.plan.changes import asked_about
from backfill_assets.plan.commands import (
    accept_option,
    apply_command,
    restate_argument,
    restate_command,
    withdraw_command,
)
from backfill_assets.plan.left_out import (
    begin_later,
    causes_of_loss,
    sources_not_ready,
    sources_without,
    ways_on,
)
from backfill_assets.plan.missing import needed, upstream_models
from backfill_assets.plan.renamed_columns import outdated
from backfill_assets.plan.scope import changed_beside
from backfill_assets.plan.stages import Request
from backfill_assets.plan.taking_out import taking_out
from backfill_assets.promote.approval import EVERY_PROOF, ApprovalSubject, PlanReview
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.consent import (
    covered_by,
    settled_beforehand,
    subjects_of,
    unaccepted,
    unapproved,
    unreleased,
    valid_approvals,
    why_not_enough,
)
from backfill_assets.promote.mismatches import Mismatch, mismatches
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.sql.types import in_yaml, same_type
from backfill_assets.state.ledger import Coverage, read_version
from backfill_assets.state.proofs import Finding
from backfill_assets.state.required_approvals import merged_roles, titled
from backfill_assets.state.shown_state import ShownState
from backfill_assets.state.view_types import TwoTypes, two_types


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The gate's answer: open when nothing is in the way. `pointers` would move, `removed` would go."""

    pointers: tuple[Pointer, ...]
    obstacles: tuple[Obstacle, ...]
    changed: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Model → the published intervals whose rows are others."""
    removed: tuple[str, ...] = ()

    @property
    def open(self) -> bool:
        return not self.obstacles

    @property
    def moves(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.pointers or self.removed)


Rule = Callable[[Case], Iterator[Obstacle]]


def built(case: Case) -> Iterator[Obstacle]:
    """All that is to be shown is built."""
    command = apply_command(case.request)
    for w in case.wanted.wanted:
        calendar, left = case.project.models[w.model].calendar, w.unbuilt
        for why, part in w.refused.items():
            count, left = part.count(calendar.cadence), left - part
            yield Obstacle(
                model=w.model,
                what=f"{amount_of(count, calendar)} {'does' if count == 1 else 'do'} not count: {why}:",
                intervals=part,
                remedy=f"once the cause is mended: {command}",
            )
        if left:
            count = left.count(calendar.cadence)
            what = f"{amount_of(count, calendar)} {'is' if count == 1 else 'are'} not built:"
            yield Obstacle(model=w.model, what=what, intervals=left, remedy=command)


def audited(case: Case) -> Iterator[Obstacle]:
    """It passed the audits of the present definition."""
    for w in case.wanted.wanted:
        if w.unaudited:
            calendar = case.project.models[w.model].calendar
            count = w.unaudited.count(calendar.cadence)
            yield Obstacle(
                model=w.model,
                what=f"{amount_of(count, calendar)} {'lacks' if count == 1 else 'lack'} audits:",
                intervals=w.unaudited,
                remedy=apply_command(case.request),
            )


def with_rows(case: Case) -> Iterator[Obstacle]:
    """Obstacles: intervals that were declared empty and never computed."""
    for w in case.wanted.wanted:
        if w.hollow:
            yield Obstacle(
                model=w.model,
                what="intervals are declared complete without rows:",
                intervals=w.hollow,
                remedy=f"backfill withdraw {w.model}:{w.hollow.intervals[0]}, then backfill apply; "
                "or promote a range without them (--start, --end)",
            )


def from_rows(case: Case) -> Iterator[Obstacle]:
    """Obstacles: intervals computed from an upstream interval that was declared empty."""
    for w in case.wanted.wanted:
        model = case.project.models[w.model]
        for name, upstream in upstream_models(case.project, model).items():
            if w.patched or not (empty := case.facts.tables.coverage[name].empty):
                continue
            hollow = Ranges.of(
                unit
                for part, entry in case.facts.tables.coverage[w.model].batches(w.publish)
                if read_version(entry, name) == case.project.fingerprints[name]
                for unit in model.cadence.split(part)
                if needed(model, upstream, unit) & empty
            )
            if hollow:
                yield Obstacle(
                    model=w.model,
                    what=f"intervals were computed from declared-empty ones of {name}:",
                    intervals=hollow,
                    remedy=f"backfill withdraw {name}:{empty.intervals[0]}, then backfill apply",
                )


def of_shown_rows(case: Case) -> Iterator[Obstacle]:
    """It was computed from the rows of its upstreams that are shown beside it, not from others; so was what stays as it
    is shown and reads what moves."""
    if case.purpose is not Purpose.PROMOTION or not case.older.upstreams:  # daily runs go on: `watch` names it
        return
    older = _copied_before(case)
    for row in case.older.sources:
        older[row.model] = older.get(row.model, NOTHING) | row.intervals
    held = {w.model for w in case.wanted.wanted if not w.ready}
    for each in case.older.upstreams:
        first = each.upstream if each.upstream in held or not each.of - older.get(each.upstream, NOTHING) else ""
        yield Obstacle(
            model=each.model,
            what=f"was computed from other rows of {each.upstream} {each.of} than {case.environment.name} would show:",
            intervals=each.intervals,
            remedy=f"mend {first} first: then {apply_command(case.request)} looks at this again"
            if first
            else _again(case, each.model, each.intervals, "what is shown now", each.upstream),
        )


def of_newest_rows(case: Case) -> Iterator[Obstacle]:
    """No published interval that was computed from newer rows of a source, settled for one, gets older ones."""
    for each in case.older.sources if case.purpose is Purpose.PROMOTION else ():
        yield Obstacle(
            model=each.model,
            what=f"was computed from older rows of source {each.source} than {case.environment.name} shows:",
            intervals=each.intervals,
            remedy=_again(case, each.model, each.intervals, "the source as it is now"),
        )


def of_known_sources(case: Case) -> Iterator[Obstacle]:
    """What its sources are by now is known: else nobody can tell whether newer rows of them are shown in its place."""
    if case.purpose not in (Purpose.PROMOTION, Purpose.ROUTINE):
        return
    for pointer in case.wanted.pointers:
        model = case.project.models.get(pointer.model)
        for name, error in case.facts.sources.away.items():
            if model is not None and any(upstream.name == name for upstream in model.upstreams):
                what = f"may be older than what is shown, as {name} cannot be looked at ({error.why}):"
                yield Obstacle(model=model.name, what=what, intervals=pointer.covers, remedy=error.fix)


def nothing_lost(case: Case) -> Iterator[Obstacle]:
    """What is shown stays in sight."""
    for w in case.wanted.wanted:
        if not w.lost:
            continue
        left = w.lost
        for each in causes_of_loss(case.project, case.facts, w.model, w.lost):
            yield Obstacle(
                model=w.model,
                what=f"{each.cause} leaves out days of {each.cause.model} that are shown: "
                f"{case.environment.name} would lose",
                intervals=each.lost,
                remedy=ways_on(each.cause, case.request),
            )
            left = left - each.lost
        for source, part in sources_not_ready(case.project, case.facts, w.model, left):
            assert source.ready is not None
            yield Obstacle(
                model=w.model,
                what=f"{source.name} is not ready for days that are shown: {case.environment.name} would lose",
                intervals=part,
                remedy=f"wait {source.ready.awaited}, then backfill apply",
            )
            left = left - part
        for sources, part in sources_without(case.project, case.facts, w.model, left):
            have, names = "has" if len(sources) == 1 else "have", listed(sources)
            yield Obstacle(
                model=w.model,
                what=f"{names} {have} no rows of days that are shown: {case.environment.name} would lose",
                intervals=part,
                remedy=f"load them again; or write `cut_off: false` for {names} in sources.yml, which lets these days "
                "be computed without rows; then backfill apply",
            )
            left = left - part
        for upstream, part in begin_later(case.project, w.model, left):
            yield Obstacle(
                model=w.model,
                what=f"{upstream.name} begins at {upstream.start:%Y-%m-%d}, after days that are shown: "
                f"{case.environment.name} would lose",
                intervals=part,
                remedy=f"let {upstream.name} begin earlier (`start:`), then backfill apply; or give {w.model} another "
                "name, and leave the old one as it is shown",
            )
            left = left - part
        if left:
            yield Obstacle(
                model=w.model,
                what=f"{case.environment.name} would lose",
                intervals=left,
                remedy="promote a range that holds them as well: backfill apply, then backfill promote",
            )


def of_one_type(case: Case) -> Iterator[Obstacle]:
    """Each column has a type that all of its rows can be cast to without a loss: else nobody can read the view."""
    for pointer in case.pointers:
        for each in two_types(pointer):
            yield Obstacle(
                model=pointer.model,
                what=f"column {each.name} would be {each.kind} ({pointer.covers - each.intervals or 'no rows'}), which "
                f"{each.stored_kind} cannot be cast to safely; it is {each.stored_kind} in the rows of",
                intervals=each.intervals,
                remedy=_one_type(case, each),
            )


def as_declared(case: Case) -> Iterator[Obstacle]:
    """The columns of a version that is shown anew have the types that its header says by now: what reads it, and the
    plans of its readers' changes, go by these."""
    for pointer in case.pointers if case.purpose is Purpose.PROMOTION else ():
        name, version = pointer.model, pointer.version
        if case.project.fingerprints.get(name) != version or case.environment.versions.get(name) == version:
            continue
        kinds = {column.lower(): kind for column, kind in pointer.columns}
        for column, declared in case.project.models[name].promised.items():
            if (kind := kinds.get(column.lower())) and not same_type(kind, declared):
                yield Obstacle(
                    model=name,
                    what=f"column {column} is declared {declared}, and is {kind} in its rows of",
                    intervals=pointer.covers - pointer.segments.of_other_logic(version).covers,
                    remedy=f"write `type: {in_yaml(kind)}`, or leave it out; or let the code give {declared}, "
                    "then backfill apply",
                )


def fits_together(case: Case) -> Iterator[Obstacle]:
    """No model is shown beside another version of what it was computed from."""
    if case.wanted.ready and case.purpose is not Purpose.ROLLBACK:  # a rollback says so itself, with its own remedy
        after = {name: pointer.version for name, pointer in case.after.items()}
        remedy = partial(_with_upstream, case)
        yield from mismatches(case.project, case.environment, after, case.versions, remedy=remedy)


def _with_upstream(case: Case, found: Mismatch) -> str:
    """How a model and one that it reads are shown together."""
    name, shown = found.model, case.environment.name
    if name not in case.project.models:
        return _back_or_out(case, name)
    needs = [(b.upstream, b.needs - _closed(case, b.upstream)) for b in case.blocked if b.model == name]
    if waits := [f"{upstream} {left}" for upstream, left in needs if left]:
        return f"{name} waits for {listed(waits)}: promote both when {name} is built"
    both = f"--select {found.upstream}+"
    together = f"promote both together: backfill apply {both}, then backfill promote {both}"
    if (own := case.facts.shown.own_changes.get(name)) and own.code:
        return f"{together}; the code has another {name} than {shown} shows: merge that first, if it is somebody else's"
    return together


def _back_or_out(case: Case, name: str) -> str:
    """What is done about a model that is shown and that the code does not have."""
    shown, gone = case.environment.name, f"the code has no {name} any more"
    out = taking_out(case.project, case.environment, case.facts.shown.reads, [name])
    if not out.held:
        return f"{gone}: put its file back, or take it out of {shown}: {out.command}"
    return f"{gone}, and {', '.join(out.held)} reads it as {shown} shows it: {out.steps}"


def _closed(case: Case, name: str) -> Ranges:
    """What there is by now of a model's intervals that are over; nothing of a source that is away."""
    if name not in case.project.models:
        return NOTHING
    return case.facts.tables.coverage[name].complete.until(case.project.models[name].over(case.facts.now))


def way_back(case: Case) -> Iterator[Obstacle]:
    """A release that is gone back to can be shown again."""
    yield from case.way_back


def not_in_place(case: Case) -> Iterator[Obstacle]:
    """Published rows are replaced by rows beside them, never by what somebody wrote over them."""
    for name, part in case.rewritten.items():
        yield Obstacle(
            model=name,
            what=f"{case.environment.name} would show rows that were written over published ones:",
            intervals=part,
            remedy=restate_command(restate_argument(name, part)),
        )


def only_more(case: Case) -> Iterator[Obstacle]:
    """A routine run adds intervals, and replaces those that a settling window covers; joined corrections are copies."""
    if case.purpose not in (Purpose.ROUTINE, Purpose.JOIN):
        return
    settles = settled_beforehand(case)
    left = {name: part - settles.get(name, NOTHING) for name, part in case.changed.items()}
    for name, part in ((name, part) for name, part in left.items() if part):
        yield Obstacle(
            model=name,
            what=f"{'a routine run' if case.purpose is Purpose.ROUTINE else 'a copy'} would change published rows:",
            intervals=part,
            remedy="run it again: it begins with what is shown by then",
        )


def copied_as_shown(case: Case) -> Iterator[Obstacle]:
    """What was copied under other names is what is shown by now: no correction came between."""
    again = f"{apply_command(case.request)}, which copies what is shown now"
    for name, left in _copied_before(case).items() if case.purpose is Purpose.PROMOTION else ():
        yield Obstacle(
            model=name,
            what="was copied before other rows were published:",
            intervals=left,
            remedy=f"{withdraw_command(name, left)}, then {again}",
        )


def _copied_before(case: Case) -> dict[str, Ranges]:
    """Model → what would move of it and was copied from rows that others took the place of since."""
    found: dict[str, Ranges] = {}
    for pointer in case.pointers:
        have, shown = case.facts.tables.coverage.get(pointer.model), case.facts.standing.get(pointer.model)
        own = Ranges.of(s.interval for s in pointer.segments if s.version == pointer.version)
        if have and shown and (left := outdated(have, shown) & own):
            found[pointer.model] = left
    return found


def scopes_as_shown(case: Case) -> Iterator[Obstacle]:
    """Rows outside of a restatement's scope are those that are shown by now: no correction came between."""
    if case.purpose is not Purpose.PROMOTION:
        return
    for pointer in case.pointers:
        shown = case.facts.standing.get(pointer.model, ShownState())
        for segment in pointer.segments:
            have = case.facts.tables.patched.get(segment.version, Coverage())
            if left := changed_beside(have, segment.version, shown) & Ranges((segment.interval,)):
                yield Obstacle(
                    model=pointer.model,
                    what="was computed again in some of its rows, before others were published beside them:",
                    intervals=left,
                    remedy=f"{apply_command(case.request)}, which copies what is shown now",
                )


def known(case: Case) -> Iterator[Obstacle]:
    """What has to be known before history is rewritten is known (`backfill preflight`)."""
    if case.required and case.purpose is Purpose.PROMOTION:
        for gap in case.gaps:
            if gap.blocking:
                yield Obstacle(model=gap.subject, what=gap.what, remedy=gap.remedy)


def compared(case: Case) -> Iterator[Obstacle]:
    """New rows were compared with what is shown, consumers' queries asked, and kept tables checked."""
    proved = [(r, s) for r, s in subjects_of(case) if s.proved >= EVERY_PROOF]
    # Of what the environment gained since an approval nobody compares the rows again: it was approved without that.
    later = [covered_by(case, r, a) for r, a in valid_approvals(case) if any(s.scope == a.scope for _, s in proved)]
    for name, part in unreleased(case).items():
        seen = [*(s.scope for _, s in proved), *later]
        if left := part - Ranges.of(i for ranges in seen for i in ranges.get(name, NOTHING)):
            yield Obstacle(
                model=name,
                what="was not compared with what is shown:",
                intervals=left,
                remedy=apply_command(case.request),
            )


def approved(case: Case) -> Iterator[Obstacle]:
    """Every published interval whose rows would be others has the approval of exactly these rows by all who are asked:
    its owners, whoever validates it, and the owners of critical consumers where the rules say so."""
    for owner, parts in unapproved(case).items():
        roles = merged_roles((owner, case.owners(name)[owner]) for name in parts)[owner]
        yield Obstacle(
            model=", ".join(parts),
            what=f"needs approval by {titled(owner, roles, 'somebody (it has no owner)')} of "
            f"{asked_about(case.project, case.facts, parts)} of published history{why_not_enough(case, owner, parts)}:",
            intervals=Ranges.of(i for part in parts.values() for i in part),
            remedy=_approve(case, owner, parts),
        )


def accepted(case: Case) -> Iterator[Obstacle]:
    """What came out otherwise than it should have was accepted by name, by all whose approval its model needs."""
    for review, about, finding, lacking in unaccepted(case):
        yield Obstacle(model=finding.model, what=finding.text, remedy=_accept(review, finding, lacking, about))


def as_expected(case: Case) -> Iterator[Obstacle]:
    """Obstacles: this promotion's `--expect` options that the comparison contradicts, whatever others accepted."""
    yield from case.surprises


def legible(case: Case) -> Iterator[Obstacle]:
    """Where somebody's yes is missing, no record of one is damaged. Given again, it opens the gate all the same."""
    if not unapproved(case) and not any(unaccepted(case)):
        return
    for review, about in {r.record.id: (r, s) for r, s in subjects_of(case)}.values():
        for record in review.damaged:
            remedy = f"approve it again: backfill approve {review.record.id}"
            yield Obstacle(model=", ".join(about.scope), what=str(record), remedy=remedy)


def texts_hold(case: Case) -> Iterator[Obstacle]:
    """Where another text built the version that counts as the code's, both were compared, and gave the same rows."""
    moving = {(p.model, p.version) for p in case.pointers} | _vouched_beside(case)
    changed = tuple(c for c in case.facts.texts.changed if (c.model, c.version) in moving)
    texts = replace(case.facts.texts, changed=changed)
    for one in texts.unchecked:
        yield Obstacle(
            model=one.model,
            what=f"counts as unchanged, but another text of it built {one.version}, and the two were not compared",
            remedy=apply_command(_that_runs(case), one.model),
        )
    for check in texts.refuted:
        if not check.error:
            yield Obstacle(
                model=check.model,
                what=f"counts as unchanged, but its text gives other rows than {check.version}:",
                intervals=check.differ,
                remedy=remedy(case.project, check.model),
            )


def _that_runs(case: Case) -> Request:
    """The case's request, or one without its restatement where the code is other than what that would compute again."""
    shown, code = case.environment.versions, case.project.fingerprints
    newer = any(code.get(name) != shown.get(name) for name, _ in case.request.restate)
    return Request() if newer else case.request


def _vouched_beside(case: Case) -> set[tuple[str, str]]:
    """The models that stay by their author's word (`same_as`) while what they read moves to the code's version."""
    project, shown = case.project, case.facts.environment.versions
    now = {p.model for p in case.pointers if p.version == project.fingerprints.get(p.model)}
    others = {name for name in now if shown.get(name) != project.fingerprints[name]}
    return {
        (name, project.fingerprints[name])
        for name in project.overrides
        if shown.get(name) == project.fingerprints[name] and {u.name for u in project.models[name].upstreams} & others
    }


_ROWS: tuple[Rule, ...] = (
    built, audited, with_rows, from_rows, of_shown_rows, of_newest_rows, of_known_sources, nothing_lost,
    of_one_type, as_declared, fits_together,
)  # fmt: skip
"""What holds of everything that is shown."""
HISTORY: tuple[Rule, ...] = (
    way_back, not_in_place, only_more, copied_as_shown, scopes_as_shown, known, approved, compared, accepted,
    as_expected, legible,
)  # fmt: skip
"""What holds beside that where published rows change."""
_MENDED_FIRST = frozenset({*_ROWS, copied_as_shown, scopes_as_shown})
"""What rows lack that other ones take the place of."""
CODE: tuple[Rule, ...] = (texts_hold,)
"""What holds of the code that computes the next intervals."""
RULES: tuple[Rule, ...] = (*_ROWS, *CODE, *HISTORY)


def gate(case: Case, rules: Sequence[Rule] = RULES) -> Verdict:
    """Everything that is in the way, or the pointers to move. Of rows that have to be mended, nothing is compared or
    approved before: that comes last."""
    order = {w.model: number for number, w in enumerate(case.wanted.wanted)}
    found: list[tuple[bool, int, Obstacle]] = []
    first = ""
    for rule in rules:
        told = list(rule(case))
        waits = bool(first) and rule in (approved, compared)
        if waits:
            told = [replace(obstacle, remedy=f"{first}{obstacle.remedy}") for obstacle in told]
        found += [(waits, order.get(obstacle.model, len(order)), obstacle) for obstacle in told]
        if told and rule in _MENDED_FIRST:
            first = "mend the rest, then "
    obstacles = tuple(o for *_, o in sorted(found, key=itemgetter(0, 1)))  # of a model together, as of rules
    return Verdict(pointers=case.pointers, obstacles=obstacles, changed=case.changed, removed=case.removed)


def judge_rows(case: Case) -> Verdict:
    """Whether all that a case moves is there and audited, apart from who has to approve it."""
    return gate(case, _ROWS)


def _approve(case: Case, owner: str, parts: Mapping[str, Ranges]) -> str:
    """How an owner approves: a plan that changes just this."""
    for review in reversed(case.reviews):
        if all(not part - review.changed.get(name, NOTHING) for name, part in parts.items()):
            several = len({o for name in review.changed for o in case.owners(name)}) > 1
            return f"backfill approve {review.record.id}{f' --for {shlex.quote(owner)}' if several and owner else ''}"
    return f"{apply_command(case.request)}, which opens a plan that can be approved, also when nothing is left to build"


def _accept(review: PlanReview, finding: Finding, owners: Sequence[str], about: ApprovalSubject) -> str:
    option = f" --for {owners[0]}" if len(about.owners) > 1 and owners[0] else ""
    command = f"backfill approve {review.record.id}{option}"
    return f"mend it, then backfill apply, or accept it: {command} {accept_option(finding.name)}"


def _one_type(case: Case, column: TwoTypes) -> str:
    """How all rows of a column get one type."""
    if case.purpose is Purpose.ROLLBACK:
        return "go back to another release"
    rebuild = f"backfill apply{', without --forward-only' * bool(case.request.forward_only)}"
    return f"cast {column.name} to {column.stored_kind} in the query; or rebuild all days: {rebuild}"


def _again(case: Case, name: str, part: Ranges, reads: str, upstream: str = "") -> str:
    """How intervals are computed again: a restatement is made anew, others that are not shown yet are withdrawn. What
    is shown beside an `upstream` that is not can be computed again as a version of its own only: a restatement reads
    what is shown."""
    apply = f"{apply_command(case.request)}, which"
    if name not in case.project.models:
        return _back_or_out(case, name)
    if name not in {p.model for p in case.pointers}:
        shown = case.environment.pointers.keys()
        if upstream and name in shown and upstream not in shown:
            own = f'make {name} a version of its own: `code_version: "2"` in its header'
            return f"{own}, then {apply} computes it again with what it reads"
        return f"{apply} computes it again with what it reads"
    if any(w.model == name and w.patched and w.version != logic_of(w.version) for w in case.wanted.wanted):
        return f"{apply} computes it again from {reads}"
    return f"{withdraw_command(name, part)}, then {apply} reads {reads}"
