"""How does somebody approve a plan on the command line: what is stated, signed and printed?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from backfill_assets.adapters.signatures import sign
from backfill_assets.cli.terminal import out, styled
from backfill_assets.core.errors import PlanError, Problem, ProjectError, SettingsError
from backfill_assets.core.inert import one_line
from backfill_assets.core.intervals import ranges_json
from backfill_assets.files.texts import read_text
from backfill_assets.plan.asked import name_and_value
from backfill_assets.state.approvals import Approval, approval_of
from backfill_assets.state.counting import expires, is_own
from backfill_assets.state.rules import Rules


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
    assert statement is not None and signature is not None  # the options need each other
    problems: list[Problem] = []
    texts = [read_text(file, problems) for file in (statement, signature)]
    if problems:
        raise ProjectError(problems)
    try:
        approval = approval_of(*(text or "" for text in texts))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(
            f"{statement} and {signature} are no statement with its signature",
            why=f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error),
            fix=f"make the statement with: backfill approve {plan} --prepare > {statement.name}; one statement a file",
        ) from None
    if not approval.plan.startswith(plan.removeprefix("plan-")):
        raise PlanError(
            f"the statement is about plan {approval.plan}, not {plan}",
            why="an approval is about one plan",
            fix=f"backfill approve {approval.plan} --statement {statement} --signature {signature}",
        )
    return approval


def approval_json(said: Approval, rules: Rules, authors: Collection[str]) -> dict[str, object]:
    """An approval as plain values."""
    return {
        "plan": said.plan,
        "environment": said.environment,
        "owner": said.owner,
        "by": said.by,
        "at": said.at.isoformat(),
        "expires": expires(said, rules).isoformat(),
        "scope": {model: ranges_json(ranges) for model, ranges in said.scope.items()},
        "reason": said.reason,
        "accepted": dict(said.accepted),
        "own": is_own(said, rules, authors),
        "account": said.account,
        "host": said.host,
        "signed": bool(said.signature),
        "digest": said.digest,
    }


def print_approved(given: Sequence[Approval], rules: Rules, authors: Collection[str], why: str = "") -> None:
    """Who approved what, how long it holds, and what comes next; `why` is what the plan's author said it is for."""
    console = out()
    if why:
        console.print(Text(f"Plan {given[0].plan} is for: {one_line(why)}"))
    for one in given:
        how = "signed" if one.signature else f"unsigned: recorded of the account {one.account} on {one.host}"
        own = "; it is the author's own plan, which the record says too" if is_own(one, rules, authors) else ""
        owner = one.owner or "models without an owner"
        console.print(styled("[bold]{}[/] approves for {} ({}{})", one.by, owner, how, own))
        for model, ranges in one.scope.items():
            console.print(Text(f"  {model}  {ranges}"))
        for finding, reason in one.accepted.items():
            console.print(Text(one_line(f"  accepts {finding}: {reason}")))
        until = f"{expires(one, rules):%Y-%m-%d %H:%M} UTC"
        console.print(Text(f"It holds until {until}, or until any of these rows is written again."))
    console.print(Text("Next: ") + Text(f"backfill promote {given[0].plan}", style="bold"))
