"""Who is it that acts? Whom the deployment's proxy asserts, and nobody else; without one the page only reads."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from backfill_assets.core.errors import SettingsError
from backfill_assets.core.escaping import UNSEEN
from backfill_assets.project.review_address import URL, review_address

HEADER = "BACKFILL_REVIEW_IDENTITY_HEADER"
"""The environment variable that names the header in which the proxy says who is logged in."""
SECRET = "BACKFILL_REVIEW_PROXY_SECRET"
"""The environment variable with the text that the proxy, and nobody else, sends along."""
PROOF = "x-backfill-proxy-secret"
"""The header that it sends it in."""
LEAST = 32
"""Letters of the secret."""
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^`|~-]+")
_RESERVED = frozenset({"host", "origin", "cookie", "user-agent", "accept", "referer", "content-type", "from", PROOF})
"""Headers that browsers set themselves, or pages can: whoever they name is nobody's word."""
Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Whose word counts, and where forms come from."""

    header: str
    secret: str = field(repr=False)
    origin: str

    def who(self, headers: Headers) -> str:
        """Who is logged in, as the proxy says; "" where it says nothing, or where nothing proves that it is the proxy.

        A request is believed that has both headers once each.
        """
        proofs, names = ([v for n, v in headers if n == name.encode()] for name in (PROOF, self.header))
        if len(proofs) != 1 or not hmac.compare_digest(proofs[0], self.secret.encode()) or len(names) != 1:
            return ""
        try:
            said = names[0].decode("utf-8").strip()
        except UnicodeDecodeError:
            return ""
        return said if len(said) <= 320 and not UNSEEN.search(said) and said.isprintable() else ""

    def token(self, who: str, plan: str, digest: str) -> str:
        """What a form has to bring: it was made for this person, this plan and exactly these rows."""
        said = "\0".join(("approve", who, plan, digest))
        return hmac.new(self.secret.encode(), said.encode(), hashlib.sha256).hexdigest()

    def from_elsewhere(self, headers: Headers) -> str:
        """Why a request may be another site's; "" when it was sent by a page of this one."""
        found = list(headers)
        origins = [value.decode("latin-1") for name, value in found if name == b"origin"]
        if origins != [self.origin]:
            return f"its Origin is {', '.join(origins) or 'missing'}, not {self.origin}"
        sites = [value for name, value in found if name == b"sec-fetch-site"]
        return "" if sites in ([], [b"same-origin"]) else "the browser says that another site sent it"


def read_trust() -> Trust | None:
    """What the environment says; None: nobody may act. Raises SettingsError for a part of it.

    The secret is taken out of the environment: no process that is started later inherits it.
    """
    header, secret = os.environ.get(HEADER, "").strip().lower(), os.environ.pop(SECRET, "")
    if not header and not secret:
        return None
    address = review_address()
    lacking = [name for name, said in ((HEADER, header), (SECRET, secret), (URL, address)) if not said]
    if lacking:
        raise SettingsError(
            f"{' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing",
            why="acting takes who is logged in, proof that the proxy says so, and where forms come from",
            fix="set all three, or none of them; see `backfill docs review`",
        )
    if not _TOKEN.fullmatch(header) or header in _RESERVED or header.startswith(("sec-", "proxy-")):
        raise SettingsError(
            f"{HEADER} is {header!r}",
            why="it names a header that the proxy sets and browsers cannot, without underscores",
            fix="name one such as X-Forwarded-Email",
        )
    if len(secret) < LEAST or not secret.isascii() or not secret.isprintable() or secret != secret.strip():
        raise SettingsError(
            f"{SECRET} is too short, or not plain text",
            why=f"whoever guesses it acts as anybody: at least {LEAST} letters and digits",
            fix="make one: openssl rand -hex 32",
        )
    parts = urlsplit(address)
    return Trust(header=header, secret=secret, origin=f"{parts.scheme}://{parts.netloc.lower()}")
