"""Bytes a chat: `python -m tests.benchmarks.memory` makes a million chats and prints what each takes."""

import tracemalloc

from mockserver import MockServer
from tests.benchmarks.worlds import world

CHATS = 1_000_000


def main() -> None:
    tracemalloc.start()
    world(MockServer(), CHATS)
    print(f"{tracemalloc.get_traced_memory()[0] / CHATS:.0f} bytes a chat, of {CHATS:,}")


if __name__ == "__main__":
    main()
