"""Did this person really say so? SSH signatures as git uses them, made and checked by `ssh-keygen`, offline."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from backfill_assets.errors import SettingsError
from backfill_assets.state.approvals import Approval

NAMESPACE = "backfill-approval"
ALLOWED = "allowed_signers"
"""The file in the project's folder that says whose keys count, in the format of `ssh-keygen` (and of git)."""


def sign(statement: str, key: Path) -> str:
    """The armored signature of a statement by a private key, or by its agent. Raises SettingsError."""
    said = _run("-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key), given=statement)
    if said.returncode != 0:
        raise SettingsError(
            f"cannot sign with {key}",
            why=_first_line(said.stderr),
            fix="name the file of an SSH private key, or of a public one whose private key your agent has",
        )
    return said.stdout


def doubt(root: Path, approval: Approval, *, required: bool) -> str:
    """Why the approval's signature does not count; "" when it does, or when it has none and none is required."""
    if not approval.signature:
        return f"without a signature ({ALLOWED} in the project's folder says whose count)" if required else ""
    return check(root / ALLOWED, approval.by, approval.statement, approval.signature)


def check(allowed: Path, by: str, statement: str, signature: str) -> str:
    """Why this is no signature of the statement by somebody in the file; "" when it is."""
    if not allowed.is_file():
        return f"there is no file {allowed.name} to check the signature with"
    with tempfile.NamedTemporaryFile("w", suffix=".sig", encoding="utf-8") as file:
        file.write(signature)
        file.flush()
        said = _run(
            "-Y", "verify", "-f", str(allowed), "-I", by, "-n", NAMESPACE, "-s", file.name, given=statement
        )  # fmt: skip
    if said.returncode == 0:
        return ""
    return f"its signature is not one of {by} ({_first_line(said.stderr or said.stdout)})"


def _run(*arguments: str, given: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise SettingsError(
            "signatures cannot be made or checked here",
            why="there is no ssh-keygen on this machine",
            fix="install OpenSSH's client (Debian: apt-get install openssh-client)",
        )
    return subprocess.run([program, *arguments], input=given, capture_output=True, text=True, check=False, timeout=60)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "ssh-keygen gave no reason")
