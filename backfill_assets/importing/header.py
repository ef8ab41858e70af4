"""How is a translated model's file written? Its header, as YAML, then its query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import yaml


def model_text(origin: str, header: Mapping[str, object], query: str) -> str:
    """The text of a model's file. `*/` cannot stand in the header: it is written with a space."""
    said = yaml.safe_dump(dict(header), sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    return f"/*\n# Translated from {plain(origin)}.\n{said.replace('*/', '* /')}*/\n{query}\n"


def sources_text(sources: Sequence[Mapping[str, object]]) -> str:
    """The text of sources.yml, or of the entries that it lacks."""
    entries = yaml.safe_dump(list(sources), sort_keys=False, allow_unicode=True, default_flow_style=False, width=110)
    return "sources:\n" + "".join(f"  {line}\n" for line in entries.splitlines())


def consumers_text(consumers: Sequence[Mapping[str, object]]) -> str:
    """The text of consumers.yml; empty without consumers."""
    if not consumers:
        return ""
    entries = yaml.safe_dump(list(consumers), sort_keys=False, allow_unicode=True, default_flow_style=False, width=110)
    return "consumers:\n" + "".join(f"  {line}\n" for line in entries.splitlines())


def plain(text: str) -> str:
    """A stranger's text on one line, without control characters or what ends a comment."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).replace("*/", "* /").split())[:300]
