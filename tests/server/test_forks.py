"""A fork of a process that serves: its calls change its own copies of the sandboxes, and its end ends nothing of its parent."""

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


def test_a_call_of_a_fork_changes_its_copy_of_a_sandbox_alone() -> None:
    lines = output_of("""
        import os, signal
        from mockserver import MockServer
        with MockServer() as server, server.sandbox() as sandbox:
            if not (child := os.fork()):
                signal.alarm(20)  # ends a child that hangs
                print(sandbox.call("GET", "/v1/campaigns").status, len(sandbox.log.journal["exchanges"]), flush=True)
                server.close()
                os._exit(0)
            print(os.waitpid(child, 0)[1])
            print(sandbox.call("GET", "/v1/campaigns").status, len(sandbox.log.journal["exchanges"]))
    """)

    assert ["200 1", "0", "200 1"] == lines


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
