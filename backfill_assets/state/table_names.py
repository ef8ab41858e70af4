"""What is a version's table called in a catalog of names? The model and the version, in letters that catalogs take."""

from __future__ import annotations

import re

_OTHER = re.compile(r"[^a-z0-9_]")


def table_name(model: str, version: str) -> str:
    """The name of a version's table in a catalog. Two tables of one warehouse never share one.

    Versions have no underscore, and models of one project differ in more than capital letters.

    >>> table_name("orders", "c0950c86e42e28c2"), table_name("Orders", "c0950c86e42e28c2.adopted-1f3a5b7d")
    ('orders__c0950c86e42e28c2', 'orders__c0950c86e42e28c2_adopted_1f3a5b7d')
    """
    return f"{_plain(model)}__{_plain(version)}"


def _plain(text: str) -> str:
    return _OTHER.sub("_", text.lower())
