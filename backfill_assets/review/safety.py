"""What keeps a browser from being turned against its owner? Which names are answered, and headers of every answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Names that no other site's DNS can point at this machine."""
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Of all pages: nothing from elsewhere, no script at all, in nobody's frame."""
DOCUMENT = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
"""Of a packet's own page, whose style is in it: a document without rights, whatever is written in it."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def answered_names(host: str, url: str = "") -> frozenset[str]:
    """The names that a server answers for: this machine's own, the one that it listens on, and that of its `url`.

    >>> sorted(answered_names("127.0.0.1", "https://review.example.com/page") - LOCAL)
    ['review.example.com']
    """
    own = {f"[{host}]" if ":" in host else host} - {"0.0.0.0", "[::]", ""}
    return LOCAL | {name.casefold() for name in own} | {name for name in [name_of(urlsplit(url).netloc)] if name}


def name_of(host: str) -> str:
    """The name in a Host header, without its port.

    >>> name_of("Localhost:3000"), name_of("[::1]:3000"), name_of("evil.example")
    ('localhost', '[::1]', 'evil.example')
    """
    name = host.rpartition("@")[2].casefold()
    return name.partition("]")[0] + "]" if name.startswith("[") else name.partition(":")[0]


class RequestGuard:
    """Refuses requests to another name (a site whose DNS was pointed here would read what is shown), and adds headers.

    It wraps an ASGI application.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self.app, self.names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in there]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or name_of(hosts[0]) not in self.names:
            from starlette.responses import PlainTextResponse

            said = "This server does not answer for that name.\nBACKFILL_REVIEW_URL says where it is reached.\n"
            await PlainTextResponse(said, 421)(scope, receive, with_headers)
            return
        await self.app(scope, receive, with_headers)
