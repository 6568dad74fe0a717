import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from merchants.models import AuditEntry
from merchants.people.audit import Actor, record


@pytest.mark.django_db
class TestAuditTrail:
    @pytest.fixture(autouse=True)
    def _entry(self, ada):
        record(action="tested", actor=Actor(name="test"), business=ada.business, now=timezone.now())

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE merchants_auditentry SET actor = 'unknown'",
            "UPDATE merchants_auditentry SET at = at",
            "DELETE FROM merchants_auditentry",
        ],
    )
    def test_rejects_changes_by_raw_sql(self, statement):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            connection.cursor().execute(statement)

        assert AuditEntry.objects.get().actor == "test"

    def test_rejects_changes_by_the_orm(self):
        entry = AuditEntry.objects.get()

        for change in (entry.save, entry.delete):
            with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
                change()
