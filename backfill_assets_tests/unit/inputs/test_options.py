"""Options: what cannot be meant is refused before anything is opened, with code 2, the reason and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.files.texts import LARGEST
from backfill_assets.plan.ids import MOST
from backfill_assets.plan.stages import Request
from backfill_assets_tests.unit.inputs.project import assert_told, run, write

DAY = "daily:2024-01-02"
TOGETHER: list[tuple[str, tuple[str, ...]]] = [
    # the command, and words of the refusal: the pair, its reason, what to do instead
    (
        f"plan --restate {DAY} --select daily",
        ("--restate with --select", "names its models itself", "--restate OTHER:DAY..DAY"),
    ),
    (f"plan --restate {DAY} --start 2024-01-01", ("--restate with --start", "names its days itself", "FIRST..LAST")),
    (f"plan --restate {DAY} --end 2024-01-03", ("--restate with --end", "names its days itself")),
    (f"plan --restate {DAY} --end 2024-01-03 --end-bounded", ("--restate with --end;", "--restate with --end-bounded")),
    (f"plan --restate {DAY} --forward-only 2024-01-03", ("--restate with --forward-only", "make two plans")),
    (f"plan --restate {DAY} --ignore-cron", ("--restate with --ignore-cron", "--ignore-cron without --restate")),
    (f"apply --restate {DAY} -s daily", ("--restate with --select",)),
    (
        f"apply --restate {DAY} --select daily --start 2024-01-01 --end 2024-01-02 --forward-only 2024-01-01",
        (
            "--restate with --select",
            "--restate with --start",
            "--restate with --end",
            "--restate with --forward-only",
            "--forward-only with --start",
        ),
    ),
    (f"preflight --restate {DAY} --select daily", ("--restate with --select",)),
    (f"promote --restate {DAY} --start 2024-01-01", ("--restate with --start",)),
    ("plan --ids x.csv", ("--ids needs --restate", "--restate MODEL:DAY..DAY --ids FILE")),
    (f"apply --restate {DAY} --ids x.csv --where a=1", ("--ids with --where", "give one of them")),
    (f"promote --restate {DAY} --ids x.csv --all-versions", ("--ids with --all-versions", "invalidated whole")),
    ("promote 1f3a --ids x.csv", ("PLAN with --ids",)),
    ("apply --empty --ids x.csv", ("--ids needs --restate",)),
    ("plan --all-versions", ("--all-versions needs --restate", "widens a restatement")),
    ("apply --all-versions --select daily", ("--all-versions needs --restate",)),
    ("plan --end-bounded", ("--end-bounded needs --end", "give the last day")),
    ("plan --start 2024-01-01 --end-bounded", ("--end-bounded needs --end",)),
    (
        "plan --forward-only 2024-01-01 --start 2024-01-01",
        ("--forward-only with --start", "names the first day itself"),
    ),
    ("apply --forward-only 2024-01-01 --end 2024-01-03", ("--forward-only with --end",)),
    ("apply --empty --promote", ("--empty with --promote", "computes nothing", "--select only")),
    ("apply --empty --sample 2", ("--empty with --sample",)),
    ("apply --empty --why x", ("--empty with --why",)),
    (f"apply --empty --restate {DAY}", ("--empty with --restate",)),
    ("apply --empty --forward-only 2024-01-01", ("--empty with --forward-only",)),
    ("apply --empty --ignore-cron", ("--empty with --ignore-cron",)),
    ("apply --empty --strategy daily=dual-run", ("--empty with --strategy",)),
    ("apply --empty --expect-moved daily", ("--empty with --expect-moved",)),
    ("apply --empty --expect-unmoved daily", ("--empty with --expect-unmoved",)),
    ("apply --empty --no-wait", ("--empty with --no-wait", "computes nothing")),
    ("apply --empty --outside-windows x", ("--empty with --outside-windows",)),
    ("apply --no-wait --outside-windows x", ("--outside-windows with --no-wait", "to build at once")),
    ("apply --by id", ("--by needs --sample", "--sample 1% --by campaign_id")),
    ("apply --sample 1% --by id --promote", ("--sample with --promote",)),
    ("apply --sample 1% --by id --why x", ("--by with --why", "no plan of it is stored")),
    ("apply --sample 1% --by id --expect-moved daily", ("--by with --expect-moved", "bear out nothing")),
    ("apply --sample 1% --by id --expect-filled daily.n=9%", ("--by with --expect-filled", "without --sample")),
    (f"apply --sample 1% --by id --restate {DAY} --where a=1", ("--by with --where",)),
    ("apply --sample 3 --promote", ("--sample with --promote", "still missing")),
    ("promote 1f3a --select daily", ("PLAN with --select", "says itself what it is about", "backfill promote PLAN")),
    ("promote 1f3a --start 2024-01-01", ("PLAN with --start",)),
    ("promote 1f3a --end 2024-01-01", ("PLAN with --end",)),
    (f"promote 1f3a --restate {DAY}", ("PLAN with --restate",)),
    ("promote 1f3a --forward-only 2024-01-01", ("PLAN with --forward-only",)),
    ("promote 1f3a --ignore-cron", ("PLAN with --ignore-cron",)),
    ("promote 1f3a --strategy daily=dual-run", ("PLAN with --strategy",)),
    ("promote 1f3a --expect-moved daily", ("PLAN with --expect-moved",)),
    ("promote 1f3a --expect-unmoved daily", ("PLAN with --expect-unmoved",)),
    ("plan --json --markdown", ("--json with --markdown", "one form")),
    ("approve 1f3a --statement x.json", ("--statement needs --signature",)),
    ("approve 1f3a --signature x.sig", ("--signature needs --statement",)),
    (
        "approve 1f3a --statement x --signature y --reason z",
        ("--statement with --reason", "its signature holds for it"),
    ),
    ("approve 1f3a --statement x --signature y --by ana", ("--statement with --by",)),
    ("approve 1f3a --statement x --signature y --for ana", ("--statement with --for",)),
    ("approve 1f3a --statement x --signature y --accept a=b", ("--statement with --accept",)),
    ("approve 1f3a --statement x --signature y --key k", ("--statement with --key",)),
    ("approve 1f3a --statement x --signature y --prepare", ("--statement with --prepare",)),
    ("approve 1f3a --prepare --key k", ("--prepare with --key", "signed elsewhere")),
    ("approve 1f3a --prepare --json", ("--prepare with --json",)),
    ("consumers --plan 1f3a", ("--plan needs --check",)),
]
VALUES: list[tuple[list[str], tuple[str, ...]]] = [
    (["plan", "--select", ""], ("--select is empty", "leave --select out")),
    (["plan", "--select", "  "], ("--select is empty",)),
    (["plan", "--select", "daily,"], ("--select is empty",)),
    (["apply", "-s", ""], ("--select is empty",)),
    (["promote", "--select", ","], ("--select is empty",)),
    (["plan", "--restate", ""], ("--restate is empty",)),
    (["plan", "--why", " "], ("--why is empty", "what the change is for")),
    (["apply", "--why", ""], ("--why is empty",)),
    (["apply", "--outside-windows", " "], ("--outside-windows is empty", "say in a sentence why")),
    (["plan", "--expect-moved", ""], ("--expect-moved is empty",)),
    (["plan", "--expect-unmoved", " "], ("--expect-unmoved is empty",)),
    (["plan", "--select", "dialy"], ("no model named dialy", "did you mean daily?")),
    (["plan", "--select", "daily.sql"], ("no model named daily.sql", "did you mean daily?")),
    (["plan", "--select", "DAILY"], ("no model named DAILY", "the project has: daily")),
    (["plan", "--select", "events"], ("no model named events",)),
    (["plan", "--select", "+"], ("no model named",)),
    (["plan", "--select", "daily;drop"], ("no model named",)),
    (["plan", "--select", "x" * 5000], ("no model named",)),
    (["plan", "--select", "d\x1b[31mx"], ("no model named",)),
    (["plan", "--start", "2024-01-03", "--end", "2024-01-01"], ("empty or reversed", "--start must come before --end")),
    (["plan", "--start", "2024-01-03T00:00", "--end", "2024-01-03T00:00"], ("empty or reversed",)),
    (["apply", "--start", "2024-01-03", "--end", "2024-01-01"], ("empty or reversed",)),
    (["diff", "--start", "2024-01-03", "--end", "2024-01-01"], ("empty or reversed",)),
    (["plan", "--start", "yesterday"], ("--start yesterday is no day", "write --start 2024-03-01")),
    (["plan", "--start", ""], ("--start  is no day",)),
    (["plan", "--start", "2024-13-01"], ("is no day",)),
    (["plan", "--start", "01.02.2024"], ("is no day",)),
    (["plan", "--start", "0001-01-01"], ("is no day", "1700 to 2200")),
    (["plan", "--start", "9999-12-31"], ("is no day", "1700 to 2200")),
    (["plan", "--end", "9999-12-31"], ("is no day", "1700 to 2200")),
    (["plan", "--end", "9999-12-31T23:59:59-01:00"], ("is no day",)),
    (["plan", "--end", "0001-01-01T00:00:00+01:00"], ("is no day",)),
    (["plan", "--end", "now"], ("--end now is no day",)),
    (["plan", "--end", "-1"], ("--end -1 is no day",)),
    (["plan", "--start", "x", "--end", "y"], ("--start x is no day", "--end y is no day")),
    (["plan", "--start", "x", "--select", ""], ("--start x is no day", "--select is empty")),
    (["plan", "--forward-only", "soon"], ("--forward-only soon is no day",)),
    (["plan", "--forward-only", "9999-12-31"], ("1700 to 2200",)),
    (["plan", "--restate", "daily"], ("--restate daily is not understood", "the first and the last day")),
    (["plan", "--restate", "daily:"], ("is not understood",)),
    (["plan", "--restate", ":2024-01-01"], ("no model",)),
    (["plan", "--restate", "daily:2024-01-03..2024-01-01"], ("the last one comes before the first",)),
    (["plan", "--restate", "daily:2024-01-01...2024-01-03"], ("is not understood",)),
    (["plan", "--restate", "daily 2024-01-01"], ("is not understood",)),
    (["plan", "--restate", "daily:9999-12-31"], ("1700 to 2200",)),
    (["plan", "--restate", "daily:0001-01-01"], ("1700 to 2200",)),
    (["plan", "--restate", "dialy:2024-01-01"], ("no model named dialy", "did you mean daily?")),
    (
        ["plan", "--restate", "daily:x", "--restate", "daily:y"],
        ("daily:x is not understood", "daily:y is not understood"),
    ),
    (["withdraw", "daily"], ("is not understood",)),
    (["withdraw", "dialy:2024-01-01"], ("no model named dialy",)),
    (["withdraw", "daily:9999-12-31"], ("1700 to 2200",)),
    (["withdraw", ""], ("is not understood",)),
    (["plan", "--strategy", "daily"], ("--strategy daily is not understood", "daily=dual-run")),
    (["plan", "--strategy", "=dual-run"], ("names no model",)),
    (["plan", "--strategy", "dialy=dual-run"], ("names no model that this plan changes",)),
    (["lineage", "dialy"], ("no model named dialy", "did you mean daily?")),
    (["lineage", "daily.clikcs"], ("daily has no column clikcs", "did you mean clicks?")),
    (["lineage", ""], ("no model named",)),
    (["diff", "--expect-moved", "dialy"], ("--expect-moved dialy names no model",)),
    (["diff", "--expect-unmoved", "daily.clikcs"], ("names no column of daily",)),
    (["approve", "1f3a", "--accept", "drift"], ("--accept drift is not understood", 'drift="why it may be so"')),
    (["apply", "--sample", "0"], ("--sample 0 is not understood", "in 1..100000", "--sample 1% --by campaign_id")),
    (["apply", "--sample", "-3"], ("--sample -3 is not understood",)),
    (["apply", "--sample", "all"], ("--sample all is not understood",)),
    (["apply", "--sample", "1e9"], ("--sample 1e9 is not understood",)),
    (["apply", "--sample", "9" * 40], ("is not understood", "in 1..100000")),
    (["apply", "--sample", "1%"], ("--sample 1% needs --by", "--by campaign_id, or a number of intervals")),
    (["apply", "--sample", "3", "--by", "id"], ("--sample 3 with --by is not understood", "--sample 1% --by id")),
    (["apply", "--sample", "0%", "--by", "id"], ("more than 0% and less than 100%",)),
    (["apply", "--sample", "100%", "--by", "id"], ("more than 0% and less than 100%",)),
    (["apply", "--sample", "1%", "--by", " "], ("--by is empty",)),
    (["diff", "--tolerance", "nan"], ("tolerance",)),
    (["diff", "--tolerance", "inf"], ("Invalid value",)),
    (["diff", "--tolerance", "-1"], ("Invalid value",)),
    (["diff", "--tolerance", "1%"], ("Invalid value",)),
    (["diff", "--sample", "51"], ("Invalid value",)),
    (["sql", "SELECT 1", "--limit", "0"], ("Invalid value",)),
    (["sql", "SELECT 1", "--limit", "9" * 30], ("Invalid value",)),
    (["ui", "--port", "0"], ("Invalid value",)),
    (["ui", "--port", "70000"], ("Invalid value",)),
    (["demo", "--events", "1"], ("Invalid value",)),
    (["demo", "--events", "two million"], ("Invalid value",)),
    (["plan", "--slect", "daily"], ("No such option",)),
    (["plan", "daily"], ("unexpected extra argument",)),
    (["paln"], ("No such command",)),
    (["lineage"], ("Missing argument",)),
    (["withdraw"], ("Missing argument",)),
    (["approve"], ("Missing argument",)),
    (["releases", "a", "b", "c"], ("unexpected extra argument",)),
]


def _ids(cases: list[tuple[str, tuple[str, ...]]]) -> list[str]:
    return [f"{n}-{text[:60]}" for n, (text, _) in enumerate(cases)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("project"))


@pytest.mark.parametrize(("command", "words"), TOGETHER, ids=_ids(TOGETHER))
def test_what_does_not_go_together(project: Path, command: str, words: tuple[str, ...]) -> None:
    """Each pair, its reason, and what to do instead; nothing is opened, so the project is not even named."""
    told = run(*command.split(), project=project)
    assert_told(told, 2, "these options do not go together", "why: ", "fix: ", *words)
    assert "project: " not in told.err


@pytest.mark.parametrize(
    ("arguments", "words"), VALUES, ids=[f"{n}-{' '.join(a)[:50]!r}" for n, (a, _) in enumerate(VALUES)]
)
def test_a_value_that_cannot_be_meant(project: Path, arguments: list[str], words: tuple[str, ...]) -> None:
    """Days that do not exist, models that do not, numbers out of range: what, why, and how to write it."""
    told = run(*arguments, project=project)
    assert_told(told, 2, *words)
    assert "fix: " in told.err or "Usage: " in told.err


def test_the_job_configuration_knows_the_same_pairs() -> None:
    """Dagster's jobs refuse what the command line refuses, in their own spelling."""
    from backfill_assets.core.errors import UsageError
    from backfill_assets.defs.config import asked, given

    def request(**config: object) -> Request:
        return asked(given("apply", config))

    assert request(why=" clicks count once ").why == "clicks count once"
    with pytest.raises(UsageError, match="why is empty"):
        request(why=" ")
    with pytest.raises(UsageError, match="restate with select; restate with forward_only"):
        request(restate=[DAY], select=["daily"], forward_only="2024-01-02")
    with pytest.raises(UsageError, match="select is empty"):
        request(select=[""])
    with pytest.raises(UsageError, match="empty or reversed"):
        request(start="2024-01-03", end="2024-01-01")
    with pytest.raises(UsageError, match="all_versions needs restate"):
        request(all_versions=True)
    with pytest.raises(UsageError, match="strategy dual-run is not understood"):
        request(strategy=["dual-run"])
    with pytest.raises(UsageError, match="PLAN with select"):
        asked(given("promote", {"plan": "1f3a", "select": ["daily"]}))


def test_keys_are_read_from_a_file_or_from_the_configuration(project: Path, tmp_path: Path) -> None:
    """A command reads the file, a job has its text; what is wrong with it is told at its line. An empty one names
    nothing: it is not as if none had been given."""
    from backfill_assets.cli.request import LARGEST_KEYS
    from backfill_assets.core.errors import UsageError
    from backfill_assets.defs.config import asked, given

    file = tmp_path / "ids.csv"
    for content, line in [(b"", 1), (b"id\n1\n1\n", 3), (b"id\n1\n\n2\n", 3)]:
        file.write_bytes(content)
        assert_told(run("plan", "--restate", DAY, "--ids", str(file), project=project), 2, f"{file}", f"line {line}")
        with pytest.raises(UsageError, match=f"ids.* line {line}"):
            asked(given("apply", {"restate": [DAY], "ids": content.decode()}))
    file.write_bytes("id\n1\n".encode("utf-16"))
    assert_told(run("plan", "--restate", DAY, "--ids", str(file), project=project), 2, f"{file}", "not UTF-8")
    rows = "".join(f"{n:060}\n" for n in range(MOST))
    file.write_text(f"id\n{rows}")
    assert file.stat().st_size > LARGEST
    assert_told(run("plan", "--restate", DAY, "--ids", str(file), project=project), 1, "daily cannot be restated")
    file.write_bytes(b"id\n" + b"x" * LARGEST_KEYS)
    assert_told(run("plan", "--restate", DAY, "--ids", str(file), project=project), 2, f"{file}", "is too large")
    told = run("apply", "--restate", DAY, "--ids", str(tmp_path / "none.csv"), project=project)
    assert_told(told, 2, "none.csv", "cannot be read")
    keys = asked(given("promote", {"restate": [DAY], "ids": "id\n2\n1\n"})).ids
    assert keys and keys.rows == (("1",), ("2",))
    with pytest.raises(UsageError, match="where is empty"):
        asked(given("apply", {"restate": [DAY], "where": ""}))
    with pytest.raises(UsageError, match="ids with where"):
        asked(given("apply", {"restate": [DAY], "ids": "id\n2\n", "where": "id = 1"}))


def test_jobs_have_the_options_of_their_commands(project: Path) -> None:
    """One declaration: what a command takes in a terminal, its job takes, with the same help; every job has a command,
    and every command a job, or a reason why not."""
    from typer.main import get_command

    from backfill_assets.app.context import Context
    from backfill_assets.cli.app import app
    from backfill_assets.cli.base import _spelling
    from backfill_assets.core.errors import UsageError
    from backfill_assets.defs.build_definitions import definitions
    from backfill_assets.defs.config import asked, given
    from backfill_assets.plan.request_options import JOB_BY_ITS_CHECKS, SHARED, TERMINAL, TERMINAL_OF, WITHOUT_JOB

    commands, loaded = get_command(app).commands, definitions(Context.open(project))  # type: ignore[attr-defined]
    jobs = {job.name: job for job in loaded.jobs}
    assert set(jobs) == set(SHARED)
    assert sorted((*SHARED, *WITHOUT_JOB, *JOB_BY_ITS_CHECKS)) == sorted(commands) and all(WITHOUT_JOB.values())
    assert {schedule.job_name for schedule in loaded.schedules} >= set(JOB_BY_ITS_CHECKS)
    for name, job in jobs.items():
        there = {_spelling(p).lower().replace("-", "_"): p.help for p in commands[name].params}
        [node] = job.nodes
        fields = getattr(node.definition.config_schema.config_type, "fields", {})  # type: ignore[union-attr]
        mine = {key: field.description for key, field in fields.items()}
        assert mine == {
            key: said for key, said in there.items() if key not in (*TERMINAL, *TERMINAL_OF.get(name, ()))
        }, name
        assert job.description and all(mine.values()), name
        defaults = {key: field.default_value for key, field in fields.items() if field.default_provided}
        assert {k: v for k, v in given(name, defaults).items() if k != "action"} == {}
    assert asked(given("apply", {})) == asked(given("promote", {})) == Request()
    with pytest.raises(UsageError, match="empty with promote"):
        asked(given("apply", {"empty": True, "promote": True}))
    for number in (0, 100_001):
        with pytest.raises(UsageError, match=r"1\.\.100000"):
            asked(given("apply", {"sample": number}))
    with pytest.raises(UsageError, match="sample 1% needs by"):
        asked(given("apply", {"sample": "1%"}))
    assert asked(given("apply", {"sample": "1%", "by": "id"})) == asked(given("apply", {"sample": 3})) == Request()
    config = {"strategy": ["daily=dual-run"], "expect_moved": ["daily.amount"], "ignore_cron": True}
    every = asked(given("apply", config))
    assert every == Request(strategies=(("daily", "dual-run"),), expect_moved=("daily.amount",), ignore_cron=True)
    with pytest.raises(UsageError, match="statement needs signature"):
        given("approve", {"plan": "1f3a", "statement": "{}"})
    with pytest.raises(UsageError, match="none of show, change"):
        given("rules", {"action": "drop"})
