"""How a project is set up: the file, the environment variables, and every mistake with its place."""

from __future__ import annotations

import ast
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backfill_assets.core.errors import ProjectError, SettingsError
from backfill_assets.core.intervals import utc
from backfill_assets.core.settings import Cost, DagsterNames, Settings
from backfill_assets.core.windows import Window, Windows
from backfill_assets.project.locations import resolve_location
from backfill_assets.project.settings import EMBEDDED_PROJECT, load_settings, project_root, state_root
from backfill_assets.project.spark_settings import spark_conf
from backfill_assets_tests.projects import CHECKOUT


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BACKFILL_WAREHOUSE", "BACKFILL_PROJECT"):
        monkeypatch.delenv(name, raising=False)


def load(root: Path, text: str) -> Settings:
    (root / "backfill.yml").write_text(text)
    return load_settings(root)


def test_without_a_file_everything_has_a_default(tmp_path: Path) -> None:
    """A folder of models is a project; its state is beside it."""
    found = load_settings(tmp_path)
    assert found == Settings(warehouse=str(tmp_path.resolve() / ".backfill/warehouse"))
    assert (found.environment, found.batch_size, found.clock) == ("prod", None, None)


def test_an_empty_file_is_no_mistake(tmp_path: Path) -> None:
    """Nor is one of comments."""
    assert load(tmp_path, "# nothing yet\n").environment == "prod"


def test_everything_can_be_set(tmp_path: Path) -> None:
    """Values arrive typed; YAML's truth is Spark's text."""
    found = load(
        tmp_path,
        "name: shop\nenvironment: dev\nwarehouse: data\nclock: 2024-06-01\nbatch_size: 7\n"
        "spark: {spark.sql.ansi.enabled: true, spark.sql.shuffle.partitions: 4}\n",
    )
    assert (found.name, found.environment, found.batch_size) == ("shop", "dev", 7)
    assert found.warehouse == str(tmp_path.resolve() / "data")
    assert found.spark == {"spark.sql.ansi.enabled": "true", "spark.sql.shuffle.partitions": "4"}
    assert found.now() == utc("2024-06-01")


@pytest.mark.parametrize("written", ["2024-06-01T12:00:00", "2024-06-01T14:00:00+02:00", "'2024-06-01T12:00'"])
def test_the_clock_is_utc(tmp_path: Path, written: str) -> None:
    """Whatever zone it is written in; none means UTC."""
    assert load(tmp_path, f"clock: {written}\n").now() == utc("2024-06-01T12:00")


def test_without_a_clock_now_is_now() -> None:
    """In UTC."""
    before = datetime.now(UTC)
    assert before <= Settings().now() <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("warehous: x\n", "warehous"),
        ("batch_size: 0\n", "batch_size"),
        ("batch_size: many\n", "batch_size"),
        ("environment: 'prod; DROP'\n", "environment"),
        ("- a list\n", "mapping"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, what: str) -> None:
    """With the file, the setting, and where to look."""
    with pytest.raises(ProjectError) as refused:
        load(tmp_path, text)
    [problem] = refused.value.problems
    assert what in problem.what
    assert problem.file == tmp_path / "backfill.yml"
    assert problem.fix


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    """Nobody corrects them one run at a time."""
    with pytest.raises(ProjectError) as refused:
        load(tmp_path, "batch_size: 0\nnonsense: 1\nenvironment: 7up\n")
    assert len(refused.value.problems) == 3


def test_by_default_nothing_costs_anything(tmp_path: Path) -> None:
    """Then nothing is said about money."""
    assert load(tmp_path, "name: shop\n").cost is None


def test_what_dagster_calls_it(tmp_path: Path) -> None:
    """A prefix of keys is a list or a text, as Dagster shows it; without any, nothing has one."""
    assert load(tmp_path, "name: shop\n").dagster == DagsterNames()
    text = "dagster: {key_prefix: marketing/eu, job_prefix: marketing_, existing_assets: [raw.orders]}"
    wanted = DagsterNames(key_prefix=("marketing", "eu"), job_prefix="marketing_", existing_assets=("raw.orders",))
    assert load(tmp_path, text).dagster == wanted
    with pytest.raises(ProjectError) as error:
        load(tmp_path, "dagster:\n  key_prefix: [a b]\n  job_prefix: a-\n  jobs: x\n")
    assert [p.line for p in error.value.problems] == [2, 3, 4]


@pytest.mark.parametrize(
    ("text", "unit", "units", "hour"),
    [
        ("cost: {currency: EUR, per_core_hour: 0.05, cores: 2}", "core-hours", 2, 0.10),
        ("cost: {currency: USD, per_dbu: 0.30, dbu_per_hour: 4}", "DBU", 4, 1.20),
        ("cost: {currency: USD, per_dbu: 1, dbu_per_hour: 0.5}", "DBU", 0.5, 0.50),
    ],
)
def test_what_an_hour_costs(tmp_path: Path, text: str, unit: str, units: float, hour: float) -> None:
    """By cores or by DBU; a machine costs as long as it is up."""
    cost = load(tmp_path, text).cost
    assert isinstance(cost, Cost)
    assert (cost.unit, cost.units_per_hour, cost.per_hour) == (unit, units, pytest.approx(hour))


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("{}", ["currency", "exactly one"]),
        ("7", ["cost"]),
        ("{currency: EUR}", ["exactly one of per_core_hour and per_dbu"]),
        ("{currency: EUR, per_core_hour: 0.05}", ["per_core_hour and cores go together"]),
        ("{currency: EUR, per_dbu: 0.05}", ["per_dbu and dbu_per_hour go together"]),
        ("{currency: EUR, cores: 2}", ["per_core_hour and cores go together", "exactly one"]),
        ("{currency: EUR, per_core_hour: 0.05, cores: 2, dbu_per_hour: 4}", ["per_dbu and dbu_per_hour go together"]),
        ("{currency: EUR, per_core_hour: 0.05, cores: 2, per_dbu: 0.30, dbu_per_hour: 4}", ["exactly one"]),
        ("{currency: euro, per_core_hour: -1, cores: 0}", ["currency", "per_core_hour", "cores"]),
        ("{currency: EUR, per_core_hour: .inf, cores: 1.5}", ["per_core_hour", "cores"]),
        ("{currency: EUR, per_core_hour: 0.05, cores: yes}", ["cores"]),
        ("{currency: EUR, per_core_hour: '0.05', cores: 2}", ["per_core_hour"]),
        ("{currency: EUR, per_core_hour: 0.05, cores: 2, discount: 1}", ["discount"]),
    ],
)
def test_mistakes_in_a_price_are_all_named(tmp_path: Path, text: str, mistakes: list[str]) -> None:
    """At once, each with both ways of writing it."""
    with pytest.raises(ProjectError) as refused:
        load(tmp_path, f"cost: {text}\n")
    problems = refused.value.problems
    assert len(problems) == len(mistakes)
    for mistake in mistakes:
        assert any("cost" in p.what and mistake in p.what for p in problems), mistake
    assert all("per_core_hour: 0.05" in p.fix and "per_dbu: 0.30" in p.fix for p in problems)
    assert all(p.line == 1 for p in problems)


def test_broken_yaml_is_shown_at_its_line(tmp_path: Path) -> None:
    """Line numbers count from one."""
    with pytest.raises(ProjectError) as refused:
        load(tmp_path, "name: shop\nspark: [unclosed\nwarehouse: x\n")
    [problem] = refused.value.problems
    assert problem.what == "this is not valid YAML"
    assert problem.line in (2, 3)


def test_the_warehouse_can_be_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BACKFILL_WAREHOUSE wins over the file, and is resolved the same way."""
    monkeypatch.setenv("BACKFILL_WAREHOUSE", "elsewhere")
    assert load(tmp_path, "warehouse: here\n").warehouse == str(tmp_path.resolve() / "elsewhere")
    monkeypatch.setenv("BACKFILL_WAREHOUSE", "s3://bucket/place/")
    assert load(tmp_path, "warehouse: here\n").warehouse == "s3://bucket/place"


def test_locations(tmp_path: Path) -> None:
    """Relative paths start at the base, absolute ones and URIs are themselves."""
    assert resolve_location("a/../b", tmp_path) == str(tmp_path.resolve() / "b")
    assert resolve_location("/abs/x", tmp_path) == "/abs/x"
    assert resolve_location("gs://b/x/", tmp_path) == "gs://b/x"
    assert resolve_location("~/x", tmp_path) == str(Path.home() / "x")


def test_which_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument, else BACKFILL_PROJECT, else the embedded demo, whose state is not inside the package."""
    assert project_root() == EMBEDDED_PROJECT.resolve()
    assert EMBEDDED_PROJECT not in [
        state_root(EMBEDDED_PROJECT.resolve()),
        *state_root(EMBEDDED_PROJECT.resolve()).parents,
    ]
    monkeypatch.setenv("BACKFILL_PROJECT", str(tmp_path))
    assert project_root() == tmp_path.resolve() == state_root(project_root())
    other = tmp_path / "other"
    other.mkdir()
    assert project_root(other) == other.resolve()


def test_a_project_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """With how to make one."""
    with pytest.raises(SettingsError) as refused:
        project_root(tmp_path / "nope")
    assert "backfill init" in refused.value.fix


def test_spark_values_are_text() -> None:
    """True and false in lower case, as Spark writes them."""
    assert spark_conf({"a": True, "b": False, "c": 1, "d": "X", 5: 0.5}) == {
        "a": "true",
        "b": "false",
        "c": "1",
        "d": "X",
        "5": "0.5",
    }


def test_windows(tmp_path: Path) -> None:
    """Each on the clock of its place: UTC, and every day, where the file does not say."""
    found = load(
        tmp_path,
        'windows:\n  - {days: [Mon-Thu, sun], from: "22:00", to: "06:00", time_zone: Europe/Berlin}\n'
        '  - {from: "00:00", to: "24:00", days: Sat}\n  - {from: "12:30", to: "13:00"}\n',
    )
    night = Window(days=frozenset({0, 1, 2, 3, 6}), start=1320, end=360, time_zone="Europe/Berlin")
    day = Window(days=frozenset({5}), start=0, end=1440)
    assert found.windows == Windows((night, day, Window(start=750, end=780)))
    assert str(found.windows) == "Mon-Thu,Sun 22:00-06:00 Europe/Berlin, Sat 00:00-24:00 UTC, 12:30-13:00 UTC"
    assert load(tmp_path, "name: shop\n").windows is None


@pytest.mark.parametrize(
    ("text", "line", "mistake"),
    [
        ("[]", 1, "not a list of windows"),
        ("{from: '22:00', to: '06:00'}", 1, "not a list of windows"),
        ("nightly", 1, "not a list of windows"),
        ("\n  - '22:00-06:00'", 1, "not a list of windows"),
        ("\n  - {from: '22:00'}", 2, "`windows.0.to` is missing"),
        ("\n  - {from: '01:00', to: '02:00'}\n  - from: '22:00'\n    to: '22:00'", 4, "`windows.1.to` is wrong"),
        ("\n  - {from: '00:00', to: '00:00'}", 2, "a whole day is from 00:00 to 24:00"),
        ("\n  - {from: '24:00', to: '02:00'}", 2, "not a time from 00:00 to 23:59"),
        ("\n  - {from: '22:00', to: '6 am'}", 2, "not a time from 00:00 to 24:00"),
        ("\n  - {from: 22:00, to: '06:00'}", 2, "cannot be meant: 22:00"),
        ("\n  - {from: '22:00', to: '06:00', days: []}", 2, "no day is named"),
        ("\n  - {from: '22:00', to: '06:00', days: [Fun]}", 2, "Fun is no day"),
        ("\n  - {from: '22:00', to: '06:00', time_zone: Berlin}", 2, "not a time zone"),
        ("\n  - {from: '22:00', to: '06:00', time_zone: ../Berlin}", 2, "not a time zone"),
        ("\n  - {from: '22:00', to: '06:00', zone: UTC}", 2, "unknown key `windows.0.zone`"),
    ],
)
def test_windows_that_cannot_be(tmp_path: Path, text: str, line: int, mistake: str) -> None:
    """Each is refused at its line, with how it is written."""
    with pytest.raises(ProjectError) as refused:
        load(tmp_path, f"windows: {text}\n")
    [problem] = refused.value.problems
    assert mistake in problem.what and problem.line == line and problem.fix


def test_each_variable_is_on_the_page() -> None:
    """Those that the code reads, and no others."""
    page = (CHECKOUT / "docs" / "settings.md").read_text()
    told = set(re.findall(r"`(BACKFILL_[A-Z_]+)`", "".join(re.findall(r"^\| (`BACKFILL_[^|]+)\|", page, re.MULTILINE))))
    files = [*(CHECKOUT / "backfill_assets").rglob("*.py")]
    texts = (n.value for f in files for n in ast.walk(ast.parse(f.read_text())) if isinstance(n, ast.Constant))
    read = {one for one in texts if isinstance(one, str) and re.fullmatch(r"BACKFILL_[A-Z_]+", one)}
    assert told == read - {"BACKFILL_COMMAND"} and len(read) > 8  # which only tells commands apart
