"""The command `coverage`: a coverage of a file or of a running sandbox, as text or HTML; files combined."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from mockserver._files import write_whole

if TYPE_CHECKING:
    from mockserver.judge.coverage.coverage import Coverage

_FILE: Final = ".mockserver/coverage.json"
_FORMS: Final = {
    "report": "print the table, and each gap",
    "html": "write the page, one file without script",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the commands below `mockserver coverage`."""
    forms = parser.add_subparsers(required=True, metavar="report|html|combine")
    for name, help_text in _FORMS.items():
        form = forms.add_parser(name, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.")
        source = "file of --mockserver-cov, or base url of a sandbox on a running server (default: %(default)s)"
        form.add_argument("source", nargs="?", default=_FILE, metavar="FILE|URL", help=source)
        form.add_argument("--token", help="token of the server's control plane, if it requires one")
        form.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to this file")
        form.set_defaults(form=name)
        if name == "report":
            shown = form.add_mutually_exclusive_group()
            shown.add_argument("--json", action="store_true", help="print JSON")
            of_some = "show the items of these, separated by commas; `all` for everything (default: used, those that were called)"
            shown.add_argument("--operations", default="used", metavar="NAMES", help=of_some)
            least = "status 1 below this coverage: 80, operations=100,answers=80, or both"
            form.add_argument("--fail-under", default="", metavar="PERCENT", help=least)
    help_text = "merge files into one that has everything that one of them has"
    merge = forms.add_parser("combine", help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.")
    merge.add_argument("files", nargs="+", type=Path, metavar="FILE", help="files of --mockserver-cov of this version")
    merge.add_argument("-o", "--output", type=Path, default=Path(_FILE), metavar="FILE", help="(default: %(default)s)")
    merge.set_defaults(form="combine")


def run(options: argparse.Namespace, out: TextIO) -> int:
    """Print or write a coverage; `report --fail-under` returns 1 below its percentages."""
    from mockserver.judge.coverage.coverage import Coverage, combine
    from mockserver.report import coverage_text as render

    if options.form == "combine":
        combine(Coverage.load(file) for file in options.files).save(options.output)
        return 0
    least = render.thresholds(options.fail_under) if options.form == "report" and options.fail_under else {}
    coverage = _coverage(options.source, options.token)
    text = _rendered(coverage, options)
    if options.output is not None:
        write_whole(options.output, text)
    else:
        out.write(text)
    missed = render.shortfalls(coverage, least)
    for line in missed:
        print(line, file=out)
    return 1 if missed else 0


def _is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _coverage(source: str, token: str | None) -> Coverage:
    from mockserver.judge.coverage.coverage import Coverage

    if not _is_url(source):
        try:
            return Coverage.load(source)
        except FileNotFoundError:
            expected = "a file that `pytest --mockserver-cov` has written, or the base url of a sandbox"
            raise ValueError(f"got {source}, which does not exist; expected {expected}") from None
    from mockserver.cli.listing import read_view

    return Coverage.from_json(read_view(source, token, "GET", "coverage"), source)


def _rendered(coverage: Coverage, options: argparse.Namespace) -> str:
    from mockserver.report import coverage_page as page
    from mockserver.report import coverage_text as render

    if options.form == "html":
        return page.render(coverage)
    if options.json:
        return coverage.as_text()
    named = render.operations_named(options.operations, coverage)
    lines = (*render.table(coverage, named), "", *render.gaps(coverage, named))
    return "\n".join(lines) + "\n"
