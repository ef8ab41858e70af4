"""Is a session this process's own, with a JVM, or one of a Spark Connect server? The only place that knows.

A local session and one that is kept (`warm_session.py`) have a JVM that this process talks to.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from backfill_assets.adapters.remote_session import RemoteSession

_MODULE = "backfill_assets.adapters.remote_session"


def is_remote(session: object) -> TypeGuard[RemoteSession]:
    """Whether it is a server's, as this project opens it."""
    module: Any = sys.modules.get(_MODULE)
    return module is not None and isinstance(session, module.RemoteSession)


def open_remote() -> RemoteSession | None:
    """The process's session, where it is a server's."""
    module: Any = sys.modules.get(_MODULE)
    return module.opened() if module is not None else None
