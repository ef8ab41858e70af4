"""Which options go together? One declaration, for the command line and for the configuration of Dagster's jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from backfill_assets.core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """`option` cannot be given with any of `others`, because of `why`; `instead` says what does what was meant."""

    command: str = ""
    """Of this command only."""
    option: str
    others: tuple[str, ...]
    why: str
    instead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """`option` says nothing without `other`."""

    command: str = ""
    option: str
    other: str
    why: str
    instead: str


RANGE = ("start", "end", "end-bounded")
EXPECTED = ("expect-moved", "expect-unmoved", "expect-filled")
APART = (
    Apart(
        option="restate", others=("select",), why="a restatement names its models itself",
        instead="name each of them: --restate MODEL:DAY..DAY --restate OTHER:DAY..DAY",
    ),
    Apart(
        option="restate", others=RANGE, why="a restatement names its days itself",
        instead="write --restate MODEL:FIRST..LAST, the last day included",
    ),
    Apart(
        option="restate", others=("forward-only",),
        why="one computes published days again, the other leaves them as they are",
        instead="make two plans, one after the other",
    ),
    Apart(
        option="restate", others=("ignore-cron",), why="only days that are published can be computed again",
        instead="build the open interval by a plan of its own: --ignore-cron without --restate",
    ),
    *(
        Apart(
            option=option, others=("all-versions",),
            why="days of versions that are not published are invalidated whole, not in some of their rows",
            instead=f"restate the rows that are published with --{option}, or whole days with --all-versions",
        )
        for option in ("where", "ids")
    ),
    Apart(
        option="ids", others=("where",), why="each of them says which rows of the days are computed again",
        instead="give one of them; two plans, one after the other, do both",
    ),
    Apart(
        option="forward-only", others=RANGE, why="it names the first day itself, and goes on to the newest",
        instead="write --forward-only DAY alone, with --select where not all changed models are meant",
    ),
    Apart(
        option="empty",
        others=(
            "restate", "forward-only", "ignore-cron", "strategy", *EXPECTED, "sample", "promote", "why",
            "no-wait", "outside-windows", "by", "only",
        ),
        why="it computes nothing", instead="give --empty with --start, --end, --end-bounded and --select only",
    ),
    Apart(
        option="outside-windows", others=("no-wait",), why="one waits for nothing, so that the other says nothing",
        instead="give --outside-windows alone to build at once, or --no-wait to build within the windows only",
    ),
    Apart(
        command="apply", option="by", others=("where", "ids", "all-versions", "why"),
        why="a sample of entities is of all days' rows by the key's hash, and no plan of it is stored",
        instead="give --sample P% --by COLUMN with a range, --select, --restate MODEL:DAY..DAY or --forward-only",
    ),
    Apart(
        command="apply", option="by", others=EXPECTED,
        why="a sample is no proof: its rows bear out nothing of what is expected of all",
        instead="read what is different of the sample; give what is expected to `backfill apply` without --sample",
    ),
    Apart(
        option="only", others=("sample", "promote"), why="it is of a part of the plan, and the rest may be missing",
        instead="give --only alone; `backfill apply` without it builds the rest, and compares",
    ),
    Apart(
        option="sample", others=("promote",), why="after a sample the rest is still missing, and nothing can move",
        instead="run `backfill apply --promote` after the sample",
    ),
    Apart(
        command="promote", option="PLAN",
        others=(
            "select", *RANGE, "ignore-cron", "restate", "where", "ids", "all-versions", "forward-only", "strategy",
            *EXPECTED,
        ),
        why="a stored plan says itself what it is about", instead="write `backfill promote PLAN`, or the options alone",
    ),
    Apart(
        command="plan", option="json", others=("markdown",), why="the output has one form", instead="give one of them",
    ),
    Apart(
        command="adopt", option="all", others=("MODEL", "table", "copy"),
        why="it writes drafts of models, and adopts nothing",
        instead="write the drafts first; then, for each model: backfill adopt MODEL --table TABLE",
    ),
    Apart(
        command="approve", option="statement",
        others=("for", "reason", "accept", "by", "key", "prepare"),
        why="the prepared statement says all of that, and its signature holds for it as it is",
        instead="give these with --prepare, where the statement is made",
    ),
    Apart(
        command="approve", option="prepare", others=("key", "json"),
        why="it prints the statement, which is JSON, to be signed elsewhere",
        instead="sign the file with ssh-keygen, then: --statement FILE --signature FILE.sig",
    ),
)  # fmt: skip
NEEDS = (
    Needs(
        option="where", other="restate", why="it says which rows of published days are computed again",
        instead="name the days: --restate MODEL:DAY..DAY --where \"region = 'de'\"",
    ),
    Needs(
        option="ids", other="restate", why="it says which rows of published days are computed again",
        instead="name the days: --restate MODEL:DAY..DAY --ids FILE",
    ),
    Needs(
        command="apply", option="by", other="sample", why="it says by which column of the key entities are taken",
        instead="say how many: --sample 1% --by campaign_id",
    ),
    Needs(
        option="all-versions", other="restate", why="it widens a restatement to versions that are not published",
        instead="name what is restated: --restate MODEL:DAY..DAY --all-versions",
    ),
    Needs(
        option="end-bounded", other="end", why="it says how the end of the range is meant",
        instead="give the last day: --end DAY --end-bounded",
    ),
    Needs(
        command="approve", option="statement", other="signature", why="a statement counts by its signature",
        instead="backfill approve PLAN --statement said.json --signature said.json.sig",
    ),
    Needs(
        command="approve", option="signature", other="statement", why="a signature is one of a text",
        instead="backfill approve PLAN --statement said.json --signature said.json.sig",
    ),
    Needs(
        command="consumers", option="plan", other="check", why="without it the consumers are only listed",
        instead="backfill consumers --check --plan PLAN",
    ),
    *(
        Needs(
            command="plan", option=option, other="markdown", why="only Markdown has links",
            instead=f"backfill plan --markdown --{option} https://…/{{plan}}",
        )
        for option in ("page-url", "packet-url")
    ),
)  # fmt: skip


def check_options(command: str, given: Collection[str], spell: Callable[[str], str] = "--{}".format) -> None:
    """Raises UsageError with each pair of the given options that do not go together, its reason and what to do instead.

    `given` are names such as `end-bounded`, arguments in capitals; `spell` says how the user writes one.
    """

    def spelled(name: str) -> str:
        return name if name.isupper() else spell(name)

    found = list(_wrong(command, given))
    if not found:
        return
    pairs = [
        f"{spelled(rule.option)} "
        + (f"needs {spelled(other)}" if isinstance(rule, Needs) else f"with {spelled(other)}")
        for rule, other in found
    ]
    rules = list(dict.fromkeys(rule for rule, _ in found))
    raise UsageError(
        f"these options do not go together: {'; '.join(pairs)}",
        why="; ".join(f"{spelled(rule.option)}: {rule.why}" for rule in rules),
        fix="; ".join(dict.fromkeys(rule.instead for rule in rules)),
    )


def _wrong(command: str, given: Collection[str]) -> Iterator[tuple[Apart | Needs, str]]:
    for rule in (*APART, *NEEDS):
        if rule.option not in given or rule.command not in ("", command):
            continue
        if isinstance(rule, Needs):
            if rule.other not in given:
                yield rule, rule.other
        else:
            yield from ((rule, other) for other in rule.others if other in given)
