"""What is a command about? The options that `plan`, `apply` and `promote` share, as one Request."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import typer

from backfill_assets.errors import UsageError
from backfill_assets.intervals import Interval
from backfill_assets.plan.asked import request_of
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


Why = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What the change is for: kept with the plan, told to all.")
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
    """The request that the options say. Raises UsageError, with all that is wrong with them."""
    return request_of(
        end_bounded=end_bounded,
        ignore_cron=ignore_cron,
        start=start,
        end=end,
        select=select or (),
        restate=restate or (),
        all_versions=all_versions,
        forward_only=forward_only,
        strategies=tuple(map(_choice, strategy or ())),
        expect_moved=expect_moved or (),
        expect_unmoved=expect_unmoved or (),
    )


def explained(request: Request, why: str | None) -> Request:
    """The request with what its author says that it is for. Raises UsageError for words that say nothing."""
    return replace(request, why=request_of(why=why).why)


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
    """The range that two options say, open where one is not given; None when neither is. Raises UsageError."""
    request = request_of(start=start, end=end)
    if request.start is None and request.end is None:
        return None
    return Interval(request.start or EVER.start, request.end or EVER.end)


def name_and_value(option: str, text: str, *, why: str, value: str) -> tuple[str, str]:
    """What `NAME=VALUE` says. Raises UsageError, which shows `value` as an example, without an `=`."""
    name, equals, said = text.partition("=")
    if not equals:
        raise UsageError(f"{option} {text} is not understood", why=why, fix=f"write {option} {name}={value}")
    return name, said


def _choice(text: str) -> tuple[str, str]:
    return name_and_value("--strategy", text, why="it names a model and a way to change it", value="dual-run")
