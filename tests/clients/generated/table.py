"""
The generators of clients, one row each: what tests make of both OpenAPI documents with it.

    python -m tests.clients.generated.table      prints the table of docs/openapi.md
"""

from __future__ import annotations

from typing import Final, NamedTuple

OPENAPI_GENERATOR: Final = "openapi-generator-cli==7.26.0"
PYTHON_CLIENT: Final = "openapi-python-client==0.29.1"
JARS: Final = tuple(
    f"/usr/share/java/{name}.jar" for name in ("httpmime", "httpclient", "httpcore", "jakarta-annotation-api")
)
AXIOS: Final = ("axios@1.12.2", "typescript@5.9.3", "@types/node@20.19.43")


class Row(NamedTuple):
    """
    A language with its generator.

    Attributes:
        language: Its name.
        package: Of the generator, from PyPI.
        generator: Its name of the language, and options.
        checked: What a test does with the client.
        wants: Programs and files without which only the operations are counted.
    """

    language: str
    package: str
    generator: tuple[str, ...]
    checked: str
    wants: tuple[str, ...] = ()


# fmt: off
ROWS: tuple[Row, ...] = (
    Row("Go", OPENAPI_GENERATOR, ("go",), "compiled, called", ("go",)),
    Row("Java", OPENAPI_GENERATOR, ("java", "--library", "native", "-p", "openApiNullable=false,useJakartaEe=true"), "compiled, called", ("javac", "java", *JARS)),
    Row("Ruby", OPENAPI_GENERATOR, ("ruby",), "syntax checked, called", ("ruby", "/usr/share/rubygems-integration/all/gems/typhoeus-1.4.0/lib/typhoeus.rb")),
    Row("PHP", OPENAPI_GENERATOR, ("php",), "syntax checked, called", ("php", "/usr/share/php/GuzzleHttp/autoload.php")),
    Row("TypeScript", OPENAPI_GENERATOR, ("typescript-axios",), "compiled with `--strict`, called", ("npm", "node")),
    Row("Python", PYTHON_CLIENT, (), "compiled, called"),
    Row("C#", OPENAPI_GENERATOR, ("csharp",), "not compiled"),
    Row("Kotlin", OPENAPI_GENERATOR, ("kotlin",), "not compiled"),
)
# fmt: on


def lines() -> list[str]:
    """Return the lines of the table on the page."""
    found = ["| language | generator | 16 operations | client |", "| --- | --- | --- | --- |"]
    for row in ROWS:
        name, _, version = row.package.partition("==")
        options = f", `{' '.join(row.generator)}`" if row.generator else ""
        found.append(f"| {row.language} | {name} {version}{options} | present | {row.checked} |")
    return found


if __name__ == "__main__":
    print("\n".join(lines()))
