import gc
import io
import json
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from kit import garbage_collection
from tests.factories import BusinessFactory
from tests.webhooks import servers
from tests.webhooks.rows import KEY, NOON, make_deliveries, make_endpoint
from webhooks.models import Delivery, Endpoint
from webhooks.signing import standard_secret

STATES = Delivery.State
URL = "https://hooks.shop.com/sluice"


def run(*arguments):
    printed = io.StringIO()
    call_command(*arguments, stdout=printed, stderr=io.StringIO())
    return printed.getvalue()


def refused(*arguments):
    """Return the exit code and the error message of a command that fails."""
    with pytest.raises(CommandError) as refusal:
        run(*arguments)
    return refusal.value.returncode, str(refusal.value)


@pytest.mark.parametrize(
    "command", ["configure_webhook", "rotate_hash_key", "deliver_webhooks", "replay_webhooks"]
)
class TestHelp:
    def test_has_an_example_and_exits_with_0(self, command, capsys):
        with pytest.raises(SystemExit) as end:
            call_command(command, "--help")

        assert end.value.code == 0
        assert f"Example: manage.py {command} " in " ".join(capsys.readouterr().out.split())


@pytest.mark.django_db
class TestConfigureWebhook:
    def configure(self, *arguments, url=URL, events="payment,payout"):
        return run(
            "configure_webhook", "--business", "Ada Books", "--url", url, "--events", events, *arguments
        )

    def test_prints_the_key_the_first_time_only(self):
        business = BusinessFactory(name="Ada Books")

        first, second = (json.loads(self.configure("--json")) for _ in range(2))

        assert first == {
            "business": str(business.pk),
            "url": URL,
            "subscribed_events": ["payment", "payout"],
            "enabled": True,
            "hash_key": Endpoint.objects.get().hash_key,
        }
        assert "hash_key" not in second

    def test_prints_a_readable_summary(self):
        BusinessFactory(name="Ada Books")

        first, second = self.configure(), self.configure("--disable", events="payment")

        assert f"{URL} receives payment and payout events (enabled)." in first
        assert "(shown only once): whk_sandbox_" in first
        assert second == f"{URL} receives payment events (disabled: deliveries are held).\n"
        assert not Endpoint.objects.get().enabled

    def test_fails_for_an_unknown_business(self):
        with pytest.raises(CommandError, match="No business has the id or name 'Ada Books'") as refusal:
            self.configure()

        assert refusal.value.returncode == 1

    def test_accepts_the_opt_in_categories(self):
        BusinessFactory(name="Ada Books")

        document = json.loads(self.configure("--json", events="payment,refund,reversal,unapplied,settlement"))

        assert document["subscribed_events"] == ["payment", "refund", "reversal", "settlement", "unapplied"]

    def test_accepts_names_of_single_events(self):
        BusinessFactory(name="Ada Books")

        document = json.loads(self.configure("--json", events="payout,payment.failed"))

        assert document["subscribed_events"] == ["payment.failed", "payout"]

    def test_changes_the_first_of_several(self):
        first = make_endpoint(business=BusinessFactory(name="Ada Books"))
        second = make_endpoint(business=first.business, number=1, url="https://second.shop.com/")

        self.configure()

        first.refresh_from_db()
        assert (first.url, Endpoint.objects.get(pk=second.pk).url) == (URL, second.url)

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"url": "ftp://hooks.shop.com"}, "must be an http"),
            ({"events": "refunds"}, "no event or category refunds. Did you mean refund"),
            (
                {"events": "payment.succeeded"},
                "no event or category payment.succeeded. Did you mean payment.success",
            ),
            (
                {"events": "all"},
                "no event or category all. Subscribe to one or more of payment, payout, refund, reversal",
            ),
            ({"events": ","}, "Subscribe to one or more of payment, payout, refund, reversal"),
        ],
    )
    def test_rejects_invalid_settings(self, wrong, words):
        BusinessFactory(name="Ada Books")

        with pytest.raises(CommandError, match=words) as refusal:
            self.configure(**wrong)

        assert refusal.value.returncode == 2

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            (URL, ""),
            ("http://hooks.shop.com/sluice", "The address must begin with https:// and a host."),
            ("https://192.168.0.7/hooks", "The host must be a domain name, not an address."),
            ("https://hooks.shop.com:9000/", "The port must be 443 or 8443."),
            ("https://testserver.example/hooks", "The host must be a public domain name."),
        ],
    )
    def test_warns_in_the_sandbox_of_what_production_refuses(self, url, reason):
        BusinessFactory(name="Ada Books")
        printed, warned = io.StringIO(), io.StringIO()

        call_command(
            "configure_webhook", "--business", "Ada Books", "--url", url, "--events", "payment", "--json",
            stdout=printed, stderr=warned,
        )  # fmt: skip

        assert json.loads(printed.getvalue())["url"] == Endpoint.objects.get().url == url
        assert warned.getvalue() == (f"Production refuses this URL: {reason}\n" if reason else "")


@pytest.mark.django_db
class TestRotateHashKey:
    def test_prints_the_new_key(self):
        business = make_endpoint().business

        document = json.loads(run("rotate_hash_key", "--business", str(business.pk), "--json"))
        shown = run("rotate_hash_key", "--business", business.name)

        assert document["business"] == str(business.pk)
        assert document["hash_key"] not in {KEY, Endpoint.objects.get().hash_key}
        assert shown == f"New signing key (shown only once): {Endpoint.objects.get().hash_key}\n"

    def test_prints_the_secret_for_libraries_of_an_endpoint_that_uses_them(self):
        business = make_endpoint(standard_webhooks=True).business

        document = json.loads(run("rotate_hash_key", "--business", business.name, "--json"))
        shown = run("rotate_hash_key", "--business", business.name)

        assert document["standard_webhooks_secret"] == standard_secret(document["hash_key"])
        assert standard_secret(Endpoint.objects.get().hash_key) in shown

    def test_keeps_the_old_key_for_an_overlap(self):
        business = make_endpoint().business

        shown = run("rotate_hash_key", "--business", business.name, "--overlap", "72")

        assert "The old key also signs until" in shown
        assert Endpoint.objects.get().previous_hash_key == KEY

        run("rotate_hash_key", "--business", business.name)

        assert Endpoint.objects.get().previous_hash_key is None

    @pytest.mark.parametrize("hours", ["-1", "72.5", "nan"])
    def test_refuses_another_overlap(self, hours):
        business = make_endpoint().business

        code, words = refused("rotate_hash_key", "--business", business.name, "--overlap", hours)

        assert (code, Endpoint.objects.get().hash_key) == (2, KEY)
        assert "0 to 72" in words

    def test_rotates_the_first_of_several_unless_another_is_named(self):
        first = make_endpoint()
        second = make_endpoint(business=first.business, number=1, url="https://second.shop.com/")
        rotate = ("rotate_hash_key", "--business", first.business.name)

        run(*rotate)
        first.refresh_from_db()
        second.refresh_from_db()
        assert (first.hash_key == KEY, second.hash_key) == (False, KEY)

        run(*rotate, "--endpoint", str(second.public_id), "--overlap", "1")
        second.refresh_from_db()
        assert second.previous_hash_key == KEY

    @pytest.mark.parametrize("endpoint", ["first", "6b58f59a-3bc3-4622-acc6-5816f1e3f713"])
    def test_refuses_an_endpoint_that_the_business_does_not_have(self, endpoint):
        code, words = refused(
            "rotate_hash_key", "--business", make_endpoint().business.name, "--endpoint", endpoint
        )

        assert (code, Endpoint.objects.get().hash_key) == (2, KEY)
        assert "this business has no webhook endpoint with this id" in words

    def test_explains_what_to_do_without_an_endpoint(self):
        code, words = refused("rotate_hash_key", "--business", BusinessFactory().name)

        assert code == 1
        assert "see configure_webhook" in words


@pytest.mark.django_db
class TestReplayWebhooks:
    def replay(self, *arguments, business):
        return run("replay_webhooks", "--business", business.name, *arguments)

    def test_replays_the_dead_of_one_business(self):
        endpoint, other = make_endpoint(), make_endpoint()
        make_deliveries(endpoint, 3, state=STATES.DEAD)
        make_deliveries(other, 2, state=STATES.DEAD)

        printed = self.replay(business=endpoint.business)

        assert printed == "Replaying 3 deliveries.\n"
        assert Delivery.objects.filter(state=STATES.WAITING, is_manual=True).count() == 3

    def test_is_limited_to_an_endpoint(self):
        first = make_endpoint()
        second = make_endpoint(business=first.business, number=1, url="https://second.shop.com/")
        make_deliveries(first, 3, state=STATES.DEAD)
        make_deliveries(second, 2, state=STATES.DEAD)

        printed = self.replay("--endpoint", str(second.public_id), business=first.business)

        assert printed == "Replaying 2 deliveries.\n"
        assert not Delivery.objects.filter(state=STATES.WAITING, endpoint_number=0).exists()

    def test_takes_times_as_they_are_shown(self):
        """An event is created within a millisecond, which is what the API shows of it."""
        endpoint = make_endpoint()
        make_deliveries(endpoint, 1, state=STATES.DEAD, at=NOON + timedelta(microseconds=123_456))
        shown = "2026-01-01T12:00:05.123Z"

        for option in ("--since", "--until"):
            printed = self.replay(option, shown, "--dry-run", business=endpoint.business)
            assert printed == "Would replay 1 delivery.\n"

    def test_supports_a_dry_run(self):
        endpoint = make_endpoint()
        make_deliveries(endpoint, 3, state=STATES.DEAD)

        assert self.replay("--dry-run", business=endpoint.business) == "Would replay 3 deliveries.\n"
        assert Delivery.objects.filter(state=STATES.DEAD).count() == 3

    def test_accepts_a_range_a_state_and_an_event(self):
        endpoint = make_endpoint()
        for hour in range(5):
            make_deliveries(endpoint, 1, state=STATES.HELD, at=NOON + timedelta(hours=hour))

        printed = self.replay(
            "--state=held",
            "--event=payment.success",
            "--since=2026-01-01T14:00:05+01:00",
            "--until=2026-01-01T15:00:05Z",
            business=endpoint.business,
        )

        assert printed == "Replaying 3 deliveries.\n"

    @pytest.mark.parametrize(
        "moment",
        [
            "yesterday",
            "2026-01-31",
            "2026-01-31T00:00:00",
            "2026-13-01T00:00:00Z",
            "0001-01-01T00:00:00+05:00",
        ],
    )
    def test_rejects_a_time_without_an_offset(self, moment):
        business = make_endpoint().business

        code, words = refused("replay_webhooks", "--business", business.name, "--since", moment)

        assert code == 2
        assert "--since needs a time with a UTC offset, such as 2026-01-31T00:00:00Z." in words

    def test_fails_for_an_unknown_business(self):
        assert refused("replay_webhooks", "--business", "Unknown")[0] == 1


@pytest.fixture
def _same_signals():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_same_signals")
class TestDeliverWebhooks:
    def test_with_once_sends_what_is_due_and_ends(self):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            make_deliveries(make_endpoint(url=listener.url), 3, at=timezone.now() - timedelta(seconds=1))

            printed = run("deliver_webhooks", "--once")

        assert printed == "Made 3 attempts.\n"
        assert len(listener.requests) == 3
        assert gc.get_threshold()[0] == garbage_collection.YOUNG

    def test_ends_at_a_signal_after_the_request_in_flight(self):
        def receive(visit):
            visit.read()
            signal.raise_signal(signal.SIGTERM)
            visit.closing.wait(0.2)
            visit.send(servers.NO_CONTENT)

        with servers.opened(receive) as listener:
            make_deliveries(make_endpoint(url=listener.url), 1, at=timezone.now() - timedelta(seconds=1))

            printed = run("deliver_webhooks")

        assert printed == "Made 1 attempt.\n"
        assert Delivery.objects.get().state == STATES.DELIVERED

    def test_loads_no_api_pages_or_celery(self):
        """These modules would take half of the process's memory."""
        loaded = subprocess.run(
            [sys.executable, "-X", "importtime", "manage.py", "deliver_webhooks", "--help"],
            check=True,
            capture_output=True,
            text=True,
        ).stderr

        assert "webhooks.sending.dispatcher" in loaded
        others = ("celery", "kombu", "rest_framework", "django.contrib.admin")
        assert not [name for name in others if name in loaded]
