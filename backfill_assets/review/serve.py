"""How is the reviewer's page served by itself? On one address, until somebody ends it."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

from backfill_assets.core.errors import SettingsError
from backfill_assets.project.review_address import review_address
from backfill_assets.review.identity import read_trust
from backfill_assets.review.safety import answered_names


def serve_review(root: Path, *, host: str, port: int) -> None:
    """Serve a project's page. Raises SettingsError when the address cannot be had."""
    import uvicorn

    from backfill_assets.review.site import open_project, review_app

    trust, address = read_trust(), review_address()
    open_project(root)()  # what is wrong with the project is said here, not to the first who looks
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host}:{port}", why=str(error), fix="choose another port: backfill review --port 3071"
        ) from None
    shown = f"[{host}]" if ":" in host else host
    place = f"http://{shown}:{listening.getsockname()[1]}"
    print(f"backfill: what waits for whom is at {place} (Ctrl-C stops it)", file=sys.stderr, flush=True)
    app = review_app(open_project(root), answered_names(host, address), trust)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=64,
        root_path=urlsplit(address).path,
    )
    uvicorn.Server(config).run(sockets=[listening])
