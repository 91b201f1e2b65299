"""What is built and installed: the files of wheel and sdist, and an installed copy at work away from the checkout, offline."""

from __future__ import annotations

import re
import sys
import tomllib
import zipfile
from configparser import ConfigParser
from email.parser import Parser
from pathlib import Path

import pytest

from tests.wheels import DATA_FOLDERS, ROOT, Built, checkout_files, run

HEAVY = (
    "flask", "freezegun", "httpx", "hypothesis", "jinja2", "jsonschema", "jsonschema_rs", "requests",
    "ruamel", "segno", "standardwebhooks", "time_machine", "urllib3", "werkzeug",
)  # fmt: skip


@pytest.mark.deep
def test_the_wheel_contains_only_the_package_and_its_data(built: Built) -> None:
    package = {name for name in built.checkout if name.startswith("mockserver/")}
    data = {f"mockserver/{name}" for name in built.checkout if name.startswith(DATA_FOLDERS)}
    pages = {f"mockserver/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "docs").glob("*.md")}
    pages |= {f"mockserver/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "docs" / "reference").glob("*.md")}
    glue = {f"mockserver/{name}" for name in checkout_files("docs/glue")}
    others = {"mockserver/docs/.mockserver-data", "mockserver/docs/llms.txt"}
    metadata = {name for name in built.wheel_files if ".dist-info/" in name}

    assert package | data | pages | glue | others == built.wheel_files - metadata
    assert any(name.endswith("/licenses/LICENSE") for name in metadata)


@pytest.mark.deep
def test_the_sdist_builds_again_and_tests_itself(built: Built) -> None:
    wanted = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "conftest.py", "PKG-INFO"}

    assert set() == (wanted | built.checkout) - built.sdist_files


@pytest.mark.deep
def test_the_entry_points_are_the_command_and_the_plugin(built: Built) -> None:
    (listed,) = (name for name in built.wheel_files if name.endswith("entry_points.txt"))
    points = ConfigParser(delimiters=("=",))
    points.optionxform = str  # type: ignore[assignment, method-assign]
    with zipfile.ZipFile(built.wheel) as archive:
        points.read_string(archive.read(listed).decode())

    assert {"mockserver": "mockserver.cli:main"} == dict(points["console_scripts"])
    assert {"mockserver.pytest_plugin": "mockserver.pytest_plugin"} == dict(points["pytest11"])


@pytest.mark.deep
def test_the_version_is_one_and_the_requirements_have_lower_bounds_only(built: Built) -> None:
    (listed,) = (name for name in built.wheel_files if name.endswith(".dist-info/METADATA"))
    with zipfile.ZipFile(built.wheel) as archive:
        metadata = Parser().parsestr(archive.read(listed).decode())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    printed = run(sys.executable, "-c", "import mockserver; print(mockserver.__version__)", PYTHONPATH=str(ROOT))

    assert project["version"] == metadata["Version"] == printed.stdout.strip()
    assert "crm-gateway-mockserver" == metadata["Name"]
    assert [] == [
        each for each in metadata.get_all("Requires-Dist", []) if "<" in each or "==" in each.partition(";")[0]
    ]


@pytest.mark.deep
def test_an_installed_copy_answers_over_its_socket(installed: Path) -> None:
    code = (
        "import urllib.request\n"
        "from mockserver import MockServer\n"
        "with MockServer(strict=True) as server, server.sandbox('demo') as sandbox:\n"
        "    headers = {'X-API-Key': sandbox.secret_key}\n"
        "    request = urllib.request.Request(sandbox.base_url + '/v1/message-templates', headers=headers)\n"
        "    with urllib.request.urlopen(request) as answer:\n"
        "        print(answer.status)\n"
    )

    done = run(sys.executable, "-W", "error", "-c", code, PYTHONPATH=str(installed), NO_PROXY="*")

    assert "200\n" == done.stdout


@pytest.mark.deep
def test_an_installed_copy_provides_the_fixture_to_pytest(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import sys\n\n\ndef test_listing(mockserver):\n"
        "    assert 200 == mockserver.call('GET', '/v1/campaigns').status\n"
        f"    assert {str(installed / 'mockserver' / '__init__.py')!r} == sys.modules['mockserver'].__file__\n",
        encoding="utf-8",
    )

    pytest_ = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis")

    done = run(*pytest_, cwd=tmp_path, PYTHONPATH=str(installed))

    assert "1 passed" in done.stdout


def test_an_import_and_a_suite_that_requests_no_fixture_load_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        "import sys\n\n\ndef pytest_unconfigure(config):\n"
        "    import mockserver.cli\n"
        "    print('names:', *dir(mockserver))\n"
        f"    print('heavy:', sorted(set({HEAVY!r}) & set(sys.modules)))\n"
        "    print('plugin:', config.pluginmanager.hasplugin('mockserver.pytest_plugin'))\n",
        encoding="utf-8",
    )
    pytest_ = (sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-p", "mockserver.pytest_plugin")

    done = run(*pytest_, cwd=tmp_path, PYTHONPATH=str(ROOT), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1").stdout

    (names,) = re.findall("^names: (.*)", done, re.MULTILINE)  # before they are loaded
    assert {"MockServer", "Sandbox", "SandboxTestCase", "__version__", "__name__"} <= set(names.split())
    assert "1 passed" in done
    assert "heavy: []\nplugin: True\n" in done
