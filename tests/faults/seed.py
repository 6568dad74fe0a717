"""Create the tables and a few businesses with one webhook URL, and print their keys as JSON."""

import contextlib
import io
import json
import sys

import django
from django.core.management import call_command


def printed(command, *arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        call_command(command, *arguments, stdout=out)
    return out.getvalue()


def seed(url, count):
    printed("migrate", "-v0")
    for number in range(count):
        name = f"Shop {number}"
        yield json.loads(
            printed("create_business", "--name", name, "--email", f"{number}@example.com", "--json")
        )
        printed("configure_webhook", "--business", name, "--url", url, "--events", "payment,payout")


if __name__ == "__main__":
    django.setup()
    print(json.dumps(list(seed(sys.argv[1], int(sys.argv[2])))))
