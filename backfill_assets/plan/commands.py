"""Which command does it again? The one that somebody gave, with all that it was about."""

from __future__ import annotations

import shlex
from collections.abc import Container, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.wording import day_text
from backfill_assets.plan.request_options import ONLY, REQUEST_OPTIONS
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.state.plans import PlanRecord


def restate_argument(model: str, ranges: Ranges) -> tuple[str, ...]:
    """What `--restate` takes for these intervals: days or hours, both ends included."""
    return tuple(f"{model}:{i}" for i in ranges)


def restate_command(arguments: tuple[str, ...]) -> str:
    """The command that restates them, all in one plan."""
    return " ".join(["backfill apply", *(f"--restate {a}" for a in arguments)])


def restate_all(days: Mapping[str, Ranges]) -> str:
    """The same of days by model."""
    return restate_command(
        tuple(argument for name, parts in days.items() for argument in restate_argument(name, parts))
    )


def withdraw_command(model: str, ranges: Ranges) -> str:
    """The command that makes them missing again."""
    return withdraw_all({model: ranges})


def withdraw_all(days: Mapping[str, Ranges]) -> str:
    """The same of days by model."""
    return " ".join(["backfill withdraw", *(a for name, parts in days.items() for a in restate_argument(name, parts))])


def accept_option(finding: str, reason: str = "why it may be so") -> str:
    """The option that accepts a finding, as a shell takes it: columns may be called anything.

    >>> print(accept_option("orders.total"), accept_option("orders.Net Amount"))
    --accept orders.total="why it may be so" --accept 'orders.Net Amount=why it may be so'
    """
    plain = shlex.quote(finding) == finding
    return f'--accept {finding}="{reason}"' if plain else f"--accept {shlex.quote(f'{finding}={reason}')}"


def other_code_remedy(record: PlanRecord) -> str:
    """What leads on from a stored plan that is not of the loaded code."""
    code = f"check out the code that plan {record.id} was made of"
    if not record.live:
        return f"{code}; `backfill apply` makes a plan of the loaded one"
    return f"{code}; or end it and make one of the loaded code: `backfill abandon {record.id}`, then `backfill apply`"


def apply_command(request: Request, model: str = "") -> str:
    """`backfill apply` with the options that made a request.

    `model`: only this one, where the request can be cut; a restatement, and new logic from a day on, are always whole.

    >>> apply_command(Request(ignore_cron=True), "daily")
    'backfill apply --select daily --ignore-cron'
    """
    words = ["backfill apply"]
    for name, part in request.restate:
        words += [f"--restate {argument}" for argument in restate_argument(name, Ranges((part,)))]
    words += [f"--where {shlex.quote(request.where)}"] if request.where else []
    words += [f"--ids {shlex.quote(request.ids.file)}"] if request.ids else []
    words += ["--all-versions"] * request.all_versions
    words += [f"--forward-only {day_text(request.forward_only)}"] if request.forward_only else []
    chosen = (model,) if model and not request.restate and not request.forward_only else request.select
    words += [f"--select {shlex.quote(name)}" for name in chosen]
    words += [f"--start {day_text(request.start)}"] if request.start else []
    words += [f"--end {_last(request.end)}"] if request.end else []
    words += ["--end-bounded"] * request.end_bounded + ["--ignore-cron"] * request.ignore_cron
    words += [f"--strategy {shlex.quote(f'{name}={way}')}" for name, way in request.strategies]
    words += [f"--expect-moved {shlex.quote(name)}" for name in request.expect_moved]
    words += [f"--expect-unmoved {shlex.quote(name)}" for name in request.expect_unmoved]
    words += [f"--expect-filled {shlex.quote(said)}" for said in request.expect_filled]
    return " ".join(words)


def awaited_command(plan: Plan, models: Container[str]) -> str:
    """The command that builds as well what a plan waits for of `models` that it does not select; "" where it waits for
    none of these."""
    left_out = [b for b in plan.blocked if b.upstream in models and b.upstream not in plan.models]
    if not (stuck := dict.fromkeys(b.model for b in left_out)):
        return ""
    others = tuple(name for name in plan.request.select if name not in stuck)
    return apply_command(replace(plan.request, select=(*others, *(f"+{name}" for name in stuck))))


def job_config(command: str) -> dict[str, object]:
    """What such a command says, as the configuration of its job.

    >>> job_config("backfill apply --select daily --ignore-cron --only daily:2024-03-01")
    {'select': ['daily'], 'ignore_cron': True, 'only': ['daily:2024-03-01']}
    """
    options = {f"--{option.name}": option for option in (*REQUEST_OPTIONS, ONLY)}
    words, found = iter(shlex.split(command)[2:]), dict[str, object]()
    for word in words:
        option = options[word]
        if option.kind is bool:
            found[option.key] = True
        elif option.kind is list:
            found[option.key] = [*cast("list[str]", found.get(option.key, [])), next(words)]
        else:
            found[option.key] = next(words)
    return found


def again_command(request: Request, model: str, part: Ranges) -> str:
    """The command that builds this part of a model of a request's plan, and leaves the rest as it is.

    >>> from backfill_assets.core.intervals import Interval
    >>> again_command(Request(), "daily", Ranges((Interval.of("2024-03-01", "2024-03-03"),)))
    'backfill apply --only daily:2024-03-01..2024-03-02'
    """
    return " ".join([apply_command(request), *(f"--only {one}" for one in restate_argument(model, part))])


def promote_command(request: Request) -> str:
    """`backfill promote` with the same options."""
    return apply_command(request).replace("apply", "promote", 1)


def with_why(command: str, request: Request) -> str:
    """The command, with what its author said that it is for, as a shell takes it.

    >>> with_why("backfill apply", Request(why="clicks count once"))
    "backfill apply --why 'clicks count once'"
    """
    return f"{command} --why {shlex.quote(request.why)}" if request.why else command


def _last(end: datetime) -> str:
    """A day is included, an instant is not."""
    return f"{end - timedelta(days=1):%Y-%m-%d}" if end == Cadence.DAILY.floor(end) else f"{end:%Y-%m-%dT%H:%M}"
