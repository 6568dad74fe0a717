"""What a call answers, before it is written as HTTP."""

from dataclasses import dataclass, field

from connectors.checkout.simulator.state import Document


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    document: Document | list[Document] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b""


class Refused(Exception):
    """A call is refused with a status and error codes."""

    def __init__(self, status: int, *codes: str) -> None:
        super().__init__(status, *codes)
        self.status, self.codes = status, codes
