"""A fork of a process that serves: it has whole copies of the sandboxes, and takes no lock and no request of its parent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

HOLDING = """
import os, signal, sys, threading
from mockserver import MockServer

class Holder(threading.Thread):
    '''Holds the lock of a sandbox in the middle of a change.'''
    def __init__(self, sandbox):
        super().__init__()
        self.lock = sandbox._backend.hosted.sandbox.lock
        self.is_whole = True
        self.holds, self.over = threading.Event(), threading.Event()
        self.start()
        self.holds.wait()
    def run(self):
        with self.lock:
            self.is_whole = False
            self.holds.set()
            self.over.wait()
            self.is_whole = True

def statuses_of_child(sandbox, server, holder):
    if not (child := os.fork()):
        signal.alarm(20)  # ends a child that hangs
        print(sandbox.call("GET", "/v1/campaigns").status, holder.is_whole, flush=True)
        server.close()
        os._exit(0)
    return os.waitpid(child, 0)[1]
"""


def output_of(source: str) -> list[str]:
    """The lines that the source prints in a process of its own."""
    command = [sys.executable, "-c", HOLDING + dedent(source)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert "" == done.stderr
    return done.stdout.splitlines()


def test_a_fork_gets_a_sandbox_without_a_half_done_change_of_another_thread() -> None:
    lines = output_of("""
        with MockServer() as server, server.sandbox() as sandbox:
            holder = Holder(sandbox)
            os.register_at_fork(before=holder.over.set)  # the latest one is called first
            print(statuses_of_child(sandbox, server, holder))
            print(sandbox.call("GET", "/v1/campaigns").status)
    """)

    assert ["200 True", "0", "200"] == lines


def test_a_fork_does_not_wait_without_end_for_a_thread_that_holds_a_lock() -> None:
    lines = output_of("""
        from mockserver.server.hosting import forks
        forks._LIMIT_SECONDS = 0.01
        with MockServer() as server, server.sandbox() as sandbox:
            holder = Holder(sandbox)
            print(statuses_of_child(sandbox, server, holder))
            holder.over.set()
            print(sandbox.call("GET", "/v1/campaigns").status)
    """)

    assert ["200 False", "0", "200"] == lines


def test_a_fork_neither_ends_nor_repeats_the_delivery_that_its_parent_has_in_flight() -> None:
    lines = output_of("""
        from tests.server.receivers import ACCEPTED, read_request, receiving
        arrived, may_answer = threading.Event(), threading.Event()
        def answer(wire):
            read_request(wire)
            arrived.set()
            may_answer.wait()
            wire.sendall(ACCEPTED)
        with receiving([answer]) as receiver, MockServer() as server, server.sandbox() as sandbox:
            sandbox.receive_webhooks(receiver.url)
            sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
            sending = threading.Thread(target=lambda: sandbox.advance(minutes=20))
            sending.start()
            arrived.wait()
            if not (child := os.fork()):
                signal.alarm(20)
                sandbox.advance(minutes=1)
                server.close()
                os._exit(0)
            print(os.waitpid(child, 0)[1])
            may_answer.set()
            sending.join()
            delivery = sandbox.events[0]["deliveries"][0]
            print(delivery["status"], len(delivery["attempts"]), len(receiver.counts))
    """)

    assert ["0", "delivered 1 1"] == lines


def test_a_fork_leaves_the_next_attempt_of_a_delivery_to_its_parent() -> None:
    lines = output_of("""
        with MockServer() as server, server.sandbox() as sandbox:
            def receive(request):
                print("received by", "parent" if os.getpid() == parent else "child", flush=True)
                return 500
            sandbox.receive_webhooks(receive)
            parent = os.getpid()
            sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
            sandbox.advance(minutes=20)
            if not (child := os.fork()):
                signal.alarm(20)
                sandbox.advance(seconds=5)
                os._exit(0)
            print(os.waitpid(child, 0)[1])
            sandbox.advance(seconds=5)
    """)

    assert ["received by parent", "0", "received by parent"] == lines


def test_the_receivers_of_a_fork_get_what_its_own_calls_make_due() -> None:
    lines = output_of("""
        with MockServer() as server, server.sandbox() as sandbox:
            async def receive(request):
                print("received by", "parent" if os.getpid() == parent else "child", flush=True)
            sandbox.receive_webhooks(receive)
            parent = os.getpid()
            sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
            sandbox.advance(minutes=20)
            if not (child := os.fork()):
                signal.alarm(20)
                sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
                sandbox.advance(minutes=20)
                os._exit(0)
            print(os.waitpid(child, 0)[1])
            print(len(sandbox.events))
    """)

    assert ["received by parent", "received by child", "0", "1"] == lines


def test_the_end_of_a_fork_leaves_the_ready_file_of_its_parent(tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    lines = output_of(f"""
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
