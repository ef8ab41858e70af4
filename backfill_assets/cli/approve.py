"""How does somebody approve a plan on the command line: what is said, signed and printed?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from backfill_assets.adapters.signatures import sign
from backfill_assets.cli.request import name_and_value
from backfill_assets.cli.terminal import out
from backfill_assets.errors import PlanError, SettingsError
from backfill_assets.intervals import ranges_json
from backfill_assets.state.approvals import Approval, approval_of


def asked(options: Sequence[str]) -> dict[str, str]:
    """`["roi.drift=expected"]` → finding → reason. Raises SettingsError for an option without `=`."""
    why = "a difference is accepted by its name, with a reason"
    return dict(name_and_value("--accept", o, why=why, value='"why it may be so"') for o in options)


def signed(said: Sequence[Approval], key: Path | None) -> list[Approval]:
    """The approvals with a signature each; as they are without a key."""
    if key is None:
        return list(said)
    return [replace(one, signature=sign(one.statement, key.expanduser())) for one in said]


def statement_given(plan: str, statement: Path | None, signature: Path | None) -> Approval:
    """An approval that was prepared here and signed elsewhere. Raises SettingsError, PlanError."""
    if statement is None or signature is None:
        raise SettingsError(
            "--statement and --signature go together",
            why="a signature says nothing without the text that it is of",
            fix="backfill approve PLAN --statement said.json --signature said.json.sig",
        )
    try:
        approval = approval_of(statement.read_text(encoding="utf-8"), signature.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(
            f"{statement} and {signature} are no statement with its signature",
            why=f"{type(error).__name__}: {error}",
            fix=f"make the statement with: backfill approve {plan} --prepare > {statement.name}; one statement a file",
        ) from None
    if not approval.plan.startswith(plan.removeprefix("plan-")):
        raise PlanError(
            f"the statement is about plan {approval.plan}, not {plan}",
            why="an approval is about one plan",
            fix=f"backfill approve {approval.plan} --statement {statement} --signature {signature}",
        )
    return approval


def approval_json(said: Approval) -> dict[str, object]:
    """An approval as plain values."""
    return {
        "plan": said.plan,
        "environment": said.environment,
        "owner": said.owner,
        "by": said.by,
        "at": said.at.isoformat(),
        "expires": said.expires.isoformat(),
        "scope": {model: ranges_json(ranges) for model, ranges in said.scope.items()},
        "reason": said.reason,
        "accepted": dict(said.accepted),
        "own": said.own,
        "signed": bool(said.signature),
        "digest": said.digest,
    }


def print_approved(said: Sequence[Approval]) -> None:
    """Who said yes to what, how long it holds, and what comes next."""
    console = out()
    for one in said:
        how = "signed" if one.signature else "[yellow]unsigned[/]: the record alone says who it was"
        own = "; it is the author's own plan, which the record says too" if one.own else ""
        console.print(f"[bold]{one.by}[/] says yes for {one.owner or 'models without an owner'} ({how}{own})")
        for model, ranges in one.scope.items():
            console.print(Text(f"  {model}  {ranges}"))
        for finding, reason in one.accepted.items():
            console.print(Text(f"  accepts {finding}: {reason}"))
        console.print(f"It holds until {one.expires:%Y-%m-%d %H:%M} UTC, or until any of these rows is written again.")
    console.print(f"Next: [bold]backfill promote {said[0].plan}[/]")
