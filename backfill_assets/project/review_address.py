"""Where do people reach the reviewer's page? Said by whoever deploys it; nothing links to it otherwise."""

from __future__ import annotations

import os
import re
from urllib.parse import quote, urlsplit

from backfill_assets.core.errors import SettingsError

URL = "BACKFILL_REVIEW_URL"
"""The environment variable that says it."""
_PLAIN = re.compile(r"[\x21-\x7e]+")


def review_address() -> str:
    """The address, without a slash at its end; "" where nobody said it. Raises SettingsError for one that is none."""
    return address_of(URL, "https://review.example.com")


def address_of(variable: str, example: str) -> str:
    """The address that an environment variable says, in the same way."""
    said = os.environ.get(variable, "").strip()
    if not said:
        return ""
    try:
        parts = urlsplit(said)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
        good = good and parts.username is None and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good or not _PLAIN.fullmatch(said):
        raise SettingsError(
            f"{variable} is {said!r}",
            why=f"it is the address of a page, such as {example}",
            fix="correct the variable, or unset it",
        )
    return said.rstrip("/")


def page_of(*parts: str) -> str:
    """The address of a page there, such as `plan`, `1f3a9c02`; "" where nobody said where that is."""
    address = review_address()
    return "/".join([address, *(quote(part, safe="") for part in parts)]) if address else ""
