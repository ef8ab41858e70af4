"""How would GitHub answer? A server on this machine that keeps comments and statuses, and fails when it is told to."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PAYLOADS = Path(__file__).parents[2] / "fixtures" / "github"
TOKEN = "ghs_secret"
Answer = tuple[int, Any, dict[str, str]]


def payload(name: str) -> dict[str, Any]:
    return json.loads((PAYLOADS / f"{name}.json").read_text())


class FakeGitHub:
    """One repository. `fail` holds what the next calls of a method and path (a pattern) are answered instead."""

    def __init__(self) -> None:
        self.url, self.page = "", 2
        self.calls: list[str] = []
        self.comments: list[dict[str, Any]] = []
        self.statuses: list[dict[str, Any]] = []
        self.pulls: list[dict[str, Any]] = []
        self.fail: list[tuple[str, str, int, dict[str, str]]] = []
        self.lost: list[str] = []
        """Methods and paths of which the next call is done, and its answer lost."""

    def answer(self, method: str, path: str, query: str, body: Any) -> Answer:
        """What a call is answered, after it was done."""
        self.calls.append(f"{method} {path}")
        for one in self.fail:
            if one[0] == method and re.search(one[1], path):
                self.fail.remove(one)
                return one[2], [] if one[2] == 200 else {"message": "said by GitHub"}, one[3]
        if found := re.fullmatch(r"/repos/[^/]+/[^/]+/issues/(\d+)/comments", path):
            if method == "POST":
                self.add(body["body"], "github-actions[bot]")
                return 201, self.comments[-1], {}
            return self.paged([c for c in self.comments if c["on"] == int(found[1])], path, query)
        if found := re.search(r"/issues/comments/(\d+)$", path):
            there = [c for c in self.comments if c["id"] == int(found[1])]
            if not there:
                return 404, {"message": "Not Found"}, {}
            if method == "DELETE":
                self.comments.remove(there[0])
                return 204, None, {}
            there[0]["body"] = body["body"]
            return 200, there[0], {}
        if re.search(r"/statuses/[0-9a-f]{40}$", path):
            self.statuses.insert(0, body)
            return 201, body, {}
        if path.endswith("/statuses"):
            return self.paged(self.statuses, path, query)
        if found := re.search(r"/pulls/(\d+)$", path):
            return 200, next(p for p in self.pulls if p["number"] == int(found[1])), {}
        if path.endswith("/pulls"):
            return self.paged(self.pulls, path, query)
        return 404, {"message": "Not Found"}, {}

    def paged(self, items: list[Any], path: str, query: str) -> Answer:
        """A few items a page, however many are asked for; the next page is linked as GitHub links it."""
        found = re.search(r"(?:^|&)page=(\d+)", query)
        number = int(found[1]) if found else 1
        link = f'<{self.url}{path}?per_page=100&page={number + 1}>; rel="next", <{self.url}{path}?page=9>; rel="last"'
        more = len(items) > number * self.page
        return 200, items[(number - 1) * self.page : number * self.page], {"Link": link} if more else {}

    def add(self, body: str, login: str, on: int = 2) -> dict[str, Any]:
        """A comment of somebody."""
        number = 1 + max((c["id"] for c in self.comments), default=492700400)
        made = payload("comment") | {"id": number, "body": body, "on": on, "user": {"login": login, "type": "Bot"}}
        self.comments.append(made)
        return made


@contextmanager
def serving(github: FakeGitHub) -> Iterator[None]:
    """It listens at `github.url`."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            path, _, query = self.path.partition("?")
            assert self.headers["Authorization"] == f"Bearer {TOKEN}"
            status, said, headers = github.answer(self.command, path, query, body)
            if f"{self.command} {path}" in github.lost:
                github.lost.remove(f"{self.command} {path}")
                self.close_connection = True
                return
            text = b"" if said is None else json.dumps(said).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_one

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    github.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
