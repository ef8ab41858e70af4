"""The bounds of a project's models are worked out once for each project."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from backfill_assets_tests.fakes import NOW, World, a_model


def test_of_each_project_its_own() -> None:
    """Also of one that was changed meanwhile; other facts begin anew."""
    world = World(a_model("a", "raw"))
    facts, project = world.facts(NOW), world.project
    later = replace(
        project, models={n: replace(m, start=m.start + timedelta(days=2)) for n, m in project.models.items()}
    )
    found, other = facts.bounded(project), facts.bounded(later)
    assert found is facts.bounded(project) and other is facts.bounded(later)
    assert other.models["a"].start - found.models["a"].start == timedelta(days=2)
    assert replace(facts, now=NOW).bounded(project) is not found
