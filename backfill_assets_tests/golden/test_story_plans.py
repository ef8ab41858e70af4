"""What a person reads of the plan of every story, word for word, under a fixed clock; and its JSON, by the schema.

The texts are files in `plans/`, to be read like a page of a manual. UPDATE_GOLDEN=1 writes them anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from backfill_assets.app.next_step import Step, next_step
from backfill_assets.cli.plan_markdown import plan_markdown
from backfill_assets.cli.plan_text import print_plan
from backfill_assets.cli.plans import claim_json, print_abandoned, print_claim
from backfill_assets.core.codec import to_plain
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.core.settings import Cost
from backfill_assets.plan.estimate import PlanEstimate, estimate
from backfill_assets.plan.facts import Facts, Past, Shown, Sources, Tables
from backfill_assets.plan.faults import Fault, FaultKind
from backfill_assets.plan.leases import Claim, Collision
from backfill_assets.plan.lineage_changes import written_then
from backfill_assets.plan.offered import with_smallest
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Plan, Request, plan_from_json
from backfill_assets.project.loader import load_project
from backfill_assets.project.records import Recorded, Records, no_records
from backfill_assets.project.settings import EMBEDDED_PROJECT
from backfill_assets.project.stored import to_definition
from backfill_assets.promote.lifecycle import Abandoned, UnreachableTable
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage, Entry, Kind
from backfill_assets.state.plans import PlanRecord, PlanStatus, PlanTarget
from backfill_assets_tests.unit.plan.test_campaign_story import MORE_COLUMNS, REAL_TIMESTAMP

GOLDEN = Path(__file__).parent / "plans"
SCHEMA = json.loads((files("backfill_assets.plan") / "plan.schema.json").read_text())
NOW = utc("2025-06-24T06:00")
FAULT = Fault(
    kind=FaultKind.RED, model="a", what="rows_ok", intervals=Ranges((Interval(NOW, utc("2025-06-25")),)), remedy="r"
)
PINS: Mapping[str, Mapping[str, object]] = {
    "raw.ad_events": {"commit": 41},
    "raw.conversions": {"files": "0f3a5c7e9b1d2f4a", "count": 540},
    "raw.campaigns": {"unpinned": "catalog table raw.campaigns: read as it is when the build runs"},
}
PRICE = Cost(currency="EUR", per_core_hour=0.05, cores=16)
Edits = Sequence[tuple[str, str]]

NO_CPC = [
    ('  cpc: {description: "Spend per click, EUR; NULL without clicks.", type: "decimal(18,6)"}\n', ""),
    ("  CAST(ads.spend / nullif(ads.clicks, 0) AS DECIMAL(18, 6)) AS cpc,\n", ""),
]
ANOTHER_WAY = [("bool_or(event_type = 'click')", "bool_or(event_type IN ('click'))")]
ANY_NAME = [
    (
        "  campaigns.campaign_name,",
        "  first_value(campaigns.campaign_name) OVER (PARTITION BY ads.ds) AS campaign_name,",
    )
]


class Story:
    """The demo as prod shows it, complete, and the code as it is edited."""

    def __init__(self, folder: Path, edits: Edits = (), *, word: str = "", shown: Edits = ()) -> None:
        self.shown = _project(folder / "shown", shown)
        code = _project(folder / "code", edits)
        if word:
            versions = {"OLD": self.shown.fingerprints, "NEW": code.fingerprints}
            for name, of in versions.items():
                word = word.replace(name, f"'{of['campaign_performance']}'")
            said = [*edits, ("\nowner: marketing", f"\nsame_as: {{{word}}}\nowner: marketing")]
            code = _project(folder / "said", said, lambda _: _records(self.shown))
        self.code = code

    def facts(self, *, nothing_shown: bool = False, **coverage: Coverage) -> Facts:
        """Prod shows everything that is over, and what is shown is complete; of the code's other versions there is what
        `coverage` says."""
        pointers = {} if nothing_shown else {name: _pointer(self.shown, name) for name in self.shown.models}
        complete = {
            name: Coverage(green=model.expected(NOW))
            for name, model in self.code.models.items()
            if pointers and self.code.fingerprints[name] == self.shown.fingerprints[name]
        }
        return Facts(
            now=NOW,
            environment=Environment(name="prod", revision=7, pointers=pointers, releases={}),
            tables=Tables(
                coverage={name: coverage.get(name, complete.get(name, Coverage())) for name in self.code.models},
                heads=dict.fromkeys(self.code.models, 2),
            ),
            sources=Sources(pins=PINS),
            shown=Shown(
                signatures=self.shown.signatures if pointers else {},
                written={name: written_then(to_definition(model)) for name, model in self.shown.models.items()},
            ),
        )

    def estimate(self, plan: Plan) -> PlanEstimate:
        """Going by what it took to build what is shown."""
        history = [
            _built(self.shown, name, part, seconds)
            for name, seconds in (
                ("campaign_performance", 31.0),
                ("campaign_trends_monthly", 9.0),
                ("roi_analysis", 22.0),
            )
            for part in self.shown.models[name].expected(NOW).batches(self.shown.models[name].cadence, 270)
        ]
        return estimate(
            plan.work, history, self.code.models, at_once=2, price=PRICE, whole=plan.whole, smaller=plan.smaller
        )

    def named(self, text: str) -> str:
        """A text with names for hashes, and without the width of its columns."""
        for project, which in ((self.shown, "shown"), (self.code, "new")):
            for model, version in project.fingerprints.items():
                text = text.replace(version, f"<{which} version of {model}>")
        text = re.sub(r"\b[0-9a-f]{16}\b", "<version of the code>", text)
        return "\n".join(re.sub(r"(?<=\S) {2,}(?=\S)", "  ", line.rstrip()) for line in text.splitlines()) + "\n"


def _project(folder: Path, edits: Edits, records: Callable[[str], Records] = no_records) -> Project:
    shutil.copytree(EMBEDDED_PROJECT / "models", folder / "models", ignore=shutil.ignore_patterns("__pycache__"))
    for file in EMBEDDED_PROJECT.glob("*.yml"):
        shutil.copy(file, folder)
    path = folder / "models" / "campaign_performance.sql"
    text = path.read_text()
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)
    return load_project(folder, records)


def _records(project: Project) -> Records:
    return {
        (name, version): Recorded(
            signature=project.signatures[name],
            cadence=project.models[name].cadence.value,
            time_column=project.models[name].time_column,
        )
        for name, version in project.fingerprints.items()
    }


def _pointer(project: Project, name: str) -> Pointer:
    model = project.models[name]
    columns = tuple((c.name, c.type or "string") for c in project.columns[name])
    parts = [Segment(version=project.fingerprints[name], commit=2, interval=i) for i in model.expected(NOW)]
    return Pointer(model=name, time_column=model.time_column, timestamps=False, columns=columns, segments=tuple(parts))


def _built(project: Project, name: str, interval: Interval, seconds: float) -> Entry:
    return Entry(
        kind=Kind.BUILT, model=name, version=project.fingerprints[name], interval=interval, batch=f"{interval}",
        run="r", rows=40_000, bytes=1_500_000, seconds=seconds, at=utc("2025-06-20"),
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def one_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Python models are compiled once for each text of what they read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BACKFILL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def check(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Compares what is printed with the file of the test's name, and the JSON of the plan with the schema."""

    def compare(
        story: Story, plan: Plan, claim: Claim | None = None, before: Callable[[], None] = lambda: None
    ) -> None:
        guess, claim = story.estimate(plan), claim or Claim()
        before()
        print_plan(plan, story.code, guess)
        print_claim(claim)
        _same(request.node.name, "txt", story.named(capsys.readouterr().out.replace(plan.id, "PLAN")))
        markdown = plan_markdown(plan, story.code, guess)
        _same(request.node.name, "md", story.named(markdown.replace(plan.id, "PLAN")))
        document = json.loads(
            json.dumps(
                plan.to_json()
                | {"estimate": guess.to_json(), "open_plans": claim_json(claim), "uncovered": [], "impact": []}
                | {"rules": ["approvals are off"], "faults": [to_plain(FAULT)], "ahead": [], "late": []}
                | {"next": to_plain(next_step(plan))}
            )
        )
        Draft202012Validator.check_schema(SCHEMA)
        Draft202012Validator(SCHEMA).validate(document)
        assert plan_from_json(document) == plan, "what was printed is not what is read back"
        _every_field_counts(document)

    return compare


def _same(test: str, kind: str, text: str) -> None:
    file = GOLDEN / f"{test.removeprefix('test_')}.{kind}"
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), f"UPDATE_GOLDEN=1 writes {file.name} anew"


def _every_field_counts(document: dict[str, Any]) -> None:
    """Without any one of its fields, at any depth, or with one more, it is no plan any more."""
    validator = Draft202012Validator(SCHEMA)
    places = list(_objects(document))
    assert places[-1] is document
    for place in places:
        for field in list(place):
            kept = place.pop(field)
            assert not validator.is_valid(document), f"without {field} in {place}"
            place[field] = kept
        place["surplus"] = 1
        assert not validator.is_valid(document), f"with one more in {place}"
        del place["surplus"]


def _objects(value: Any, schema: Mapping[str, Any] = SCHEMA) -> Iterator[dict[str, Any]]:
    """Every object whose fields are fixed, going by the schema: not the maps by names of models or columns."""
    schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    choices = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    for choice in choices:
        whole = {**choice, "$defs": SCHEMA["$defs"]}
        if Draft202012Validator(whole).is_valid(value):
            yield from _objects(value, choice)
    if isinstance(value, list):
        for item in value if isinstance(schema.get("items"), dict) else ():
            yield from _objects(item, schema["items"])
    if isinstance(value, dict):
        for key, inner in value.items():
            of = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if isinstance(of, dict):
                yield from _objects(inner, of)
        if schema.get("additionalProperties") is False:
            yield value


def made(project: Project, facts: Facts, request: Request) -> Plan:
    """As `backfill plan` makes it."""
    return with_smallest(project, facts, make_plan(project, facts, request))


def days(first: str, last: str) -> Interval:
    """Both included."""
    return Interval.of(
        first, datetime.fromisoformat(f"{last}T00:00:00+00:00") + (utc("2024-01-02") - utc("2024-01-01"))
    )


# --- the stories ------------------------------------------------------------------------------------------------------


def test_first_plan(tmp_path: Path, check: Callable[..., None]) -> None:
    """Nothing is there yet."""
    story = Story(tmp_path)
    check(story, made(story.code, story.facts(nothing_shown=True), Request()))


def test_additive(tmp_path: Path, check: Callable[..., None]) -> None:
    """A1: three columns more."""
    story = Story(tmp_path, MORE_COLUMNS)
    check(story, made(story.code, story.facts(), Request()))


def test_breaking_on_one_column(tmp_path: Path, check: Callable[..., None]) -> None:
    """A6: cost per acquisition by the real timestamp, with what its author says that it is for."""
    story = Story(tmp_path, REAL_TIMESTAMP)
    why = "conversions belong to the day on which they happened [red]_now_[/]"
    check(story, made(story.code, story.facts(), Request(why=why)))


def test_revert(tmp_path: Path, check: Callable[..., None]) -> None:
    """Prod shows A6, the code is as it was before: its tables are still there."""
    story = Story(tmp_path, shown=REAL_TIMESTAMP)
    green = {name: Coverage(green=model.expected(NOW)) for name, model in story.code.models.items()}
    released = {name: {version: "release-3"} for name, version in story.code.fingerprints.items()}
    facts = replace(story.facts(**green), past=Past(released=released))
    check(story, made(story.code, facts, Request()))


def test_forward_only(tmp_path: Path, check: Callable[..., None]) -> None:
    """A6 from June on; older rows stay."""
    story = Story(tmp_path, REAL_TIMESTAMP)
    check(story, made(story.code, story.facts(), Request(forward_only=utc("2025-06-01"))))


def test_restatement(tmp_path: Path, check: Callable[..., None]) -> None:
    """Two days again, and what reads them: a week of them, and a month with the one after it."""
    story = Story(tmp_path)
    request = Request(restate=(("campaign_performance", days("2025-03-03", "2025-03-04")),))
    check(story, made(story.code, story.facts(), request))


def test_abandon_and_plan_again(tmp_path: Path, check: Callable[..., None]) -> None:
    """Ana's plan is in the way, is abandoned, and half of what mine needs is there from the time before."""
    story = Story(tmp_path, REAL_TIMESTAMP)
    half = Coverage(green=Ranges((days("2024-01-01", "2024-09-26"),)))
    plan = made(story.code, story.facts(campaign_performance=half), Request())
    anas = PlanTarget(model="campaign_performance", version="0a1b2c3d4e5f6071", intervals=half.green)
    record = PlanRecord(
        id="1f3a9c02", environment="prod", targets=(anas,), created=utc("2025-06-23T14:02"), by="ana",
        status=PlanStatus.OPEN, since=utc("2025-06-23T14:02"),
    )  # fmt: skip
    freed = UnreachableTable(
        model=anas.model, version=anas.version, path="warehouse/campaign_performance/…", bytes=2_400_000
    )
    ended = Abandoned(plan=replace(record, status=PlanStatus.ABANDONED), already=False, freed=(freed,))

    def before() -> None:
        print_claim(Claim(collisions=(Collision(plan=record, models=("campaign_performance",)),)))
        print_abandoned(ended)

    check(story, plan, before=before)


def test_another_persons_plan(tmp_path: Path, check: Callable[..., None]) -> None:
    """What others have open is a part of the plan's text and JSON."""
    story = Story(tmp_path, MORE_COLUMNS)
    other = PlanRecord(
        id="1f3a9c02", environment="prod", targets=(), created=utc("2025-06-23T14:02"), by="ana",
        status=PlanStatus.OPEN, since=utc("2025-06-23T14:02"),
    )  # fmt: skip
    mine = replace(other, id="77ab0c1f", by="ben")
    claim = Claim(
        continues=replace(mine, id="00c0ffee"),
        supersedes=(mine,),
        collisions=(Collision(plan=other, models=("campaign_performance",)),),
    )
    check(story, made(story.code, story.facts(), Request()), claim)


def test_end_bounded(tmp_path: Path, check: Callable[..., None]) -> None:
    """The month of a range that ends within it is left out."""
    story = Story(tmp_path)
    request = Request(start=utc("2025-01-01"), end=utc("2025-02-16"), end_bounded=True)
    check(story, made(story.code, story.facts(nothing_shown=True), request))


def test_sources_that_end_early(tmp_path: Path, check: Callable[..., None]) -> None:
    """The last week and the first have not been delivered: of no model are these days expected yet."""
    story = Story(tmp_path)
    there = {
        name: Interval(utc("2024-01-08"), utc("2025-06-17T22:58:00")) for name in ("raw.ad_events", "raw.conversions")
    }
    facts = replace(story.facts(nothing_shown=True), sources=Sources(pins=PINS, extents=there))
    check(story, made(story.code, facts, Request()))


def test_removed_column(tmp_path: Path, check: Callable[..., None]) -> None:
    """Nobody reads cpc, among the models."""
    story = Story(tmp_path, NO_CPC)
    check(story, made(story.code, story.facts(), Request()))


def test_blocked_upstream(tmp_path: Path, check: Callable[..., None]) -> None:
    """roi_analysis alone is asked for, and campaign_performance lacks a week of what it reads."""
    story = Story(tmp_path, REAL_TIMESTAMP)
    everything = story.code.models["campaign_performance"].expected(NOW)
    gap = Coverage(green=everything - Ranges((days("2025-06-10", "2025-06-16"),)))
    plan = made(story.code, story.facts(campaign_performance=gap), Request(select=("roi_analysis",)))
    check(story, plan)


def test_audits_that_changed(tmp_path: Path, check: Callable[..., None]) -> None:
    """What is built is looked at again, without building it."""
    story = Story(tmp_path)
    week = Ranges((days("2025-06-10", "2025-06-16"),))
    everything = story.code.models["campaign_performance"].expected(NOW)
    have = Coverage(green=everything - week, unaudited=week)
    check(story, made(story.code, story.facts(campaign_performance=have), Request()))


def test_override(tmp_path: Path, check: Callable[..., None]) -> None:
    """Code that looks like other rows, and is the same by its author's word."""
    word = "version: OLD, code: NEW, reason: IN with one value is ="
    story = Story(tmp_path, ANOTHER_WAY, word=word)
    check(story, made(story.code, story.facts(), Request()))


def test_override_with_columns_more(tmp_path: Path, check: Callable[..., None]) -> None:
    """The same word, and A1 on top: only the model itself is built."""
    word = "version: OLD, code: NEW, reason: IN with one value is ="
    story = Story(tmp_path, [*ANOTHER_WAY, *MORE_COLUMNS], word=word)
    check(story, made(story.code, story.facts(), Request()))


def test_override_that_is_void(tmp_path: Path, check: Callable[..., None]) -> None:
    """It was about other code, and the code takes any name of a day: two warnings."""
    word = "version: OLD, code: OLD, reason: IN with one value is ="
    story = Story(tmp_path, ANY_NAME, word=word)
    check(story, made(story.code, story.facts(), Request()))


def test_nothing_to_do(tmp_path: Path, check: Callable[..., None]) -> None:
    """Prod shows what the code says."""
    story = Story(tmp_path)
    check(story, made(story.code, story.facts(), Request()))


def test_the_schema_names_each_next_step() -> None:
    assert SCHEMA["properties"]["next"]["properties"]["step"]["enum"] == [step.value for step in Step]
