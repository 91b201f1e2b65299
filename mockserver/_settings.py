"""
Every setting, declared once: those of `mockserver serve`, `probe` and `explore`, of a suite of pytest, and of its marks.

1. A setting of the server is `--NAME` on the command line and `MOCKSERVER_NAME` in the environment.
2. A setting of a suite is `--mockserver-NAME` on pytest's command line, `mockserver_NAME` in the ini file, and `NAME` in the
   fixture `mockserver_settings` and in marks, where its row has these places.
3. An option of `explore` or `interleave` is `NAME` in the mark and in Python, and `--NAME` of the command where its row has it.
4. The helps, and the tables of settings in `docs`, are made from the rows. `cli/settings.py`, `pytest_plugin/options.py`,
   `testing/setting_checks.py` and `testing/arguments.py` have the reading of each type.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from mockserver.contract.limits import JOURNAL_MAX_BYTES, JOURNAL_MAX_ENTRIES

_PREFIX: Final = "MOCKSERVER_"
READS_MAX: Final = 1_000  # equal reads of one record in a row that end a test
Place = Literal["serve", "probe", "explore", "ini file", "command line", "fixture", "mark"]
Form = Literal["one", "flag", "many"]


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
        return _PREFIX + self.attribute.upper()

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
        raise ValueError(f"got {value!r}; {self.expected(value)}")

    def expected(self, value: object) -> str:
        """Return the options in words, with the one that is nearest to a wrong value."""
        from mockserver.contract.text import closest_match_hint  # late: most values are right

        *others, last = self.options
        hint = closest_match_hint(value, self.options) if isinstance(value, str) else ""
        return f"expected {', '.join(others)} or {last}{hint}"


# Titles of the groups in the helps of the server, of `probe` and of `explore`.
_DATA, _ADDRESS, _ACCESS = "data and behaviour", "address", "access"
_SANDBOXES, _CONNECTIONS, _START, _FILES = "sandboxes", "connections", "start and end", "files and log"
_KEYS, _ALLOWED, _OUTPUT = "keys", "what the run may do", "output"
_OF_EACH_RUN, _TRIED, _AMOUNT = "sandbox of each run", "what is tried", "how much is tried"
_FAILING, _WRITTEN = "what fails", "files"
# Where settings of a suite apply.
_OF_RUN: Final[tuple[Place, ...]] = ("ini file", "command line")
_PYTHON: Final[tuple[Place, ...]] = ("fixture", "mark")
_EVERYWHERE: Final = (*_OF_RUN, *_PYTHON)


def _row(
    places: tuple[Place, ...], name: str, type: str, metavar: str, words: str, group: str = "", **further: Any
) -> Setting:
    own = {"form": "flag" if type == "flag" else "one"} | further
    return Setting(name=name, type=type, metavar=metavar, words=words, group=group, places=places, **own)


_of_server = partial(_row, ("serve",))
_of_probe = partial(_row, ("probe",))
_of_explore = partial(_row, ("explore",))
_of_explore_and_mark = partial(_row, ("explore", "mark"))
_of_mark = partial(_row, ("mark",))


def _of_suite(name: str, type: str, metavar: str, words: str, *places: Place, **further: Any) -> Setting:
    return _row(places, name, type, metavar, words, **further)


# fmt: off
SERVER: Final = (
    _of_server("scenario",            "any text",     "NAME|FILE", "data and rules at the start",                    _DATA, default="demo"),
    _of_server("choose",              "any text",     "ID=OPTION", "select the option of a choice",                  _DATA, form="many"),
    _of_server("profile",             "any text",     "NAME|FILE", "select options by a profile: literal (every default), guide, hostile, or a file with `choices`", _DATA),
    _of_server("freeze",              "any text",     "INSTANT",   "freeze the clock at this instant, such as 2026-03-01T12:00:00Z", _DATA, otherwise="it follows the computer's"),
    _of_server("seed",                "whole number", "SEED",      "seed of ids, keys and tokens",                   _DATA, otherwise="0; random beyond loopback"),
    _of_server("host",                "text",         "HOST",      "address to listen on; one beyond loopback requires a token", _ADDRESS, default="127.0.0.1"),
    _of_server("port",                "whole number", "PORT",      "port to listen on, 0 for a free one",            _ADDRESS, default="5055"),
    _of_server("public-url",          "url",          "URL",       "address by which clients reach the server through a proxy; answers to them contain it", _ADDRESS),
    _of_server("allow-host",          "host name",    "NAME",      "another name by which clients may address a server on loopback", _ACCESS, form="many"),
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
    _of_server("behind-proxy",        "flag",         "",          "serve other machines through a proxy: token, limits and random seeds as beyond loopback", _ADDRESS),
    _of_server("drain",               "duration",     "DURATION",  "at SIGTERM wait at most this long for the end of the sandboxes, and create none", _START, otherwise="off", example="10m"),
    _of_server("shard",               "shard",        "SHARD",     "which of several servers behind a proxy this one is, as NUMBER/COUNT, such as 0/2", _ADDRESS, otherwise="none"),
    _of_server("strict",              "flag",         "",          "check every response against its schema", _DATA),
    _of_server("no-reason-header",    "flag",         "",          "omit the response header X-Mock-Reason", _DATA),
    _of_server("allow-webhook-host",  "host name",    "HOST",      "allow webhooks to this host, on loopback in addition to this machine", _ACCESS, form="many"),
    _of_server("cors",                "flag",         "",          "let pages of other origins on this machine send requests (CORS)", _ACCESS),
    _of_server("ready-file",          "text",         "FILE",      "write the address and the keys as JSON once the server listens; removed at its end", _START),
    _of_server("failures-dir",        "text",         "FOLDER",    "folder for the replay document, HAR, trace and report of each run that a client reports as failed", _FILES, otherwise="none"),
    _of_server("coverage",            "text",         "FILE",      "write what all sandboxes have covered to this file at the end, for `mockserver coverage`", _FILES, otherwise="none"),
    _of_server("exit-with-parent",    "flag",         "",          "end when the process that started this one ends", _START),
    _of_server("journal-max-entries", "whole number", "COUNT",     "maximum of exchanges in the journal of a sandbox", _SANDBOXES, default=str(JOURNAL_MAX_ENTRIES)),
    _of_server("journal-max-bytes",   "whole number", "BYTES",     "maximum of their bytes; the oldest are removed first", _SANDBOXES, default=str(JOURNAL_MAX_BYTES)),
    _of_server("log-format",          "option",       "FORMAT",    "format of the log on standard error, one line per call: text, json or off; with json the start line is JSON too", _FILES, default="text", options=("text", "json", "off")),
)

PROBE: Final = (
    _of_probe("key",           "any text", "KEY",  "secret key of a tenant; the variable MOCKSERVER_KEY is used if this option is absent", _KEYS, default=""),
    _of_probe("public-key",    "any text", "KEY",  "public key of the same tenant",                          _KEYS, default=""),
    _of_probe("other-key",     "any text", "KEY",  "secret key of another tenant",                           _KEYS, default=""),
    _of_probe("chat",          "any text", "ID",   "chat whose messages the run may read",                   _ALLOWED, default=""),
    _of_probe("form",          "any text", "ID",   "form whose embed policy the run may read",               _ALLOWED, default=""),
    _of_probe("entrypoint",    "any text", "ID",   "entrypoint that the run may read, preferably with a phone number", _ALLOWED, default=""),
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
    _of_suite("strict",       "flag",         "",          "check every response against its schema",              *_OF_RUN, "fixture"),
    _of_suite("must-fire",    "flag",         "",          "fail a test for a rule with a bounded count that its function makes and that never fires", "ini file", default="true"),
    _of_suite("url",          "url",          "URL",       "run the suite against the server at this address",     *_OF_RUN),
    _of_suite("token",        "text",         "TOKEN",     "token for the control plane of that server",           *_OF_RUN),
    _of_suite("sandbox-labels", "labels",     "KEY:VALUE", "labels of the suite's sandboxes on that server, separated by commas", *_OF_RUN),
    _of_suite("receiver-host", "text",        "HOST",      "name by which that server reaches this machine, for receivers in this process", *_OF_RUN),
    _of_suite("failures-dir", "text",         "FOLDER",    "folder for the files of failing tests, `off` for none",          *_OF_RUN, default=".mockserver/failures"),
    _of_suite("cov",          "flag",         "",          "gather what the calls have covered of the contract",   *_OF_RUN),
    _of_suite("cov-file",     "text",         "FILE",      "file that the coverage is written to",                 *_OF_RUN, default=".mockserver/coverage.json"),
    _of_suite("cov-fail-under", "text",       "PERCENT",   "fail below this coverage: 80, operations=100,answers=80, or both", *_OF_RUN),
    _of_suite("explore",      "flag",         "",          "explore every test that uses the fixture mockserver",  "command line"),
    _of_suite("explore-json", "path",         "FILE",      "write what the explorations have tried to FILE",       "command line"),
    _of_suite("explore-html", "path",         "FILE",      "write the same to FILE as a page",                     "command line"),
)

EXPLORE: Final = (
    _of_explore("scenario",         "any text",   "NAME|FILE",    "initial state of each sandbox",                 _OF_EACH_RUN, otherwise="empty"),
    _of_explore("freeze",           "any text",   "INSTANT",      "instant at which each sandbox begins, such as 2026-03-01T12:00:00Z", _OF_EACH_RUN, otherwise="the present"),
    _of_explore("clock-speed",      "seconds",    "SECONDS",      "let the sandbox's clock run, by so many seconds in each real second, for a command that sleeps", _OF_EACH_RUN, otherwise="the clock is frozen"),
    _of_explore_and_mark("faults",     "names",   "NAME,...",     "faults, acts of others and faults of deliveries", _TRIED, otherwise="all"),
    _of_explore_and_mark("operations", "names",   "NAME,...",     "operations at whose calls they happen",         _TRIED, otherwise="all"),
    _of_explore_and_mark("choices",    "names",   "NAME,...|none", "choices whose options are tried",              _TRIED, otherwise="those that the clean run reads"),
    _of_explore_and_mark("runs",       "runs",    "RUNS",         "most runs for single placements, which put one fault, act or choice at one place; of more, each fault is tried at the first calls of each operation", _AMOUNT, default="1000"),
    _of_explore_and_mark("pairs",      "runs or 0", "RUNS",       "runs for pairs of faults",                      _AMOUNT, default="0"),
    _of_explore_and_mark("seconds",    "seconds", "SECONDS",      "real seconds after which no further run begins", _AMOUNT, otherwise="no limit"),
    _of_explore("timeout",          "seconds",    "SECONDS",      "real seconds after which a run is ended",       _AMOUNT, default="60"),
    _of_mark("prune",               "flag",       "",             "leave out placements that are equal to one that is tried", default="True"),
    _of_explore("reported-exit",    "any text",   "STATUSES",     "exit statuses, separated by commas, with which a command reports a failure", _FAILING, otherwise="each but 0 is a crash"),
    _of_explore("reported-output",  "any text",   "PATTERN",      "regular expression; if it is in the output of a command that fails, the command reports a failure", _FAILING),
    _of_explore_and_mark("strict",     "flag",    "",             "fail for findings with the verdict `crashed` too", _FAILING),
    _of_mark("tolerates",           "known cases", "",            'exceptions by which the client reports a failure, and known cases such as `("listCampaigns", "stale", "crashed", "the page is reloaded")`, with `*` for any operation or fault', otherwise="none"),
    _of_explore("json",             "path",       "FILE",         "write the report to FILE",                      _WRITTEN),
    _of_explore("html",             "path",       "FILE",         "write the report to FILE as a page",            _WRITTEN),
    _of_explore("failures-dir",     "any text",   "FOLDER",       "folder for the documents of findings, `off` for none", _WRITTEN, otherwise=".mockserver/failures"),
)

INTERLEAVE: Final = (
    _of_mark("setup",               "function",   "",             "function of the sandbox, called before the clients", otherwise="none"),
    _of_mark("check",               "function",   "",             "function of the sandbox, called after the clients; it raises if something is wrong", otherwise="none"),
    _of_mark("bound",               "preemptions", "",            "most preemptions of an order, up to 4",         default="2"),
    _of_mark("tolerates",           "exceptions", "",             "exceptions by which a client reports that another was first", otherwise="none"),
    _of_mark("runs",                "runs",       "",             "most runs, serial ones included",               default="2000"),
    _of_mark("seconds",             "seconds",    "",             "real seconds after which no further run begins", otherwise="no limit"),
    _of_mark("schedule",            "text",       "",             "one order to run, such as `worker*2 cron`, instead of a search", otherwise="none", example="worker*2 cron"),
    _of_mark("prune",               "flag",       "",             "merge orders; False for clients that meet in a database or a file, which no merging sees", default="True"),
    _of_mark("blocked-seconds",     "wait",       "",             "real seconds for which a client that neither calls, sleeps nor ends is waited for", default="2"),
    _of_mark("faults",              "runs or 0",  "",             "most runs with a fault in addition",            default="0"),
    _of_mark("fault",               "text",       "",             "fault of a finding, for `schedule`, such as `drop-after worker startCampaign 1`", otherwise="none", example="drop-after worker startCampaign 1"),
)
# fmt: on
EXPLORE_IN_PYTHON: Final = tuple(setting for setting in EXPLORE if "mark" in setting.places)
EXPLORE_NAMES: Final = tuple(setting.attribute for setting in EXPLORE_IN_PYTHON)
INTERLEAVE_NAMES: Final = tuple(setting.attribute for setting in INTERLEAVE)


def set_in(*places: Place) -> tuple[Setting, ...]:
    """Return the settings of a suite that can be set in each of these places."""
    return tuple(setting for setting in SUITE if set(places) <= set(setting.places))
