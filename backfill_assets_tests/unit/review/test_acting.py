"""Saying yes on the page: by whom the proxy asserts, from its own form, of the rows that it showed; no other way."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from backfill_assets.app.approve import shown_digest
from backfill_assets.core.errors import SettingsError
from backfill_assets.review.identity import HEADER, PROOF, SECRET, Trust, read_trust
from backfill_assets.review.site import open_project, review_app
from backfill_assets_tests.asgi import Answer, ask
from backfill_assets_tests.review_shop import ANA, FINDING, VERA, Shop, a_difference, compare, review_shop

if TYPE_CHECKING:
    from starlette.applications import Starlette

URL = "BACKFILL_REVIEW_URL"
WORD = "0123456789abcdef0123456789abcdef"
ORIGIN = "https://review.example.com"
TRUST = Trust(header="x-forwarded-email", secret=WORD, origin=ORIGIN)
FORM = {"content-type": "application/x-www-form-urlencoded", "origin": ORIGIN, "sec-fetch-site": "same-origin"}
PROXY = {PROOF: WORD}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return review_shop(tmp_path_factory.mktemp("made"))


@pytest.fixture
def shop(made: Shop, tmp_path: Path) -> Shop:
    """A copy of its own: what is approved stays there."""
    from dataclasses import replace

    shutil.copytree(made.root, tmp_path / "shop", symlinks=True)
    return replace(made, root=tmp_path / "shop")


@pytest.fixture
def app(shop: Shop) -> Starlette:
    return review_app(open_project(shop.root), trust=TRUST)


def as_(who: str) -> dict[str, str]:
    return {**PROXY, "x-forwarded-email": who}


def form_of(shop: Shop, app: Starlette, who: str) -> dict[str, str]:
    """The hidden fields of the page that somebody sees."""
    page = ask(app, f"/plan/{shop.plan}", headers=as_(who)).text
    return {
        name: found[1] for name in ("token", "digest") if (found := re.search(f'name="{name}" value="([^"]*)"', page))
    }


def post(shop: Shop, app: Starlette, headers: Mapping[str, str], **fields: str) -> Answer:
    said = {name.replace("accept_", "accept."): value for name, value in fields.items()}
    return ask(app, f"/plan/{shop.plan}/approve", method="POST", headers=headers, body=urlencode(said).encode())


def recorded(shop: Shop) -> int:
    return len(shop.place().control.approvals.of([shop.plan]))


def test_an_owner_says_yes(shop: Shop, app: Starlette) -> None:
    """The record has whom the proxy asserted, the reason, what was accepted, and what the page showed."""
    form = form_of(shop, app, ANA)
    fields = {**form, "owner": ANA, "reason": "looked at it", f"accept.{FINDING}": "as agreed"}
    answer = post(shop, app, {**FORM, **as_(ANA)}, **fields)
    assert (answer.status, answer.headers["location"]) == (303, f"/plan/{shop.plan}#approvals")
    given = shop.place().control.approvals.of([shop.plan])[-1]
    assert (given.account, given.by, given.owner, given.reason) == (ANA, ANA, ANA, "looked at it")
    assert given.accepted == {FINDING: "as agreed"} and given.digest == form["digest"] == shown_digest(
        shop.place(), shop.plan
    )
    page = ask(app, f"/plan/{shop.plan}", headers=as_(ANA)).text
    assert "You have approved." in page and "1 of 2 given" in page
    assert ask(app, f"/plan/{shop.plan}", headers=as_(VERA)).text.count('<option value="vera@example.com">') >= 1


def test_a_page_that_an_owner_serves_speaks_for_that_owner_only(
    shop: Shop, app: Starlette, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write to the warehouse can serve a page of their own, with a secret of their own."""
    before, form = recorded(shop), form_of(shop, app, ANA)
    monkeypatch.setattr("backfill_assets.app.approver.account", lambda: "dev")
    answer = post(shop, app, {**FORM, **as_(ANA)}, **form, owner=ANA)
    assert answer.status == 409 and "the account dev cannot act for ana@example.com" in answer.text
    assert recorded(shop) == before
    page = ask(app, f"/plan/{shop.plan}", headers=as_(ANA))
    assert page.status == 200 and "cannot act for" in page.text and ">Approve</button>" not in page.text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-forwarded-email": ANA},
        {"x-forwarded-email": ANA, PROOF: WORD[:-1]},
        {"x-forwarded-email": ANA, PROOF: ""},
        {PROOF: WORD},
        {PROOF: WORD, "x-forwarded-user": ANA},
        {PROOF: WORD, "x-forwarded-email": ""},
        {PROOF: WORD, "x-forwarded-email": "ana@example.com\x1b[31m"},
    ],
)
def test_nobody_without_the_proxys_word(shop: Shop, app: Starlette, headers: dict[str, str]) -> None:
    """No header, a typed one without proof, proof without a name: such a request only reads."""
    page = ask(app, f"/plan/{shop.plan}", headers=headers)
    assert page.status == 200 and 'name="token"' not in page.text
    before, form = recorded(shop), form_of(shop, app, ANA)
    assert post(shop, app, {**FORM, **headers}, **form, owner=ANA).status == 403
    assert recorded(shop) == before


def test_a_header_that_is_there_twice_is_nobodys() -> None:
    """A proxy that adds its own to the visitor's, instead of replacing it."""
    proof, name = (PROOF.encode(), WORD.encode()), (b"x-forwarded-email", ANA.encode())
    assert TRUST.who([proof, name]) == ANA
    assert TRUST.who([proof, name, (b"x-forwarded-email", b"eve@example.com")]) == ""
    assert TRUST.who([proof, proof, name]) == ""


@pytest.mark.parametrize(
    "more",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://review.example.com"},
        {"origin": "https://review.example.com.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_site_sends_nothing(shop: Shop, app: Starlette, more: dict[str, str]) -> None:
    before, form = recorded(shop), form_of(shop, app, ANA)
    assert post(shop, app, {**FORM, **as_(ANA), **more}, **form, owner=ANA).status == 403
    without = {name: value for name, value in FORM.items() if name != "origin"}
    assert post(shop, app, {**without, **as_(ANA)}, **form, owner=ANA).status == 403
    assert recorded(shop) == before


def test_a_form_is_of_its_person_plan_and_rows(shop: Shop, app: Starlette) -> None:
    """Somebody else's token, one of another plan, other rows, or none."""
    before, form = recorded(shop), form_of(shop, app, ANA)
    headers = {**FORM, **as_(ANA)}
    for fields in (
        form_of(shop, app, VERA),
        {"digest": form["digest"]},
        {**form, "token": ""},
        {**form, "digest": "0" * 64},
        {"token": TRUST.token(ANA, shop.first, form["digest"]), "digest": form["digest"]},
    ):
        assert post(shop, app, headers, **fields, owner=ANA).status == 403
    assert recorded(shop) == before


def test_a_stale_page_approves_nothing(shop: Shop, app: Starlette) -> None:
    """The comparison came out differently since: what the page showed is not what would be approved."""
    form = form_of(shop, app, ANA)
    compare(shop.place(), shop.plan, a_difference(4, moved=7))
    before = recorded(shop)
    answer = post(shop, app, {**FORM, **as_(ANA)}, **form, owner=ANA)
    assert answer.status == 409 and "not what was looked at any more" in answer.text
    assert recorded(shop) == before
    assert post(shop, app, {**FORM, **as_(ANA)}, **form_of(shop, app, ANA), owner=ANA).status == 303


@pytest.mark.parametrize(
    ("who", "owner"), [("dev@example.com", ANA), ("eve@example.com", ANA), (ANA, VERA), (ANA, "nobody")]
)
def test_the_rules_judge_whoever_it_is(shop: Shop, app: Starlette, who: str, owner: str) -> None:
    """Being logged in is not being asked: the author, a stranger, another owner's name."""
    before, digest = recorded(shop), shown_digest(shop.place(), shop.plan)
    fields = {"digest": digest, "token": TRUST.token(who, shop.plan, digest), "owner": owner}
    assert post(shop, app, {**FORM, **as_(who)}, **fields).status == 409
    assert recorded(shop) == before


def test_an_author_is_told_why_not(shop: Shop, app: Starlette) -> None:
    page = ask(app, f"/plan/{shop.plan}", headers=as_("dev@example.com")).text
    assert "its author may not approve it" in page and '<button class="yes">Approve' not in page


def test_nothing_acts_unless_it_is_configured(shop: Shop) -> None:
    """The same request, with all headers, where the deployment names no proxy."""
    app = review_app(open_project(shop.root))
    assert 'name="token"' not in ask(app, f"/plan/{shop.plan}", headers=as_(ANA)).text
    digest = shown_digest(shop.place(), shop.plan)
    fields = {"digest": digest, "token": TRUST.token(ANA, shop.plan, digest), "owner": ANA}
    assert post(shop, app, {**FORM, **as_(ANA)}, **fields).status in (404, 405)


def test_what_is_no_form(shop: Shop, app: Starlette) -> None:
    form, path = form_of(shop, app, ANA), f"/plan/{shop.plan}/approve"
    for kind, body in (
        ("application/json", b"{}"),
        ("application/x-www-form-urlencoded", urlencode(form).encode() + b"&owner=a&owner=b"),
        ("application/x-www-form-urlencoded", b"x" * 2_000_001),
        ("application/x-www-form-urlencoded", b"reason=%ff&owner=a"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--\r\n"),
        ("multipart/form-data", b"nothing"),
    ):
        answer = ask(app, path, method="POST", headers={**FORM, **as_(ANA), "content-type": kind}, body=body)
        assert answer.status == 400, kind


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")
def test_a_signed_statement_is_brought(tmp_path: Path) -> None:
    """Both files are uploaded by whoever is logged in; the signature says whose yes it is. Of other rows: refused."""
    key, file = tmp_path / "key", tmp_path / "said.json"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    public = key.with_suffix(".pub").read_text().strip()
    shop = review_shop(tmp_path / "shop", signers=f'{VERA} namespaces="backfill-approval" {public}\n')
    app = review_app(open_project(shop.root), trust=TRUST)

    def signed() -> tuple[str, str]:
        query = urlencode({"owner": VERA, "by": VERA, "reason": "signed at home"})
        file.write_text(ask(app, f"/plan/{shop.plan}/statement.json?{query}").text)
        file.with_suffix(".json.sig").unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "backfill-approval", "-f", key, file], check=True)
        return file.read_text(), file.with_suffix(".json.sig").read_text()

    def bring(statement: str, signature: str) -> Answer:
        fields = {**form_of(shop, app, ANA), "statement": statement, "signature": signature}
        begin = '--XX\r\nContent-Disposition: form-data; name="{}"; filename="a"\r\nContent-Type: text/plain\r\n\r\n{}'
        body = "\r\n".join([*(begin.format(name, text) for name, text in fields.items()), "--XX--\r\n"]).encode()
        headers = {**FORM, **as_(ANA), "content-type": "multipart/form-data; boundary=XX"}
        return ask(app, f"/plan/{shop.plan}/approve", method="POST", headers=headers, body=body)

    statement, signature = signed()
    before = recorded(shop)
    assert bring(statement.replace("at home", "by me"), signature).status == 409, "not what was signed"
    assert bring(statement, "").status == 409
    assert recorded(shop) == before
    assert bring(statement, signature).status == 303
    given = shop.place().control.approvals.of([shop.plan])[-1]
    assert (given.by, given.owner, given.account, bool(given.signature)) == (VERA, VERA, ANA, True)
    assert "1 of 2 given" in ask(app, f"/plan/{shop.plan}").text
    compare(shop.place(), shop.plan, a_difference(4, moved=7))
    assert bring(statement, signature).status == 409, "it was signed for other rows"


def test_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """All three or none; the secret is long, and gone from the environment once it was read."""
    for name in (HEADER, SECRET, URL):
        monkeypatch.delenv(name, raising=False)
    assert read_trust() is None
    good = {HEADER: "X-Forwarded-Email", SECRET: WORD, URL: "https://Review.example.com/"}

    def given(**more: str) -> Trust | None:
        for name, value in (good | more).items():
            monkeypatch.setenv(name, value)
        return read_trust()

    found = given()
    assert found == TRUST and WORD not in repr(found)
    import os

    assert SECRET not in os.environ
    for more in (
        {HEADER: ""}, {SECRET: ""}, {URL: ""}, {SECRET: "short"}, {HEADER: "Host"}, {HEADER: "X_Email"},
        {HEADER: "sec-fetch-site"}, {HEADER: PROOF}, {HEADER: "a b"}, {SECRET: " " + WORD},
    ):  # fmt: skip
        with pytest.raises(SettingsError):
            given(**more)


def test_a_form_without_an_owner(shop: Shop, app: Starlette) -> None:
    """It is not taken for one about models that nobody owns."""
    before, form = recorded(shop), form_of(shop, app, ANA)
    answer = post(shop, app, {**FORM, **as_(ANA)}, **form)
    assert answer.status == 400 and "The form names no owner" in answer.text
    said = post(shop, app, {**FORM, **as_(ANA)}, **form, owner="").text
    assert "somebody for models without an owner is not asked about" in said
    assert recorded(shop) == before
