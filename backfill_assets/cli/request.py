"""What is a command about? The options that `plan`, `apply` and `promote` share, as one Request."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from backfill_assets.errors import SettingsError
from backfill_assets.intervals import Interval
from backfill_assets.plan.asked import days_of, instant
from backfill_assets.plan.patch import EVER
from backfill_assets.plan.stages import Request

Start = Annotated[str | None, typer.Option(metavar="DAY", help="First day (or instant) of the range; default: all.")]
End = Annotated[str | None, typer.Option(metavar="DAY", help="Last day, included; an instant with a time is excluded.")]
EndBounded = Annotated[
    bool, typer.Option("--end-bounded", help="Leave out what goes beyond --end, as the month of a day in its middle.")
]
IgnoreCron = Annotated[
    bool, typer.Option("--ignore-cron", help="Include the interval that is not over yet, as far as it got.")
]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", "-s", metavar="MODELS", help="Names; +name: and upstream, name+: and downstream."),
]
Restate = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODEL:DAY..DAY",
        help="Compute published days again, beside them, and what reads them; the last day is included.",
    ),
]
AllVersions = Annotated[
    bool,
    typer.Option(
        "--all-versions", help="With --restate: invalidate these days of versions that are not published, too."
    ),
]
ForwardOnly = Annotated[
    str | None,
    typer.Option(metavar="DAY", help="Give changed models their new logic from this day on; older rows stay."),
]


Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy", metavar="MODEL=WAY", help="full-rebuild, or dual-run: built and compared, moved by a later plan."
    ),
]


ExpectMoved = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL[.COLUMN]", help="It should move; if it does not, its owner has to accept that."),
]
ExpectUnmoved = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL[.COLUMN]", help="It should not move; if it does, its owner has to accept that."),
]


def asked_for(
    start: Start = None,
    end: End = None,
    end_bounded: EndBounded = False,
    ignore_cron: IgnoreCron = False,
    select: Select = None,
    restate: Restate = None,
    all_versions: AllVersions = False,
    forward_only: ForwardOnly = None,
    strategy: Strategies = None,
    expect_moved: ExpectMoved = None,
    expect_unmoved: ExpectUnmoved = None,
) -> Request:
    """The request that the options say. Raises SettingsError for what is no day, and options that need another."""
    if all_versions and not restate:
        raise SettingsError(
            "--all-versions needs --restate",
            why="it widens a restatement to the versions that are not published",
            fix="name what is restated: --restate campaign_performance:2024-03-01..2024-03-04 --all-versions",
        )
    return Request(
        end_bounded=end_bounded,
        ignore_cron=ignore_cron,
        start=instant(start, "--start"),
        end=instant(end, "--end", last=True),
        select=tuple(select or ()),
        restate=tuple(days_of(text, "--restate ") for text in restate or ()),
        all_versions=all_versions,
        forward_only=instant(forward_only, "--forward-only"),
        strategies=tuple(map(_choice, strategy or ())),
        expect_moved=tuple(expect_moved or ()),
        expect_unmoved=tuple(expect_unmoved or ()),
    )


def with_request(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, whose first parameter is a Request, the options that make one."""
    shared = inspect.signature(asked_for, eval_str=True)
    first, *own = inspect.signature(command, eval_str=True).parameters.values()

    @functools.wraps(command)
    def run(**options: Any) -> None:
        request = asked_for(**{name: options.pop(name) for name in shared.parameters})
        command(**{first.name: request}, **options)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*shared.parameters.values(), *own)]
    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def between(start: str | None, end: str | None) -> Interval | None:
    """The range that two options say, open where one is not given; None when neither is. Raises SettingsError."""
    first, last = instant(start, "--start"), instant(end, "--end", last=True)
    if first is None and last is None:
        return None
    try:
        return Interval(first or EVER.start, last or EVER.end)
    except ValueError:
        raise SettingsError(
            "the range is empty or reversed", why="--start must come before --end", fix="swap them"
        ) from None


def name_and_value(option: str, text: str, *, why: str, value: str) -> tuple[str, str]:
    """What `NAME=VALUE` says. Raises SettingsError, which shows `value` as an example, without an `=`."""
    name, equals, said = text.partition("=")
    if not equals:
        raise SettingsError(f"{option} {text} is not understood", why=why, fix=f"write {option} {name}={value}")
    return name, said


def _choice(text: str) -> tuple[str, str]:
    return name_and_value("--strategy", text, why="it names a model and a way to change it", value="dual-run")
