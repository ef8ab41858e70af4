"""The comment of a pull request: short first, complete, and inert, in a length that GitHub takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.app.context import Context
from backfill_assets.app.preview import Preview, preview
from backfill_assets.app.promote import promote_plan
from backfill_assets.cli.markdown_limit import LIMIT, fitting
from backfill_assets.cli.plan_brief import brief
from backfill_assets.cli.plan_comment import Links, plan_comment
from backfill_assets.cli.plan_lineage import MOST, label, plan_lineage
from backfill_assets.contracts.impact import Impact
from backfill_assets.core.errors import UsageError
from backfill_assets.plan.estimate import estimate
from backfill_assets.plan.faults import Fault, FaultKind
from backfill_assets.plan.stages import Request
from backfill_assets_tests.fakes import days, ranges
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unit.cli.test_hostile_text import CORPUS
from backfill_assets_tests.unsparked import build, unsparked

CONSUMERS = """\
last_verified: 2024-01-01
consumers:
  - {name: board, owner: cfo@example.com, reads: {daily: [total]}}
  - {name: mail, owner: ana@example.com, reads: {running: [day_before]}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_consumers(tmp_path)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """Prod shows both models; the code of `daily` doubles its totals."""
    return with_change(with_consumers(tmp_path_factory.mktemp("changed")))


def with_consumers(folder: Path) -> Path:
    root = small_project(folder / "shop")
    (root / "consumers.yml").write_text(CONSUMERS)
    return root


def with_change(root: Path) -> Context:
    place = unsparked(root)
    build(place)
    promote_plan(place)
    file = root / "models" / "daily.sql"
    file.write_text(file.read_text().replace("sum(amount)", "2 * sum(amount)"))
    return unsparked(root)


def comment_of(place: Context, links: Links | None = None, found: Preview | None = None) -> str:
    return plan_comment(found or preview(place, Request()), place.project, links or Links())


def test_what_comes_first(root: Path) -> None:
    """Of a first plan: what is new, and what is built; nobody is asked yet."""
    lines = comment_of(unsparked(root)).splitlines()
    assert lines[2:4] == ["- **Changes**: 2 of 2 models (2 new)", "- **Builds**: 10 days of daily, 10 days of running"]


def test_a_change(changed: Context) -> None:
    """Category, work, who is affected, who is asked; the lineage says the same in colours."""
    text = comment_of(changed)
    assert re.search(r"- \*\*Changes\*\*: 2 of 2 models \(2 breaking\)\n- \*\*Builds\*\*: 10 days of daily", text)
    assert re.search(r"- \*\*Affects\*\*: board \(\w+\), mail \(\w+\)\n- \*\*Asks\*\*: ana@example.com\n", text)
    assert (
        '["daily<br/>breaking, built"]:::breaking' in text
        and '(["board"]):::other' in text
        and "In the way" not in text
    )
    assert "classDef breaking" in text and "classDef new" not in text
    assert "### Who is affected" in text and len(text) < LIMIT


def test_what_is_in_the_way_comes_first_as_well(root: Path) -> None:
    """Here a consumer reads a column that is none."""
    with_change(root)
    (root / "consumers.yml").write_text(CONSUMERS.replace("day_before", "gone"))
    text = comment_of(unsparked(root))
    assert text.index("- **In the way**: 1 thing to be mended") < text.index("| model |") < text.index("running.gone")


def test_a_fault_has_its_remedy_in_the_next_line(changed: Context) -> None:
    """Which can be copied: nothing comes after it."""
    fault = Fault(
        kind=FaultKind.RED, model="daily", what="rows_ok", intervals=ranges(days("01")), remedy="backfill x --y"
    )
    text = comment_of(changed, found=replace(preview(changed, Request()), faults=(fault,)))
    assert re.search(r"\n\n\*\*\w+: daily .*; it stays shown\*\*\\\nfix: backfill x --y\n\n", text)


def test_nothing_is_touched(changed: Context) -> None:
    """Then nothing is drawn."""
    plan = replace(preview(changed, Request()).plan, stages=(), changes={})
    said = brief(plan, changed.project, estimate((), [], changed.project.models, at_once=1), ())
    assert said == ["- **Changes**: no model", "- **Builds**: nothing"]
    assert plan_lineage(plan, changed.project, ()) == []


def test_links_are_to_what_is_there(root: Path) -> None:
    """A plan has pages when it is stored; a page that needs no plan is there at any time."""
    changed = with_change(root)
    links = Links(page="https://plans.example.com/{plan}", packet="https://files.example.com/{plan}/packet.html")
    assert "backfill apply` stores the plan" in comment_of(changed, links) and "https" not in comment_of(changed, links)
    assert comment_of(changed, Links(page="https://plans.example.com")).endswith("(https://plans.example.com)")
    plan, _ = build(changed)
    stored = comment_of(unsparked(root), links)
    assert f"[The plan's page](https://plans.example.com/{plan.id})" in stored
    assert f"[Its evidence packet](https://files.example.com/{plan.id}/packet.html)" in stored
    assert "http" not in comment_of(changed) and f"This is what is left of plan {plan.id}" in stored


@pytest.mark.parametrize(
    "bad", ["javascript:alert(1)", "https://x.example/) [y](z", "//x", "https://x.example/\n", "x"]
)
def test_what_is_no_link_is_refused(bad: str) -> None:
    with pytest.raises(UsageError, match="is no link"):
        Links(packet=bad)


@pytest.mark.parametrize("bad", CORPUS)
def test_nothing_of_a_diagram_is_markup(changed: Context, bad: str) -> None:
    """Names of consumers are anything: none ends its node, its fence or the diagram."""
    found = preview(changed, Request())
    hostile = tuple(
        Impact(consumer=replace(i.consumer, name=bad, owner=bad), models=i.models, notice_until=i.notice_until)
        for i in found.impacts
    )
    lines = plan_lineage(found.plan, changed.project, hostile)
    assert lines[0] == "```mermaid" and lines[-1] == "```" and not any("`" in line for line in lines[1:-1])
    node = re.compile(r'  [tc]\d+(\[\("|\["|\(\[")[\w .,:#;<>/-]*("\)\]|"\]|"\]\)):::\w+')
    edge = re.compile(r"  t\d+ (-->|-\.->) [tc]\d+|  classDef \w+ [\w:#,-]+")
    assert [line for line in lines[2:-1] if not node.fullmatch(line) and not edge.fullmatch(line)] == []
    assert "<" not in label(bad)
    text = comment_of(changed, found=replace(found, impacts=hostile))
    outside = re.sub(r"(`+).+?\1", "", re.sub(r"```mermaid\n.*?\n```", "", text, flags=re.DOTALL))
    assert not re.search(r"<(script|img|h1|!--|https)|(?<!\\)\]\(javascript|(?<!\w)@team", outside)


def test_a_huge_diagram_is_none(changed: Context) -> None:
    found = preview(changed, Request())
    many = [
        replace(found.impacts[0], consumer=replace(found.impacts[0].consumer, name=f"c{n}")) for n in range(MOST)
    ]  # more than anybody reads
    lines = plan_lineage(found.plan, changed.project, many)
    assert len(lines) == 1 and "no diagram is drawn" in lines[0]


# --- the length -------------------------------------------------------------------------------------------------------


def table(rows: int, wide: int = 40) -> str:
    return "\n".join(["| model | what |", "|---|---|", *(f"| `m{n}` | {'x' * wide} |" for n in range(rows))])


def diagram(lines: int) -> str:
    return "\n".join(["```mermaid", "flowchart LR", *(["  a --> b", ""] * lines), "```"])


def folded(lines: int) -> str:
    return "\n".join(["<details><summary>more</summary>", "", *["- line", ""] * lines, "</details>"])


def whole(text: str) -> list[str]:
    """What would not render: fences and folded parts without an end, tables without a head, rows that are cut."""
    wrong = [f for f in ("```",) if len(re.findall(f"^{f}", text, re.MULTILINE)) % 2]
    wrong += ["details"] if text.count("<details>") != text.count("</details>") else []
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for block in re.split(r"\n\s*\n", outside):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        wrong += [line for line in lines if not line.endswith("|")]
        wrong += [lines[0]] if lines and not set(lines[1]) <= set("|-: ") else []
    return wrong


PARTS = st.one_of(
    st.integers(1, 400).map(table), st.integers(1, 60).map(diagram), st.integers(1, 60).map(folded),
    st.integers(1, 3000).map(lambda n: "x" * n), st.sampled_from(["### Who is affected", "- a\n- b"]),
)  # fmt: skip


@given(st.lists(PARTS, min_size=1, max_size=12), st.integers(1500, 20_000))
def test_what_fits_is_whole(parts: Sequence[str], limit: int) -> None:
    """Never longer, never cut in the middle of anything; unchanged where there is room; it says that something went."""
    text = "\n\n".join(["## Plan", *parts])
    said = fitting(text, limit)
    assert len(said) <= limit and whole(said) == [] and said.startswith("## Plan")
    assert (said == text) == (len(text) <= limit)
    assert ("left out" in said) == (len(text) > limit)


def test_tables_lose_rows_before_anything_else_goes() -> None:
    """What follows the table of two thousand models, such as who is asked, is what a reviewer needs."""
    text = "\n\n".join(["## Plan", table(2000), "It needs approval by ana.", diagram(5)])
    said = fitting(text)
    assert len(said) <= LIMIT and "approval by ana" in said and "```mermaid" in said
    rows = re.findall(r"^\| `m", said, re.MULTILINE)
    assert len(rows) > 900 and f"{2000 - len(rows):,} rows of tables are left out" in said
