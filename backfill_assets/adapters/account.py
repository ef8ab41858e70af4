"""Who acts? The account that the system asserts, and the machine; never what somebody typed or put in a variable."""

from __future__ import annotations

import os
import pwd
import socket


def account() -> str:
    """The name of the operating system's user that this process runs as.

    The user id is asked, not LOGNAME or USER: anybody can set those. A user without a name (of a container) is told by
    its number, such as `uid 1000`.
    """
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def host() -> str:
    """The name of this machine."""
    return socket.gethostname()
