"""Small real files, and the upload that carries them."""

from typing import NamedTuple

from mockserver import Sandbox, sample_file
from mockserver._json import JSON
from mockserver.testing.transports.in_process import Response

UPLOAD = "/v1/messaging/media"
BOUNDARY = "------------------------boundary"


class File(NamedTuple):
    """One part of an upload; a `type` of None sends no Content-Type, a `name` of None no filename."""

    content: bytes
    type: str | None
    name: str | None = "file"
    field: str = "files"
    raw_disposition: str | None = None

    def part(self) -> bytes:
        """The part as it is sent between two boundaries."""
        filename = "" if self.name is None else f'; filename="{self.name}"'
        disposition = self.raw_disposition or f'form-data; name="{self.field}"{filename}'
        declared = "" if self.type is None else f"\r\nContent-Type: {self.type}"
        return f"Content-Disposition: {disposition}{declared}\r\n\r\n".encode() + self.content


def multipart(files: list[File] | tuple[File, ...]) -> bytes:
    """The body of an upload of these files."""
    parts = b"".join(f"--{BOUNDARY}\r\n".encode() + file.part() + b"\r\n" for file in files)
    return parts + f"--{BOUNDARY}--\r\n".encode()


def upload(sandbox: Sandbox, *files: File, key: str | None = None) -> Response:
    """The answer to an upload of these files, in this order."""
    content_type = f"multipart/form-data; boundary={BOUNDARY}"
    return sandbox.call("POST", UPLOAD, body=multipart(files), headers={"content-type": content_type}, key=key)


def stored(sandbox: Sandbox) -> list[JSON]:
    """The files that the default tenant has by now."""
    media: list[JSON] = sandbox.state()["tenants"][0]["media"]
    return media


PNG, JPEG, WEBP, PDF, MP3, MP4 = (
    sample_file(kind)
    for kind in ("image/png", "image/jpeg", "image/webp", "application/pdf", "audio/mpeg", "video/mp4")
)
TEXT = "Olá! Vaga às 9h?\n".encode()
