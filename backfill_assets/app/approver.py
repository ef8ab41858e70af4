"""Who acts here, and whom do they claim to be?"""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.adapters.account import account, host
from backfill_assets.app.context import Context
from backfill_assets.core.errors import PlanError
from backfill_assets.promote.approve import Approver
from backfill_assets.state.people import is_listed, person_of, same_person


def acting_approver(context: Context, by: str = "", *, signs: bool = False) -> Approver:
    """The account that acts, as whoever it claims to be (`by`); with `signs`, a signature will prove that."""
    return Approver(account=context.user, host=acting_host(context), by=by, signs=signs)


def acting_host(context: Context) -> str:
    """The machine; with the account that its process runs as, where the deployment asserts another one."""
    return host() + (f" (through the account {account()})" if context.acting not in ("", account()) else "")


def acting_for(context: Context, asserted: str, by_what: str) -> Context:
    """The same, for whom the deployment asserts; `by_what` names what it does that by. Empty: for the system's account.

    Raises PlanError where the process runs as an account that the rules in force know as somebody else's. Whoever has
    that could set the variables of a deployment of their own, and assert anybody.
    """
    if not asserted:
        return replace(context, acting="")
    mine, rules = account(), context.rules().rules
    people = rules.people
    known = is_listed(people, mine) or mine in {n for names in rules.approvals.owners.values() for n in names}
    if known and not same_person(people, mine, asserted):
        raise PlanError(
            f"the account {mine} cannot act for {asserted}",
            why=f"{by_what} asserts {asserted}, but this process runs as {mine}, who is {person_of(people, mine)}: an "
            "account that `people` or `approvals.owners` lists speaks for that person only",
            fix="run the deployment as an account of its own, which the rules do not list",
        )
    return replace(context, acting=asserted)
