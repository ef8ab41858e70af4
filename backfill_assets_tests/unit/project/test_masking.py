"""A mask follows the values: what is computed from a masked column is masked, unless somebody says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.core.errors import ProjectError
from backfill_assets.core.masking import hide_values, metric_hidden
from backfill_assets.project.loader import load_project
from backfill_assets_tests.projects import write_project

SOURCES = """\
sources:
  - name: raw.users
    format: csv
    path: data/users
    columns: {id: bigint, at: timestamp, email: string, city: string}
    mask: [email]
"""
USERS = """\
/*
start: 2024-01-01
grain: [ds, id]
{more}
*/
SELECT CAST(at AS DATE) AS ds, id, email AS contact, city, upper(city) AS town, length(email) AS size
FROM raw.users WHERE at >= :start AND at < :end AND email IS NOT NULL
"""
DOMAINS = """\
/*
start: 2024-01-01
grain: [ds, city]
*/
WITH last AS (
  SELECT ds, city, max(contact) AS newest, count(*) AS n FROM users WHERE ds >= :start AND ds < :end GROUP BY ds, city
)
SELECT ds, city, concat('<', newest, '>') AS shown, n FROM last
"""


def masks(root: Path, **models: str) -> dict[str, tuple[str, ...]]:
    write_project(root, {f"{name}.sql": text for name, text in models.items()}, sources=SOURCES)
    return {name: model.mask for name, model in load_project(root).models.items()}


def test_lineage_carries_the_mask(tmp_path: Path) -> None:
    """From a source through an alias, an aggregate and a CTE; a filter on a masked column shows none of its values."""
    found = masks(tmp_path, users=USERS.format(more=""), domains=DOMAINS)
    assert found == {"users": ("contact", "size"), "domains": ("shown",)}


def test_a_reason_lifts_it(tmp_path: Path) -> None:
    """What `unmask` names may be seen, and what is computed from that."""
    found = masks(
        tmp_path, users=USERS.format(more="unmask: {size: a length tells nobody}\nmask: [city]"), domains=DOMAINS
    )
    assert found == {"users": ("city", "contact"), "domains": ("city", "shown")}


def test_stars_within_expressions_carry_it(tmp_path: Path) -> None:
    """Whole rows as JSON or as a struct hold the masked column."""
    whole = USERS.replace(
        "email AS contact", "to_json(struct(*)) AS a, struct(raw.users.*) AS b, count(*) OVER () AS n"
    )
    found = load_project(write_project(tmp_path, {"users.sql": whole.format(more="")}, sources=SOURCES))
    assert {"a", "b"} <= set(found.models["users"].mask) and "n" not in found.models["users"].mask


def test_unmask_needs_a_reason_and_a_column(tmp_path: Path) -> None:
    """Both are problems, at their lines."""
    with pytest.raises(ProjectError) as error:
        masks(tmp_path, users=USERS.format(more="unmask: {sise: a length tells nobody}"))
    assert "users.sql:4" in str(error.value)
    assert "sise" in str(error.value)


def test_what_cannot_be_taken_apart_is_masked_whole(tmp_path: Path) -> None:
    """Every column of such a model may hold what it reads, but the day."""
    python = (
        "from backfill_assets import model\n\n"
        "@model(start='2024-01-01', grain=['ds'], columns={'ds': {'type': 'date'}, 'n': {'type': 'bigint'}})\n"
        "def opaque(users, interval):\n"
        "    return users.sparkSession.createDataFrame(users.rdd)\n"
    )
    write_project(tmp_path, {"users.sql": USERS.format(more=""), "opaque.py": python}, sources=SOURCES)
    assert load_project(tmp_path).models["opaque"].mask == ("n",)


def test_messages_and_queries() -> None:
    """A message says any value anywhere: its class is left. A metric names a masked column, or a star."""
    for said in ("it's ann@x's", "Duplicated map key ann@x", "ann: x", "The value 'ann@x", "[ann@x] y"):
        assert hide_values(said) == "***"
    assert hide_values("[USER_RAISED_EXCEPTION] bad: ann@x SQLSTATE: P0001") == "[USER_RAISED_EXCEPTION] ***"
    assert hide_values("java.lang.NumberFormatException: ann@x") == "java.lang.NumberFormatException: ***"
    assert metric_hidden("max(struct(*))", ["contact"]) and metric_hidden("max(`e``mail`)", ["e`mail"])
    assert not metric_hidden("sum(n)", ["contact"]) and not metric_hidden("max(struct(*))", [])
