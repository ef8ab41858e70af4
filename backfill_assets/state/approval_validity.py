"""Does an approval count? By the rules in force, the accounts of people, the authors, and the time it was recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from backfill_assets.state.approvals import Approval
from backfill_assets.state.people import folded, is_listed, perhaps_same, person_of, same_person
from backfill_assets.state.rules import Rules
from backfill_assets.state.signers import principals

Genuine = Callable[[Approval], str]
"""Why an approval's signature is not genuine; "" when it is. Asked of signed ones only."""


def trusted(_: Approval) -> str:
    """A signature that was checked already."""
    return ""


def objection(
    approval: Approval, rules: Rules, *, authors: Collection[str], now: datetime, genuine: Genuine = trusted
) -> str:
    """Why an approval does not count; "" when it does. `authors` are the accounts that opened the plan.

    Nothing that the statement claims of itself is believed: not who gave it, not that it was no author, not until when
    it holds. `now` is of the real clock.
    """
    if not approval.signature:
        if unsigned(approval, rules):
            return "without a signature of somebody in allowed_signers (approvals.signatures: required)"
        if not approval.account:
            return "an earlier release recorded it without the account that gave it"
        if not same_person(rules.people, approval.account, approval.by):
            return f"the account {approval.account} is not known to be {approval.by} (people in the rules)"
    elif problem := genuine(approval):
        return problem
    if approval.since + timedelta(days=rules.approvals.days) <= now:
        return f"that was over at {expires(approval, rules):%Y-%m-%d %H:%M} UTC"
    own = is_own(approval, rules, authors)
    if own and not rules.approvals.self:
        return f"{person_of(rules.people, approver(approval))} made the plan, and its author may not approve it"
    if not _may_approve(approval, rules, own=own):
        return f"only {who_may(approval.owner, rules)} may approve for {approval.owner or 'models without an owner'}"
    return ""


def unsigned(approval: Approval, rules: Rules) -> bool:
    """Whether it lacks the signature that the rules require."""
    return not approval.signature and rules.approvals.signatures == "required"


def expires(approval: Approval, rules: Rules) -> datetime:
    """When an approval is over, by the rules in force."""
    return approval.since + timedelta(days=rules.approvals.days)


def is_own(approval: Approval, rules: Rules, authors: Collection[str]) -> bool:
    """Whether one of the plan's authors gave it, or may have."""
    return _made(approver(approval), rules, authors)


def approver(approval: Approval) -> str:
    """Who gave it, as far as that is proved: the principal of the signature, or else the account."""
    return approval.by if approval.signature else approval.account


def listed_for(owner: str, rules: Rules) -> tuple[str, ...] | None:
    """Whom `approvals.owners` lists for an owner, in whatever letters either writes the name; None: it does not."""
    listed = [names for name, names in rules.approvals.owners.items() if folded(name) == folded(owner)]
    return tuple(dict.fromkeys(name for names in listed for name in names)) if listed else None


def who_may(owner: str, rules: Rules, authors: Collection[str] = ()) -> str:
    """Who may approve for an owner, in words; of a plan by `authors`, "" where nobody but these may."""
    if only_authors(owner, rules, authors):
        return ""
    listed = listed_for(owner, rules)
    if listed is not None:
        return ", ".join(name for name in listed if not _only_author(name, rules, authors))
    if is_listed(rules.people, owner):
        accounts = [
            a for person, each in rules.people.items() if same_person(rules.people, person, owner) for a in each
        ]
        return f"{owner} ({', '.join(accounts)})"
    return f"{owner} itself (people lists no account of it, approvals.owners nobody for it)"


def only_authors(owner: str, rules: Rules, authors: Collection[str]) -> bool:
    """Whether nobody but a plan's authors may approve for an owner, while the rules let no author approve."""
    if not owner or not authors or rules.approvals.self:
        return False
    listed = listed_for(owner, rules)
    return all(_only_author(name, rules, authors) for name in ((owner,) if listed is None else listed))


def _only_author(name: str, rules: Rules, authors: Collection[str]) -> bool:
    """Whether each account of a person is a plan's author, or may be."""
    return all(
        is_barred_author(one, rules, authors) for one in (name, *rules.people.get(person_of(rules.people, name), ()))
    )


def is_barred_author(name: str, rules: Rules, authors: Collection[str]) -> bool:
    """Whether somebody made a plan, or may have, and may not approve it for that."""
    return not rules.approvals.self and _made(name, rules, authors)


def _made(name: str, rules: Rules, authors: Collection[str]) -> bool:
    return any(perhaps_same(rules.people, name, author) for author in authors)


def speaks_for(name: str, owner: str, rules: Rules) -> bool:
    """Whether somebody, by whichever of their names, may approve for an owner, unless they made the plan."""
    listed = listed_for(owner, rules)
    if listed is not None:
        return any(same_person(rules.people, name, one) for one in listed)
    return not owner or same_person(rules.people, name, owner)


def somebody_may(owner: str, rules: Rules) -> bool:
    """Whether the rules name an account or a key that can approve for an owner, other than by being the author's."""
    listed = listed_for(owner, rules)
    if not owner or (listed and rules.approvals.signatures != "required"):
        return True
    signed = any(
        same_person(rules.people, name, key) for name in listed or (owner,) for key in principals(rules.signers)
    )
    return signed or (is_listed(rules.people, owner) and rules.approvals.signatures != "required")


def _may_approve(approval: Approval, rules: Rules, *, own: bool) -> bool:
    given, owner = approver(approval), approval.owner
    if speaks_for(given, owner, rules):
        return True
    # A team of one: nobody else is named for the owner, and the rules let authors approve. It is recorded as their own.
    named = is_listed(rules.people, owner) or listed_for(owner, rules) is not None
    return own and rules.approvals.self and not named and rules.approvals.signatures != "required"
