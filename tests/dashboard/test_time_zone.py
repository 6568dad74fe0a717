"""Times and days are in the business's time zone, also when its clocks change."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone

from dashboard.templatetags.frame import moment, precise_moment
from dashboard.ui.lists.list_filters import PeriodFilter
from kit.time.time_zones import zone_of
from merchants.models import Business
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.transactions import captured_payment

LONDON = zone_of("Europe/London")
HOUR = timedelta(hours=1)


def live_in(business, zone):
    Business.objects.filter(pk=business.pk).update(time_zone=zone)


class TestTimes:
    AT = datetime(2020, 6, 30, 23, 30, 5, tzinfo=UTC)

    def test_are_local_and_in_utc_on_hover(self):
        with timezone.override(LONDON):
            assert ">1 Jul 2020, 00:30</time>" in moment(self.AT)
            assert 'title="30 Jun 2020, 23:30:05 UTC"' in moment(self.AT)
            assert ">1 Jul 2020, 00:30:05</time>" in precise_moment(self.AT)

    def test_have_a_year_only_if_it_is_another_one(self):
        now = timezone.now()

        assert str(now.year) not in moment(now).partition(">")[2]

    def test_are_in_utc_outside_of_a_business(self):
        assert ">30 Jun 2020, 23:30</time>" in moment(self.AT)


class TestPeriod:
    def period(self, since, until):
        form = PeriodFilter({"since": since, "until": until}, business=Business())
        assert form.is_valid()
        return form.begin, form.end

    def test_begins_and_ends_at_local_midnight(self):
        with timezone.override(zone_of("Africa/Lagos")):
            begin, end = self.period("2026-03-10", "2026-03-10")

        assert (begin, end) == (datetime(2026, 3, 9, 23, tzinfo=UTC), datetime(2026, 3, 10, 23, tzinfo=UTC))

    @pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
    def test_of_one_day_has_the_hours_of_that_day(self, day, hours):
        with timezone.override(LONDON):
            begin, end = self.period(day, day)

        assert end - begin == hours * HOUR

    def test_is_in_utc_outside_of_a_business(self):
        assert self.period("2026-03-10", "2026-03-10")[0] == datetime(2026, 3, 10, tzinfo=UTC)


@pytest.mark.django_db
class TestPages:
    LATE = datetime(2026, 3, 10, 23, 30, tzinfo=UTC)  # the next day in Lagos

    def listed(self, browser, day):
        page = browser.get(f"/dashboard/payments/?since={day}&until={day}").content.decode()
        return "late-1" in page

    def test_filter_by_days_of_the_business(self, browser, ada):
        captured_payment(business=ada.business, now=self.LATE, reference="late-1")

        assert self.listed(browser, date(2026, 3, 11))
        assert not self.listed(browser, date(2026, 3, 10))
        live_in(ada.business, "Europe/London")
        assert self.listed(browser, date(2026, 3, 10))
        assert not self.listed(browser, date(2026, 3, 11))

    def test_count_days_of_the_business_on_the_overview(self, browser, ada):
        now = timezone.now()
        captured_payment(business=ada.business, now=now - timedelta(days=6), amount=70_000)

        for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago", "Africa/Lagos"):
            live_in(ada.business, zone)
            shown = browser.get("/dashboard/?days=7").context["overview"]
            local = zone_of(zone)
            today = now.astimezone(local).date()
            assert shown.since == today - timedelta(days=6)
            assert (shown.volume_chart.bars[0].first, shown.volume_chart.bars[-1].last) == (
                shown.since,
                today,
            )
            (bar,) = [each for each in shown.volume_chart.bars if each.volume.count]
            assert bar.first == (now - timedelta(days=6)).astimezone(local).date()
            listed = browser.get(f"/dashboard/payments/?since={bar.first}&until={bar.last}")
            assert listed.content.decode().count("table__link") == 1

    def test_name_the_zone_once(self, browser, ada):
        live_in(ada.business, "America/Argentina/Buenos_Aires")

        for address in ("/dashboard/payments/", "/dashboard/", "/dashboard/balance/", "/dashboard/settings/"):
            page = browser.get(address).content.decode()
            assert page.count("Times are in ") == 1

    def test_name_the_zone_of_the_business_on_pages_of_the_account_too(self, browser, ada):
        live_in(ada.business, "Asia/Tokyo")

        shown = browser.get("/dashboard/account/password/").content.decode()

        assert "Times are in Asia/Tokyo" in shown

    def test_leave_no_zone_behind_for_the_next_request(self, browser, ada, bisi):
        live_in(ada.business, "Asia/Tokyo")
        other = signed_in(MemberFactory(business=bisi.business).user)

        browser.get("/dashboard/payments/")

        assert str(timezone.get_current_timezone()) == "UTC"
        assert "Africa/Lagos (UTC+1)" in other.get("/dashboard/payments/").content.decode()
