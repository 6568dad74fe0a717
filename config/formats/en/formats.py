"""The formats of the administration. Every time names its zone."""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = "j M Y, H:i T"
TIME_FORMAT = "H:i"
MONTH_DAY_FORMAT = "j M"
