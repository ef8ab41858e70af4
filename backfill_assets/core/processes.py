"""Is a process of this machine still there? Its number alone does not tell: another one may have got it since."""

from __future__ import annotations

import os
from pathlib import Path


def is_running(pid: int, began: str = "") -> bool:
    """Whether there is such a process here: where it is known when it `began`, that one."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # no process has such a number
        return False
    except PermissionError:
        pass
    now = beginning(pid)
    return not (began and now) or began == now


def beginning(pid: int) -> str:
    """When a process of this machine began, as the kernel counts it since it was started; "" where nothing tells."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        said = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()  # its name may have spaces
        return f"{boot}/{int(said[19])}"
    except (OSError, ValueError, IndexError):
        return ""
