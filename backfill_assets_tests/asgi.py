"""What does an ASGI application answer? One request without a server, a port or a client library."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status, headers by their lower-cased names, and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(
    app: ASGIApp,
    path: str,
    *,
    method: str = "GET",
    host: str = "localhost:3070",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    root_path: str = "",
) -> Answer:
    """What a request gets; errors that are raised after an answer began are raised here too."""
    split = urlsplit(path)
    given = {"host": host, **(headers or {})}
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": root_path + unquote(split.path),
        "raw_path": quote(split.path, safe="/%").encode(),
        "root_path": root_path,
        "query_string": split.query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 3070),
    }
    sent: list[Any] = []
    asked = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return asked.pop() if asked else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    begun = next(m for m in sent if m["type"] == "http.response.start")
    return Answer(
        status=begun["status"],
        headers={name.decode().lower(): value.decode() for name, value in begun["headers"]},
        body=b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body"),
    )
