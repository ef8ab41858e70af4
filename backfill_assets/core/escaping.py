"""How is somebody else's text shown so that nothing obeys it? For terminals, Markdown and HTML, a function each.

Names, reasons and values come from files, tables and people. In a terminal escape sequences would run, in a pull
request or in Dagster Markdown and HTML would, and characters that turn the direction of text show other text than
there is.
"""

from __future__ import annotations

import html
import re

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, but line ends and tabs; and those that turn the direction of text."""
_MARKS = re.compile(r"[\\`*_\[\]|~<]|&(?=#?\w+;)|(?<!\w)@(?=\w)|:(?=//)|(?<=[Ww]{3})\.")
"""Beginnings of emphasis, code, links, cells, HTML and entities; of mentions, and of what becomes a link by itself."""
_LINE_START = re.compile(r"^(\s*)(>|#+(?=\s|$)|[-+](?=\s|$)|(?:-+|=+)\s*$|\d+(?=[.)](?:\s|$)))")


def visible(text: str) -> str:
    """For a terminal: what it would obey is shown as its escape; line ends and tabs stay.

    >>> visible("ana\\x1b[31m")
    'ana\\\\x1b[31m'
    """
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """The same, where a line end would begin a line that looks like ours.

    >>> one_line("fine\\nPromoted 3 models")
    'fine\\\\nPromoted 3 models'
    """
    return visible(text).replace("\n", "\\n")


def markdown(text: object) -> str:
    """For Markdown: nothing of it is markup, a link, a mention, HTML or the beginning of a list.

    >>> markdown("<b>*now*</b> of daily_revenue")
    '&lt;b>\\\\*now\\\\*&lt;/b> of daily_revenue'
    """
    plain = _MARKS.sub(_escaped, one_line(str(text)))
    return _LINE_START.sub(lambda found: f"{found[1]}\u200b{found[2]}", plain)


def markdown_code(text: object) -> str:
    """For Markdown, as code: between more backticks than it has itself; no | that would end a cell of a table.

    >>> markdown_code("a`b")
    '``a`b``'
    """
    plain = one_line(str(text)).replace("|", "¦")
    fence = "`" * (max((len(run) for run in re.findall("`+", plain)), default=0) + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") or not plain.strip() else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def _escaped(found: re.Match[str]) -> str:
    mark, text, at = found[0], found.string, found.start()
    if mark in "<&":
        return html.escape(mark)
    if mark in "@:.":
        return f"{mark}\u200b"
    if mark == "_" and text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum():
        return mark  # no Markdown takes it for markup within a word
    return f"\\{mark}"
