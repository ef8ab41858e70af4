"""For which owners can nobody approve yet, as the rules name no account of theirs? Told before a plan waits for one."""

from __future__ import annotations

import re

from backfill_assets.core.wording import first_few
from backfill_assets.state.approval_validity import listed_for
from backfill_assets.state.people import is_listed, same_person
from backfill_assets.state.required_approvals import everybody
from backfill_assets.state.rules import Rules, RulesInForce
from backfill_assets.state.signers import principals


def unspoken_owners(rules: Rules) -> tuple[str, ...]:
    """Whom the rules ask, and for whom nobody can speak: who may has no account by the rules, nor a key. A name such as
    `ana` is taken for an account's own; an address, or `team:growth`, is none."""
    if not rules.approvals.required or (rules.approvals.self and rules.approvals.signatures != "required"):
        return ()
    models = {*rules.owners, *rules.validation, *(m for reader in rules.consumers.values() for m in reader.reads)}
    asked = sorted(everybody(rules, models))
    return tuple(o for o in asked if o and not any(_can_speak(name, rules) for name in listed_for(o, rules) or (o,)))


def _can_speak(name: str, rules: Rules) -> bool:
    if any(same_person(rules.people, name, key) for key in principals(rules.signers)):
        return True
    return rules.approvals.signatures != "required" and (is_listed(rules.people, name) or not re.search("[@:]", name))


def unspoken_words(found: RulesInForce) -> tuple[str, ...]:
    """That in a sentence, with what changes it; nothing where somebody can approve for each."""
    rules = found.effective
    names = unspoken_owners(rules)
    if not names:
        return ()
    who, then = first_few(names), ", then backfill rules change" if found.number else ""
    if rules.approvals.signatures == "required":
        return (f"nobody can approve for {who} yet: write a key of each into allowed_signers{then}",)
    return (
        f"nobody can approve for {who} yet, unless an account is called exactly so: write whose accounts they are into "
        f"`people:` of backfill.yml ({names[0]}: {{accounts: [NAME]}}){then}",
    )
