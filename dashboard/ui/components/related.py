"""Related panels, rendered by `components/related.html`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedObject:
    """A link to an object: what it is, the facts that tell it apart, and its status."""

    icon: str  # of heroicons
    name: str
    text: str
    address: str
    status: str = ""
    status_name: str = ""
