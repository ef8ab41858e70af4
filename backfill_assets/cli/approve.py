"""How does somebody approve a plan on the command line: what is read, and what is printed?"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rich.text import Text

from backfill_assets.app.approve import Approved, Prepared
from backfill_assets.cli.rules import print_change, rules_change_json
from backfill_assets.cli.terminal import out, styled
from backfill_assets.core.errors import Problem, ProjectError
from backfill_assets.core.escaping import one_line
from backfill_assets.files.texts import read_text
from backfill_assets.plan.commands import accept_option
from backfill_assets.state.approval_validity import expires, is_own
from backfill_assets.state.approvals import Approval
from backfill_assets.state.rules import Rules


def prepared(statement: Path | None, signature: Path | None) -> Prepared | None:
    """A statement that was prepared here and signed elsewhere, from its files. Raises ProjectError."""
    if statement is None or signature is None:  # the options need each other
        return None
    problems: list[Problem] = []
    said, sealed = (read_text(file, problems) for file in (statement, signature))
    if problems:
        raise ProjectError(problems)
    return Prepared(statement=said or "", signature=sealed or "", names=(str(statement), str(signature)))


def approved_json(done: Approved) -> object:
    """What was recorded as plain values: the change of the rules, or each approval of a plan."""
    if done.change:
        return rules_change_json(done.change)
    return [approval_json(one, done.rules, done.authors) for one in done.approvals]


def approval_json(said: Approval, rules: Rules, authors: Collection[str]) -> dict[str, object]:
    """An approval as plain values."""
    return {
        "plan": said.plan,
        "environment": said.environment,
        "owner": said.owner,
        "by": said.by,
        "at": said.at.isoformat(),
        "expires": expires(said, rules).isoformat(),
        "scope": {model: ranges.to_plain() for model, ranges in said.scope.items()},
        "reason": said.reason,
        "accepted": dict(said.accepted),
        "own": is_own(said, rules, authors),
        "account": said.account,
        "host": said.host,
        "signed": bool(said.signature),
        "digest": said.digest,
    }


def print_approved(done: Approved) -> None:
    """Who approved what, how long it holds, and what comes next."""
    if done.change:
        print_change(done.change)
        return
    console, given, rules = out(), done.approvals, done.rules
    if done.why:
        console.print(Text(f"Plan {given[0].plan} is for: {one_line(done.why)}"))
    owners: dict[tuple[str, ...], list[str]] = {}
    for one in given:
        how = "signed" if one.signature else f"unsigned: recorded of the account {one.account} on {one.host}"
        own = "; it is the author's own plan, which the record says too" if is_own(one, rules, done.authors) else ""
        lines = [one.by, how + own]
        for model, ranges in one.scope.items():
            lines.append(f"  {model}  {ranges}{f', only {done.scopes[model]}' if model in done.scopes else ''}")
        lines += [f"  accepts {finding}: {reason}" for finding, reason in one.accepted.items()]
        if done.missing:
            lines.append("It says what the whole plan changes, and counts for nobody else's models.")
        lines.append(
            f"It holds until {expires(one, rules):%Y-%m-%d %H:%M} UTC, or until any of these rows is written again."
        )
        owners.setdefault(tuple(lines), []).append(one.owner or "models without an owner")
    for (by, how, *lines), whose in owners.items():
        console.print(styled("[bold]{}[/] approves for {} ({})", by, ", ".join(whose), how))
        for line in lines:
            console.print(Text(one_line(line)))
    for warned in done.warned:
        console.print(Text(one_line(f"Audits: {warned}"), style="yellow"))
    for gap in done.gaps:
        console.print(Text(one_line(f"Still in the way: {gap.subject}: {gap.what}; {gap.remedy}"), style="red"))
    for name in done.unaccepted:
        console.print(Text(one_line(f"Still in the way: {unaccepted_text(name)}"), style="red"))
    for who in done.missing:
        console.print(Text(one_line(f"Still in the way: needs approval by {who}"), style="red"))
    console.print(
        Text("Then: " if done.gaps or done.unaccepted or done.missing else "Next: ")
        + Text(f"backfill promote {given[0].plan}", style="bold")
    )


def unaccepted_text(finding: str) -> str:
    """That a finding is in no statement, and how it gets there."""
    return f"{finding} was found and is not accepted; who states that it may be so adds {accept_option(finding, 'why')}"
