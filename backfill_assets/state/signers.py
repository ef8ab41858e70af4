"""Whose keys does an `allowed_signers` file hold? (The format is that of ssh-keygen(1), ALLOWED SIGNERS.)"""

from __future__ import annotations

import base64
import hashlib
import re


def signer_lines(signers: str) -> tuple[str, ...]:
    """The lines of the file that say something."""
    lines = (line.strip() for line in signers.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def principals(signers: str) -> tuple[str, ...]:
    """Who has a key in the file; a pattern stays one."""
    return tuple(dict.fromkeys(name for line in signer_lines(signers) for name in line.split()[0].split(",")))


def holders(signers: str, fingerprint: str) -> tuple[str, ...]:
    """Who has the key of that fingerprint, by lines that name people: not by patterns, nor as an authority."""
    held = [line for line in signer_lines(signers) if fingerprint and _described(line).endswith(f" {fingerprint}")]
    names = principals("\n".join(line for line in held if "cert-authority" not in line))
    return tuple(name for name in names if not _PATTERN.search(name))


def may_sign(signers: str, fingerprint: str) -> bool:
    """Whether a line may have the key of that fingerprint, for whomever: an authority vouches for any, and a line that
    cannot be taken apart here has one that nobody knows."""
    told = ((line, _described(line)) for line in signer_lines(signers))
    return any(
        "cert-authority" in line or described == line or described.endswith(f" {fingerprint}")
        for line, described in told
    )


def changed_signers(one: str, other: str) -> tuple[str, ...]:
    """The principals of the lines that only one of two files has."""
    lines = set(signer_lines(one)) ^ set(signer_lines(other))
    return tuple(sorted(principals("\n".join(lines))))


def described_keys(signers: str) -> tuple[str, ...]:
    """Each line as people compare keys: by its principals, its options and the fingerprint that `ssh-keygen -l` says.

    >>> described_keys('ana@example.com valid-before="20300101" ssh-ed25519 AAAA ana@laptop')
    ('ana@example.com valid-before="20300101" SHA256:cJ6AyISHokEeHuTfufIqhhSS0gxHZRUMDHlKvXD4FHw',)
    """
    return tuple(map(_described, signer_lines(signers)))


def changed_keys(before: str, after: str) -> str:
    """Which keys come and go between two files; "" where the same ones are there in another order, or with other
    comments."""
    old, new = described_keys(before), described_keys(after)
    gone = [key for key in old if key not in new]
    come = [key for key in new if key not in old]
    return "; ".join(f"{what} {', '.join(keys)}" for what, keys in (("without", gone), ("with", come)) if keys)


def _described(line: str) -> str:
    """The line as it is where it is not seen which key it holds: options may quote what looks like one."""
    words = list(_WORD.finditer(line))
    at = next((n for n, word in enumerate(words[1:], 1) if word[0].startswith(_TYPES)), None)
    if at is None or at + 1 >= len(words) or "\\" in line:
        return line
    try:
        key = base64.b64decode(words[at + 1][0], validate=True)
    except ValueError:
        return line
    said = base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
    return f"{line[: words[at].start()].rstrip()} SHA256:{said}"


_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
"""Blanks in quotes part no words."""
_PATTERN = re.compile(r'[*?!"]')
_TYPES = ("ssh-", "ecdsa-", "sk-")
"""How the names of OpenSSH's key types begin."""
