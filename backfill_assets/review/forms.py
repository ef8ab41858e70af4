"""What did somebody send? The fields of a form, its uploaded files among them, as text."""

from __future__ import annotations

from collections.abc import Iterator
from email import policy
from email.parser import BytesParser
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from backfill_assets.core.errors import UsageError

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_BYTES, MOST_FIELDS = 2_000_000, 200


async def read_form(request: Request) -> dict[str, str]:
    """Each field once. Raises UsageError for what is no form, too large, or says a field twice."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise _refused(f"it has more than {MOST_BYTES:,} bytes")
    found: dict[str, str] = {}
    kind = request.headers.get("content-type", "")
    try:
        for name, value in _fields(kind, bytes(body)):
            if name in found:
                raise _refused(f"`{name}` is there twice")
            found[name] = value
    except (UnicodeDecodeError, ValueError) as error:
        raise _refused(str(error)) from None
    return found


def _fields(kind: str, body: bytes) -> Iterator[tuple[str, str]]:
    plain = kind.partition(";")[0].strip().lower()
    if plain == "application/x-www-form-urlencoded":
        yield from parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
        return
    if plain != "multipart/form-data" or "\n" in kind or "\r" in kind:
        raise _refused("it is not a form of a page")
    whole = BytesParser(policy=policy.HTTP).parsebytes(b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n" + body)
    if whole.defects or not whole.is_multipart():
        raise _refused("it is cut, or no form")
    for count, part in enumerate(whole.iter_parts()):
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if count >= MOST_FIELDS or not isinstance(name, str) or not isinstance(content, bytes):
            raise _refused("a field has no name, or there are too many")
        yield name, content.decode("utf-8")


def _refused(why: str) -> UsageError:
    return UsageError(
        "what was sent is no form of this page", why=why, fix="load the page again, and send it from there"
    )
