"""What all models of answers have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

    from sluice.caller import Meta

M = TypeVar("M", bound="Model")
ATTRIBUTES = {"3ds": "three_ds"}  # names that may not begin with a digit


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """An answer of the API. `extra` has the fields that this version does not know, `meta` what came beside the body."""

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    meta: Meta | None = field(default=None, repr=False, compare=False)

    NESTED: ClassVar[dict[type[Model], dict[str, type[Model]]]] = {}

    @classmethod
    def read(cls, document: Mapping[str, Any], meta: Meta | None = None) -> Self:
        """Return the model of a JSON object. A required field that is missing is None."""
        known = {each.name for each in fields(cls)} - {"extra", "meta"}
        nested = Model.NESTED.get(cls, {})
        values: dict[str, Any] = dict.fromkeys(known)
        extra = {}
        for name, value in document.items():
            attribute = ATTRIBUTES.get(name, name)
            if attribute in known:
                values[attribute] = _read(nested.get(name), value)
            else:
                extra[name] = value
        return cls(**values, extra=extra, meta=meta)


def _read(kind: type[Model] | None, value: Any) -> Any:
    if kind is None:
        return value
    if isinstance(value, list):
        return [_read(kind, each) for each in value]
    return kind.read(value) if isinstance(value, Mapping) else value
