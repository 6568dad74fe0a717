from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.api.api_keys import create_key, revoke_key, rotate_keys
from merchants.models import ApiKey, AuditEntry
from merchants.people.audit import Actor

ADA = Actor(name="ada@example.com", address="203.0.113.7")


@pytest.fixture
def now(db):
    return timezone.now()


class TestCreateKey:
    def test_creates_a_pair_for_its_environment(self, ada, now):
        key = create_key(business=ada.business, actor=ADA, now=now, name="checkout")

        assert key.public_id.startswith("pk_sandbox_")
        assert key.secret.startswith("sk_sandbox_")
        assert len(key.secret) >= 43

    def test_creates_a_live_pair_in_production(self, ada, now, settings):
        settings.SANDBOX = False

        key = create_key(business=ada.business, actor=ADA, now=now)

        assert key.public_id.startswith("pk_live_")
        assert key.secret.startswith("sk_live_")

    def test_creates_unique_keys(self, ada, now):
        keys = [create_key(business=ada.business, actor=ADA, now=now) for _ in range(20)]

        assert len({key.public_id for key in keys}) == len({key.secret for key in keys}) == 20

    def test_is_audited_without_the_secret(self, ada, now):
        key = create_key(business=ada.business, actor=ADA, now=now, name="checkout")

        entry = AuditEntry.objects.get(action="api_key.created")
        assert (entry.actor, entry.address, entry.target) == (ADA.name, ADA.address, key.public_id)
        assert entry.after == {"name": "checkout", "access": "full"}
        assert key.secret not in str(vars(entry))


class TestRotateKeys:
    def rotate(self, ada, now, **overlap):
        return rotate_keys(business=ada.business, overlap=timedelta(**overlap), actor=ADA, now=now)

    def test_keeps_the_older_key_for_the_overlap(self, ada, now):
        new = self.rotate(ada, now, hours=2)

        ada.refresh_from_db()
        assert ada.expires_at == now + timedelta(hours=2)
        assert new.expires_at is None
        assert ada.is_usable(at=now + timedelta(minutes=119))
        assert not ada.is_usable(at=now + timedelta(minutes=120))

    def test_ends_the_older_key_at_once_without_overlap(self, ada, now):
        self.rotate(ada, now)

        ada.refresh_from_db()
        assert not ada.is_usable(at=now)

    def test_does_not_extend_the_lifetime_of_a_key(self, ada, now):
        ada.expires_at = now + timedelta(hours=1)
        ada.save()

        self.rotate(ada, now, hours=2)

        ada.refresh_from_db()
        assert ada.expires_at == now + timedelta(hours=1)

    def test_ends_keys_of_an_inactive_business(self, ada, now):
        ada.business.is_active = False
        ada.business.save()

        self.rotate(ada, now)

        ada.refresh_from_db()
        assert ada.expires_at == now

    def test_does_not_affect_other_businesses(self, ada, bisi, now):
        self.rotate(ada, now)

        bisi.refresh_from_db()
        assert bisi.expires_at is None

    def test_audits_the_values_before_and_after(self, ada, now):
        self.rotate(ada, now, hours=2)

        entry = AuditEntry.objects.get(action="api_key.expiry_set")
        assert entry.before == {"expires_at": None}
        assert entry.after == {"expires_at": (now + timedelta(hours=2)).isoformat()}


class TestRevokeKey:
    def test_ends_the_key_and_is_audited_once(self, ada, now):
        for _ in range(2):
            revoke_key(key=ada, actor=ADA, now=now)

        ada.refresh_from_db()
        assert ada.revoked_at == now
        assert not ApiKey.objects.usable(at=now).filter(pk=ada.pk).exists()
        assert AuditEntry.objects.filter(action="api_key.revoked").count() == 1
