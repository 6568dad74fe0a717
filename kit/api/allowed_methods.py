"""The API's answer to OPTIONS."""

from typing import Any

from rest_framework.metadata import BaseMetadata
from rest_framework.request import Request


class AllowedMethods(BaseMetadata):
    """What the header `Allow` says. rest_framework's own answer quotes the code's docstrings."""

    def determine_metadata(self, request: Request, view: Any) -> dict[str, list[str]]:
        return {"methods": view.allowed_methods}
