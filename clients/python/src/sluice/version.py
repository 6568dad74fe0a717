"""The version, which is the service's."""

__version__ = "0.3.0"
