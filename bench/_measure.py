"""How long does a command take, and how much of the machine? Wall time, CPU time and memory of a whole process tree."""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 60.0
"""Seconds that a JVM may take to go away after the command that started it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one command cost. `wall` is until the command returned, `cpu` (user and system) and `peak` are of everything
    that it started, the JVM included. Seconds, and MiB of the largest process."""

    wall: float
    cpu: float
    peak: float
    began: float
    """Unix time of the start."""
    output: str


def adopt_orphans() -> None:
    """Become the parent of JVMs whose Python is gone, so that their CPU time is counted and awaited (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(command: Sequence[str | Path], *, env: Mapping[str, str], log: Path, allowed: Iterable[int] = (0,)) -> Run:
    """Run a command to its end; its standard error goes to `log`. Exits with its last words when it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    answer = log.with_suffix(".out")
    with log.open("wb") as errors, answer.open("wb") as output:
        began, clock = time.time(), time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], env=dict(env), stdout=output, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - clock
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            pid, _, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid:
            cpu, peak = cpu + used.ru_utime + used.ru_stime, max(peak, used.ru_maxrss)
        else:
            time.sleep(0.01)
    if process.returncode not in allowed:
        said = log.read_text(errors="replace").strip()[-2000:]
        sys.exit(f"{' '.join(map(str, command))}\nexited with {process.returncode}:\n{said}")
    kib = 1024 if sys.platform == "linux" else 1024 * 1024
    return Run(wall=wall, cpu=cpu, peak=peak / kib, began=began, output=answer.read_text(errors="replace"))


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float]) -> str:
    """A median with the extremes: `12.3 s (12.0..13.1)`."""
    return f"{median(values):.2f} s ({min(values):.2f}..{max(values):.2f})"


def verdict(name: str, value: float, limit: float, *, unit: str = "", at_least: bool = False) -> bool:
    """Print a target with what was reached; whether it was met."""
    met = value >= limit if at_least else value <= limit
    sign = "≥" if at_least else "≤"
    print(f"  {'met   ' if met else 'MISSED'}  {name}: {value:.2f}{unit}, target {sign} {limit:g}{unit}")
    return met


def machine() -> str:
    """The machine in a line, and how busy others keep it."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return f"{os.cpu_count()} cores, load {load:.1f} before the start, Python {sys.version.split()[0]}"
