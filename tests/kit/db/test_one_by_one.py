import pytest
from django.db import IntegrityError, OperationalError
from structlog.testing import capture_logs

from kit.db.one_by_one import one_by_one


def failing_with(error):
    def act(row):
        if row == "second":
            raise error
        return row.upper()

    return act


def test_a_failure_of_one_is_logged_and_does_not_stop_the_others():
    act = failing_with(IntegrityError("Failing row contains (Ada, 4111)"))

    with capture_logs() as logged:
        results = list(one_by_one(act, ["first", "second", "third"], failure="not paid"))

    assert results == ["FIRST", None, "THIRD"]
    [entry] = logged
    assert (entry["event"], entry["row"], entry["error"]) == ("not paid", "second", "IntegrityError")
    assert "Ada" not in str(entry)


def test_a_database_that_is_unavailable_ends_the_work():
    done = one_by_one(
        failing_with(OperationalError("gone")), ["first", "second", "third"], failure="not paid"
    )

    assert next(done) == "FIRST"
    with pytest.raises(OperationalError):
        next(done)
