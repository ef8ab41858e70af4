"""Is this approval really theirs? SSH signatures as git uses them, made and checked by `ssh-keygen`, offline."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from datetime import datetime
from pathlib import Path

from backfill_assets.core.errors import Problem, ProjectError, SettingsError
from backfill_assets.files.texts import read_text
from backfill_assets.state.approvals import Approval

NAMESPACE = "backfill-approval"
ALLOWED = "allowed_signers"
"""The file in the project's folder that says whose keys count, in the format of `ssh-keygen` (and of git)."""


def sign(statement: str, key: Path) -> str:
    """The armored signature of a statement by a private key, or by its agent. Raises SettingsError."""
    given = _run("-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key), given=statement)
    if given.returncode != 0:
        raise SettingsError(
            f"cannot sign with {key}",
            why=_first_line(given.stderr),
            fix=f"chmod 600 {shlex.quote(str(key))}"
            if _TOO_OPEN in given.stderr
            else "name the file of an SSH private key, or of a public one whose private key your agent has",
        )
    return given.stdout


_TOO_OPEN = "are too open"


def fingerprint(key: Path) -> str:
    """What `ssh-keygen -l` says of the key in a file, private or public, as in `SHA256:…`; "" where it says nothing."""
    found = re.search(r"SHA256:[A-Za-z0-9+/]+", _run("-l", "-f", str(key), given="").stdout)
    return found[0] if found else ""


def read_signers(root: Path) -> str:
    """The text of the project's `allowed_signers`; empty where there is none.

    Raises ProjectError with every line that `ssh-keygen` would pass over: whoever stands there could never approve.
    """
    file, problems = root / ALLOWED, list[Problem]()
    text = read_text(file, problems, missing=True) or ""
    for number, line in enumerate(text.splitlines(), start=1):
        if (why := _wrong_signer(line.strip())) and not (problems and problems[-1].why == _PRIVATE):
            fix = _PRIVATE_FIX if why == _PRIVATE else _LINE
            problems.append(Problem(file=file, line=number, what="this line names no signer", why=why, fix=fix))
    if problems:
        raise ProjectError(problems)
    return text


_LINE = "write who it is and the public key, as in `ana@example.com ssh-ed25519 AAAA…`; a comment begins with #"
_PRIVATE, _PRIVATE_FIX = "it is a private key", "remove it, make a new key, and write the line of its .pub file"
_KEY = re.compile(r"(?:sk-)?(?:ssh|ecdsa)-[A-Za-z0-9@.-]+")
_FIELD = re.compile(r'(?:"[^"]*"|[^\s"])+')


def _wrong_signer(line: str) -> str:
    """Why a line of the file says nothing of anybody; "" when it does, or is empty or a comment."""
    if not line or line.startswith("#"):
        return ""
    if line.startswith("-----BEGIN") and "PRIVATE" in line:
        return _PRIVATE
    if line.count('"') % 2:
        return "a quotation mark is not closed"
    fields = _FIELD.findall(line)
    at = next((n for n, field in enumerate(fields[:3]) if _KEY.fullmatch(field)), -1)
    if at == 0:
        return "it says whose key it is nowhere"
    if at < 0:
        return "there is no type of key, such as ssh-ed25519, behind the name"
    if len(fields) == at + 1:
        return f"there is no key behind {fields[at]}"
    return "" if re.fullmatch(r"[A-Za-z0-9+/]+=*", fields[at + 1]) else f"what is behind {fields[at]} is no key"


def not_genuine(signers: str, approval: Approval) -> str:
    """Why the approval's signature is none of its giver by these signers, when it was recorded; "" when it is."""
    return check(signers, approval.by, approval.statement, approval.signature, at=approval.recorded or approval.at)


def check(signers: str, by: str, statement: str, signature: str, *, at: datetime) -> str:
    """Why this is no signature of the statement by somebody in the text of an `allowed_signers`; "" when it is."""
    if not signers.strip():
        return f"the rules in force have no {ALLOWED} to check the signature with"
    with tempfile.TemporaryDirectory() as folder:
        allowed, signed = Path(folder, ALLOWED), Path(folder, "signature")
        allowed.write_text(signers, encoding="utf-8")
        signed.write_text(signature, encoding="utf-8")
        given = _run(
            "-Y", "verify", "-f", str(allowed), "-I", by, "-n", NAMESPACE, "-s", str(signed),
            "-O", f"verify-time={at:%Y%m%d%H%M%S}", given=statement,
        )  # fmt: skip
    if given.returncode == 0:
        return ""
    return f"its signature is not one of {by} ({_first_line(given.stderr or given.stdout)})"


def _run(*arguments: str, given: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise SettingsError(
            "signatures cannot be made or checked here",
            why="there is no ssh-keygen on this machine",
            fix="install OpenSSH's client (Debian: apt-get install openssh-client)",
        )
    return subprocess.run(
        [program, *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "TZ": "UTC"},  # times are given without a zone: OpenSSH before 9.1 knows no other form
    )


def _first_line(text: str) -> str:
    """The first line that says something: a banner is of `@`."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith("@")), "ssh-keygen gave no reason")
