from datetime import date
from typing import Any

from django.db import migrations

FIXED = {
    (1, 1): "New Year's Day",
    (5, 1): "Workers' Day",
    (6, 12): "Democracy Day",
    (10, 1): "Independence Day",
    (12, 25): "Christmas Day",
    (12, 26): "Boxing Day",
}
YEARS = (2026, 2027, 2028)
MOVABLE = {
    date(2026, 4, 3): "Good Friday",
    date(2026, 4, 6): "Easter Monday",
    date(2027, 3, 26): "Good Friday",
    date(2027, 3, 29): "Easter Monday",
    date(2028, 4, 14): "Good Friday",
    date(2028, 4, 17): "Easter Monday",
    # Expected. The government declares them days before, by the moon.
    date(2027, 3, 10): "Eid-el-Fitr",
    date(2027, 3, 11): "Eid-el-Fitr",
    date(2027, 5, 17): "Eid-el-Kabir",
    date(2027, 5, 18): "Eid-el-Kabir",
    date(2027, 8, 16): "Eid-el-Maulud",
}


def add_holidays(apps: Any, _: Any) -> None:
    holiday = apps.get_model("payments", "Holiday")
    fixed = {date(year, *of_year): name for year in YEARS for of_year, name in FIXED.items()}
    days = {**fixed, **MOVABLE}
    holiday.objects.bulk_create(holiday(currency="NGN", day=day, name=name) for day, name in days.items())


class Migration(migrations.Migration):
    """Add the public holidays of Nigeria, which staff edit."""

    dependencies = [("payments", "0051_validate_flows_of_tariffs")]

    operations = [migrations.RunPython(add_holidays, migrations.RunPython.noop)]
