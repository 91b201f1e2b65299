"""
Package and suite run on Linux, macOS and Windows: what only POSIX systems have is used behind a guard.

A guard is a condition that names the system (`sys.platform`, `os.name`) or tests for the feature (`hasattr`,
`shutil.which`, a path that exists): of an `if`, an expression, a `pytest.mark.skipif`, or a leading `if` that leaves the
function. Text is read and written with a named encoding, since the default of Windows is not UTF-8.
The readers of source are shown on small examples first, so that none of them passes by seeing nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("mockserver", "tests", "docs")
GUARDS = ("sys.platform", "os.name", "hasattr", "shutil.which", "os.path.isdir", "os.path.exists")

POSIX_MODULES = frozenset(
    ["crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd", "syslog", "termios", "tty"]
)  # fmt: skip
POSIX_NAMES = re.compile(
    r"time\.tzset|os\.(fork\w*|kill\w*|wait\w*|W[A-Z]+|[gs]et\w*(id|ids|groups)|getloadavg|mkfifo|mknod|l?chown|chroot|nice|uname"
    r"|openpty|sched_\w+|pipe2|setsid|symlink|chmod|posix_\w+|sysconf\w*|ttyname|O_(NONBLOCK|CLOEXEC|SYNC|NOCTTY|DIRECTORY))"
    r"|select\.(select|poll|epoll|kqueue|devpoll)"  # on Windows `select` takes sockets alone
    r"|socket\.(AF_UNIX|SO_REUSE\w+|MSG_(?!PEEK\b|OOB\b|WAITALL\b)\w+|fromfd|SCM_RIGHTS|TCP_(KEEP\w+|QUICKACK|CORK|DEFER_ACCEPT|USER_TIMEOUT))"
    r"|signal\.(alarm|setitimer|pause|pthread_\w+|sig\w*wait\w*|siginterrupt|SIG(?!INT\b|TERM\b|_DFL\b|_IGN\b|BREAK\b)[A-Z]+\d?)"
    r"|multiprocessing\.get_context"
)
PORTABLE_IDS = ("os.getpid", "os.getppid")
# Methods, of whatever object: a process, a path, an event loop.
POSIX_METHODS = frozenset(
    {"send_signal", "add_signal_handler", "add_reader", "add_writer", "symlink_to", "set_blocking"}
)
# Folders of the suite, which an f-string may not join to a name by "/".
FOLDER_NAMES = re.compile(r"tmp_path|ROOT|HERE|FOLDER|PACKAGE|TESTS|\w+\.(rootpath|path)|Path\(.*\)")
POSIX_PATH = re.compile(r"/(tmp|proc|dev|etc|usr|var|bin|sbin|home|root|opt)(/|$)")
# A source without any of these needs no closer reading for encodings.
OPENS_TEXT = re.compile(r"open\(|_text\(|TemporaryFile|\btext=|universal_newlines")
RUNNERS = frozenset({"run", "Popen", "call", "check_call", "check_output"})
# A place, what it uses, and why it may.
ALLOWED = {
    ("tests/operations/test_media_urls.py", "the path '/etc/passwd'"): "part of a url that is refused",
    ("tests/benchmarks/soak.py", "the path '/proc/'"): "a measurement that reads memory and descriptors from Linux",
    ("mockserver/server/http1/server.py", "add_reader"): "its loop waits by a selector on every system",
    ("tests/benchmarks/connections.py", "import resource"): "a measurement that raises the limit of descriptors",
    ("tests/benchmarks/serving.py", "the path '/proc/'"): "a measurement that reads memory and threads from Linux",
    (
        "tests/test_container.py",
        "the path '/proc/'",
    ): "a container is one of Linux; without namespaces the test is skipped",
    ("tests/test_container.py", "the program 'nsenter'"): "as above",
    ("tests/test_container.py", "os.kill"): "as above",
    (
        "tests/test_container.py",
        "the path '/opt/mockserver/bin/mockserver'",
    ): "a unit is one of systemd, and is read as text",
    (
        "tests/documents/recorded_control.py",
        "the path '/home/me/failures/'",
    ): "an example in a document; no file is there",
    ("tests/server/test_failed_runs.py", "the path '/etc/passwd'"): "a name that is refused as a path",
    ("tests/recordings/benchmark.py", "import resource"): "a measurement that reads the memory of its process",
    ("tests/benchmarks/suites.py", "import resource"): "a measurement of the processor time of its children",
    ("tests/test_many_jobs.py", "the path '/proc/'"): "a measurement that reads memory from Linux",
    ("tests/runs/orders/test_clients.py", "multiprocessing.get_context"): "of `spawn`, which every system has",
    ("tests/processes.py", "send_signal"): "the one place that ends processes; it has a branch for Windows",
}

# What is for Linux and macOS alone: on Windows the command ends with one line, and its tests are skipped.
POSIX_ONLY = ("tests/clients/generated/",)


def dotted(node: ast.AST) -> str:
    """The name that an expression consists of, such as `sys.platform`; "" for any other expression."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""


class Reader(ast.NodeVisitor):
    """Collects what a module uses of POSIX alone without a guard, as (line, what)."""

    def __init__(self, tree: ast.Module) -> None:
        self.offenders: list[tuple[int, str]] = []
        self._guarded = False
        self._guards = set(GUARDS)
        for node in tree.body:  # names of a guard: `POSIX = pytest.mark.skipif(sys.platform == "win32", ...)`
            if isinstance(node, ast.Assign) and self._is_guard(node.value):
                self._guards |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if "pytestmark" not in self._guards:
            self._statements(tree.body)

    def _is_guard(self, node: ast.AST) -> bool:
        return any(dotted(part) in self._guards for part in ast.walk(node))

    def _add(self, node: ast.AST, what: str) -> None:
        if not self._guarded:
            self.offenders.append((getattr(node, "lineno", 0), what))

    def _statements(self, body: list[ast.stmt]) -> None:
        """Visit statements in order; after an `if` on a guard that leaves the function the rest is guarded."""
        before = self._guarded
        for node in body:
            self.visit(node)
            if isinstance(node, ast.If) and self._is_guard(node.test) and _leaves(node.body[-1]):
                self._guarded = True
        self._guarded = before

    def _behind(self, guard: bool, *nodes: ast.AST) -> None:
        before, self._guarded = self._guarded, self._guarded or guard
        for node in nodes:
            self.visit(node)
        self._guarded = before

    def generic_visit(self, node: ast.AST) -> None:
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                self._statements(value)
            else:
                for part in value if isinstance(value, list) else [value]:
                    if isinstance(part, ast.AST):
                        self.visit(part)

    def visit_If(self, node: ast.If) -> None:
        before, self._guarded = self._guarded, self._guarded or self._is_guard(node.test)
        self.generic_visit(node)
        self._guarded = before

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._behind(self._is_guard(node.test), node.test, node.body, node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self._behind(self._is_guard(node.values[0]), *node.values)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        before = self._guarded
        self._guarded = before or any(self._is_guard(decorator) for decorator in node.decorator_list)
        for decorator in node.decorator_list:
            self.visit(decorator)
        self._statements(node.body)
        self._guarded = before

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] in POSIX_MODULES:
                self._add(node, f"import {alias.name}")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            name = f"{node.module}.{alias.name}"
            if (node.module or "") in POSIX_MODULES or (POSIX_NAMES.fullmatch(name) and name not in PORTABLE_IDS):
                self._add(node, name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = dotted(node)
        if POSIX_NAMES.fullmatch(name) and name not in PORTABLE_IDS:
            self._add(node, name)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and POSIX_PATH.match(node.value):
            self._add(node, f"the path {node.value!r}")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        for folder, rest in zip(node.values, node.values[1:], strict=False):
            if isinstance(folder, ast.FormattedValue) and FOLDER_NAMES.fullmatch(ast.unparse(folder.value)):
                text = str(getattr(rest, "value", ""))
                if text.startswith("/") or text == ":":
                    self._add(node, f"paths joined by {text[0]!r}")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)
        if name in POSIX_METHODS:
            self._add(node, name)
        if name in RUNNERS:
            self._command(node)
        self.generic_visit(node)

    def _command(self, node: ast.Call) -> None:
        """Report a shell, or a program by its name: none is on every system."""
        if any(keyword.arg == "shell" for keyword in node.keywords):
            self._add(node, "shell=")
        command = node.args[0] if node.args else None
        if isinstance(command, ast.List | ast.Tuple) and command.elts and isinstance(command.elts[0], ast.Constant):
            self._add(node, f"the program {command.elts[0].value!r}")


def _leaves(node: ast.stmt) -> bool:
    """Return True if a statement ends its function: return, raise, or a call of `pytest.skip`."""
    return isinstance(node, ast.Return | ast.Raise) or ast.unparse(node).startswith("pytest.skip(")


def unguarded(source: str) -> list[tuple[int, str]]:
    """The POSIX-only names that a module uses without a guard, by line."""
    return Reader(ast.parse(source)).offenders


def without_encoding(source: str) -> Iterator[int]:
    """Yield the lines that read or write text in the system's own encoding."""
    for node in ast.walk(ast.parse(source)) if OPENS_TEXT.search(source) else ():
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if "encoding" in keywords or None in keywords:  # `**options` may hold one
            continue
        is_open = dotted(node.func) in ("open", "io.open", "os.fdopen")
        if (
            (name == "read_text" and not node.args)
            or (name == "write_text" and len(node.args) < 2)
            or (is_open and "b" not in _mode(node, keywords, 1))
            or (name in ("TemporaryFile", "NamedTemporaryFile") and "b" not in _mode(node, keywords, 0, "w+b"))
            or (name in RUNNERS and {"text", "universal_newlines"} & keywords.keys())
        ):
            yield node.lineno


def _mode(call: ast.Call, keywords: dict[str | None, ast.expr], place: int, default: str = "r") -> str:
    given = call.args[place] if len(call.args) > place else keywords.get("mode")
    return str(given.value) if isinstance(given, ast.Constant) else default if given is None else "b"


def files() -> Iterator[tuple[str, str]]:
    """Yield the modules of the checkout, without those of a built site: path and source."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    for path in [ROOT / "conftest.py", *(path for path in found if "_build" not in path.parts)]:
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import time\ntime.tzset()", "time.tzset"),
        ("import fcntl", "import fcntl"),
        ("from os import fork", "os.fork"),
        ("os.kill(1, 9)", "os.kill"),
        ("os.getuid()", "os.getuid"),
        ("signal.signal(signal.SIGUSR1, f)", "signal.SIGUSR1"),
        ("signal.SIGKILL", "signal.SIGKILL"),
        ("select.poll()", "select.poll"),
        ("wire.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)", "socket.SO_REUSEPORT"),
        ("Path('/tmp/x')", "the path '/tmp/x'"),
        ("f'{tmp_path}/x'", "paths joined by '/'"),
        ("setenv('PYTHONPATH', f'{ROOT}:{site}')", "paths joined by ':'"),
        ("process.send_signal(2)", "send_signal"),
        ("subprocess.run('ls', shell=True)", "shell="),
        ("subprocess.run(['bash', '-c', 'ls'])", "the program 'bash'"),
        ("if sys.argv:\n    os.fork()", "os.fork"),
        ("def f():\n    if os.name == 'nt':\n        x = 1\n    os.fork()", "os.fork"),
    ],
)
def test_posix_only_names_are_detected(source: str, what: str) -> None:
    assert [what] == [name for _, name in unguarded(source)]


@pytest.mark.parametrize(
    "source",
    [
        "if hasattr(time, 'tzset'):\n    time.tzset()",
        "if sys.platform != 'win32':\n    import fcntl",
        "x = os.fork() if os.name == 'posix' else 0",
        "hasattr(os, 'fork') and os.fork()",
        "@pytest.mark.skipif(not hasattr(signal, 'SIGUSR1'), reason='')\ndef test():\n    signal.SIGUSR1",
        "POSIX = pytest.mark.skipif(sys.platform == 'win32', reason='')\n@POSIX\ndef test():\n    os.fork()",
        "pytestmark = pytest.mark.skipif(os.name == 'nt', reason='')\nos.fork()",
        "def f():\n    if sys.platform == 'win32':\n        return\n    os.fork()",
        "try:\n    x()\nexcept OSError:\n    if sys.platform == 'win32':\n        raise\n    os.fork()",
        "signal.signal(signal.SIGINT, f)\nsignal.signal(signal.SIGTERM, f)",
        "os.getpid()\nsubprocess.run([sys.executable, '-c', ''])\ncall('/v1/campaigns')",
    ],
)
def test_portable_and_guarded_names_pass(source: str) -> None:
    assert [] == unguarded(source)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("open('x')", [1]),
        ("open('x', 'w')", [1]),
        ("open('x', 'rb')", []),
        ("open('x', encoding='utf-8')", []),
        ("path.read_text()", [1]),
        ("path.read_text('utf-8')", []),
        ("path.write_text('x')", [1]),
        ("path.write_text('x', encoding='utf-8')", []),
        ("subprocess.run([x], text=True)", [1]),
        ("subprocess.run([x], encoding='utf-8')", []),
        ("tempfile.TemporaryFile()", []),
        ("tempfile.TemporaryFile('w+')", [1]),
    ],
)
def test_text_in_the_encoding_of_the_system_is_detected(source: str, lines: list[int]) -> None:
    assert lines == list(without_encoding(source))


@pytest.mark.deep
def test_no_posix_only_name_is_used_without_a_guard() -> None:
    sources = [(path, source) for path, source in files() if not path.startswith(POSIX_ONLY)]
    used = [(path, line, what) for path, source in sources for line, what in unguarded(source)]

    assert [] == [f"{path}:{line}: {what}" for path, line, what in used if (path, what) not in ALLOWED]
    assert set() == ALLOWED.keys() - {(path, what) for path, _, what in used}


@pytest.mark.deep
def test_text_is_read_and_written_with_a_named_encoding() -> None:
    assert [] == [f"{path}:{line}" for path, source in files() for line in without_encoding(source)]


# What compares with seconds of the processor: figures of a page, and a test of the deep run.
MEASURING = {"server/test_dashboard.py", "test_portability.py"}
CLOCKS = re.compile(r"\b(process_time|perf_counter|thread_time|timeit)\b")


def test_no_test_of_the_test_line_measures_the_pace_of_the_machine() -> None:
    tests = ROOT / "tests"
    measuring = {
        file.relative_to(tests).as_posix()
        for file in tests.rglob("*.py")
        if "benchmarks" not in file.parts and CLOCKS.search(file.read_text(encoding="utf-8"))
    }

    assert MEASURING == measuring
