"""What of a model is there, and what is somebody about to remove? Asked again before each step of a build."""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.audits.digest import audits_digest
from backfill_assets.build.bench import Workbench
from backfill_assets.core.errors import BuildError, DamagedLogError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.missing import upstream_models
from backfill_assets.plan.partial import UpstreamNow, outdated_partial
from backfill_assets.plan.patch import segments_beside
from backfill_assets.plan.versions import shown_segments
from backfill_assets.state.ledger import DECIDING, Coverage, by_version
from backfill_assets.state.removals import Removal
from backfill_assets.state.seen import seen


def current_coverage(bench: Workbench, name: str) -> tuple[dict[str, Coverage], dict[tuple[str, str], int]]:
    """What the model and its upstream models have now, and the table commit at which each version was seen. An upstream
    may be read by another name than its own, which is that of its tables."""
    upstreams = upstream_models(bench.project, bench.project.models[name])
    pointers = bench.pointers()
    groups = by_version(bench.control.ledger.entries([name, *(m.name for m in upstreams.values())], kinds=DECIDING))
    heads: dict[tuple[str, str], int] = {}

    def there(each: str, version: str) -> Coverage:
        model = bench.project.models[each]
        digest, over = audits_digest(model), model.over(bench.now)
        found = seen(groups, bench.log, model.name, version, pointers.get(model.name), audits=digest, over=over)
        heads[each, version] = found.head
        return found.coverage

    have = {name: there(name, bench.version(name))}
    for each in upstreams:
        have[each] = there(each, bench.project.fingerprints[each])
        if patch := bench.patches.get(each):
            again = there(each, patch.version)
            kept = patch.below.covers - patch.intervals
            have[each] = Coverage(green=kept | (again.green & patch.intervals))
    if have[name].partial and not bench.patches:
        have[name] = have[name].without(_stale(bench, name, have, pointers))
    return have, heads


def _stale(bench: Workbench, name: str, have: Mapping[str, Coverage], shown: Mapping[str, Pointer]) -> Ranges:
    """What is partial of the model and would be computed from other data by this run."""
    upstreams = {
        each: UpstreamNow(
            model=upstream,
            version=bench.project.fingerprints[each],
            have=have[each],
            over=segments_beside(shown.get(each), bench.project.fingerprints[each], have[each]),
        )
        for each, upstream in upstream_models(bench.project, bench.project.models[name]).items()
    }
    return outdated_partial(bench.project.models[name], have[name], upstreams, bench.pins, run=bench.run)


def removals_of(bench: Workbench, name: str) -> frozenset[Removal]:
    """What the janitor removes, or has removed, of the tables that a build of the model writes to and reads."""
    upstreams = upstream_models(bench.project, bench.project.models[name])
    tables = [(name, bench.version(name))]
    for each, upstream in upstreams.items():
        tables += [(upstream.name, bench.version(each)), (upstream.name, bench.project.fingerprints[each])]
    return frozenset(bench.control.removals.of(tables))


def removed(name: str) -> BuildError:
    return BuildError(
        f"a table of {name}, or one that it reads, was not needed for longer than the retention and is being removed",
        why="the janitor came first",
        fix="let `backfill janitor --apply` finish, then run this again: it is built anew",
    )


def refuse_lost_table(bench: Workbench, name: str, version: str) -> None:
    """Raise BuildError for a table that is not there and that an environment shows: made anew, its commits would be
    others than those that are shown, and whoever reads these would get other rows. StateError for a damaged one."""
    try:
        bench.log.commits(name, version)  # all of its log is looked at
    except DamagedLogError as error:
        if not _shown_of(bench, name, version):
            error.fix = "delete this folder, of which no environment shows a row, and run this again: it is built anew"
        raise
    if bench.control.versions.get(name, version) is None:  # it never was there
        return
    for environment, part in _shown_of(bench, name, version).items():
        again = f"put other rows in the place of all of them: {restate_command(restate_argument(name, part.covers))}"
        other = f"or let {environment} show other rows of these days, in its own project"
        raise BuildError(
            f"the table of {name} {version} is gone, and {environment} shows {part.covers} of it",
            why="made anew, its commits would be others, and the views would show what they hold by now",
            fix="restore the folder from a backup (backfill restore SRC); "
            + (f"or {again}, then promote it" if environment == bench.environment else other),
        )


def _shown_of(bench: Workbench, name: str, version: str) -> dict[str, Segments]:
    """Environment → what it shows of a table; of those that show any."""
    return {e.name: part for e in bench.control.lasting() if (part := shown_segments((e,)).get((name, version)))}
