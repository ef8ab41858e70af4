"""The application: which address shows what. Every request reads the records as they are, and writes nothing."""

from __future__ import annotations

import hmac
import re
import shlex
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from backfill_assets.app.approve import ApprovalRequest, Prepared, approve, prepare, shown_digest
from backfill_assets.app.approver import acting_for
from backfill_assets.app.build_progress import read_build_progress
from backfill_assets.app.context import Context
from backfill_assets.app.review import (
    PlanLook,
    packet_file,
    plan_of_consumer,
    plan_of_model,
    plan_of_source,
    read_front,
    release_file,
    review_plan,
)
from backfill_assets.core.errors import BackfillError, PlanError, PromotionError, UsageError
from backfill_assets.evidence.page import html_templates
from backfill_assets.evidence.write import KEYS, MESSAGE, NOTE, PACKET, PAGE, RELEASE, RELEASE_PAGE, TABLES
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.review.forms import read_form
from backfill_assets.review.identity import Trust
from backfill_assets.review.lineage import anchor
from backfill_assets.review.plan_view import plan_view
from backfill_assets.review.plots import SCALE
from backfill_assets.review.progress_view import STATES, strips
from backfill_assets.review.safety import DOCUMENT, LOCAL, RequestGuard

TYPES = {".json": "application/json", ".md": "text/plain", ".csv": "text/csv", ".html": "text/html"}
PACKET_FILES = frozenset({PACKET, PAGE, NOTE, MESSAGE, TABLES, KEYS})
RELEASE_FILES = frozenset({RELEASE, RELEASE_PAGE})
STATIC = {"review.css": "text/css", "icon.svg": "image/svg+xml"}
NEWEST_PLAN = {"model": plan_of_model, "source": plan_of_source, "consumer": plan_of_consumer}
"""What Dagster's pages lead from: the newest plan that it waits for, or that changed it last."""
ACCEPTED = "accept."
"""How a field of a form begins that says why a difference may be so; its name follows."""


def review_app(
    open_context: Callable[[], Context], names: Collection[str] = LOCAL, trust: Trust | None = None
) -> Starlette:
    """The reviewer's page over a project, which is opened anew for each request. `names`: the hosts it answers for;
    `trust`: whose word counts for who acts, None: nobody acts."""
    pages = _Pages(open_context, trust)
    acting = [Route("/plan/{plan}/approve", pages.approve, methods=["POST"])] if trust else []
    return Starlette(
        routes=[
            Route("/", pages.front, name="front"),
            *(Route(f"/{name}", _static(name)) for name in STATIC),
            *(Route(f"/{kind}/{{name}}", pages.newest_plan(of)) for kind, of in NEWEST_PLAN.items()),
            Route("/plan/{plan}", pages.plan),
            Route("/plan/{plan}/progress", pages.progress),
            Route("/plan/{plan}/statement.json", pages.statement),
            *acting,
            Route("/plan/{plan}/{file}", pages.packet),
            Route("/release/{release}/{file}", pages.release),
        ],
        middleware=[Middleware(RequestGuard, names=frozenset(names))],
        exception_handlers={BackfillError: pages.refused, 404: pages.missing, 405: pages.missing},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What whoever is logged in may say of a plan: for which owners, or why for none."""

    who: str
    digest: str
    """What the page shows, as an approval names it."""
    token: str
    owners: tuple[str, ...]
    why: str


class _Pages:
    """What each address shows. Endpoints are plain functions: Starlette runs them beside its loop."""

    def __init__(self, open_context: Callable[[], Context], trust: Trust | None) -> None:
        self._open, self._trust = open_context, trust

    def _who(self, request: Request) -> str:
        return self._trust.who(request.headers.raw) if self._trust else ""

    def front(self, request: Request) -> Response:
        began, context, who = time.monotonic(), self._open(), request.query_params.get("for", "").strip()
        front = read_front(context, who)
        return _page(request, "front.html", context, began, front=front, who=who)

    def plan(self, request: Request) -> Response:
        began, context, name = time.monotonic(), self._open(), request.path_params["plan"]
        who = self._who(request)
        digest = shown_digest(context, name) if who else ""  # before all else: what comes meanwhile was not seen
        look = review_plan(context, name)
        if look.record.id != name:
            return RedirectResponse(f"{_base(request)}/plan/{quote(look.record.id, safe='')}")
        asked = self._asked(who, digest, context, look)
        found = _page(request, "plan.html", context, began, view=plan_view(look), scale=SCALE, asked=asked)
        if asked is not None:  # without it browsers would not say which page a form was sent by
            found.headers["referrer-policy"] = "same-origin"
        return found

    def progress(self, request: Request) -> Response:
        """How far its building is; browsers read it again by themselves while something is at work."""
        began, context = time.monotonic(), self._open()
        found = read_build_progress(context, request.path_params["plan"])
        lines = strips(found, context.project.settings.dagster)
        return _page(request, "progress.html", context, began, found=found, strips=lines, states=STATES)

    def _asked(self, who: str, digest: str, context: Context, look: PlanLook) -> Asked | None:
        """What whoever is logged in is asked; None where nobody is, or nothing is to be said."""
        if not who or not digest or self._trust is None or not look.packet.needed or not look.record.live:
            return None
        plan = look.record.id
        owners, why = (), ""
        try:
            context = acting_for(context, who, "the proxy")
            owners = tuple(one.owner for one in prepare(context, ApprovalRequest(plan=plan), signs=False))
        except BackfillError as error:
            why = f"{error.what}: {error.why}"
        given = {one.owner for one in look.packet.needed if one.given}
        left = tuple(owner for owner in owners if owner not in given)
        return Asked(who=who, digest=digest, token=self._trust.token(who, plan, digest), owners=left, why=why)

    async def approve(self, request: Request) -> Response:
        """Records what somebody approves: of whom the proxy asserts, sent by a page of this site, of the rows that
        it showed."""
        assert self._trust is not None
        who = self._who(request)
        if not who:
            return _message(
                request, 403, "Nobody is logged in", why="the proxy did not say who it is", fix="log in there"
            )
        if why := self._trust.from_elsewhere(request.headers.raw):
            return _message(request, 403, "This was not sent by a page of this site", why=why, fix="send it from there")
        said, plan = await read_form(request), request.path_params["plan"]
        digest = said.get("digest", "")
        wanted = self._trust.token(who, plan, digest)
        if not digest or not hmac.compare_digest(said.get("token", "").encode(), wanted.encode()):
            why = "it was made for somebody else, another plan or other rows"
            return _message(request, 403, "This form is not yours", why=why, fix="load the plan's page again")
        if "owner" not in said and not _signed(said):
            why = "somebody is asked for one owner at a time: the field `owner` says for which"
            return _message(request, 400, "The form names no owner", why=why, fix="send it from the plan's page")
        try:
            await run_in_threadpool(self._record, who, plan, digest, said)
        except BackfillError as error:
            return _message(request, 409, error.what, why=error.why, fix=error.fix)
        return RedirectResponse(f"{_base(request)}/plan/{quote(plan, safe='')}#approvals", 303)

    def _record(self, who: str, plan: str, digest: str, said: Mapping[str, str]) -> None:
        context = acting_for(self._open(), who, "the proxy")
        find_plan(context.control, plan)  # a change of the rules is approved in a terminal
        if _signed(said):
            given = Prepared(statement=said.get("statement", ""), signature=said.get("signature", ""))
            approve(context, ApprovalRequest(plan=plan, prepared=given, seen=digest))
            return
        accepted = {k.removeprefix(ACCEPTED): v for k, v in said.items() if k.startswith(ACCEPTED) and v.strip()}
        asked = ApprovalRequest(
            plan=plan, owners=(said["owner"],), reason=said.get("reason", ""), accepted=accepted, seen=digest
        )
        approve(context, asked)

    def newest_plan(self, of: Callable[[Context, str], str]) -> Callable[[Request], Response]:
        """To the plan that something waits for, or was changed by last; else to what waits for whom."""

        def there(request: Request) -> Response:
            plan = of(self._open(), request.path_params["name"])
            return RedirectResponse(f"{_base(request)}/plan/{quote(plan, safe='')}" if plan else f"{_base(request)}/")

        return there

    def packet(self, request: Request) -> Response:
        plan, name = request.path_params["plan"], request.path_params["file"]
        content = packet_file(self._open(), plan, name) if name in PACKET_FILES else None
        return self.missing(request) if content is None else _file(content, plan, name)

    def release(self, request: Request) -> Response:
        release, name = request.path_params["release"], request.path_params["file"]
        content = release_file(self._open(), release, name) if name in RELEASE_FILES else None
        return self.missing(request) if content is None else _file(content, release, name)

    def statement(self, request: Request) -> Response:
        """The text that somebody signs on a machine of their own; nothing is recorded. One owner a file."""
        said = request.query_params
        plan, owner, by = request.path_params["plan"], said.get("owner", ""), said.get("by", "").strip()
        if not by:
            raise UsageError(
                "nobody is named who will sign",
                why="a statement says whose it is, and the signature proves it",
                fix="give the name that `allowed_signers` has for your key",
            )
        accepted = {k.removeprefix(ACCEPTED): v for k, v in said.items() if k.startswith(ACCEPTED) and v.strip()}
        asked = ApprovalRequest(
            plan=plan, by=by, owners=(owner,) if owner else (), reason=said.get("reason", ""), accepted=accepted
        )
        made = prepare(self._open(), asked)
        if len(made) != 1:
            raise UsageError(
                "a statement is for one owner",
                why=f"{by} may speak for {', '.join(a.owner or 'models without an owner' for a in made)}",
                fix="choose one of them",
            )
        return _attachment(made[0].statement.encode(), f"{made[0].plan}-statement.json", "application/json")

    def refused(self, request: Request, error: Exception) -> Response:
        """A refusal in its three parts."""
        assert isinstance(error, BackfillError)
        status = 404 if isinstance(error, PlanError | PromotionError) and not isinstance(error, UsageError) else 503
        if isinstance(error, UsageError) or request.url.path.endswith("statement.json"):
            status = 400
        return _message(request, status, error.what, why=error.why or _problems(error), fix=error.fix)

    def missing(self, request: Request, _: Exception | None = None) -> Response:
        return _message(request, 404, "There is nothing at this address", why="", fix="begin with what waits")


def _problems(error: BackfillError) -> str:
    return str(error).partition("\n")[2]


@cache
def _templates() -> Any:
    made = html_templates("backfill_assets.review")
    made.filters |= {
        "path": lambda text: quote(str(text), safe=""),
        "anchor": anchor,
        "clock": _clock,
        "shell": shlex.quote,
    }
    return made


def rendered(template: str, **values: Any) -> str:
    """A page of `templates/` with these values, each as text that nothing obeys."""
    return _templates().get_template(template).render(values)


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S} UTC"


def _page(request: Request, template: str, context: Context, began: float, **values: Any) -> Response:
    said: dict[str, Any] = {"project": context.project.settings.name, "environment": context.environment}
    said |= {"base": _base(request), "read": datetime.now(UTC), "took": time.monotonic() - began}
    return HTMLResponse(rendered(template, **said, **values))


def _signed(said: Mapping[str, str]) -> bool:
    """Whether a form has a statement that was signed elsewhere, or a part of one."""
    return bool(said.get("statement", "").strip() or said.get("signature", "").strip())


def _message(request: Request, status: int, what: str, *, why: str, fix: str) -> Response:
    said: Mapping[str, Any] = {"what": what, "why": why, "fix": fix, "base": _base(request)}
    return HTMLResponse(rendered("message.html", **said), status)


def _base(request: Request) -> str:
    """Where the application is mounted; "" where it is alone."""
    return str(request.scope.get("root_path", ""))


def _file(content: bytes, of: str, name: str) -> Response:
    kind = TYPES[f".{name.rpartition('.')[2]}"]
    if name == PAGE:
        return Response(content, media_type="text/html", headers={"content-security-policy": DOCUMENT})
    if kind == "text/plain":
        return PlainTextResponse(content)
    return _attachment(content, f"{of}-{name}", kind)


def _attachment(content: bytes, name: str, kind: str) -> Response:
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{plain}"'})


def _static(name: str) -> Callable[[Request], Response]:
    content = (files("backfill_assets.review") / "static" / name).read_bytes()

    def serve(_: Request) -> Response:
        return Response(content, media_type=STATIC[name], headers={"cache-control": "max-age=300"})

    return serve


def open_project(root: Path) -> Callable[[], Context]:
    """Opens the project in a folder, as it is by then."""
    return lambda: Context.open(root)
