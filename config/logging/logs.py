"""Configuration of logging: structured lines with the request id. `config.logging.log_masking` masks card numbers in them."""

import logging
import logging.config
from typing import Any

import structlog

from config.logging.log_masking import escape_event, mask_event


def configure(*, level: str, as_json: bool) -> None:
    """Configure all loggers, structlog's and the standard library's, with the same processors."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers: list[Any] = (
        [structlog.processors.JSONRenderer()]  # which escapes all but ASCII
        if as_json
        else [escape_event, structlog.dev.ConsoleRenderer(colors=False)]
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    chain = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": [structlog.stdlib.ExtraAdder(allow=()), *shared],
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            # Plain tracebacks: structlog's rich ones would show local variables.
            structlog.processors.format_exc_info,
            mask_event,
            *renderers,
        ],
    }
    logging.config.dictConfig(_standard_library(chain, level=level))


def _standard_library(chain: dict[str, Any], *, level: str) -> dict[str, Any]:
    """Return the configuration of `logging`: all records use the formatter and go to standard error."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"chain": chain},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "chain"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django.request": {"level": "ERROR"},  # 4xx responses are errors of the caller
            "celery": {"level": "WARNING"},
            "kombu": {"level": "WARNING"},
        },
    }
