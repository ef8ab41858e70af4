"""Which views does a query need?"""

from __future__ import annotations

import logging

import pytest

from backfill_assets.app.query import _mentioned, _of  # pyright: ignore[reportPrivateUsage]


def test_the_views_of_each_environment() -> None:
    """By its schema, in whatever letters; of what is no query nobody can tell."""
    found = _mentioned("SELECT * FROM PROD.a JOIN `plan_1f3a`.b USING (id) JOIN c USING (id)")
    assert (_of("prod", found), _of("plan-1f3a", found), _of("dev", found)) == (["a"], ["b"], [])
    assert _of("prod", _mentioned("SELEC")) is None and _of("prod", _mentioned("SELECT (")) is None


def test_the_parser_says_nothing_of_statements(caplog: pytest.LogCaptureFixture) -> None:
    """Spark carries them out. Somebody else's parser warns as ever."""
    with caplog.at_level(logging.WARNING):
        assert _mentioned("SHOW VIEWS") is None
        assert caplog.text == ""
        logging.getLogger("sqlglot").warning("heard")
        assert "heard" in caplog.text
