"""One comment, kept up to date, and a status an owner, whatever GitHub answers: against a server on this machine."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from backfill_assets_tests.projects import CHECKOUT
from backfill_assets_tests.unit.actions.fake_github import TOKEN, FakeGitHub, payload, serving

MARKER = "<!-- backfill-plan: backfill -->"
US = "github-actions[bot]"
PULL = payload("pull_request")["pull_request"]
SHA = PULL["head"]["sha"]
REPOSITORY = "Codertocat/Hello-World"
OWNERS = [
    {"owner": "growth@example.com", "models": ["roi_analysis"], "roles": ["owner"]},
    {"owner": "", "models": ["a", "b"], "roles": ["owner"]},
]


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("comment", CHECKOUT / ".github/actions/comment/comment.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = _load()


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    fake = FakeGitHub()
    fake.pulls.append(json.loads(json.dumps(PULL)))
    with serving(fake):
        yield fake


class Run:
    """The script, with its files."""

    def __init__(self, github: FakeGitHub, folder: Path) -> None:
        self.github, self.folder, self.waits = github, folder, list[float]()
        self.document = ""

    def __call__(
        self, *more: str, plan: str = "## Plan `1f3a9c02` for prod", document: Any = None, waiting: Any = None,
        event: Any = None, error: str = "",
    ) -> int:  # fmt: skip
        files = {
            "plan.md": plan, "error.txt": error,
            "plan.json": self.document or (json.dumps(document or a_plan()) if plan else ""),
            "waiting.json": json.dumps(waiting or ""),
            "event.json": json.dumps(event or payload("pull_request")),
        }  # fmt: skip
        for name, text in files.items():
            (self.folder / name).write_text(text)
        at = {name: str(self.folder / name) for name in files}
        return script.main(
            ["--repository", REPOSITORY, "--api", self.github.url, "--plan", at["plan.md"], "--json", at["plan.json"],
             "--waiting", at["waiting.json"] if waiting else "", "--error", at["error.txt"],
             "--event", at["event.json"], *more],
            wait=self.waits.append,
        )  # fmt: skip


@pytest.fixture
def run(github: FakeGitHub, tmp_path: Path) -> Run:
    return Run(github, tmp_path)


def a_plan(owners: Any = (), stored: str | None = None) -> dict[str, Any]:
    stages: list[Any] = [{"stage": "build", "model": "roi_analysis"}, {"stage": "approve", "owners": list(owners)}]
    return {"id": "1f3a9c02", "stages": stages, "open_plans": {"continues": stored}}


def ours(github: FakeGitHub) -> list[str]:
    return [c["body"] for c in github.comments if c["body"].startswith(MARKER)]


def said(github: FakeGitHub) -> dict[str, tuple[str, str]]:
    """What counts of each context: the newest."""
    return {s["context"]: (s["state"], s["description"]) for s in reversed(github.statuses)}


def test_one_comment_that_is_kept_up_to_date(run: Run, github: FakeGitHub) -> None:
    """Made once, then changed in its place, and left alone when it says it already; others' comments stay."""
    for number in range(5):  # it is on the third page
        github.add(f"somebody's {number}", "ana")
    assert run() == 0 and ours(github) == [
        f"{MARKER}\n## Plan `1f3a9c02` for prod\n\n<sub>For commit {SHA[:12]}.</sub>"
    ]
    assert run(plan="## Plan `77ab0c1f` for prod") == 0
    assert len(ours(github)) == 1 and "77ab0c1f" in ours(github)[0] and len(github.comments) == 6
    before = len(github.calls)
    assert run(plan="## Plan `77ab0c1f` for prod") == 0
    assert {call.partition(" ")[0] for call in github.calls[before:]} == {"GET"}


def test_a_comment_that_was_deleted_comes_again(run: Run, github: FakeGitHub) -> None:
    """Before a run, and between its look and its change."""
    assert run() == 0
    github.comments.clear()
    assert run() == 0 and len(ours(github)) == 1
    gone = github.comments[0]["id"]
    github.fail.append(("PATCH", f"/issues/comments/{gone}$", 404, {}))
    assert run(plan="## Another") == 0 and "## Another" in ours(github)[0]


def test_two_that_were_made_at_once_become_one(run: Run, github: FakeGitHub) -> None:
    github.add(f"{MARKER}\nfirst", US)
    github.add(f"{MARKER}\nsecond", US)
    github.add(f"{MARKER}\nthird, of another pull request", US, on=7)
    assert run() == 0
    assert [c["body"].splitlines()[1] for c in github.comments] == [
        "## Plan `1f3a9c02` for prod",
        "third, of another pull request",
    ]


def test_a_strangers_comment_with_our_marker_stays_theirs(run: Run, github: FakeGitHub) -> None:
    github.add(f"{MARKER}\nnot ours", "stranger")
    assert run() == 0
    assert [c["user"]["login"] for c in github.comments] == ["stranger", US]
    assert github.comments[0]["body"].endswith("not ours")


def test_what_fails_for_a_while_is_tried_again(run: Run, github: FakeGitHub) -> None:
    """5xx, and limits with the pause that GitHub asks for; a lost answer of a POST makes no second comment."""
    github.fail += [("GET", "comments$", 502, {}), ("GET", "pulls/2$", 429, {"Retry-After": "7"})]
    github.fail.append(("POST", "/statuses/", 403, {"Retry-After": "3", "X-RateLimit-Remaining": "0"}))
    github.lost.append(f"POST /repos/{REPOSITORY}/issues/2/comments")
    assert run() == 0 and len(ours(github)) == 1
    assert 7.0 in run.waits and 3.0 in run.waits


@pytest.mark.parametrize(
    ("status", "headers"),
    [(401, {}), (403, {}), (422, {}), (403, {"Retry-After": "3600"})],
)
def test_what_is_refused_is_said(
    run: Run, github: FakeGitHub, capsys: pytest.CaptureFixture[str], status: int, headers: dict[str, str]
) -> None:
    """At once, with GitHub's own words and without the token."""
    github.fail += [("POST", "comments$", status, headers)] * 9
    assert run() == 1
    text = capsys.readouterr()
    assert f"{status} said by GitHub" in text.err or "again in 3600 s" in text.err
    assert TOKEN not in text.err + text.out and len(github.calls) < 6


def test_a_server_that_stays_down_ends_it(run: Run, github: FakeGitHub, capsys: pytest.CaptureFixture[str]) -> None:
    github.fail += [("GET", "", 503, {})] * 99
    assert run() == 1 and "503" in capsys.readouterr().err and len(github.calls) == script.ATTEMPTS


def test_a_redirect_is_not_followed(run: Run, github: FakeGitHub) -> None:
    """The token goes nowhere else."""
    github.fail.append(("GET", "pulls/2$", 302, {"Location": f"{github.url}/elsewhere"}))
    assert run() == 1 and "GET /elsewhere" not in github.calls


def test_the_next_page_is_on_the_same_server(run: Run, github: FakeGitHub) -> None:
    github.fail.append(("GET", "comments$", 200, {"Link": '<http://evil.example/x>; rel="next"'}))
    assert run() == 1 and not github.comments


def test_a_newer_commit_has_its_own_run(run: Run, github: FakeGitHub, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that comes late says nothing about an older commit."""
    github.pulls[0]["head"]["sha"] = "0" * 40
    assert run() == 0 and not github.comments and not github.statuses
    assert "nothing is posted" in capsys.readouterr().out


def a_fork() -> dict[str, Any]:
    run = payload("workflow_run")["workflow_run"]
    head = {"ref": run["head_branch"], "sha": run["head_sha"], "repo": run["head_repository"]}
    return json.loads(json.dumps(PULL | {"number": 9, "head": head}))


def test_a_fork_is_found_by_branch_and_commit(run: Run, github: FakeGitHub) -> None:
    """Of a `workflow_run`; another fork with the same branch, and another commit, are not meant."""
    other = a_fork() | {"number": 10}
    other["head"]["repo"] = {"full_name": "other/octo-repo"}
    older = a_fork() | {"number": 11}
    older["head"]["sha"] = "0" * 40
    github.pulls = [other, older, a_fork()]
    assert run(event=payload("workflow_run")) == 0
    assert f"POST /repos/{REPOSITORY}/issues/9/comments" in github.calls
    assert not [c for c in github.calls if "/10" in c or "/11" in c]


def test_a_fork_that_is_gone(run: Run, github: FakeGitHub) -> None:
    event = payload("workflow_run")
    event["workflow_run"]["head_repository"] = None
    assert run(event=event) == 0 and not github.comments


def test_a_fork_without_a_token_that_may_comment(
    run: Run, github: FakeGitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    """In `pull_request` its token reads only: the run is green, and says where to read on."""
    event = payload("pull_request")
    event["pull_request"]["head"]["repo"]["full_name"] = "stranger/Hello-World"
    github.fail.append(("POST", "comments$", 403, {}))
    assert run(event=event) == 0
    assert "docs/pull-requests.md" in capsys.readouterr().out and (CHECKOUT / "docs/pull-requests.md").is_file()


def test_a_status_for_each_owner(run: Run, github: FakeGitHub) -> None:
    """Pending before rows are there; approved when the stored plan lacks them no more; others go on waiting."""
    assert run(document=a_plan(OWNERS)) == 0
    assert said(github) == {
        "backfill/plan": ("success", "plan 1f3a9c02 builds 1 model, asks 2 owners"),
        "backfill/growth@example.com": ("pending", "is asked about roi_analysis"),
        "backfill/somebody else": ("pending", "is asked about a, b"),
    }
    lacks = {"plan": "1f3a9c02", "lacking": [{"owner": ""}]}
    waiting = {"plans": [lacks], "other_code": []}
    assert run(document=a_plan(OWNERS, stored="1f3a9c02"), waiting=waiting) == 0
    assert said(github)["backfill/growth@example.com"] == ("success", "has approved: roi_analysis")
    assert said(github)["backfill/somebody else"][0] == "pending"
    assert run(document=a_plan(OWNERS, stored="1f3a9c02"), waiting={"plans": [], "other_code": []}) == 0
    assert {state for state, _ in said(github).values()} == {"success"}
    count = len(github.statuses)
    assert run(document=a_plan(OWNERS, stored="1f3a9c02"), waiting={"plans": [], "other_code": []}) == 0
    assert len(github.statuses) == count  # GitHub takes a thousand of a commit


def test_nobody_has_approved_what_cannot_be_told(run: Run, github: FakeGitHub) -> None:
    """Without the stored plan's record, or where that is of other code, nothing counts as approved."""
    other = {"plans": [], "other_code": [{"id": "1f3a9c02"}]}
    for stored, waiting in (("1f3a9c02", None), ("1f3a9c02", other), (None, {"plans": [], "other_code": []})):
        github.statuses.clear()
        assert run(document=a_plan(OWNERS, stored=stored), waiting=waiting) == 0
        assert said(github)["backfill/growth@example.com"][0] == "pending"


def test_who_is_asked_no_more_holds_up_nothing(run: Run, github: FakeGitHub) -> None:
    github.statuses += [{"context": "ci/tests", "state": "pending", "description": ""}]
    assert run(document=a_plan(OWNERS)) == 0 and run(document=a_plan(OWNERS[:1])) == 0
    assert said(github)["backfill/somebody else"] == ("success", "is asked no more")
    assert said(github)["ci/tests"] == ("pending", "")


def test_a_project_with_problems_has_a_red_status(run: Run, github: FakeGitHub) -> None:
    """And its problems in the comment, in which nothing is markup."""
    bad = "backfill: 1 problem\n```\n@team <img src=x>\x1b[31m\n````"
    assert run(plan="", error=bad) == 0
    assert said(github) == {"backfill/plan": ("failure", "there is no plan: see the comment")}
    fence = ours(github)[0].splitlines()[3]
    assert fence == "`````text" and ours(github)[0].count("`````") == 2 and "\x1b" not in ours(github)[0]


def test_texts_that_are_too_long_are_none(run: Run, github: FakeGitHub) -> None:
    owners = [{"owner": "o" * 500 + "\n", "models": ["m" * 500], "roles": []}]
    assert run(plan="x" * 70_000, document=a_plan(owners)) == 0
    assert len(ours(github)[0]) < 65_536 and "longer than a comment" in ours(github)[0]
    assert all(len(c) <= 255 and len(d) <= 140 and c.isprintable() for c, (_, d) in said(github).items())


@pytest.mark.parametrize("text", ["{", '"plan"', "[]", '{"id": 1}', '{"id": 1, "stages": [1], "open_plans": {}}'])
def test_a_file_that_is_something_else(
    run: Run, github: FakeGitHub, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """Cut off, or of another program: a message, and no status."""
    run.document = text
    assert run() == 1 and not github.statuses
    assert "is not what backfill or GitHub writes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [("--repository", "../../x"), ("--name", "a --> b"), ("--pull", "2", "--sha", "main"), ("--pull", "2")],
)
def test_wrong_arguments(run: Run, github: FakeGitHub, wrong: tuple[str, ...]) -> None:
    assert run(*wrong) == 1 and not github.calls


def test_without_a_token(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    assert run() == 1 and "GITHUB_TOKEN" in capsys.readouterr().err
