"""The credentials of addresses are in no log, trace or bundle, in any spelling."""

import pytest

from config.logging.log_masking import mask_event
from config.logging.secret_places import SECRET_PLACES
from config.logging.tracing import UNTRACED
from operations.support_bundle_redaction import foreign

TOKEN = "kestrel-tok_2"


@pytest.mark.parametrize("place", SECRET_PLACES)
class TestSecretPlaces:
    def test_are_masked_in_logs_and_bundles(self, subtests, place):
        for slash in ["/", "%2F", "%2f", "%252F"]:
            with subtests.test(slash=slash):
                address = f"{place}{TOKEN}".replace("/", slash)
                line = f'GET /dashboard/login/?next={address} "-" 200'

                logged = mask_event(None, "info", {"event": line, "referer": address})

                assert TOKEN not in str(logged)
                assert TOKEN not in foreign(line)

    def test_are_masked_in_messages_of_django(self, place):
        event = {"logger": "django.security.csrf", "event": f"Forbidden (CSRF): {place}a {TOKEN}"}

        assert TOKEN not in str(mask_event(None, "warning", event))

    def test_are_not_traced(self, place):
        assert place in UNTRACED
