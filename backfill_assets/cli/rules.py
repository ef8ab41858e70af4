"""How do the rules of an environment look: what is in force, what the files say, and the changes that wait?"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from backfill_assets.cli.terminal import grid, out
from backfill_assets.core.codec import to_plain
from backfill_assets.core.escaping import one_line
from backfill_assets.promote.rules_change import RulesChange
from backfill_assets.promote.unspoken_owners import unspoken_owners, unspoken_words
from backfill_assets.state.rules import RulesInForce, RulesRecord
from backfill_assets.state.signers import described_keys


def rules_json(
    rules: RulesInForce, records: Sequence[RulesRecord], waiting: Sequence[RulesChange]
) -> dict[str, object]:
    """The rules as plain values."""
    return {
        "environment": rules.environment,
        "number": rules.number,
        "in_force": to_plain(rules.rules),
        "edited": to_plain(rules.edited),
        "differences": list(rules.differences),
        "unspoken_owners": list(unspoken_owners(rules.effective)),
        "waiting": [rules_change_json(change) for change in waiting],
        "history": [
            {
                "number": r.number,
                "kind": r.kind.value,
                "id": r.id,
                "account": r.account,
                "host": r.host,
                "at": r.at.isoformat(),
                "reason": r.reason,
            }
            for r in records
        ],
    }


def rules_change_json(change: RulesChange) -> dict[str, object]:
    """A proposed change as plain values."""
    return {
        "id": change.record.id,
        "proposed_by": change.record.account,
        "reason": change.record.reason,
        "differences": list(change.differences),
        "missing": dict(change.missing),
        "approved_by": [a.by for a in change.approvals],
        "in_force": change.took_effect,
    }


def print_rules(rules: RulesInForce, records: Sequence[RulesRecord], waiting: Sequence[RulesChange]) -> None:
    """What is in force, what is edited, and what waits for approvals."""
    console, found = out(), rules.rules
    which = (
        f"record {rules.number}" if rules.number else "not recorded yet: the first promotion records what the files say"
    )
    console.print(Text(f"Rules of {rules.environment}", style="bold") + Text(f" ({which})"))
    table = grid(0)
    approvals = found.approvals
    for name, value in (
        ("approval", "required" if approvals.required else "not required: nobody has to approve what moves"),
        ("by its author", "counts, and is recorded as such" if approvals.self else "does not count"),
        ("holds for", f"{approvals.days} days"),
        ("signatures", approvals.signatures),
        ("consumers", f"owners of those of {approvals.consumers} criticality are asked as well")
        if approvals.consumers != "none"
        else ("consumers", "are not asked"),
        ("keys", ", ".join(described_keys(found.signers)) or "none"),
        *((f"people: {person}", ", ".join(accounts)) for person, accounts in found.people.items()),
        *((f"may approve for {owner}", ", ".join(people)) for owner, people in approvals.owners.items()),
        *((f"owner of {model}", owner or "nobody") for model, owner in found.owners.items()),
        *((f"validates {model}", name) for model, name in found.validation.items()),
        *((f"consumer {name}", str(reader)) for name, reader in found.consumers.items()),
    ):
        table.add_row(Text(one_line(f"  {name}"), style="dim"), Text(one_line(value)))
    console.print(table)
    print_notes([one_line(words) for words in unspoken_words(rules)])
    for record in records:
        why = f": {record.reason}" if record.reason else ""
        line = (
            f"  {record.number} {record.kind.value} {record.at:%Y-%m-%d %H:%M} UTC by {record.account} on {record.host}"
        )
        console.print(Text(one_line(line + why), style="dim"))
    if rules.differences:
        console.print(Text("Edited, and not in force:", style="yellow"))
        for difference in rules.differences:
            console.print(Text(one_line(f"  {difference}")))
    for change in waiting:
        print_change(change)
    if rules.differences and not waiting:
        console.print(Text("Next: ") + Text('backfill rules change --reason "why"', style="bold"))


def print_change(change: RulesChange) -> None:
    """What a proposed change is, and whose approval it waits for."""
    console = out()
    if change.took_effect:
        console.print(Text(f"{change.record.id} is in force now", style="green"))
    else:
        console.print(Text(f"{change.record.id} proposed by {change.record.account} waits", style="yellow"))
    for difference in change.differences:
        console.print(Text(one_line(f"  {difference}")))
    for owner, problem in change.missing.items():
        detail = f" ({problem})" if problem else ""
        console.print(Text(f"  needs approval by {owner or 'somebody else'}{detail}"))
    if change.missing:
        console.print(Text("Next: ") + Text(f"backfill approve {change.record.id}", style="bold"))


def print_notes(notes: Sequence[str]) -> None:
    """What there is to say of whose approval counts: that none is asked for, that files say other rules, and so on."""
    for note in notes:
        out().print(Text(note, style="yellow"))
