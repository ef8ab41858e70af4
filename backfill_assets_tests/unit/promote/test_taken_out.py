"""A model that the code does not have any more is taken out of prod, and can be shown again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backfill_assets.app.evidence import read_release_evidence
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.core.errors import BackfillError
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, promoted, unsparked

READERS = """
last_verified: 2024-01-03
consumers:
  - {name: export, kind: export, owner: cfo@example.com, criticality: high, reads: [running]}
"""


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """`running`, which reads `daily`, is shown, and its file is gone."""
    root = promoted(small_project(tmp_path, days=2))
    (root / "models" / "running.sql").unlink()
    return root


def test_it_goes_alone_and_comes_back(shown: Path) -> None:
    """Nobody is asked: no row takes the place of another. A rollback shows the same rows again."""
    place = unsparked(shown, user="dev")
    before = place.control.environments.read("prod").pointers
    ended = roll_back(place, "nothing", ["running"]).ended
    assert ended.moved is not None and set(ended.moved.pointers) == {"daily"}
    assert ended.moved.pointers["daily"] == before["daily"]
    [*_, last] = place.control.releases.all("prod")
    assert last.back_to == "nothing" and [(m.model, m.after) for m in last.moves] == [("running", None)]
    said = read_release_evidence(place, last.id).said
    assert said["summary"][0] == "running, which the code does not have any more, is taken out of prod, by dev."
    assert json.dumps(said["back_to"]) == '{"release": "nothing", "at": "", "by": "", "evidence": {}, "rules": {}}'
    assert plan_request(unsparked(shown)).warnings == ()
    again = roll_back(unsparked(shown, user="dev"), None).ended
    assert again.moved is not None and again.moved.pointers == before


def test_a_changed_upstream_waits_for_it_to_go(shown: Path) -> None:
    """What was computed from older rows of a model keeps that from moving; the way on is named, and works."""
    model = shown / "models" / "daily.sql"
    model.write_text(model.read_text().replace("sum(amount)", "sum(amount) + 1"))
    place = unsparked(shown, user="dev")
    build(place)
    [apart] = [o for o in promote_plan(place).verdict.obstacles if o.model == "running"]
    assert "was built from daily" in apart.what and "backfill rollback nothing --select running" in apart.remedy
    assert roll_back(place, "nothing", ["running"]).ended.moved is not None
    assert not [o for o in promote_plan(unsparked(shown, user="dev")).verdict.obstacles if o.model == "running"]


def test_what_others_are_computed_from_stays(shown: Path) -> None:
    """`daily` cannot go without `running`; nor as long as the code has it; nor all at once."""
    (shown / "models" / "other.sql").write_text((shown / "models" / "daily.sql").read_text())
    (shown / "models" / "daily.sql").unlink()
    place = unsparked(shown, user="dev")
    [left] = roll_back(place, "nothing", ["daily"]).ended.obstacles
    assert left.model == "running" and "backfill rollback nothing --select daily,running" in left.remedy
    ended = roll_back(place, "nothing", ["daily,running"]).ended
    assert ended.moved is not None and not ended.moved.pointers


@pytest.mark.parametrize(
    ("select", "told"),
    [((), "no model is named"), (["daily"], "the code has it"), (["other"], "no model named other")],
)
def test_what_the_code_has_is_not_taken_out(shown: Path, select: list[str], told: str) -> None:
    """Nor what is not named, nor what nobody knows."""
    before = unsparked(shown).control.environments.read("prod")
    with pytest.raises(BackfillError) as refused:
        roll_back(unsparked(shown, user="dev"), "nothing", select)
    assert told in f"{refused.value.what} {refused.value.why}"
    assert unsparked(shown).control.environments.read("prod") == before


def test_a_consumer_of_the_rules_in_force_is_told_first(tmp_path: Path) -> None:
    """Its view would be gone. The file cannot name it any more: it reads what is no model."""
    root = small_project(tmp_path, days=2)
    people = {name: {"accounts": [name.partition("@")[0]]} for name in ("ana@example.com", "cfo@example.com")}
    said = json.loads((root / "backfill.yml").read_text())
    (root / "backfill.yml").write_text(json.dumps(said | {"approvals": {"consumers": "high"}, "people": people}))
    (root / "consumers.yml").write_text(READERS)
    promoted(root)
    for name in ("models/running.sql", "consumers.yml"):
        (root / name).unlink()
    place = unsparked(root, user="dev")
    [told] = roll_back(place, "nothing", ["running"]).ended.obstacles
    assert told.what == "it would not be shown any more, and export reads it" and "cfo@example.com" in told.remedy
    assert roll_back(place, "nothing", ["running"], at_once=True).ended.moved is not None
