"""The pages of reference, played as they are written: each command in its order, over a shop as the pages have it.

What a page takes for granted (somebody edited a model, a source was delivered again) is done just before its command.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

import backfill_assets
from backfill_assets.core.intervals import utc
from backfill_assets_tests.pages import commands, shell
from backfill_assets_tests.projects import (
    Said,
    backfill_here,
    newest_plan,
    release_id,
    waiting_rules,
    write_project,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCES = """\
sources:
  - name: raw.ads
    format: csv
    path: data/ads
    options: {header: true}
    time_column: day
    columns: {day: date, campaign_id: string, channel: string, spend: "decimal(10,2)", conversions: bigint}
"""
CAMPAIGNS = """\
/*
owner: ana@example.com
start: 2024-02-01
grain: [ds, campaign_id, channel]
batch_size: 60
audits: [unique_grain, not_null: [ds, campaign_id, channel]]
*/
SELECT day AS ds, campaign_id, channel, sum(spend) AS spend, sum(conversions) AS conversions,
  sum(spend) / nullif(sum(conversions), 0) AS cost_per_acquisition
FROM raw.ads WHERE day >= :start AND day < :end
GROUP BY day, campaign_id, channel
"""
ROI = """\
/*
owner: ana@example.com
start: 2024-02-01
grain: [ds, campaign_id, channel]
batch_size: 60
audits: [unique_grain]
*/
SELECT ds, campaign_id, channel, spend, conversions * 30 - spend AS roi
FROM campaign_performance WHERE ds >= :start AND ds < :end
"""
TRENDS = """\
/*
owner: growth@example.com
start: 2024-02-01
cadence: monthly
grain: [month, channel]
time_column: month
audits: [unique_grain]
*/
SELECT CAST(date_trunc('month', ds) AS DATE) AS month, channel, sum(spend) AS spend
FROM campaign_performance WHERE ds >= :start AND ds < :end
GROUP BY CAST(date_trunc('month', ds) AS DATE), channel
"""
CONSUMERS = """\
last_verified: 2024-03-01
consumers:
  - name: cfo_weekly_export
    kind: export
    owner: finance@example.com
    criticality: high
    how: export
    reads: {campaign_performance: [ds, campaign_id, spend]}
"""
SETTINGS: dict[str, object] = {
    "people": {
        "ana@example.com": {"accounts": ["ana"]},
        "bo@example.com": {"accounts": ["bo"]},
        "growth@example.com": {"accounts": ["growth"]},
    },
    "approvals": {"owners": {"growth@example.com": ["growth@example.com", "ana@example.com", "bo@example.com"]}},
}
DAYS, CAMPAIGN_OF_A_DAY = 36, ((17, "google_ads"), (391, "email"), (1204, "email"), (1205, "facebook"))
SERVE = ("session", "ui")
"""Commands that go on until they are stopped: `test_kept_session.py`, `unit/defs`, `unit/review`."""
RULES = "rules-3abaa0b766d5"
PLANS, RELEASES = ("1f3a9c02", "1f3a", "7f3c", "plan-1f3a9c02"), ("r2024…", "r20240310", "r20250601…", "3f9a1c")


def test_every_command_of_the_readme_is_one_of_the_day() -> None:
    """So that it is played with that page."""
    day = {tuple(words) for block in shell("docs/day.md") for words in commands(block)}
    readme = [words for block in shell("README.md") if block.language == "console" for words in commands(block)]
    assert len(readme) > 5 and [words for words in readme if tuple(words) not in day] == []


class Shop:
    """A project, and what stands in it for the names that pages use."""

    def __init__(self, root: Path) -> None:
        self.root, self.project = root, root / "shop"
        self.key = root / "id_ed25519"
        for day in range(DAYS):
            self.deliver(f"{utc('2024-02-01') + timedelta(days=day):%Y-%m-%d}", day)
        write_project(
            self.project,
            {"campaign_performance.sql": CAMPAIGNS, "roi_analysis.sql": ROI, "campaign_trends_monthly.sql": TRENDS},
            sources=SOURCES,
            clock="2024-03-08",
        )
        (self.project / "consumers.yml").write_text(CONSUMERS)
        self.set(**SETTINGS)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        public = self.key.with_suffix(".pub").read_text().rsplit(" ", 1)[0]
        (self.project / "allowed_signers").write_text(f'ana@example.com namespaces="backfill-approval" {public}\n')

    def deliver(self, day: str, number: int) -> None:
        """A day's file of raw.ads."""
        lines = [f"{day},c{n:04},{channel},{number + n}.50,{n % 4}" for n, channel in CAMPAIGN_OF_A_DAY]
        folder = self.project / "data" / "ads"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{day}.csv").write_text("\n".join(["day,campaign_id,channel,spend,conversions", *lines, ""]))

    def set(self, **settings: object) -> None:
        """Write these settings beside the others."""
        file = self.project / "backfill.yml"
        file.write_text(json.dumps(json.loads(file.read_text()) | settings))

    def edit(self, old: str, new: str, *, model: str = "campaign_performance") -> None:
        file = self.project / "models" / f"{model}.sql"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new, 1))

    def run(self, *arguments: str | Path, user: str = "dev") -> Said:
        """A command that comes before a page: it goes well."""
        said = backfill_here(*arguments, project=self.project, user=user)
        assert said.code == 0, (arguments, said)
        return said

    def play(
        self,
        page: str,
        *,
        before: Mapping[str, Callable[[], object]] | None = None,
        codes: Mapping[str, list[int]] | None = None,
        names: Mapping[str, str] | None = None,
        users: Mapping[str, str] | None = None,
        only: range | None = None,
    ) -> list[tuple[str, Said]]:
        """Do what a page's blocks say (those with these numbers). `before` has what goes before commands that begin so,
        each once; `codes` with which exit codes such commands end, one after the other, the last one for all after it;
        else it is 0."""
        waiting, ends = dict(before or {}), {k: list(v) for k, v in (codes or {}).items()}
        played: list[tuple[str, Said]] = []
        shown = shell(f"docs/{page}.md")
        for block in shown if only is None else [shown[n] for n in only]:
            for words in commands(block):
                text = " ".join(words)
                for start in [start for start in waiting if text.startswith(start)]:
                    waiting.pop(start)()
                given = [self.named(word, names or {}) for word in words]
                if words[0] != "backfill":
                    self.other(words, given, played[-1][1].out if played else "")
                elif words[1] not in SERVE:
                    user = next((u for start, u in (users or {}).items() if text.startswith(start)), "")
                    user = user or ("ana" if words[1] == "approve" else "dev")
                    said = backfill_here(*given[1:], project=self.project, user=user)
                    end = next((e for start, e in ends.items() if text.startswith(start)), [0])
                    assert said.code == (end.pop(0) if len(end) > 1 else end[0]), (block.where, given, said)
                    played.append((text, said))
        assert not waiting and all(len(e) == 1 for e in ends.values()), f"these are not on the page: {waiting} {ends}"
        assert played, "the page has commands"
        return played

    def other(self, words: Sequence[str], given: Sequence[str], printed: str) -> None:
        """Do what is no command of ours, but for what only shows something. `printed` goes where `>` leads."""
        match words:
            case ["cd", folder]:
                self.project = self.root / folder
            case ["ssh-keygen", *_]:
                subprocess.run(given, check=True, capture_output=True)
            case ["duckdb", file, *query]:
                self.database = self.project / file
                with duckdb.connect(str(self.database)) as base:
                    self.answers = base.execute(*query).fetchall() if query else []
            case [script] if script.endswith(".sql"):  # after `<`
                with duckdb.connect(str(self.database)) as base:
                    base.execute(Path(given[0]).read_text())
            case [file]:  # after `>`
                (self.root / file).write_text(printed)
            case _:
                assert words[0] in ("head", "source"), f"nobody plays {words}"

    def named(self, word: str, names: Mapping[str, str]) -> str:
        """What stands for a word of a page in this project."""
        for placeholder, name in names.items():
            word = word.replace(placeholder, name)
        word = word.replace("~/.ssh/id_ed25519", str(self.key)).replace("/backups", str(self.root / "backups"))
        if word == RULES:
            return waiting_rules(self.project)
        if any(placeholder in word for placeholder in PLANS):
            plan = self.plan()
            for placeholder in PLANS:
                word = word.replace(placeholder, f"plan-{plan}" if placeholder.startswith("plan-") else plan)
        if any(placeholder in word for placeholder in RELEASES):
            release = self.release(-1)
            for placeholder in RELEASES:
                word = word.replace(placeholder, release)
        return word

    def release(self, number: int) -> str:
        return release_id(self.project, number)

    def plan(self) -> str:
        return newest_plan(self.project)

    def versions(self) -> list[str]:
        """What was built of campaign_performance, newest first."""
        built = [p for p in (self.project / ".backfill/warehouse/campaign_performance").iterdir() if p.is_dir()]
        return [p.name for p in sorted(built, key=lambda p: p.stat().st_mtime, reverse=True)]

    def end(self) -> None:
        """End the open plan."""
        self.run("abandon", self.plan())

    def shown(self) -> list[tuple[object, ...]]:
        """What prod shows of campaign_performance."""
        table = backfill_assets.read("campaign_performance", project=self.project)
        rows = table.select(["ds", "campaign_id", "spend", "conversions"]).to_pylist()
        return sorted(tuple(row.values()) for row in rows)


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Published once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    made = Shop(tmp_path)
    made.run("apply", "--promote")
    return made


def test_pages(shop: Shop) -> None:
    """From one change to the next: what a page says of rows is looked at, exit codes of all."""
    shop.edit("sum(spend) / nullif", "2 * sum(spend) / nullif")
    said = dict(shop.play("approvals", only=range(1), codes={"backfill promote": [4, 0]}))
    assert "needs approval by ana@example.com" in said["backfill plan"].out
    shown = shop.shown()

    shop.play("catalogs", names={"/srv": str(shop.root)})
    assert shop.answers == [(len(shown),)] == [(DAYS * len(CAMPAIGN_OF_A_DAY),)]
    shop.play("late-data")
    shop.set(approvals={"owners": {"growth@example.com": ["growth@example.com", "ana@example.com"]}})
    waits = {"backfill rules": [0, 4]}
    shop.play("approvals", only=range(2, 3), codes=waits, users={"backfill approve rules": "growth"})

    newer, older = shop.versions()
    shop.edit("2 * sum(spend) / nullif", "3 * sum(spend) / nullif")
    shop.play("plans", only=range(4, 5))
    versions = {"campaign_performance@1f3a": older, "campaign_performance@77c0": newer}
    names = {"r20240310": shop.release(-2)} | {k: f"campaign_performance@{v}" for k, v in versions.items()}
    shop.play("diff", names=names, only=range(2))
    [(_, waiting)] = shop.play("approvals", only=range(1, 2))
    assert f"backfill approve {shop.plan()} --for ana@example.com" in waiting.out
    shop.play("evidence", names={"./7f3c": f"{shop.project}/.backfill/warehouse/evidence/{shop.plan()}"})
    shop.play("consumers")
    shop.run("unpin", "cfo_weekly_export")
    shop.edit("3 * sum(spend) / nullif", "2 * sum(spend) / nullif")
    shop.end()
    assert shop.shown() == shown

    shop.edit("sum(spend) AS spend", "sum(spend) + 1 AS spend", model="campaign_trends_monthly")
    shop.run("apply")
    shop.play("approvals", only=range(3, 4))
    shop.run("promote")

    shop.play("plans", only=range(1))
    shop.end()
    (shop.root / "corrections.csv").write_text("campaign_id\nc0017\nc0391\n")
    shop.play("plans", only=range(1, 2))
    shop.end()
    shop.edit("sum(conversions) AS", "sum(conversions) * 30 AS conversion_value, sum(conversions) AS")
    shop.play("plans", only=range(2, 4))
    shop.play("diff", only=range(2, 3))
    shop.end()

    def other() -> None:
        shop.edit("* 30 AS", "* 31 AS")
        shop.run("apply")

    def back() -> None:
        shop.edit("sum(conversions) * 31 AS conversion_value, ", "")

    shop.play("day", before={"backfill abandon": other, "backfill apply --restate": back}, only=range(1, 2))
    assert shop.shown() == shown
    shop.play("watch")
    shop.play("rollback", names={"77b02e": shop.release(-2)})
    shop.play("warehouse", only=range(1, 2))
    shop.play("day", only=range(2, 3))


def test_adoption_by_its_page(spark: SparkSession, tmp_path: Path) -> None:
    """A folder, a table of the catalog and Parquet files, each as an environment's first; then the model takes over."""
    shop = Shop(tmp_path)
    for reader in ("roi_analysis", "campaign_trends_monthly"):
        (shop.project / "models" / f"{reader}.sql").unlink()
    columns = "day date, campaign_id string, channel string, spend decimal(10,2), conversions bigint"
    spark.read.csv(f"{shop.project}/data/ads", schema=columns, header=True).createOrReplaceTempView("legacy_ads")
    query = CAMPAIGNS.partition("*/")[2].replace(":start", "DATE '2024-02-01'").replace(":end", "DATE '2024-03-06'")
    old = spark.sql(query.replace("raw.ads", "legacy_ads").replace("sum(spend) AS", "sum(spend) + 1 AS"))
    old = old.withColumn("spend", old["spend"].cast("decimal(20,2)")).coalesce(1)
    legacy = tmp_path / "data" / "legacy"
    old.write.format("delta").save(str(legacy / "campaign_performance"))
    old.write.parquet(str(legacy / "cp_parquet"))
    spark.sql("CREATE DATABASE legacy")
    spark.sql(f"CREATE TABLE legacy.campaign_performance USING delta LOCATION '{legacy}/campaign_performance'")

    def elsewhere(name: str) -> Callable[[], None]:
        return lambda: shop.set(environment=name)

    adopt = "backfill adopt campaign_performance --table"
    before = {f"{adopt} legacy.": elsewhere("second"), f"{adopt} /data/legacy/cp_parquet": elsewhere("prod")}
    shop.set(environment="first")
    try:
        shop.play("adoption", names={"/data/legacy": str(legacy)}, only=range(1), before=before)
    finally:
        spark.sql("DROP DATABASE legacy CASCADE")
    adopted = shop.shown()
    shop.set(clock="2024-03-06")
    later = {"backfill routine": lambda: shop.set(clock="2024-03-08")}
    said = dict(shop.play("adoption", only=range(1, 2), before=later))
    assert "34 days are shown from the adopted table" in said["backfill plan"].out
    assert [row for row in shop.shown() if row in adopted] == adopted and len(shop.shown()) == DAYS * len(
        CAMPAIGN_OF_A_DAY
    )
    shop.play("adoption", names={"2015-01-01..2024-12-31": "2024-02-01..2024-03-05"}, only=range(2, 3))
    assert [row for row in shop.shown() if row in adopted] == adopted
