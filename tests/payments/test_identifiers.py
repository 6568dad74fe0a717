from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments.identifiers import TraceNumbers, new_id, retrieval_reference_number
from payments.models import TraceCounter

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=80_000)).map(lambda age: EPOCH + age)


class TestNewId:
    @given(MOMENTS)
    def test_is_a_version_7_uuid_that_begins_with_the_milliseconds(self, now):
        made = new_id(now)

        assert (made.version, made.variant) == (7, "specified in RFC 4122")
        assert made.int >> 80 == (now - EPOCH) // timedelta(milliseconds=1)

    @given(MOMENTS, st.integers(min_value=1, max_value=10**12))
    def test_sorts_by_time_to_the_microsecond(self, now, later):
        first, second = new_id(now), new_id(now + timedelta(microseconds=later))

        assert first < second
        assert str(first) < str(second)

    @given(MOMENTS)
    def test_is_another_one_each_time(self, now):
        assert len({new_id(now) for _ in range(50)}) == 50


class TestRetrievalReferenceNumber:
    @given(MOMENTS, st.integers(min_value=1, max_value=999_999))
    def test_is_twelve_digits_of_year_day_hour_and_trace_number(self, at, number):
        made = retrieval_reference_number(stan=f"{number:06}", at=at)

        assert len(made) == 12
        assert made == f"{at:%Y}"[-1] + f"{at:%j}" + f"{at:%H}" + f"{number:06}"


@pytest.mark.django_db
class TestTraceNumbers:
    def test_come_in_blocks_that_processes_do_not_share(self):
        one, another = TraceNumbers(), TraceNumbers()

        taken = [numbers.take() for numbers in (one, another) for _ in range(150)]

        assert len(set(taken)) == 300

    def test_begin_again_after_the_last_one(self):
        TraceCounter.objects.update_or_create(name=TraceCounter.STAN, defaults={"taken": 999_950})
        numbers = TraceNumbers()

        taken = [numbers.take() for _ in range(100)]

        assert taken[:49] == [f"{number:06}" for number in range(999_951, 1_000_000)]
        assert taken[49:51] == ["000001", "000002"]
        assert "000000" not in taken
