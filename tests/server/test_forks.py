"""A fork of a process that serves: it has sandboxes of its own alone, and its end ends nothing of its parent."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import dedent

import pytest

from tests.processes import run_apart

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def output_of(source: str) -> list[str]:
    """The lines that the source prints in a process of its own."""
    done = run_apart(dedent(source))
    assert "" == done.stderr
    return done.stdout.splitlines()


# Runs what `child` prints in a fork, during which a thread of the parent holds every lock of the server and of its sandbox.
FORK = """
    import multiprocessing, signal, threading, unittest, warnings
    from contextlib import ExitStack
    from mockserver import MockServer, SandboxTestCase
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork of a process with threads
    server = MockServer()
    server.open()
    sandbox = server.sandbox()
    session, client = sandbox.requests_session(), sandbox.httpx_client()
    url, held, over = f"{sandbox.base_url}/v1/campaigns", threading.Event(), threading.Event()
    keys = {"X-API-Key": sandbox.secret_key}

    def hold():
        locks = sandbox.local("a lock").sandbox.lock, server._host._lock, server._opening, server._key_labels._creating
        with ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            held.set()
            over.wait()

    def run():
        signal.alarm(20)  # ends a child that hangs
        child()

    def fork():
        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        process = multiprocessing.get_context("fork").Process(target=run)
        process.start()
        process.join()
        over.set()
        holder.join()
        print("ended with", process.exitcode)
"""

REFUSED = """
    def child():
        uses = {
            "call": lambda: sandbox.call("GET", "/v1/campaigns"),
            "clock": lambda: sandbox.advance(1),
            "now": lambda: sandbox.now,
            "journal": lambda: sandbox.log.journal,
            "rule": lambda: sandbox.on("listCampaigns").error("INTERNAL_ERROR"),
            "requests": lambda: session.get(url, headers=keys),
            "another session": lambda: sandbox.requests_session(),
            "httpx": lambda: client.get(url, headers=keys),
        }
        for name, use in uses.items():
            try:
                use()
                print(name, "is not refused")
            except RuntimeError as refusal:
                assert f"got a use of {sandbox.id} in a fork of process {multiprocessing.parent_process().pid};" in str(refusal)
        print(sandbox, sandbox.base_url in url, sandbox.secret_key in keys.values())
        sandbox.close()
        server.close()

    fork()
    print(sandbox.call("GET", "/v1/campaigns").status)
    server.close()
"""

OF_ITS_OWN = """
    class Case(SandboxTestCase):
        def test_it(self):
            self.assertEqual(200, self.mockserver.call("GET", "/v1/campaigns").status)

    def child():
        with server.sandbox() as own:
            print(own.call("GET", "/v1/campaigns").status)
        print(Case("test_it").run().wasSuccessful())
        server.close()

    fork()
    print(len(sandbox.log.journal["exchanges"]), session.get(url, headers=keys).status_code)
    server.close()
"""


def test_a_use_of_a_sandbox_in_a_fork_is_refused_and_hangs_for_no_lock_of_its_parent() -> None:
    lines = output_of(dedent(FORK) + dedent(REFUSED))

    assert "<Sandbox sandbox_1 at " in lines[0]
    assert lines[0].endswith("exchanges> True True")
    assert ["ended with 0", "200"] == lines[1:]


def test_a_fork_makes_sandboxes_of_its_own() -> None:
    assert ["200", "True", "ended with 0", "0 200"] == output_of(dedent(FORK) + dedent(OF_ITS_OWN))


def test_the_copy_of_a_server_in_a_fork_has_stopped_and_that_of_the_parent_serves() -> None:
    lines = output_of("""
        import multiprocessing, signal, threading, urllib.request, warnings
        from mockserver.server.http1.messages import Response
        from mockserver.server.http1.server import Server
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork of a process with threads

        class Handler:
            def body_max_bytes(self, head):
                return 0

            def respond(self, request):
                return Response(204, (), b"")

        def child():
            signal.alarm(20)  # ends a child that hangs
            server.finish(1)
            server.serve_forever()
            server.stop()

        held, over = threading.Event(), threading.Event()

        def hold():
            with server._lock:
                held.set()
                over.wait()

        with Server(Handler()) as server:
            holder = threading.Thread(target=hold)
            holder.start()
            held.wait()
            process = multiprocessing.get_context("fork").Process(target=child)
            process.start()
            process.join()
            print(process.exitcode)
            over.set()
            holder.join()
            print(urllib.request.urlopen(server.url, timeout=20).status)
    """)

    assert ["0", "204"] == lines


def test_the_end_of_a_fork_leaves_the_ready_file_of_its_parent(tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    lines = output_of(f"""
        import os
        from mockserver.cli.lifetime import ready_file
        child = None
        with ready_file({str(file)!r}, {{"url": "http://127.0.0.1:1"}}):
            child = os.fork()
            if child:
                os.waitpid(child, 0)
                print(os.path.exists({str(file)!r}))
        if child:
            print(os.path.exists({str(file)!r}))
    """)

    assert ["True", "False"] == lines
