"""For which owners can nobody approve yet, as the rules name no account of theirs? Told before a plan waits for one."""

from __future__ import annotations

from backfill_assets.core.wording import first_few
from backfill_assets.state.approval_validity import somebody_may
from backfill_assets.state.required_approvals import everybody
from backfill_assets.state.rules import Rules, RulesInForce


def unspoken_owners(rules: Rules) -> tuple[str, ...]:
    """Whom the rules ask, and for whom they list no account or key, or anybody else. A name without an @ is taken for
    an account's own."""
    approvals, signed = rules.approvals, rules.approvals.signatures == "required"
    if not approvals.required or (approvals.self and not signed):
        return ()
    models = {*rules.owners, *rules.validation, *(m for reader in rules.consumers.values() for m in reader.reads)}
    asked = sorted(everybody(rules, models))
    return tuple(name for name in asked if (signed or "@" in name) and not somebody_may(name, rules))


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
