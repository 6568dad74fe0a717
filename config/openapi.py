"""How the API is described, OpenAPI 3.1."""

from drf_spectacular.openapi import AutoSchema


class SluiceSchema(AutoSchema):
    pass
