"""The application: which address shows what. Every request reads the records as they are, and writes nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from backfill_assets.app.approve import ApprovalRequest, prepare
from backfill_assets.app.context import Context
from backfill_assets.app.review import packet_file, plan_of_model, read_front, release_file, review_plan
from backfill_assets.core.errors import BackfillError, PlanError, PromotionError, UsageError
from backfill_assets.evidence.page import html_templates
from backfill_assets.evidence.write import KEYS, MESSAGE, NOTE, PACKET, PAGE, RELEASE, RELEASE_PAGE, TABLES
from backfill_assets.review.lineage import anchor
from backfill_assets.review.plan_view import plan_view
from backfill_assets.review.plots import SCALE
from backfill_assets.review.safety import DOCUMENT, LOCAL, Guard

TYPES = {".json": "application/json", ".md": "text/plain", ".csv": "text/csv", ".html": "text/html"}
PACKET_FILES = frozenset({PACKET, PAGE, NOTE, MESSAGE, TABLES, KEYS})
RELEASE_FILES = frozenset({RELEASE, RELEASE_PAGE})
STATIC = {"review.css": "text/css", "icon.svg": "image/svg+xml"}
ACCEPTED = "accept."
"""How a field of a form begins that says why a difference may be so; its name follows."""


def review_app(open_context: Callable[[], Context], names: Collection[str] = LOCAL) -> Starlette:
    """The reviewer's page over a project, which is opened anew for each request. `names`: the hosts it answers for."""
    pages = _Pages(open_context)
    return Starlette(
        routes=[
            Route("/", pages.front, name="front"),
            *(Route(f"/{name}", _static(name)) for name in STATIC),
            Route("/model/{model}", pages.model),
            Route("/plan/{plan}", pages.plan),
            Route("/plan/{plan}/statement.json", pages.statement),
            Route("/plan/{plan}/{file}", pages.packet),
            Route("/release/{release}/{file}", pages.release),
        ],
        middleware=[Middleware(Guard, names=frozenset(names))],
        exception_handlers={BackfillError: pages.refused, 404: pages.missing, 405: pages.missing},
    )


class _Pages:
    """What each address shows. Endpoints are plain functions: Starlette runs them beside its loop."""

    def __init__(self, open_context: Callable[[], Context]) -> None:
        self._open = open_context

    def front(self, request: Request) -> Response:
        began, context, who = time.monotonic(), self._open(), request.query_params.get("for", "").strip()
        front = read_front(context, who)
        return _page(request, "front.html", context, began, front=front, who=who)

    def plan(self, request: Request) -> Response:
        began, context, name = time.monotonic(), self._open(), request.path_params["plan"]
        look = review_plan(context, name)
        if look.record.id != name:
            return RedirectResponse(f"{_base(request)}/plan/{quote(look.record.id, safe='')}")
        return _page(request, "plan.html", context, began, view=plan_view(look), scale=SCALE)

    def model(self, request: Request) -> Response:
        """To the plan that a model waits for, or was changed by last."""
        plan = plan_of_model(self._open(), request.path_params["model"])
        return RedirectResponse(f"{_base(request)}/plan/{quote(plan, safe='')}" if plan else f"{_base(request)}/")

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
    made.filters |= {"path": lambda text: quote(str(text), safe=""), "anchor": anchor, "clock": _clock}
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
