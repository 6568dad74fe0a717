from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from kit.time.time_ordered_ids import new_id

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=80_000)).map(lambda age: EPOCH + age)


class TestNewId:
    @given(MOMENTS)
    def test_is_a_version_7_uuid_that_starts_with_the_milliseconds(self, now):
        made = new_id(now)

        assert (made.version, made.variant) == (7, "specified in RFC 4122")
        assert made.int >> 80 == (now - EPOCH) // timedelta(milliseconds=1)

    @given(MOMENTS, st.integers(min_value=1, max_value=10**12))
    def test_sorts_by_time_to_the_microsecond(self, now, later):
        first, second = new_id(now), new_id(now + timedelta(microseconds=later))

        assert first < second
        assert str(first) < str(second)

    @given(MOMENTS)
    def test_is_unique(self, now):
        assert len({new_id(now) for _ in range(50)}) == 50
