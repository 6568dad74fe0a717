"""Every address of the URL configuration, with its rule, and paths to request it."""

import re
import uuid
from datetime import datetime
from zoneinfo import ZoneInfo

from config.middleware import MACHINES
from merchants.people.access import Limit, rules
from merchants.people.roles import Permission

RULES = rules()
UNSAFE = ["post", "put", "patch", "delete"]

API = [route for route, rule in RULES.items() if Limit.KEY in rule.limits]
ADMINISTRATION = [route for route in RULES if route.startswith("admin/")]


def routes_of(*people):
    """Return the addresses that any of these people may use."""
    return [route for route, rule in RULES.items() if {rule.readers, rule.writers} & set(people)]


MEMBERS = routes_of(*Permission)


def path_of(route, **values):
    """Return a path of a route, with the values of its parameters, or with ids of rows that don't exist."""
    filled = re.sub(r"<\w+:(\w+)>", lambda match: str(values.get(match[1], match[0])), route)
    for pattern, value in (
        (r"<uuid:\w+>", str(uuid.UUID(int=1))),
        (r"<int:\w+>", "1"),
        (r"<(path|str|slug):\w+>", "1"),
        (r"<month:\w+>", f"{datetime.now(ZoneInfo('Africa/Lagos')):%Y-%m}"),
        (r"<file_type:\w+>", "xlsx"),
        (r"\(\?P<app_label>(\w+)[^)]*\)", r"\1"),
        (r"\(\?P<url>\.\*\)", "nothing-there"),
        (r"[\^$]", ""),
    ):
        filled = re.sub(pattern, value, filled)
    return f"/{filled}"


def of_people():
    """Return the rules of the URLs used with a session, which are all but those called by machines."""
    return {route: rule for route, rule in RULES.items() if not path_of(route).startswith(MACHINES)}


def is_asked(answer):
    """Return whether an answer asks for recent reauthentication."""
    if b"Confirm in a new tab" in getattr(answer, "content", b""):  # to a submitted form
        return True
    return answer.status_code == 302 and answer["Location"].startswith("/dashboard/confirm/?next=")
