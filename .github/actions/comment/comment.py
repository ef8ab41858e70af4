"""How does a pull request learn of its plan? By one comment that is kept up to date, and a status for each owner.

Needs Python 3.9 and nothing else, so that other CI than GitHub's can run it as well:

    GITHUB_TOKEN=… python comment.py --repository acme/models --pull 12 --sha 3f2a… --plan plan.md --json plan.json

It posts what `backfill plan` said and never runs anything of the pull request. docs/pull-requests.md tells how to set it up.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LONGEST = 65_000
"""Characters of a comment. GitHub takes 65,536."""
PAGES = 100
ATTEMPTS = 4
PATIENCE = 60
"""Seconds that an attempt waits at most."""


class Refused(Exception):
    """GitHub does not do what is asked. `status` is that of HTTP; 0: there was no answer."""

    def __init__(self, what: str, status: int = 0) -> None:
        super().__init__(what)
        self.status = status


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token goes to no other place than the one that is named."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Api:
    """GitHub's REST API. What fails for a while is tried again."""

    def __init__(self, base: str, token: str, *, wait: Callable[[float], None] = time.sleep) -> None:
        self.base, self.token, self.wait = base.rstrip("/"), token, wait
        self._opener = urllib.request.build_opener(_NoRedirect)

    def get(self, path: str) -> Any:
        """One answer."""
        return self._call("GET", self.base + path)[0]

    def every(self, path: str) -> Iterator[Any]:
        """The items of all pages."""
        url: str | None = f"{self.base}{path}{'&' if '?' in path else '?'}per_page=100"
        for _ in range(PAGES):
            if url is None:
                return
            items, link = self._call("GET", url)
            yield from items
            following = re.search(r'<([^>]+)>;\s*rel="next"', link)
            url = following[1] if following else None
            if url is not None and not url.startswith(self.base + "/"):
                raise Refused(f"the next page is at {url}, which is not the API at {self.base}", 200)

    def send(self, method: str, path: str, body: object = None, *, again: bool = True) -> Any:
        """A change; `again`: doing it twice is as good as once."""
        return self._call(method, self.base + path, body, again=again)[0]

    def _call(self, method: str, url: str, body: object = None, *, again: bool = True) -> tuple[Any, str]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._once(method, url, body)
            except urllib.error.HTTPError as error:
                said = _message(error)
                limited = error.code == 429 or (error.code == 403 and _is_limit(error))
                if not (limited or (again and error.code >= 500)) or attempt == ATTEMPTS:
                    raise Refused(f"{method} {_path(url)}: {error.code} {said}", error.code) from None
                pause = _pause(error, attempt)
                if pause > PATIENCE:
                    raise Refused(f"{method} {_path(url)}: {said}; again in {pause:.0f} s", error.code) from None
            except (OSError, ValueError) as error:  # no connection, a time-out, an answer that is cut off
                if not again or attempt == ATTEMPTS:
                    raise Refused(f"{method} {_path(url)}: {error}") from None
                pause = 2.0**attempt
            self.wait(pause)
        raise AssertionError("the last attempt returns or raises")

    def _once(self, method: str, url: str, body: object) -> tuple[Any, str]:
        request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode())
        request.add_header("Accept", "application/vnd.github+json")
        request.add_header("X-GitHub-Api-Version", "2022-11-28")
        request.add_header("Content-Type", "application/json")
        request.add_header("User-Agent", "backfill-assets")
        request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        with self._opener.open(request, timeout=30) as answer:
            text = answer.read()
            return (json.loads(text) if text else None), answer.headers.get("Link", "")


# --- which pull request ------------------------------------------------------------------------------------------------


def pulls_of(event: dict[str, Any], api: Api, repository: str) -> tuple[list[int], str]:
    """The numbers of the pull requests that an event of GitHub is about, and their commit.

    Of a `workflow_run` they are looked up by its branch and commit: what its artifacts say could be a stranger's.
    """
    if "pull_request" in event:
        return [int(event["pull_request"]["number"])], str(event["pull_request"]["head"]["sha"])
    run = event.get("workflow_run")
    if not run:
        raise Refused("the event is neither of a pull request nor of a workflow_run")
    theirs, sha = (run.get("head_repository") or {}).get("full_name"), str(run["head_sha"])
    if not theirs:
        return [], sha  # the fork is gone
    head = urllib.parse.quote(f"{theirs.partition('/')[0]}:{run['head_branch']}", safe="")
    open_ones = api.every(f"/repos/{repository}/pulls?state=open&head={head}")
    return [int(p["number"]) for p in open_ones if _head(p) == (theirs, sha)], sha


def is_newest(api: Api, repository: str, pull: int, sha: str) -> bool:
    """Whether the commit is still the last one of the pull request."""
    return _head(api.get(f"/repos/{repository}/pulls/{pull}"))[1] == sha


def _head(pull: dict[str, Any]) -> tuple[str, str]:
    return str((pull["head"].get("repo") or {}).get("full_name")), str(pull["head"]["sha"])


# --- the comment -------------------------------------------------------------------------------------------------------


def comment(plan: str, error: str, *, name: str, sha: str) -> str:
    """The text: what `backfill plan --markdown` printed, or why there is no plan."""
    if not plan.strip():
        plan = f"## No plan\n\n{_fenced(error.strip() or 'backfill plan said nothing.')}"
    if len(plan) > LONGEST - 200:
        plan = "## The plan\n\nIt is longer than a comment may be: `backfill plan --markdown` prints it."
    return f"{_marker(name)}\n{plan.strip()}\n\n<sub>For commit {sha[:12]}.</sub>"


def post(api: Api, repository: str, pull: int, text: str, *, name: str, login: str) -> str:
    """Make the one comment say this; what was done. A second one, which two runs at once have left, goes."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _post(api, repository, pull, text, name=name, login=login)
        except Refused as error:
            # It was deleted meanwhile, or an answer was lost and it may be there: what is there is looked up again.
            if attempt == ATTEMPTS or not (error.status in (0, 404) or error.status >= 500):
                raise
            api.wait(2.0**attempt)
    raise AssertionError("the last attempt returns or raises")


def _post(api: Api, repository: str, pull: int, text: str, *, name: str, login: str) -> str:
    found = [
        one
        for one in api.every(f"/repos/{repository}/issues/{pull}/comments")
        if str(one.get("body") or "").startswith(_marker(name)) and (one.get("user") or {}).get("login") == login
    ]
    for more in found[1:]:
        _delete(api, f"/repos/{repository}/issues/comments/{int(more['id'])}")
    if not found:
        api.send("POST", f"/repos/{repository}/issues/{pull}/comments", {"body": text}, again=False)
        return "commented"
    if found[0]["body"].replace("\r\n", "\n") == text:
        return "the comment says it already"
    api.send("PATCH", f"/repos/{repository}/issues/comments/{int(found[0]['id'])}", {"body": text})
    return "the comment is up to date"


def _delete(api: Api, path: str) -> None:
    try:
        api.send("DELETE", path)
    except Refused as error:
        if error.status != 404:
            raise


def _marker(name: str) -> str:
    return f"<!-- backfill-plan: {name} -->"


def _fenced(text: str) -> str:
    """Text in which nothing is markup."""
    plain = "".join(c if c.isprintable() or c == "\n" else "�" for c in text)[:20_000]
    fence = "`" * (max([2, *(len(run) for run in re.findall("`+", plain))]) + 1)
    return f"{fence}text\n{plain}\n{fence}"


# --- the statuses ------------------------------------------------------------------------------------------------------


def statuses(plan: dict[str, Any] | None, waiting: dict[str, Any] | None, *, name: str) -> dict[str, tuple[str, str]]:
    """Context → state and description: of the plan, and of each owner whom it asks.

    `plan` is what `backfill plan --json` printed (None: it was refused), `waiting` what
    `backfill plans --waiting-for "" --json` printed: who lacks in the open plan that this is what is left of.
    """
    if plan is None:
        return {f"{name}/plan": ("failure", "there is no plan: see the comment")}
    owners = [o for stage in plan["stages"] if stage["stage"] == "approve" for o in stage["owners"]]
    asked = f"asks {len(owners)} owner{'s' * (len(owners) != 1)}" if owners else "asks nobody"
    builds = sum(stage["stage"] == "build" for stage in plan["stages"])
    stored = plan.get("open_plans", {}).get("continues") or plan["id"]
    found = {f"{name}/plan": ("success", f"plan {stored} builds {builds} model{'s' * (builds != 1)}, {asked}")}
    lacks = _lacking(plan, waiting)
    for one in owners:
        about = ", ".join(one["models"])
        if lacks is not None and one["owner"] not in lacks:
            told = ("success", f"has approved: {about}")
        else:
            told = ("pending", f"is asked about {about}")
        found[f"{name}/{one['owner'] or 'somebody else'}"] = told
    for owner in lacks or ():
        found.setdefault(f"{name}/{owner or 'somebody else'}", ("pending", "is asked: backfill plans --waiting-for"))
    return {_inert(context, 200): (state, _inert(said, 140)) for context, (state, said) in found.items()}


def _lacking(plan: dict[str, Any], waiting: dict[str, Any] | None) -> set[str] | None:
    """Whose approval the open plan lacks; None: nothing is stored of which somebody could have approved."""
    stored = plan.get("open_plans", {}).get("continues")
    if not stored or waiting is None or any(one["id"] == stored for one in waiting["other_code"]):
        return None
    return {lack["owner"] for one in waiting["plans"] if one["plan"] == stored for lack in one["lacking"]}


def mark(api: Api, repository: str, sha: str, wanted: dict[str, tuple[str, str]], *, name: str, url: str) -> int:
    """Set the statuses of a commit; how many were not so yet. Who was asked before and is no more holds up nothing."""
    there: dict[str, tuple[str, str]] = {}
    for one in api.every(f"/repos/{repository}/commits/{sha}/statuses"):  # the newest first
        there.setdefault(str(one["context"]), (str(one["state"]), str(one.get("description") or "")))
    over = {c: ("success", "is asked no more") for c, (s, _) in there.items() if c.startswith(f"{name}/") and s != "success"}
    changed = [(c, told) for c, told in {**over, **wanted}.items() if there.get(c) != told]
    for context, (state, said) in changed:
        body = {"context": context, "state": state, "description": said, **({"target_url": url} if url else {})}
        api.send("POST", f"/repos/{repository}/statuses/{sha}", body)
    return len(changed)


# --- the command -------------------------------------------------------------------------------------------------------


def main(arguments: list[str], *, wait: Callable[[float], None] = time.sleep) -> int:
    """0: done, or there is nothing to be done. 1: GitHub refused, and the message says what."""
    asked = _parser().parse_args(arguments)
    token = os.environ.get("GITHUB_TOKEN", "")
    if not token:
        return _fail("there is no GITHUB_TOKEN")
    if not re.fullmatch(r"[\w.-]{1,100}/[\w.-]{1,100}", asked.repository):
        return _fail(f"--repository is OWNER/NAME, not {asked.repository!r}")
    if not re.fullmatch(r"[\w.-]{1,50}", asked.name):
        return _fail("--name has letters, digits, dots and hyphens")
    api = Api(asked.api, token, wait=wait)
    event: dict[str, Any] = {}
    try:
        plan, document, waiting = _text(asked.plan), _json(asked.json), _json(asked.waiting)
        event = _json(asked.event) or {}
        pulls, sha = ([asked.pull], asked.sha) if asked.pull else pulls_of(event, api, asked.repository)
        if not re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", sha or ""):
            return _fail(f"--sha is a whole commit id, not {sha!r}")
        text = comment(plan, _text(asked.error), name=asked.name, sha=sha)
        current = [pull for pull in pulls if is_newest(api, asked.repository, pull, sha)]
        for pull in current:
            print(f"#{pull}: {post(api, asked.repository, pull, text, name=asked.name, login=asked.login)}")
        if not current:
            print(f"no open pull request ends at {sha[:12]}: nothing is posted")
        elif not asked.no_statuses:
            wanted = statuses(document if plan.strip() else None, waiting, name=asked.name)
            print(f"{mark(api, asked.repository, sha, wanted, name=asked.name, url=asked.url)} statuses set")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return _fail(f"a file is not what backfill or GitHub writes: {type(error).__name__} {error}")
    except Refused as error:
        if error.status in (401, 403) and _from_fork(event):
            print(f"::warning::{error}. A pull request of a fork has no token that may comment: see docs/pull-requests.md")
            return 0
        return _fail(str(error))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Post what `backfill plan` said to a pull request of GitHub.")
    parser.add_argument("--repository", default=os.environ.get("GITHUB_REPOSITORY", ""), help="OWNER/NAME")
    parser.add_argument("--pull", type=int, help="the number of the pull request; default: that of the event")
    parser.add_argument("--sha", default="", help="its commit, with --pull")
    parser.add_argument("--event", default=os.environ.get("GITHUB_EVENT_PATH", ""), help="a file with GitHub's event")
    parser.add_argument("--plan", required=True, help="what `backfill plan --markdown` printed")
    parser.add_argument("--json", default="", help="what `backfill plan --json` printed")
    parser.add_argument("--waiting", default="", help='what `backfill plans --waiting-for "" --json` printed')
    parser.add_argument("--error", default="", help="what was said where there is no plan")
    parser.add_argument("--name", default="backfill", help="another for each project of a repository")
    parser.add_argument("--login", default="github-actions[bot]", help="whose token it is: only its comments are changed")
    parser.add_argument("--url", default="", help="where a status leads to")
    parser.add_argument("--no-statuses", action="store_true", help="the comment only")
    parser.add_argument("--api", default=os.environ.get("GITHUB_API_URL") or "https://api.github.com")
    return parser


def _text(path: str) -> str:
    file = Path(path) if path else None
    return file.read_text(encoding="utf-8", errors="replace") if file and file.is_file() else ""


def _json(path: str) -> dict[str, Any] | None:
    text = _text(path)
    return json.loads(text) if text.strip() else None


def _from_fork(event: dict[str, Any]) -> bool:
    pull = event.get("pull_request") or {}
    return bool(pull) and (pull["head"].get("repo") or {}).get("full_name") != pull["base"]["repo"]["full_name"]


def _inert(text: str, longest: int) -> str:
    plain = "".join(c if c.isprintable() else " " for c in text)
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["message"])
    except (ValueError, KeyError, TypeError, OSError):
        return str(error.reason)


def _is_limit(error: urllib.error.HTTPError) -> bool:
    return "Retry-After" in error.headers or error.headers.get("X-RateLimit-Remaining") == "0"


def _pause(error: urllib.error.HTTPError, attempt: int) -> float:
    if (after := error.headers.get("Retry-After", "")).isdigit():
        return float(after)
    if (reset := error.headers.get("X-RateLimit-Reset", "")).isdigit() and error.code in (403, 429):
        return max(1.0, float(reset) - time.time())
    return 2.0**attempt


def _path(url: str) -> str:
    return urllib.parse.urlsplit(url).path


def _fail(what: str) -> int:
    print(f"::error::{what}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
