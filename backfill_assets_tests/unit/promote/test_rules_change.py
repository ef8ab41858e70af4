"""The rules that judge a change are not part of it: recorded by the first promotion, changed under the old ones."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.errors import PlanError, StateError
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.promote.approve import Approver
from backfill_assets.promote.rules_change import (
    RulesChange,
    asked_for,
    change_statements,
    find_change,
    propose_rules,
    record_rules,
    rules_to_record,
    settle,
)
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.releases import Release, refuse_lost
from backfill_assets.state.required_approvals import needed_from, titled
from backfill_assets.state.rows import from_row
from backfill_assets.state.rules import RULES, ConsumerRule, Rules, RulesInForce, RulesKind, RulesRecord, edited_rules
from backfill_assets.state.signers import described_keys
from backfill_assets.state.store import Row
from backfill_assets_tests.fakes import days
from backfill_assets_tests.memory_store import MemoryStore

NOW = datetime(2024, 1, 11, 13, tzinfo=UTC)
ANA, BO = "ana@example.com", "bo@example.com"
AAAA, AAAB = "cJ6AyISHokEeHuTfufIqhhSS0gxHZRUMDHlKvXD4FHw", "z3YF7RvHNfbIJVVBVGJ0Z+HKyd9UzuhpkhjtQ0YDxWg"
"""The fingerprints of two texts that stand for keys."""
PEOPLE = {ANA: ("ana",), BO: ("bo",), "dev@example.com": ("dev",)}
DEV, AS_ANA, AS_BO = (Approver(account=name, host="laptop") for name in ("dev", "ana", "bo"))
START = Rules(people=PEOPLE, owners={"a": ANA, "b": BO, "later": "cy@example.com"})
VERA, CFO = "vera@example.com", "cfo@example.com"
SIGNED = replace(
    START,
    approvals=ApprovalRules(consumers="high"),
    validation={"a": VERA},
    consumers={"export": ConsumerRule(owner=CFO, reads=("b", "later"))},
)
"""vera validates a, and cfo's export reads b."""


def pointer(model: str, version: str = "1") -> Pointer:
    segment = Segment(version=version, commit=1, interval=days("01", "03"))
    return Pointer(model=model, time_column="ds", timestamps=False, columns=(("ds", "date"),), segments=(segment,))


class House:
    """prod shows a and b; its rules are recorded."""

    def __init__(self, rules: Rules = START, shown: tuple[str, ...] = ("a", "b")) -> None:
        self.store = MemoryStore()
        self.control = Control.over(self.store)
        empty = self.environment()
        pointers = [pointer(name) for name in shown]
        record_rules(
            self.control,
            self.now_in_force(rules),
            rules_to_record(self.now_in_force(rules), empty, pointers),
            DEV,
            now=NOW,
        )
        self.shown = self.environment(*shown)

    def environment(self, *models: str) -> Environment:
        return Environment(name="prod", revision=1, pointers={m: pointer(m) for m in models}, releases={})

    def now_in_force(self, edited: Rules = START) -> RulesInForce:
        return self.control.rules.in_force("prod", edited)

    def propose(self, edited: Rules, who: Approver = DEV) -> RulesChange:
        return propose_rules(self.control, self.now_in_force(edited), self.shown, who, now=NOW)

    def approve(self, change: RulesChange, who: Approver, **more: object) -> RulesChange:
        rules = self.now_in_force()
        for said in change_statements(rules, change.record, self.shown.pointers, who, now=NOW, **more):  # type: ignore[arg-type]
            self.control.approvals.put(said)
        return settle(self.control, rules, change.record, self.shown.pointers, who, now=NOW)


def with_rules(rules: Rules = START, **more: object) -> Rules:
    return replace(rules, approvals=replace(rules.approvals, **more))  # type: ignore[arg-type]


def test_the_first_promotion_records_them() -> None:
    """All that the files say; of owners, those of the models that are shown then."""
    house = House()
    rules = house.now_in_force()
    assert (rules.number, dict(rules.rules.owners)) == (1, {"a": ANA, "b": BO})
    assert rules.rules.people == PEOPLE and rules.differences == ()
    assert from_plain(Rules, json.loads(json.dumps(to_plain(START)))) == START


@pytest.mark.parametrize(
    ("edited", "sentence"),
    [
        (with_rules(required=False), "backfill.yml says approvals.required: false; in force: true"),
        (with_rules(self=True), "backfill.yml says approvals.self: true; in force: false"),
        (with_rules(days=400), "backfill.yml says approvals.days: 400; in force: 14"),
        (with_rules(owners={ANA: ("dev",)}), f"backfill.yml says approvals.owners.{ANA}: dev; in force: nothing"),
        (replace(START, people={}), f"backfill.yml says people.{ANA}: nothing; in force: ana"),
        (
            replace(START, signers=f"{ANA} ssh-ed25519 AAAA\n"),
            f"allowed_signers is edited: with {ANA} SHA256:{AAAA}; in force: no key",
        ),
        (replace(START, owners={**START.owners, "a": "dev"}), f"a says owner: dev; in force: {ANA}"),
    ],
)
def test_what_is_edited_is_told_and_does_not_count(edited: Rules, sentence: str) -> None:
    """Whatever of it: the recorded rules stay in force, and a sentence names both."""
    rules = House().now_in_force(edited)
    assert replace(rules.rules, owners=START.owners) == START
    assert sentence in rules.differences and sentence in rules.notes


def test_a_key_that_becomes_another_is_told_by_its_fingerprint() -> None:
    """Whoever approves can compare both with what their owner says, and sees that an option changed."""
    one = f"# who signs\n{ANA} ssh-ed25519 AAAA ana@laptop\n{BO} ssh-ed25519 AAAA\n"
    rules = replace(START, signers=one)

    def told(signers: str) -> list[str]:
        return [said for said in edited_rules(rules, replace(START, signers=signers)) if "allowed" in said]

    force = f"in force: {ANA} SHA256:{AAAA}, {BO} SHA256:{AAAA}"
    other = one.replace("AAAA ana@laptop", "AAAB eve@elsewhere")
    assert told(other) == [f"allowed_signers is edited: without {ANA} SHA256:{AAAA}; with {ANA} SHA256:{AAAB}; {force}"]
    until = one.replace(f"{BO} ssh", f'{BO} valid-before="20300101" ssh')
    assert told(until) == [
        f"allowed_signers is edited: without {BO} SHA256:{AAAA}; "
        f'with {BO} valid-before="20300101" SHA256:{AAAA}; {force}'
    ]
    assert told("\n".join(reversed(one.splitlines()))) == [
        f"allowed_signers is edited: another order, or other comments; {force}"
    ]
    assert told(one.replace("ana@laptop", "ana@desk"))[0].startswith("allowed_signers is edited: another order, or")
    assert told(one.replace("# who", "# Who")) == []
    assert told(f"{ANA} certificates of nobody") != []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        # OpenSSH takes the last one of these for the key: what is quoted is an option's value.
        (
            f'{ANA} namespaces="x ssh-ed25519 AAAA y" ssh-ed25519 AAAB',
            f'{ANA} namespaces="x ssh-ed25519 AAAA y" {AAAB}',
        ),
        (f'{ANA} namespaces="x ssh-ed25519 AAAA',) * 2,
        (f'{ANA} namespaces="x\\" ssh-ed25519 AAAA " ssh-ed25519 AAAB',) * 2,
        (f"{ANA} ssh-ed25519 ключ",) * 2,
        (f"{ANA} ssh-ed25519",) * 2,
        (f"{ANA} cert-authority ecdsa-sha2-nistp256 AAAA me", f"{ANA} cert-authority {AAAA}"),
        (f"{ANA},{BO}  sk-ssh-ed25519@openssh.com AAAA", f"{ANA},{BO} {AAAA}"),
    ],
)
def test_no_option_is_taken_for_the_key(line: str, said: str) -> None:
    """Where it is not clear which key a line holds, it is told as it is."""
    assert [key.replace("SHA256:", "") for key in described_keys(line)] == [said]


def test_both_owners_are_asked() -> None:
    """A changed `owner:` does not take the question away from the owner whose rows are shown."""
    rules = House().now_in_force().rules

    def asked(model: str, declared: str) -> list[str]:
        return list(needed_from(rules, Rules(owners={model: declared}), model))

    assert asked("a", "dev") == [ANA, "dev"]
    assert asked("a", "") == [ANA] and asked("a", ANA) == [ANA]
    assert asked("later", "cy@example.com") == ["cy@example.com"] and asked("later", "") == [""]


def test_whoever_validates_and_critical_readers_are_asked_too() -> None:
    """Those in force and those that files name: an edited file adds somebody, and takes nobody's say away."""
    rules = House(SIGNED).now_in_force().rules
    assert needed_from(rules, SIGNED, "a") == {ANA: ("owner",), VERA: ("validation owner",)}
    assert needed_from(rules, SIGNED, "b") == {BO: ("owner",), CFO: ("owner of consumer export",)}
    edited = replace(START, validation={"a": "dev"}, consumers={"export": ConsumerRule(owner="dev", reads=("b",))})
    assert list(needed_from(rules, edited, "a")) == [ANA, VERA, "dev"]
    assert list(needed_from(rules, edited, "b")) == [BO, CFO, "dev"]
    assert list(needed_from(rules, START, "a")) == [ANA, VERA] and list(needed_from(rules, START, "b")) == [BO, CFO]


def test_one_name_in_two_roles_is_asked_once() -> None:
    both = replace(START, validation={"a": ANA})
    assert needed_from(both, both, "a") == {ANA: ("owner", "validation owner")}
    assert titled(ANA, ("owner", "validation owner")) == ANA


def test_the_first_promotion_records_who_validates_and_who_reads() -> None:
    """Of the models that are shown; `later`, which the consumer reads as well, follows when it is shown."""
    house = House(SIGNED)
    rules = house.now_in_force(SIGNED)
    assert (dict(rules.rules.validation), rules.differences) == ({"a": VERA}, ())
    assert rules.rules.consumers == {"export": ConsumerRule(owner=CFO, reads=("b",))}
    assert from_plain(Rules, json.loads(json.dumps(to_plain(SIGNED)))) == SIGNED
    moved = rules_to_record(rules, house.shown, [pointer("later")])
    assert moved and moved.consumers == SIGNED.consumers and moved.validation == SIGNED.validation


def test_a_promotion_takes_no_say_away() -> None:
    """Nobody validates `a` by its file, another owner has the consumer: what was recorded stays, whatever moves."""
    house = House(SIGNED)
    edited = replace(START, validation={"b": "dev"}, consumers={"export": ConsumerRule(owner="dev", reads=("a", "b"))})
    moved = rules_to_record(house.now_in_force(edited), house.shown, [pointer("a", "2"), pointer("b", "2")], {"a", "b"})
    assert moved and dict(moved.validation) == {"a": VERA, "b": "dev"}
    assert moved.consumers == {"export": ConsumerRule(owner=CFO, reads=("b",))}
    follows = replace(SIGNED, validation={"a": "dev"})
    moved = rules_to_record(house.now_in_force(follows), house.shown, [pointer("a", "2")], {"a"})
    assert moved and dict(moved.validation) == {"a": "dev"}


@pytest.mark.parametrize(
    ("more", "sentence", "owners"),
    [
        ({"validation": {"later": VERA}}, f"a says validation_owner: nobody; in force: {VERA}", (VERA,)),
        ({"validation": {"a": "dev"}}, f"a says validation_owner: dev; in force: {VERA}", (VERA,)),
        ({"consumers": {}}, f"consumers.yml: approval for export by nobody; in force: {CFO} about b", (CFO,)),
        (
            {"consumers": {"export": ConsumerRule(owner="dev", reads=("b",))}},
            f"consumers.yml: approval for export by dev about b; in force: {CFO} about b",
            (CFO,),
        ),
        (
            {"approvals": ApprovalRules(), "consumers": {}},
            "backfill.yml says approvals.consumers: none; in force: high",
            (ANA, BO, CFO, VERA),
        ),
    ],
)
def test_who_may_let_a_say_go(more: dict[str, Any], sentence: str, owners: tuple[str, ...]) -> None:
    """Whose it is, by a change of the rules; the setting is everybody's. `dev`, who proposes, agrees by that."""
    house = House(SIGNED)
    edited = replace(SIGNED, **more)
    assert house.now_in_force(edited).differences == (sentence,)
    change = house.propose(edited)
    assert tuple(change.missing) == tuple(sorted(owners))
    assert replace(house.now_in_force(edited).rules, owners=SIGNED.owners).validation == SIGNED.validation


def test_records_of_earlier_releases_keep_their_hashes() -> None:
    """What they did not know is not in them, so that their chain holds."""
    assert set(to_plain(START)) == {"approvals", "people", "signers", "owners"}
    assert "consumers" not in to_plain(START)["approvals"]


def test_a_promotion_brings_owners_and_nothing_else() -> None:
    """Of new models, and of those whose rows both owners approved; growth leaves the old one in force."""
    house = House()
    edited = with_rules(replace(START, owners={"a": "dev", "b": "dev", "later": "cy"}), required=False)
    moved = rules_to_record(
        house.now_in_force(edited), house.shown, [pointer("a", "2"), pointer("b"), pointer("later")], {"a"}
    )
    assert moved and moved.approvals.required and dict(moved.owners) == {"a": "dev", "b": BO, "later": "cy"}
    assert rules_to_record(house.now_in_force(), house.shown, [pointer("b")]) is None


def test_whose_owner_is_recorded_again() -> None:
    """Of a model that no release has shown yet (a promotion was killed); not of one that is out of sight."""
    house = House(shown=("a", "b", "later"))
    house.shown = house.environment("a", "b")
    edited = house.now_in_force(replace(START, owners={**START.owners, "later": "dev"}))
    moved = rules_to_record(edited, house.shown, [pointer("later")])
    assert moved and moved.owners["later"] == "dev"
    assert rules_to_record(edited, house.shown, [pointer("later")], out_of_sight=["later"]) is None
    assert "cy@example.com" in house.propose(edited.edited).missing


def test_off_is_said() -> None:
    """Rules that ask nobody are a note on every page."""
    off = with_rules(required=False)
    assert "Approvals are off for prod" in House(off).now_in_force(off).notes[0]
    assert House().now_in_force().notes == ()


def test_who_asks_for_approvals_gets_them() -> None:
    """Approvals that only the files require are required at once: the stricter of the two closes the gate."""
    rules = House(with_rules(required=False)).now_in_force(START)
    assert rules.effective.approvals.required and not rules.rules.approvals.required
    assert "Approvals are off" not in rules.notes[0]


def test_a_change_waits_for_all_whom_it_touches() -> None:
    """Switching approvals off touches every owner; the proposer cannot agree with themselves."""
    house = House()
    change = house.propose(with_rules(required=False))
    assert change.missing == {ANA: "", BO: ""} and house.now_in_force().rules.approvals.required
    with pytest.raises(PlanError, match=f"dev may not approve .* for {ANA}"):
        house.approve(change, DEV)
    assert set(house.approve(change, AS_ANA).missing) == {BO}
    assert house.now_in_force().rules.approvals.required
    done = house.approve(change, AS_BO)
    assert done.took_effect and not house.now_in_force().rules.approvals.required
    assert [r.kind for r in house.control.rules.of("prod")] == [
        RulesKind.RECORDED, RulesKind.PROPOSED, RulesKind.CHANGED,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("edited", "owners"),
    [
        (with_rules(owners={ANA: ("dev",)}), (ANA,)),
        (replace(START, people={**PEOPLE, ANA: ("ana", "dev2")}), (ANA,)),
        (replace(START, people={**PEOPLE, "cy@example.com": ("cy",)}), ()),
        (replace(START, signers=f"{BO} ssh-ed25519 A\n"), (BO,)),
        (replace(START, signers="*@example.com ssh-ed25519 A\n"), (ANA, BO)),
        (replace(START, owners={**START.owners, "b": "dev"}), (BO, "dev")),
        (with_rules(days=15), (ANA, BO)),
    ],
)
def test_whose_rights_it_touches(edited: Rules, owners: tuple[str, ...]) -> None:
    """The owners for whom other people, accounts or keys would count; everybody for the general rules."""
    assert asked_for(House().now_in_force().rules, edited, {"a", "b"}) == owners


def test_it_is_judged_by_the_old_rules() -> None:
    """A change that names the proposer as the owner's person does not make it the owner's approval."""
    house = House()
    edited = with_rules(replace(START, people={ANA: ("dev",), BO: ("bo",)}), self=True)
    change = house.propose(edited)
    with pytest.raises(PlanError):
        house.approve(change, DEV, owners=[ANA])
    assert set(house.approve(change, AS_ANA).missing) == {BO}


def test_an_owner_that_the_rules_name_nobody_for() -> None:
    """Nobody could ever approve for it: any account but the proposer's may, so there is a way on, and two looked."""
    house = House(Rules(owners={"a": ANA, "b": BO}))
    change = house.propose(replace(START, owners={"a": ANA, "b": BO}))
    assert set(change.missing) == {ANA, BO}
    with pytest.raises(PlanError):
        house.approve(change, DEV)
    with pytest.raises(PlanError):
        house.approve(change, Approver(account="dev", host="other", by="eve"))
    assert house.approve(change, Approver(account="eve", host="laptop")).took_effect


@pytest.mark.parametrize("who", ["Ana@Example.com", "ana"])
def test_an_owner_in_other_letters_is_who_people_knows(who: str) -> None:
    """Nobody but ana lets her say go, in whatever letters the header writes her."""
    house = House(replace(START, validation={"a": who}), shown=("a",))
    change = house.propose(START)
    assert set(change.missing) == {who}
    with pytest.raises(PlanError, match="may not approve"):
        house.approve(change, Approver(account="ci-bot", host="laptop"))
    assert house.approve(change, AS_ANA).took_effect


def test_a_list_in_other_letters_is_the_owners() -> None:
    """Another writing of an owner's name in `approvals.owners` is a change of who speaks for the owner."""
    house = House(with_rules(owners={ANA: (ANA,)}))
    assert house.propose(with_rules(owners={ANA: (ANA,), "ANA@example.com": ("dev@example.com",)})).missing


def test_nobody_is_told_to_ask_the_proposer() -> None:
    house = House()
    change = house.propose(with_rules(days=15), AS_ANA)
    with pytest.raises(PlanError, match="ana may not approve") as refused:
        house.approve(change, AS_ANA)
    assert refused.value.fix == (
        f"nobody but ana, who proposed it, may approve for {ANA}: let another account propose it; ask {BO} (bo)"
    )
    house = House(Rules(owners={"a": "ana"}), shown=("a",))
    change = house.propose(with_rules(Rules(owners={"a": "ana"}), days=15), AS_ANA)
    with pytest.raises(PlanError) as refused:
        house.approve(change, AS_ANA)
    assert refused.value.fix == "ask any account but ana, as none is listed for ana"
    assert house.approve(change, DEV).took_effect


def test_a_team_of_one_changes_its_own_rules() -> None:
    """With `self: true` from the start, and the record names the account."""
    house = House(with_rules(Rules(owners={"a": ANA}), self=True), shown=("a",))
    change = house.propose(with_rules(Rules(owners={"a": ANA}), self=True, days=30))
    assert set(change.missing) == {ANA}
    assert house.approve(change, DEV).took_effect
    assert house.now_in_force().rules.approvals.days == 30


def test_rules_that_ask_nobody_change_at_once() -> None:
    """Where no approval is required, a change of the rules needs none; it is recorded all the same."""
    house = House(with_rules(required=False))
    assert house.propose(START).took_effect and house.now_in_force().rules.approvals.required


def test_one_change_overtakes_another() -> None:
    """A proposal is about the rules that it saw; approvals of another one, or of an older one, do not count for it."""
    house = House()
    first, second = house.propose(with_rules(days=15)), house.propose(with_rules(days=16))
    assert first.record.id != second.record.id
    assert house.propose(with_rules(days=15)).record.number == first.record.number, "the same again is the same"
    for who in (AS_ANA, AS_BO):
        house.approve(second, who)
    with pytest.raises(StateError, match="in force no more"):
        find_change(house.control.rules.of("prod"), first.record.id)
    with pytest.raises(StateError, match="took effect already"):
        find_change(house.control.rules.of("prod"), second.record.id)
    with pytest.raises(StateError, match="changed meanwhile"):
        nobody = with_rules(required=False)
        settle(house.control, replace(house.now_in_force(), id="x", rules=nobody), first.record, (), DEV, now=NOW)
    with pytest.raises(PlanError, match="no change"):
        find_change(house.control.rules.of("prod"), "rules-nothing")


def test_an_approval_of_a_change_is_over_after_its_days() -> None:
    """By the rules in force, as any other."""
    house = House()
    change = house.propose(with_rules(required=False))
    house.approve(change, AS_ANA)
    late = NOW + timedelta(days=15)
    found = settle(house.control, house.now_in_force(), change.record, house.shown.pointers, AS_BO, now=late)
    assert "was over" in found.missing[ANA]


@pytest.mark.parametrize("what", ["number", "id", "parent", "rules", "kind", "gone"])
def test_an_altered_record_is_refused(what: str) -> None:
    """Whoever edits a record without knowing its hashes leaves an error, not other rules."""
    house = House()
    house.propose(with_rules(required=False))
    table = house.store.table(RULES)
    altered = {"number": 7, "id": "rules-x", "parent": "rules-y", "rules": "[]", "kind": "odd"}
    table.rows[0] = {**table.rows[0], what: altered.get(what, "")}
    if what == "gone":
        del table.rows[0]
    with pytest.raises(StateError, match="not what was written"):
        house.now_in_force()


def test_old_records_are_read_by_whoever_looks_at_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one for each promotion of a new model, with the owners of all: what counts is the newest. An old one
    that was altered is refused all the same."""
    house = House(shown=("a",))
    for number in range(10):
        edited = replace(START, owners={"a": ANA, **{f"new_{n}": BO for n in range(number + 1)}})
        now, pointers = house.now_in_force(edited), [pointer("a"), pointer(f"new_{number}")]
        record_rules(house.control, now, rules_to_record(now, house.shown, pointers), DEV, now=NOW)
    made: list[object] = []

    def counted(kind: type[RulesRecord], row: Row) -> RulesRecord:
        made.append(row["number"])
        return from_row(kind, row)

    monkeypatch.setattr("backfill_assets.state.rules.from_row", counted)
    control = Control.over(house.store)
    records = control.rules.of("prod")
    assert len(control.rules.in_force("prod", START).rules.owners) == 11
    assert len(records) == 11 and made == [11]
    assert [r.number for r in records] == [*range(1, 12)] == [r.number for r in records[:]]
    assert records[-1] is records[10] and sorted(made) == [*range(1, 12)]
    table = house.store.table(RULES)
    table.rows[1] = {**table.rows[1], "rules": str(table.rows[1]["rules"]).replace(BO, ANA)}
    with pytest.raises(StateError, match=r"record 2 .*not what was written"):
        Control.over(house.store).rules.of("prod")


def test_each_environment_has_rules_of_its_own() -> None:
    """Who decides about prod decides about nothing else, whichever was asked about first."""
    house = House()
    control = Control.over(house.store)
    assert [len(control.rules.of(name)) for name in ("prod", "staging", "prod")] == [1, 0, 1]
    assert [control.rules.in_force(name, Rules()).number for name in ("staging", "prod")] == [0, 1]


def test_rules_that_a_newer_release_wrote_are_refused() -> None:
    """They may ask somebody of whom this release knows nothing: it judges by nothing that it understands in part."""
    house = House()
    table = house.store.table(RULES)
    [row] = table.rows
    text = json.dumps({**json.loads(str(row["rules"])), "witnesses": ["cy"]}, sort_keys=True)
    content = f'["prod", "", {text}]'
    table.rows[0] = {**row, "rules": text, "id": f"rules-{hashlib.sha256(content.encode()).hexdigest()[:24]}"}
    with pytest.raises(StateError, match=r"record 1 .*not what was written"):
        Control.over(house.store).rules.in_force("prod", START)


def test_rules_that_are_gone() -> None:
    """A release says by which record it was made: without any the files do not count instead."""
    release = Release(
        id="r1", environment="prod", revision=1, at=NOW, by="dev", back_to="", moves=(), rules={"number": 1}
    )
    refuse_lost([])
    refuse_lost([replace(release, rules={})])
    with pytest.raises(StateError, match="rules of prod are gone"):
        refuse_lost([release, replace(release, id="r2", rules={})])


def test_an_environment_in_other_letters_is_the_same() -> None:
    """PROD has the rules of prod."""
    assert House().control.rules.in_force("PROD", Rules()).number == 1
