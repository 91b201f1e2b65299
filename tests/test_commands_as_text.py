"""Commands that a report prints can be pasted into the shell of the system that printed them."""

from __future__ import annotations

import shlex

import pytest

from mockserver._commands import command_line


@pytest.mark.parametrize("words", [["npm", "run", "a b"], ["py", "C:\\Program Files\\x.py", "it's"]])
def test_a_shell_of_posix_takes_a_command_apart_into_its_words(words: list[str]) -> None:
    assert words == shlex.split(command_line(words, is_windows=False))


def test_windows_puts_double_quotes_around_a_word_with_a_space_and_none_around_others() -> None:
    words = ["py", "C:\\Program Files\\x.py", "it's", 'a"b']

    assert 'py "C:\\Program Files\\x.py" it\'s a\\"b' == command_line(words, is_windows=True)
