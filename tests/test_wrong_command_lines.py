"""Each wrong command line is refused with `got X; expected Y; did you mean Z?`, the status 2, and nothing changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mockserver.cli import main
from tests.harness.rows import each_row

FORM = re.compile(r"\bgot .+; expected [^;]+(; did you mean '.+'\?)?")
FILES = {
    "broken.yaml": b"a: [1\n",
    "unknown.yaml": b"version: 1\nscenario: x\ngivn: {}\n",
    "list.yaml": b"- 1\n",
    "profile.yaml": b"choices: {dual-statu: guide}\n",
    "binary.yaml": b"\xff\xfe",
    "empty.json": b"{}",
    "cut.har": b'{"log":',
}
# A command line in a folder with these files, and what is received, expected and proposed.
WRONG = [
    ("sevre", "got sevre; expected serve, play, ", "did you mean 'serve'?"),
    ("serve --prot 1", "got --prot 1; expected an option of `mockserver serve`", "did you mean '--port'?"),
    ("serve --por 0", "got --por 0; expected an option of `mockserver serve`", "did you mean '--port'?"),
    (
        "probe http://127.0.0.1:9 --allow-w",
        "got --allow-w; expected an option of `mockserver probe`",
        "did you mean '--allow-writes'?",
    ),
    ("serve --port", "--port: got none; expected one argument", ""),
    ("serve --port one", "--port: got 'one'; expected a whole number", ""),
    ("serve --port 99999", "got port 99999; expected 0", ""),
    ("serve --freeze yesterday", "got --freeze 'yesterday'; expected an RFC 3339 instant", ""),
    ("serve --profile litral", "got 'litral'; expected one of literal, guide, hostile", "did you mean 'literal'?"),
    ("serve --choose dual-statu=guide", "expected the id of a choice", "did you mean 'dual-status'?"),
    ("serve --scenario brokn.yaml", "got brokn.yaml (No such file", "did you mean 'broken.yaml'?"),
    ("serve --scenario broken.yaml", "got text that the YAML parser refuses", ""),
    ("serve --ready-file none/x --port 0", "got --ready-file none/x (No such file", ""),
    ("serve --seed 9999999999999999", "got '9999999999999999'; expected a whole number of at most 15 digits", ""),
    ("serve --memory 3", "got '3'; expected a size of at least 1MB", ""),
    ("serve --port 0 --scenario dem", 'got "dem"; expected', "did you mean 'demo'?"),
    ("serve --port 0 --choose dual-status=gide", 'got "gide"; expected', "did you mean 'guide'?"),
    ("serve --port 0 --choose dual-status", "got --choose 'dual-status'; expected ID=OPTION", ""),
    (
        "serve --port 0 --host 192.0.2.1",
        "got 192.0.2.1 port 0, which is refused (",
        "expected an address of this machine",
    ),
    ("serve --port 0 --journal-max-entries 0", "got --journal-max-entries 0; expected at least 1", ""),
    ("serve --port 0 --profile profile.yaml", "dual-statu", "did you mean 'dual-status'?"),
    ("health --port 0", "got port 0, which is another one in each run; expected", ""),
    ("serve extra", "got extra; expected no further argument but --help, --", " more (see `mockserver serve --help`)"),
    ("play", "got no NAME|FILE; expected `mockserver play NAME|FILE`", ""),
    ("play unknown.yaml", 'got the key "givn"; expected a key of the document', "did you mean 'given'?"),
    ("play binary.yaml", "got byte 0 that is not UTF-8; expected UTF-8 text", ""),
    (
        "play cempaign-canceled-by-anothers",
        'got "cempaign-canceled-by-anothers"; expected the name of',
        "did you mean 'campaign-canceled-by-another'?",
    ),
    ("scenarios --x", "got --x; expected --help, --", ""),
    (
        "choices dual-staus",
        "got the choice 'dual-staus'; expected one that `mockserver choices` lists",
        "did you mean 'dual-status'?",
    ),
    ("clauses nope --conduct", "got 'nope' and --conduct; expected one of them", ""),
    ("coverage", "got no report|html|combine; expected `mockserver coverage report|html|combine`", ""),
    ("coverage htm", "argument report|html|combine: got 'htm'; expected report, html", "did you mean 'html'?"),
    ("openapi --openapi 3.2", "argument --openapi: got '3.2'; expected 3.1, 3.0", "did you mean"),
    ("openapi --yaml --json", "got --yaml and --json; expected one of them", ""),
    ("openapi --json=x", "--json: got 'x'; expected no value", ""),
    ("docs pytst", "got pytst; expected quick, pytest, ", "did you mean 'pytest'?"),
    ("judge cut.ha", "got cut.ha (No such file", "did you mean 'cut.har'?"),
    ("judge cut.har", "got cut.har, whose JSON ends or breaks at line 1, column 8; expected a whole HAR", ""),
    ("judge empty.json", "got empty.json with an empty object; expected a HAR", ""),
    ("replay-calls none", "got none (No such file", ""),
    ("replay-calls empty.json", "got the document without calls; expected calls to send again", ""),
    ("scenarios --json --schema", "got --json and --schema; expected one of them", ""),
    ("explore --timeout 0 -- true", "--timeout: got 0; expected a number of seconds above 0", ""),
    ("health nourl", "got nourl; expected no further argument but --help", ""),
    ("probe", "got no URL; expected `mockserver probe URL`", ""),
    ("judge cut.har --service --client", "got --service and --client; expected one of them", ""),
    ("explore", "got no command; expected one after --", ""),
    ("explore nofile.py", "got 'nofile.py'; expected a program", ""),
    ("explore --faults drop-aftr -- true", "faults: got 'drop-aftr'; expected a fault", "did you mean 'drop-after'?"),
    ("explore --clock-speed -1 -- true", "--clock-speed: got -1; expected a number of seconds above 0", ""),
    ("explore --seconds nan -- true", "--seconds: got nan; expected a number of seconds above 0", ""),
    ("explore --pairs -1 -- true", "pairs: got -1; expected a number of runs", ""),
    ("explore --reported-exit one -- true", "--reported-exit: got 'one'; expected exit statuses from 1 to 255", ""),
    ("explore --reported-output ( -- true", "--reported-output: got '(' (", ""),
]


@each_row(("line", "refused", "proposed"), WRONG)
def test_a_wrong_command_line_is_refused_with_what_is_expected(
    line: str,
    refused: str,
    proposed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)

    try:
        status: object = main(line.split())
    except SystemExit as end:
        status = end.code

    output = capsys.readouterr()
    assert 2 == status, output.err
    assert "" == output.out
    assert FORM.search(output.err), output.err
    assert refused in output.err
    assert proposed in output.err
    assert FILES == {file.name: file.read_bytes() for file in tmp_path.iterdir()}
