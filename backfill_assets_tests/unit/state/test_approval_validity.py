"""Whose approval counts is decided by accounts, keys and the rules in force; never by what the statement claims."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from backfill_assets.core.errors import StateError
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.state.approval_validity import expires, is_own, objection, somebody_may
from backfill_assets.state.approvals import APPROVALS, FORMATTED, Approval, Approvals, approval_of
from backfill_assets.state.rows import to_row
from backfill_assets.state.rules import Rules
from backfill_assets_tests.fakes import days, ranges
from backfill_assets_tests.memory_store import MemoryStore

NOW = datetime(2024, 1, 11, tzinfo=UTC)
ANA = "ana@example.com"
PEOPLE = {ANA: ("ana", "ana.k"), "dev@example.com": ("dev",), "bo@example.com": ("bo",)}


def given(account: str, *, by: str = "", owner: str = ANA, **more: object) -> Approval:
    said = Approval(
        plan="1f3a9c02", environment="prod", digest="d" * 64, scope={"a": ranges(days("01", "03"))}, owner=owner,
        by=by or account, at=NOW, account=account, host="laptop", recorded=NOW,
    )  # fmt: skip
    return replace(said, **more)  # type: ignore[arg-type]


def problem(
    approval: Approval, *, people: dict[str, tuple[str, ...]] | None = None, author: str = "dev", **rules: object
) -> str:
    known = Rules(people=PEOPLE if people is None else people, approvals=ApprovalRules(**rules))  # type: ignore[arg-type]
    return objection(approval, known, authors=[author], now=NOW + timedelta(hours=1))


@pytest.mark.parametrize("how", [lambda s: s[: len(s) // 2], lambda s: "", lambda s: s.replace('"scope"', '"scop"')])
def test_a_damaged_one_is_named_and_counts_for_nothing(how: Callable[[str], str]) -> None:
    """Cut, emptied or edited in the warehouse: whose, when and in which table is told; others of the plan are read."""
    store, said = MemoryStore(), given("ana")
    Approvals(store).put(said)
    row = to_row(APPROVALS, said, id="x", recorded=NOW)
    store.table(APPROVALS).append([{**row, "statement": how(said.statement)}])
    assert Approvals(store).of(["1f3a9c02"]) == [said]
    _, damaged = Approvals(store).recorded(["1f3a9c02"])
    where = "of 2024-01-11 00:00:00 UTC by ana in _control/approvals"
    assert str(damaged).startswith(f"an approval of 1f3a9c02, {where}, is damaged and counts for nothing (")


def test_the_owner_by_any_of_her_accounts() -> None:
    """By each account that people lists, with or without saying her name."""
    assert problem(given("ana")) == problem(given("ana.k", by=ANA)) == problem(given("ANA", by="Ana@Example.com")) == ""


@pytest.mark.parametrize("people", [PEOPLE, {}, {ANA: ("ana",)}])
def test_the_name_that_is_claimed_makes_nobody_somebody_else(people: dict[str, tuple[str, ...]]) -> None:
    """An author who says that they are the owner, or names their own e-mail, is who their account is."""
    for by in (ANA, "dev@example.com", "dev", "bo@example.com"):
        assert problem(given("dev", by=by), people=people)
        assert problem(given("dev", by=by), people=people, owners={ANA: (ANA, "bo@example.com")})


def test_an_author_with_two_accounts_or_an_unlisted_one() -> None:
    """Who opened the plan from one account does not approve it from another one, nor with a key for their e-mail."""
    assert "made the plan" in problem(given("ana"), author="ana.k")
    assert "made the plan" in problem(given("ana", signature="s", by=ANA), author="ana.k")
    assert "made the plan" in problem(given("ana", signature="s", by=ANA), author="ana", people={})
    assert problem(given("ana"), author="ana.k", self=True) == ""


def test_whoever_opened_it_before() -> None:
    """Everybody who ever opened the plan is its author."""
    rules = Rules(people=PEOPLE)
    assert objection(given("ana"), rules, authors=["dev", "ana"], now=NOW)


def test_what_the_statement_says_of_itself_is_not_read() -> None:
    """`own: false`, a late `expires` and an `at` in the future are claims: its days begin when it was recorded."""
    claimed = {"own": False, "expires": "2099-01-01T00:00:00+00:00"}
    edited = approval_of(
        json.dumps({**json.loads(given("dev").statement), **claimed, "at": "2098-12-31T00:00:00+00:00"})
    )
    edited = replace(edited, account="dev", host="laptop", recorded=NOW)
    rules = Rules(people=PEOPLE, approvals=ApprovalRules(self=True, owners={ANA: ("dev",)}))
    assert is_own(edited, rules, ["dev"]) and expires(edited, rules) == NOW + timedelta(days=14)
    assert objection(edited, rules, authors=["dev"], now=NOW + timedelta(days=13)) == ""
    assert "was over" in objection(edited, rules, authors=["dev"], now=NOW + timedelta(days=14))


def test_the_days_in_force_decide() -> None:
    """Not those that were in force when it was given."""
    assert "was over" in objection(
        given("ana"),
        Rules(people=PEOPLE, approvals=ApprovalRules(days=1)),
        authors=["dev"],
        now=NOW + timedelta(days=2),
    )


def test_an_owner_for_whom_nobody_is_listed() -> None:
    """Only the owner: by a listed account, or the key of that name; not just anybody."""
    assert problem(given("bo")) and problem(given("bo"), people={}) and problem(given("ana"), people={})
    assert problem(given("bo", by="bo@example.com", signature="s"))
    assert problem(given("ana@example.com"), people={}) == ""
    assert problem(given("dev", by=ANA, signature="s"), people={}) == ""


def test_a_team_of_one() -> None:
    """`self: true` lets the author approve for owners that nobody is named for; for others only who is named."""
    assert problem(given("dev"), people={}, self=True) == ""
    assert problem(given("bo"), people={}, self=True)
    assert problem(given("dev"), self=True)
    assert problem(given("dev"), people={}, self=True, owners={ANA: ("bo",)})
    assert problem(given("dev"), people={}, self=True, signatures="required")


def test_signatures_required() -> None:
    """Only the owner's key, or one of the listed people; no account."""
    must = {"signatures": "required", "owners": {"growth": ("bo@example.com",)}}
    assert "without a signature" in problem(given("ana"), **must)
    assert problem(given("dev", by=ANA, signature="s"), **must) == ""
    assert problem(given("dev", by="bo@example.com", signature="s"), **must)
    assert problem(given("dev", by="bo@example.com", signature="s", owner="growth"), **must) == ""
    assert problem(given("dev", by=ANA, signature="s", owner="growth"), **must)


def test_models_without_an_owner() -> None:
    """Anybody but the author."""
    assert problem(given("bo", owner="")) == ""
    assert "made the plan" in problem(given("dev", owner=""))


def test_records_of_earlier_releases() -> None:
    """They are read; without an account only a signature counts."""
    store = MemoryStore()
    text = json.dumps({**json.loads(given("ana").statement), "own": False, "expires": "2024-02-01T00:00:00+00:00"})
    old = {"id": "1", "plan": "1f3a9c02", "at": NOW, "statement": text, "signature": "", "account": "", "host": ""}
    store.table(APPROVALS).append([old | {"recorded": datetime.fromtimestamp(0, UTC)}])
    (read,) = Approvals(store).of(["1f3a9c02"])
    assert json.loads(read.statement) == json.loads(text) and read.since == NOW
    assert "earlier release" in problem(read)
    assert problem(replace(read, by=ANA, signature="s")) == ""


def test_whether_anybody_can() -> None:
    """An account in people, a key, or a list."""
    key = "ana@example.com ssh-ed25519 AAAA\n"
    assert not somebody_may(ANA, Rules()) and somebody_may("", Rules())
    assert somebody_may(ANA, Rules(people=PEOPLE)) and somebody_may(ANA, Rules(signers=key))
    assert not somebody_may(ANA, Rules(people=PEOPLE, approvals=ApprovalRules(signatures="required")))
    assert somebody_may("growth", Rules(approvals=ApprovalRules(owners={"growth": ("bo",)})))


@pytest.mark.parametrize("owner", ["Ana@Example.com", "ana", "ANA.K"])
def test_in_whatever_letters_an_owner_is_written(owner: str) -> None:
    """By another writing of a name that people knows, or by an account of hers, ana is meant and nobody else."""
    assert somebody_may(owner, Rules(people=PEOPLE))
    assert "only" in problem(given("dev", owner=owner), self=True) and not problem(given("ana", owner=owner))


def test_in_whatever_letters_an_owner_is_listed() -> None:
    """`approvals.owners` is looked up by names as all others are."""
    known = {"self": True, "owners": {"ANA@example.com": ("bo@example.com",)}}
    assert "only bo" in problem(given("dev"), people={}, **known) and "only bo" in problem(given("ana"), **known)
    assert not problem(given("bo"), **known)
    assert somebody_may("growth", Rules(approvals=ApprovalRules(owners={"Growth": ("bo",)})))


def test_statements_of_other_formats() -> None:
    """One that says none is of the first format, and is signed as it was; a newer one is refused, never half read."""
    old = given("ana")
    assert "format" not in json.loads(old.statement) and approval_of(old.statement).statement == old.statement
    new = replace(old, more=FORMATTED)
    assert json.loads(new.statement)["format"] == 1 and approval_of(new.statement).statement == new.statement
    later = json.dumps({**json.loads(old.statement), "format": 2})
    with pytest.raises(ValueError, match="format 2, which a newer release writes"):
        approval_of(later)
    with pytest.raises(ValueError, match="no format"):
        approval_of(json.dumps({**json.loads(old.statement), "format": "one"}))
    store = MemoryStore()
    store.table(APPROVALS).append([to_row(APPROVALS, old, id="1", recorded=NOW) | {"statement": later, "sequence": 0}])
    with pytest.raises(StateError, match="cannot be read") as raised:
        Approvals(store).of([old.plan])
    assert "newer release" in raised.value.why and "upgrade" in raised.value.fix


@pytest.mark.parametrize(
    "statement",
    [
        "", "null", "7", "[]", '"text"', "{}", "[" * 100_000, "\0", "{'plan': 1}",
        *(json.dumps({**json.loads(given("ana").statement), name: value})
          for name in ("plan", "owner", "by", "at", "scope", "accepted", "digest", "reason", "environment")
          for value in (None, 7, [1], True, float("inf"))),
        json.dumps({**json.loads(given("ana").statement), "scope": {"a": [["2024-01-01", None]]}}),
        json.dumps({**json.loads(given("ana").statement), "scope": {"a": [[1, 2]]}}),
        json.dumps({**json.loads(given("ana").statement), "accepted": {"finding": None}}),
        json.dumps({**json.loads(given("ana").statement), "at": "9999-12-31T23:59:59-23:00"}),
    ],
)  # fmt: skip
def test_what_is_no_statement(statement: str) -> None:
    """Whatever it is, it is a ValueError that says what is wrong, and nothing else."""
    with pytest.raises(ValueError, match=r"."):
        approval_of(statement)
