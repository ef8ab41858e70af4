"""What does Linux take from a process that asks for it, without privileges? Namespaces, Landlock, seccomp.

Each layer that the kernel, a container or another system does not have is left out: the others hold by themselves.
Sources: `man 7 landlock`, `man 2 seccomp`, `man 7 user_namespaces`, linux/landlock.h, linux/seccomp.h.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Iterable

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_NEW_USER, _NEW_NET, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_EPERM = 1
# The kernel's numbers of calls that reach others: sockets, processes, programs, files' names, the kernel itself.
_SYSCALLS = {
    "x86_64": (0xC000003E, (
        41, 42, 43, 44, 46, 49, 50, 53, 288, 307,  # sockets
        56, 57, 58, 59, 322, 435, 62, 200, 129, 297, 424, 434, 101, 310, 311,  # processes
        76, 77, 82, 83, 84, 85, 86, 87, 88, 90, 91, 92, 93, 94, 133, 258, 259, 260, 263, 264, 265, 266, 268, 316, 437,
        165, 166, 155, 161, 272, 308, 428, 430, 442, 188, 189, 190,  # mounts, namespaces, attributes
        29, 30, 31, 248, 249, 250, 298, 319, 321, 323, 425, 426, 427, 246, 175, 313,  # shared memory, keys, the kernel
    )),
    "aarch64": (0xC00000B7, (
        198, 199, 200, 201, 202, 203, 206, 211, 242, 269,
        220, 221, 281, 435, 129, 130, 138, 240, 424, 434, 117, 270, 271,
        33, 34, 35, 36, 37, 38, 45, 46, 52, 53, 54, 55, 276, 437,
        40, 39, 41, 51, 97, 268, 428, 430, 442, 5, 6, 7,
        194, 195, 196, 217, 218, 219, 241, 279, 280, 282, 425, 426, 427, 104, 105, 273,
    )),
}  # fmt: skip


def kernel_layers(readable: Iterable[str]) -> tuple[str, ...]:
    """Enter every layer that there is; their names. Files below `readable` can be read afterwards, no others."""
    if sys.platform != "linux":
        return ()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    layers: list[str] = []
    if libc.unshare(_NEW_USER | _NEW_NET | _NEW_IPC) == 0:
        layers.append("namespaces")
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return tuple(layers)
    if _landlock(libc, readable):
        layers.append("landlock")
    if _seccomp(libc):
        layers.append("seccomp")
    return tuple(layers)


def _landlock(libc: ctypes.CDLL, readable: Iterable[str]) -> bool:
    """No file but those below `readable`, to read; no TCP port; no signal to others."""
    version = libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if version < 1:
        return False
    bits = {1: 13, 2: 14}.get(version, 15 if version < 5 else 16)
    attributes = struct.pack("QQQ", (1 << bits) - 1, 3, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = libc.syscall(_LANDLOCK_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return False
    try:
        for folder in readable:
            at = os.open(folder, os.O_PATH | os.O_CLOEXEC)
            try:
                if libc.syscall(_LANDLOCK_ADD, rules, 1, struct.pack("=Qi", _READ_FILE | _READ_DIR, at), 0):
                    return False
            finally:
                os.close(at)
        return libc.syscall(_LANDLOCK_RESTRICT, rules, 0) == 0
    finally:
        os.close(rules)


def _seccomp(libc: ctypes.CDLL) -> bool:
    """The calls above fail with EPERM, and all calls of another architecture."""
    if platform.machine() not in _SYSCALLS:
        return False
    architecture, refused = _SYSCALLS[platform.machine()]
    load, equal, above, answer, allow, fail = 0x20, 0x15, 0x35, 0x06, 0x7FFF0000, 0x00050000 | _EPERM
    program = [
        (load, 0, 0, 4), (equal, 1, 0, architecture), (answer, 0, 0, fail), (load, 0, 0, 0),
        (above, 0, 1, 0x40000000), (answer, 0, 0, fail),  # x86-64's second table of calls
    ]  # fmt: skip
    for number in refused:
        program += [(equal, 0, 1, number), (answer, 0, 0, fail)]
    program.append((answer, 0, 0, allow))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    return libc.prctl(_PR_SET_SECCOMP, 2, filters, 0, 0) == 0
