"""
Every setting, declared once: those of `mockserver serve`, those of `mockserver probe`, and those of a suite of pytest.

1. A setting of the server is `--NAME` on the command line and `MOCKSERVER_NAME` in the environment.
2. A setting of a suite is `--mockserver-NAME` on pytest's command line, `mockserver_NAME` in the ini file, and `NAME` in the
   fixture `mockserver_settings` and in marks, where its row has these places.
3. The helps, and the tables of settings in `docs`, are made from the rows. `cli/settings.py`, `pytest_plugin/options.py` and
   `testing/setting_checks.py` have the reading of each type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from mockserver.contract.limits import JOURNAL_MAX_BYTES, JOURNAL_MAX_ENTRIES

PREFIX: Final = "MOCKSERVER_"
READS_MAX: Final = 1_000  # equal reads of one record in a row that end a test
Place = Literal["serve", "probe", "ini file", "command line", "fixture", "mark"]
Form = Literal["one", "flag", "many"]
_KEYS, _ALLOWED, _OUTPUT = "keys", "what the run may do", "output"  # groups of `probe`


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """
    One setting.

    Attributes:
        name: of the option, without its dashes and its prefix.
        type: what its values are; the name of their reader or check.
        words: what it does, in one clause.
        places: where it can be set.
        default: the value without it, as one writes it; None for one that follows from other settings, or is absent.
        otherwise: what holds without it if there is no default, in words.
        metavar: the form of the value in the help and on the page; empty for one that needs none.
        group: the title of its group in the help of the server.
        form: `one` value, a `flag`, or `many` values, which a variable separates by `;` or line ends, and an ini file by line ends.
        example: a value, for the message about a wrong one.
        options: the values, if there are no others.
    """

    name: str
    type: str
    words: str
    places: tuple[Place, ...]
    default: str | None = None
    otherwise: str = ""
    metavar: str = ""
    group: str = ""
    form: Form = "one"
    example: str = ""
    options: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.attribute.upper()

    @property
    def attribute(self) -> str:
        """The name in Python and in parsed options."""
        return self.name.replace("-", "_")

    @property
    def help(self) -> str:
        """The help of the option."""
        shown = self.default if self.default is not None else self.otherwise
        words = f"{self.words}; may be repeated" if self.form == "many" else self.words
        return f"{words} (default: {shown})" if shown else words

    def option(self, value: object) -> str:
        """Return one of the options; ValueError, with the nearest one, for any other value."""
        if isinstance(value, str) and value in self.options:
            return value
        from mockserver.contract.text import closest_match_hint  # late: most values are right

        *others, last = self.options
        hint = closest_match_hint(value, self.options) if isinstance(value, str) else ""
        raise ValueError(f"got {value!r}; expected {', '.join(others)} or {last}{hint}")


# Titles of the groups in the help of the server.
_DATA, _ADDRESS, _ACCESS = "data and behaviour", "address", "access"
_SANDBOXES, _CONNECTIONS, _START, _FILES = "sandboxes", "connections", "start and end", "files and log"
GROUPS: Final = (_DATA, _ADDRESS, _ACCESS, _SANDBOXES, _CONNECTIONS, _START, _FILES)
# Where settings of a suite apply.
_OF_RUN: Final[tuple[Place, ...]] = ("ini file", "command line")
_PYTHON: Final[tuple[Place, ...]] = ("fixture", "mark")
_EVERYWHERE: Final = (*_OF_RUN, *_PYTHON)


def _of_server(name: str, type: str, metavar: str, words: str, group: str, **further: Any) -> Setting:
    return Setting(name=name, type=type, metavar=metavar, words=words, group=group, places=("serve",), **further)


def _flag_of_server(name: str, words: str, group: str) -> Setting:
    return Setting(name=name, type="flag", words=words, group=group, places=("serve",), form="flag")


def _of_probe(name: str, type: str, metavar: str, words: str, group: str, **further: Any) -> Setting:
    form: Form = "flag" if type == "flag" else "one"
    return Setting(
        name=name, type=type, metavar=metavar, words=words, group=group, places=("probe",), form=form, **further
    )


def _of_suite(name: str, type: str, metavar: str, words: str, *places: Place, **further: Any) -> Setting:
    return Setting(name=name, type=type, metavar=metavar, words=words, places=places, **further)


# fmt: off
SERVER: Final = (
    _of_server("scenario",            "any text",     "NAME|FILE", "data and rules at the start",                    _DATA, default="demo"),
    _of_server("host",                "text",         "HOST",      "address to listen on; one beyond loopback requires a token", _ADDRESS, default="127.0.0.1"),
    _of_server("port",                "whole number", "PORT",      "port to listen on, 0 for a free one",            _ADDRESS, default="5055"),
    _of_server("public-url",          "url",          "URL",       "address by which clients reach the server through a proxy; answers to them contain it", _ADDRESS),
    _of_server("allow-host",          "host name",    "NAME",      "another name by which clients may address a server on loopback", _ACCESS, form="many"),
    _of_server("choose",              "any text",     "ID=OPTION", "select the option of a choice",                  _DATA, form="many"),
    _of_server("profile",             "any text",     "NAME|FILE", "select options by a profile: literal (every default), guide, hostile, or a file with `choices`", _DATA),
    _of_server("freeze",              "any text",     "INSTANT",   "freeze the clock at this instant, such as 2026-03-01T12:00:00Z", _DATA, otherwise="it follows the computer's"),
    _of_server("seed",                "whole number", "SEED",      "seed of ids, keys and tokens",                   _DATA, otherwise="0; random beyond loopback"),
    _of_server("token",               "any text",     "TOKEN",     "token that the control plane requires",          _ACCESS, otherwise="none; generated beyond loopback"),
    _of_server("token-file",          "text",         "FILE",      "file that contains the token",                   _ACCESS),
    _of_server("max-sandboxes",       "count",        "COUNT",     "maximum of open sandboxes that clients create",  _SANDBOXES, otherwise="off; 10000 beyond loopback"),
    _of_server("idle",                "duration",     "DURATION",  "end a sandbox that has no call for this real time", _SANDBOXES, otherwise="off; 30m beyond loopback", example="30m"),
    _of_server("age",                 "duration",     "DURATION",  "end a sandbox this real time after its creation", _SANDBOXES, otherwise="off; 6h beyond loopback", example="6h"),
    _of_server("memory",              "size",         "SIZE",      "maximum of the estimated memory of all sandboxes", _SANDBOXES, otherwise="off; 2GB beyond loopback", example="2GB"),
    _of_server("head-timeout",        "duration",     "DURATION",  "refuse a request whose head is not whole after this real time", _CONNECTIONS, default="10s", example="10s"),
    _of_server("min-body-rate",       "byte count",   "BYTES",     "refuse a body of which fewer bytes arrive each second, on average over 30 s", _CONNECTIONS, default="256"),
    _of_server("max-connections",     "count",        "COUNT",     "maximum of open connections, fewer if the process has few descriptors", _CONNECTIONS, default="16384"),
    _of_server("max-bodies",          "size",         "SIZE",      "maximum of the bodies of more than 64 KiB that are not answered yet", _CONNECTIONS, default="1GB", example="1GB"),
    _flag_of_server("behind-proxy",   "serve other machines through a proxy: token, limits and random seeds as beyond loopback", _ADDRESS),
    _of_server("drain",               "duration",     "DURATION",  "at SIGTERM wait at most this long for the end of the sandboxes, and create none", _START, otherwise="off", example="10m"),
    _of_server("shard",               "shard",        "SHARD",     "which of several servers behind a proxy this one is, as NUMBER/COUNT, such as 0/2", _ADDRESS, otherwise="none"),
    _flag_of_server("strict",         "check every response against its schema", _DATA),
    _flag_of_server("no-reason-header", "omit the response header X-Mock-Reason", _DATA),
    _of_server("allow-webhook-host",  "host name",    "HOST",      "allow webhooks to this host, on loopback in addition to this machine", _ACCESS, form="many"),
    _flag_of_server("cors",           "let pages of other origins on this machine send requests (CORS)", _ACCESS),
    _of_server("ready-file",          "text",         "FILE",      "write the address and the keys as JSON once the server listens; removed at its end", _START),
    _of_server("failures-dir",        "text",         "FOLDER",    "folder for the replay document, HAR, trace and report of each run that a client reports as failed", _FILES, otherwise="none"),
    _of_server("coverage",            "text",         "FILE",      "write what all sandboxes have covered to this file at the end, for `mockserver coverage`", _FILES, otherwise="none"),
    _flag_of_server("exit-with-parent", "end when the process that started this one ends", _START),
    _of_server("journal-max-entries", "whole number", "COUNT",     "maximum of exchanges in the journal of a sandbox", _SANDBOXES, default=str(JOURNAL_MAX_ENTRIES)),
    _of_server("journal-max-bytes",   "whole number", "BYTES",     "maximum of their bytes; the oldest are removed first", _SANDBOXES, default=str(JOURNAL_MAX_BYTES)),
    _of_server("log-format",          "option",       "FORMAT",    "format of the log on standard error, one line per call: text, json or off; with json the start line is JSON too", _FILES, default="text", options=("text", "json", "off")),
)

PROBE: Final = (
    _of_probe("key",           "any text", "KEY",  "secret key of a tenant; the variable MOCKSERVER_KEY is used if this option is absent", _KEYS),
    _of_probe("public-key",    "any text", "KEY",  "public key of the same tenant",                          _KEYS),
    _of_probe("other-key",     "any text", "KEY",  "secret key of another tenant",                           _KEYS),
    _of_probe("chat",          "any text", "ID",   "chat whose messages the run may read",                   _ALLOWED),
    _of_probe("form",          "any text", "ID",   "form whose embed policy the run may read",               _ALLOWED),
    _of_probe("entrypoint",    "any text", "ID",   "entrypoint that the run may read, preferably with a phone number", _ALLOWED),
    _of_probe("allow-writes",  "flag",     "",     "create drafts and cancel them; create sessions, which expire", _ALLOWED),
    _of_probe("allow-sends",   "flag",     "",     "also start drafts, only with an empty audience; requires --allow-writes", _ALLOWED),
    _of_probe("rate",          "number",   "RATE", "maximum of calls per second",                            _ALLOWED, default="10"),
    _of_probe("profile-out",   "path",     "FILE", "save the settled choices, for `mockserver serve --profile FILE`", _OUTPUT),
    _of_probe("json",          "flag",     "",     "print the report as JSON",                               _OUTPUT),
)

SUITE: Final = (
    # Of each sandbox.
    _of_suite("scenario",     "scenario",     "NAME|FILE", "initial state of each sandbox",                        *_EVERYWHERE, otherwise="no data"),
    _of_suite("profile",      "profile",      "NAME|FILE", "set of choices: literal (every default), guide, hostile, or a file {choices: {id: option}}", *_EVERYWHERE, otherwise="literal"),
    _of_suite("choices",      "choices",      "ID=OPTION", "a choice, such as dual-status=guide",                  *_EVERYWHERE, form="many", otherwise="those of the profile"),
    _of_suite("now",          "instant",      "INSTANT",   "instant of each sandbox's clock",                      *_EVERYWHERE, otherwise="the present"),
    _of_suite("clock",        "clock",        "follow",    "let each sandbox's clock follow the process's",        *_EVERYWHERE, otherwise="frozen"),
    _of_suite("seed",         "seed",         "NUMBER",    "ids, keys and tokens follow from it",                  *_EVERYWHERE, default="0"),
    _of_suite("given",        "seed data",    "MAPPING",   "seed data of each sandbox",                            *_PYTHON, otherwise="none"),
    _of_suite("own-port",     "own port",     "BOOLEAN",   "give each sandbox an address with its own port and without a path", *_PYTHON, default="False"),
    # Of a test.
    _of_suite("conduct",      "option",       "MODE",      "effect of findings on the client's conduct: error, report, on-failure or off", "ini file", "mark", default="on-failure", options=("error", "report", "on-failure", "off")),
    _of_suite("poll-limit",   "reads",        "NUMBER|off", "equal reads of one record in a row that end a test",  "ini file", "command line", "mark", default=str(READS_MAX)),
    # Of a run.
    _of_suite("strict",       "flag",         "",          "check every response against its schema",              *_OF_RUN, "fixture", form="flag"),
    _of_suite("must-fire",    "flag",         "",          "fail a test for a rule with a bounded count that its function makes and that never fires", "ini file", form="flag", default="true"),
    _of_suite("url",          "url",          "URL",       "run the suite against the server at this address",     *_OF_RUN),
    _of_suite("token",        "text",         "TOKEN",     "token for the control plane of that server",           *_OF_RUN),
    _of_suite("sandbox-labels", "labels",     "KEY:VALUE", "labels of the suite's sandboxes on that server, separated by commas", *_OF_RUN),
    _of_suite("receiver-host", "text",        "HOST",      "name by which that server reaches this machine, for receivers in this process", *_OF_RUN),
    _of_suite("failures-dir", "text",         "FOLDER",    "folder for the files of failing tests, `off` for none",          *_OF_RUN, default=".mockserver/failures"),
    _of_suite("trace",        "option",       "WHEN",      "write an HTML trace of a failing test: off, on-failure", *_OF_RUN, default="off", options=("off", "on-failure")),
    _of_suite("cov",          "flag",         "",          "gather what the calls have covered of the contract",   *_OF_RUN, form="flag"),
    _of_suite("cov-file",     "text",         "FILE",      "file that the coverage is written to",                 *_OF_RUN, default=".mockserver/coverage.json"),
    _of_suite("cov-fail-under", "text",       "PERCENT",   "fail below this coverage: 80, operations=100,answers=80, or both", *_OF_RUN),
    _of_suite("conduct-json", "path",         "FILE",      "write to FILE where clients ignored the advice of the API document", "command line"),
    _of_suite("explore",      "flag",         "",          "explore every test that uses the fixture mockserver",  "command line", form="flag"),
    _of_suite("explore-json", "path",         "FILE",      "write what the explorations have tried to FILE",       "command line"),
    _of_suite("explore-html", "path",         "FILE",      "write the same to FILE as a page",                     "command line"),
)
# fmt: on


def set_in(*places: Place) -> tuple[Setting, ...]:
    """Return the settings of a suite that can be set in each of these places."""
    return tuple(setting for setting in SUITE if set(places) <= set(setting.places))
