"""A stranger's Python model is compiled without being able to read, write, call or exhaust anything.

Attacks run as a model's code, which the stand-ins refuse already, and by themselves in a confined process,
as if somebody had found a way around the stand-ins.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from backfill_assets.python_models import compiled as python_sql
from backfill_assets.python_models.compiled import PythonFunction, PythonUpstream, compile_functions

READ = PythonUpstream(parameter="a", table="a", columns=(("k", "string"),))
AROUND = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'BuiltinImporter'][0]"
ATTACKS = {
    "secret": "import os\nreturn a.withColumn('k', F.lit(os.environ['SECRET']))",
    "hidden_secret": f"os = {AROUND}.load_module('posix')\nreturn a.withColumn('k', F.lit(str(os.environ)))",
    "socket": "import socket\nsocket.create_connection(('127.0.0.1', PORT))\nreturn a",
    "file": "open('TARGET', 'w').write('x')\nreturn a",
    "read": "return a.withColumn('k', F.lit(open('/etc/passwd').read()))",
    "path": "from pathlib import Path\nPath('TARGET').write_text('x')\nreturn a",
    "process": "import subprocess\nsubprocess.run(['touch', 'TARGET'])\nreturn a",
    "fork": "import os\nos.fork()\nreturn a",
    "spin": "while True: pass", "memory": "x = bytearray(8 << 30)\nreturn a", "text": "x = 'x' * (8 << 30)\nreturn a",
    "recursion": "def f(n):\n    return f(n + 1)\nreturn f(0)",
    "nested": "x = []\nfor _ in range(10 ** 6): x = [x]\nreturn a.where(repr(x))", "exit": "raise SystemExit(0)",
    "globals": "return a.withColumn('k', F.lit(F.col.__globals__['__builtins__']['open']('/etc/passwd').read()))",
    "getattr": "return a.withColumn('k', F.lit(str(getattr(F.col, '__glo' + 'bals__'))))",
    "format": "return a.withColumn('k', F.lit('{0.__globals__}'.format(F.col)))",
}  # fmt: skip


def model(name: str, body: str) -> PythonFunction:
    indented = "\n".join("    " + line for line in body.splitlines())
    code = f"from pyspark.sql import functions as F\n\n\ndef {name}(a, interval):\n{indented}\n"
    nowhere = Path("/nowhere")
    return PythonFunction(
        name=name, path=nowhere / "models" / f"{name}.py", code=code, root=nowhere, digest=code, upstreams=(READ,)
    )


@pytest.fixture(scope="module")
def reached() -> Iterator[tuple[int, list[object]]]:
    """A port that somebody listens on, and who came."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        came: list[object] = []

        def listen() -> None:
            while True:
                try:
                    came.append(server.accept())
                except OSError:
                    return

        threading.Thread(target=listen, daemon=True).start()
        yield server.getsockname()[1], came
        server.shutdown(socket.SHUT_RDWR)


def test_attacks_in_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reached: tuple[int, list[object]]) -> None:
    """None of them has an SQL, writes, connects, or keeps the model beside it from being compiled."""
    monkeypatch.setenv("SECRET", "hunter2")
    monkeypatch.setattr(python_sql, "SECONDS", 5)
    target, (port, came) = tmp_path / "target", reached
    bodies = {n: b.replace("TARGET", str(target)).replace("PORT", str(port)) for n, b in ATTACKS.items()}
    found = compile_functions(
        [model("fine", "return a"), *(model(n, b) for n, b in bodies.items())], tmp_path / "cache"
    )
    assert {name for name, text in found.items() if text is not None} == {"fine"}
    assert not target.exists() and not came
    assert "hunter2" not in "".join(f.read_text() for f in (tmp_path / "cache").iterdir())


CONFINED = """
import os, sys
from backfill_assets.python_models.sqlframe import sandbox
reading, writing = os.pipe()
child = os.fork()
if not child:
    try:
        sandbox.confine(sandbox.Limits(seconds=3, bytes=1 << 30), keep=writing)
        exec({code!r})
        os.write(writing, b"done")
        os._exit(0)
    finally:
        os._exit(1)
os.close(writing)
print(sandbox.wait(child, reading, sandbox.Limits(seconds=3, bytes=1 << 30))[0])
"""
KERNEL = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(4096)
"""
OUTSIDE = {
    "nothing": "1 + 1",
    "socket": "import socket; socket.socket()",
    "connect": "import _socket; _socket.socket(2, 1).connect(('127.0.0.1', PORT))",
    "open": "open('TARGET', 'w').write('x')",
    "os_open": "os.open('TARGET', os.O_CREAT | os.O_WRONLY)",
    "read": "open('/etc/passwd').read()",
    "environ": "open('/proc/%d/environ' % os.getppid()).read()",
    "mkdir": "os.mkdir('TARGET')",
    "remove": "os.remove('KEPT')",
    "rename": "os.rename('KEPT', 'TARGET')",
    "chmod": "os.chmod('KEPT', 0o777)",
    "fork": "os.fork()",
    "system": "os.system('touch TARGET')",
    "exec": "os.execv('/bin/sh', ['sh', '-c', 'touch TARGET'])",
    "spawn": "os.posix_spawn('/bin/sh', ['sh', '-c', 'touch TARGET'], {})",
    "subprocess": "import subprocess; subprocess.run(['touch', 'TARGET'])",
    "kill": "os.kill(os.getppid(), 9)",
    "ctypes": "import ctypes; ctypes.CDLL(None)",
    "memory": "bytearray(8 << 30)",
    "spin": "while True: pass",
    "sleep": "import select; select.select([], [], [], 600)",
    "flood": "while True: os.write(writing, b'x' * 65536)",
}


@pytest.mark.parametrize("attack", OUTSIDE)
def test_attacks_around_the_stand_ins(attack: str, tmp_path: Path, reached: tuple[int, list[object]]) -> None:
    """Code that runs with all of Python is refused by the hook, the limits or the kernel; computing is not."""
    kept, target, (port, came) = tmp_path / "kept", tmp_path / "target", reached
    kept.write_text("kept")
    code = OUTSIDE[attack].replace("TARGET", str(target)).replace("KEPT", str(kept)).replace("PORT", str(port))
    said = subprocess.run(
        [sys.executable, "-c", CONFINED.format(code=code)], capture_output=True, text=True, check=True, timeout=120
    )
    assert said.stdout.strip() == ("done" if attack == "nothing" else "None")
    assert not target.exists() and kept.read_text() == "kept" and not kept.stat().st_mode & 0o002 and not came


def test_what_is_imported_late_needs_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytecode that is kept elsewhere is out of a confined process's reach: it neither looks there nor writes."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    code = CONFINED.format(code="import colorsys, tabnanny")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.strip() == "done"
    assert not list(tmp_path.rglob("colorsys*"))


KERNEL_ATTACKS = {
    "socket": "assert libc.socket(2, 1, 0) < 0",
    "fork": "assert libc.fork() < 0",
    "exec": "assert libc.execv(b'/bin/true', (ctypes.c_char_p * 2)(b'true', None)) < 0",
    "write": "assert libc.open(b'TARGET', os.O_CREAT | os.O_WRONLY, 0o600) < 0",
    "unlink": "assert libc.unlink(b'KEPT') < 0",
    "read": "assert libc.open(b'KEPT', 0) < 0",
    "environ": "assert libc.open(b'/proc/%d/environ' % os.getppid(), 0) < 0",
    "kill": "assert libc.kill(os.getppid(), 9) < 0",
    "ptrace": "assert libc.ptrace(16, os.getppid(), 0, 0) < 0",
}


@pytest.mark.skipif(sys.platform != "linux", reason="layers of Linux's kernel")
@pytest.mark.parametrize("attack", KERNEL_ATTACKS)
def test_attacks_around_python(attack: str, tmp_path: Path) -> None:
    """Without Python's hook (as native code would be), the kernel's layers refuse by themselves."""
    kept, target = tmp_path / "kept", tmp_path / "target"
    kept.write_text("kept")
    code = KERNEL_ATTACKS[attack].replace("TARGET", str(target)).replace("KEPT", str(kept))
    text = (
        f"{KERNEL}\nfrom backfill_assets.python_models.sqlframe import kernel\nimport sys, sysconfig\n"
        "layers = kernel.kernel_layers([sysconfig.get_path('stdlib')])\n"
        f"if len(layers) == 3:\n    {code}\n"
        "os.write(1, ' '.join(layers).encode())\nos._exit(0)\n"
    )
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=120)
    assert said.returncode == 0, said.stderr
    if said.stdout != "namespaces landlock seccomp":
        pytest.skip(f"this kernel or container has only: {said.stdout or 'none'}")
    assert not target.exists() and kept.exists()


def test_the_worker_knows_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it starts with: no secret, no home of anybody, no folder of the project."""
    seen: dict[str, object] = {}
    original = subprocess.Popen

    def noted(*args: object, **kwargs: object) -> object:
        seen.update(kwargs)
        return original(*args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setattr(subprocess, "Popen", noted)
    assert compile_functions([model("m", "return a")], None)["m"]
    env = seen["env"]
    assert isinstance(env, dict) and "AWS_SECRET_ACCESS_KEY" not in env
    assert env["HOME"] == seen["cwd"] != os.environ.get("HOME") and not Path(str(seen["cwd"])).exists()


def test_libraries_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker keeps their bytecode where Python is told to, and nothing where there is to be none."""

    def kept(folder: str) -> set[str]:
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / folder))
        assert compile_functions([model("m", "return a")], None)["m"]
        return {file.name.split(".")[0] for file in (tmp_path / folder).rglob("*.pyc")}

    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    assert {"dataframe", "compiling"} <= kept("some")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert not kept("none")
