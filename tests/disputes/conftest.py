from tests.payments.conftest import clock  # noqa: F401
