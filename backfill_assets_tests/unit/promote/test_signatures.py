"""Who approved is proved by an SSH signature over the statement, checked offline against `allowed_signers`."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backfill_assets.adapters.signatures import ALLOWED, check, fingerprint, not_genuine, read_signers, sign
from backfill_assets.core.errors import SettingsError
from backfill_assets.state.approvals import Approval
from backfill_assets.state.signers import holders
from backfill_assets_tests.fakes import days, ranges

NOW = datetime(2024, 1, 11, tzinfo=UTC)


def a_key(folder: Path, name: str) -> Path:
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", key], check=True)
    return key


def allow(root: Path, **keys: Path) -> None:
    lines = [
        f'{who}@x namespaces="backfill-approval" {key.with_suffix(".pub").read_text()}' for who, key in keys.items()
    ]
    (root / ALLOWED).write_text("".join(lines))


@pytest.fixture
def said() -> Approval:
    return Approval(
        plan="1f3a9c02",
        environment="prod",
        digest="d" * 64,
        scope={"a": ranges(days("01", "03"))},
        owner="ana@x",
        by="ana@x",
        at=NOW,
    )


def test_only_that_person_and_only_that_statement(tmp_path: Path, said: Approval) -> None:
    """Her key over her words counts; other words, another person's key and no known key do not."""
    ana, bo = a_key(tmp_path, "ana"), a_key(tmp_path, "bo")
    allow(tmp_path, ana=ana)
    hers = replace(said, signature=sign(said.statement, ana))
    assert not_genuine(read_signers(tmp_path), hers) == ""
    for forged in (
        replace(hers, digest="e" * 64),
        replace(hers, scope={"a": ranges(days("01", "04"))}),
        replace(hers, at=NOW + timedelta(days=400)),
        replace(hers, more={"own": False}),
        replace(hers, owner="bo@x"),
        replace(said, signature=sign(said.statement, bo)),
        replace(said, signature="-----BEGIN SSH SIGNATURE-----\nbm90aGluZw==\n-----END SSH SIGNATURE-----\n"),
    ):
        assert "is not one of ana@x" in not_genuine(read_signers(tmp_path), forged)
    allow(tmp_path, ana=bo)
    assert "is not one of ana@x" in not_genuine(read_signers(tmp_path), hers)


def test_a_signature_for_something_else_does_not_count(tmp_path: Path, said: Approval) -> None:
    """A signature of the same text that was made for git is no approval."""
    ana = a_key(tmp_path, "ana")
    allow(tmp_path, ana=ana)
    text = tmp_path / "said"
    text.write_text(said.statement)
    subprocess.run(["ssh-keygen", "-Y", "sign", "-q", "-n", "git", "-f", ana, text], check=True)
    assert not_genuine(read_signers(tmp_path), replace(said, signature=Path(f"{text}.sig").read_text()))


def test_without_signers_none_is_genuine(tmp_path: Path, said: Approval) -> None:
    """A signature that nobody can check is none."""
    signed = replace(said, signature=sign(said.statement, a_key(tmp_path, "ana")))
    assert "no allowed_signers" in not_genuine(read_signers(tmp_path), signed)


def test_a_key_counts_at_its_time(tmp_path: Path, said: Approval) -> None:
    """A key that was valid until February signed in January: it did so for ever, and nothing after it."""
    ana = a_key(tmp_path, "ana")
    signers = f'ana@x valid-before="20240201" {ana.with_suffix(".pub").read_text()}'
    signature = sign(said.statement, ana)
    assert check(signers, "ana@x", said.statement, signature, at=NOW) == ""
    assert check(signers, "ana@x", said.statement, signature, at=NOW + timedelta(days=30)) != ""


def test_what_is_no_key_cannot_sign(tmp_path: Path, said: Approval) -> None:
    """The error names the file."""
    with pytest.raises(SettingsError, match="cannot sign with"):
        sign(said.statement, tmp_path / "none")


def test_a_key_that_others_can_read(tmp_path: Path, said: Approval) -> None:
    """What is wrong is said, not the banner above it, and what mends it."""
    ana = a_key(tmp_path, "ana")
    ana.chmod(0o644)
    with pytest.raises(SettingsError) as refused:
        sign(said.statement, ana)
    assert refused.value.why == f"Permissions 0644 for '{ana}' are too open."
    assert refused.value.fix == f"chmod 600 {ana}"


def test_whose_key_it_is(tmp_path: Path) -> None:
    """By its fingerprint, of the private file as of the public one: of each whom a line names, of no pattern."""
    ana, bo, eve = (a_key(tmp_path, name) for name in ("ana", "bo", "eve"))
    allow(tmp_path, ana=ana, team=bo, bo=bo)
    signers = read_signers(tmp_path) + f"*@y {eve.with_suffix('.pub').read_text()}"
    assert holders(signers, fingerprint(ana)) == holders(signers, fingerprint(ana.with_suffix(".pub"))) == ("ana@x",)
    assert holders(signers, fingerprint(bo)) == ("team@x", "bo@x")
    assert holders(signers, fingerprint(eve)) == holders(signers, fingerprint(tmp_path / "none")) == ()
