"""On terminals of 80 and 120 columns names of models and columns are whole, and no line is longer than the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.text import Text

from backfill_assets.app.diff import Compared
from backfill_assets.app.status import ModelStatus, ProjectStatus
from backfill_assets.cli.diff import print_diff
from backfill_assets.cli.plan_text import print_plan
from backfill_assets.cli.status import print_status
from backfill_assets.cli.terminal import grid, out, print_section
from backfill_assets.compare.diff import Diff
from backfill_assets.compare.expect import Judgement
from backfill_assets.core.calendar import Calendar
from backfill_assets.core.intervals import Cadence
from backfill_assets.plan.estimate import estimate
from backfill_assets_tests.fakes import NOW, World, a_model, days, ranges
from backfill_assets_tests.unit.compare.test_diff_text import a_diff

NAME = "campaign_trends_monthly_by_channel"
COLUMN = "cost_per_acquisition_and_channel"


def lines(show: Callable[[], object], width: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What a terminal of this width shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORCE_COLOR", "1")
        patch.setenv("COLUMNS", str(width))
        patch.setenv("TERM", "xterm")
        show()
    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in capsys.readouterr().out.splitlines()]


def a_plan(capsys: pytest.CaptureFixture[str], width: int) -> list[str]:
    world = World(a_model(NAME, "raw"), a_model("reader", NAME, batch_size=1))
    plan = world.plan()
    guess = estimate(plan.work, [], world.project.models, at_once=1)
    said = lines(lambda: print_plan(plan, world.project, guess), width, capsys)
    return said[: next(n for n, line in enumerate(said) if not line)]


def test_words_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Where a row has no room, its cells go on in lines below it, cut between words: dates and versions are whole."""
    table = grid(0, 1)
    table.add_row(Text("build"), NAME, "540 days", "2024-01-01..2025-06-23", "changed: prod shows 191bbc291401058e")
    table.add_row("keep", "short", "", "", "complete and audited")
    assert lines(lambda: out().print(table), 80, capsys) == [
        f"build  {NAME}  540 days  2024-01-01..2025-06-23",
        "       changed: prod shows 191bbc291401058e",
        f"keep   short{' ' * (len(NAME) - 5)}  complete and audited",
    ]
    assert lines(lambda: out().print(table), 120, capsys) == [
        f"build  {NAME}  540 days  2024-01-01..2025-06-23  changed: prod shows 191bbc291401058e",
        f"keep   short{' ' * (len(NAME) - 5)}{' ' * 36}complete and audited",
    ]


DAYS = Calendar(Cadence.DAILY)


def a_status(capsys: pytest.CaptureFixture[str], width: int) -> list[str]:
    model = ModelStatus(
        model=NAME, version="0123456789abcdef", calendar=DAYS, expected=ranges(days("01", "09")),
        green=ranges(days("01", "05")), unaudited=ranges(), partial=ranges(), shown_version="fedcba9876543210",
        shown=ranges(days("01", "05")), running=(), stopped=(), pace=None, last_failure=None,
        provisional=ranges(),
    )  # fmt: skip
    status = ProjectStatus(environment="prod", now=NOW, revision=1, models=(model,))
    return lines(lambda: print_status(status), width, capsys)[:-1]


def the_diff(capsys: pytest.CaptureFixture[str], width: int) -> list[str]:
    [model] = a_diff().models

    def renamed(text: str) -> str:
        return COLUMN if text == "spend" else text

    def moved(group: object) -> object:
        return replace(group, moves=tuple(replace(m, column=renamed(m.column)) for m in group.moves))  # type: ignore

    model = replace(
        model,
        model=NAME,
        columns=tuple(replace(c, name=renamed(c.name)) for c in model.columns),
        total=moved(model.total),
        days=tuple(moved(g) for g in model.days),
        slices=(),
        samples=(),
    )  # type: ignore[arg-type]
    diff = Diff(old="prod", new="plan-1f3a9c02", models=(model,))
    said = lines(lambda: print_diff(Compared(diff=diff, judgement=Judgement(held=(), surprises=()))), width, capsys)
    assert any(line.startswith(f"  {COLUMN}  ") for line in said)
    prose = ("  keys", "  unchanged", "  compared", "  8 rows", f"  {COLUMN} moved")  # the terminal wraps it
    return [line for line in said if not line.startswith(prose)]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("show", [a_plan, a_status, the_diff])
def test_names_are_whole(
    show: Callable[[pytest.CaptureFixture[str], int], list[str]], width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Less important cells go on in the next line, or are left out; nothing is cut."""
    said = show(capsys, width)
    assert any(NAME in line for line in said) and not any("…" in line for line in said), said
    assert max(map(len, said)) <= width, said


@pytest.mark.parametrize("many", [30, 31])
def test_hundreds_of_models_that_stay_are_a_line(many: int, capsys: pytest.CaptureFixture[str]) -> None:
    """What is to be done is not lost among them; fewer are named."""
    world = World(a_model("fresh", "raw"))
    kept = {f"m_{n:03}": "complete and audited" for n in range(many - 1)} | {"view": "reads none of what changed"}
    plan = replace(world.plan(), kept=kept)
    guess = estimate(plan.work, [], world.project.models, at_once=1)
    said = [line for line in lines(lambda: print_plan(plan, world.project, guess), 120, capsys) if "keep" in line]
    words = [line.split(maxsplit=3)[:3] for line in said]
    assert len(said) == 30 if many == 30 else words == [["keep", "30", "models"], ["keep", "view", "reads"]]


def test_lines_of_sections_go_on_between_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Below their own beginning, without a blank at the end; what somebody would copy stays in one piece."""
    command = "backfill apply --restate a_long_model:2024-01-01..2024-01-31 --why 'the bank sent it again'"
    said = [
        Text("a model of which much is to be said", style="bold"),
        Text(
            f"  warning: its days are late, and nobody builds them again before somebody says so: {command}, then more"
        ),
        Text(f"  {command} --start 2024-01-01", no_wrap=True),
        Text("short"),
    ]
    found = lines(lambda: print_section("What is said", said), 80, capsys)
    assert found == [
        "",
        "What is said",
        "  a model of which much is to be said",
        "    warning: its days are late, and nobody builds them again before somebody",
        "      says so:",
        f"      {command},",
        "      then more",
        f"    {command} --start 2024-01-01",
        "  short",
    ]
    assert lines(lambda: print_section("Nothing", ()), 80, capsys) == []
