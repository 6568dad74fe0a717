import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import FieldError
from django.db import connection

from kit.db.encrypted_field import UnreadableSecret
from merchants.models import ApiKey


def stored_token(key):
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM merchants_apikey WHERE id = %s", [key.pk])
        return cursor.fetchone()[0]


@pytest.fixture
def other_key():
    return Fernet.generate_key().decode()


@pytest.mark.django_db
class TestEncryptedTextField:
    def test_is_plain_text_in_python_and_a_token_in_the_database(self, ada):
        token = stored_token(ada)

        assert token.startswith("gAAAA")
        assert ada.secret not in token
        assert ApiKey.objects.get().secret == ada.secret

    def test_is_another_token_each_time(self, ada):
        before = stored_token(ada)

        ada.save()

        assert stored_token(ada) != before

    def test_raises_if_its_key_is_missing(self, ada, settings, other_key):
        settings.FIELD_ENCRYPTION_KEYS = [other_key]

        with pytest.raises(UnreadableSecret) as refusal:
            ApiKey.objects.get()

        assert stored_token(ada) not in str(refusal.value)
        assert refusal.value.__cause__ is None

    def test_is_readable_after_a_rotation(self, ada, settings, other_key):
        settings.FIELD_ENCRYPTION_KEYS = [other_key, *settings.FIELD_ENCRYPTION_KEYS]

        assert ApiKey.objects.get().secret == ada.secret

    def test_is_written_with_the_first_key(self, ada, settings, other_key):
        settings.FIELD_ENCRYPTION_KEYS = [other_key, *settings.FIELD_ENCRYPTION_KEYS]
        ada.save()

        settings.FIELD_ENCRYPTION_KEYS = [other_key]

        assert ApiKey.objects.get().secret == ada.secret

    @pytest.mark.parametrize(
        "lookup", ["secret", "secret__in", "secret__startswith", "secret__gt", "secret__regex"]
    )
    def test_cannot_be_searched(self, ada, lookup):
        with pytest.raises(FieldError, match="encrypted"):
            ApiKey.objects.filter(**{lookup: ada.secret}).exists()

    def test_supports_isnull(self, ada):
        assert ApiKey.objects.filter(secret__isnull=False).exists()
