"""On PostgreSQL, triggers enforce the checks of tables that each payment writes, as CHECK constraints would."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import CheckConstraint

from kit.db.triggered_checks import TriggeredCheck
from ledger.models import Account
from tests.factories import BusinessFactory

ON_POSTGRESQL = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has the CHECK")
NAME = "house_accounts_have_no_business"
CHECK = next(each for each in Account._meta.constraints if each.name == NAME)


def make_invalid_account():
    with transaction.atomic():
        Account.objects.create(business=BusinessFactory(), currency="NGN", kind=Account.Kind.SUSPENSE)


@pytest.mark.django_db
def test_refuses_an_invalid_row():
    with pytest.raises(IntegrityError, match=NAME):
        make_invalid_account()


@ON_POSTGRESQL
@pytest.mark.django_db
def test_error_names_the_constraint_as_that_of_a_check_does():
    with pytest.raises(IntegrityError) as raised:
        make_invalid_account()

    found = raised.value.__cause__.diag
    assert (found.sqlstate, found.table_name, found.constraint_name) == ("23514", "ledger_account", NAME)


@ON_POSTGRESQL
@pytest.mark.django_db
def test_is_evaluated_only_if_one_of_its_columns_is_written():
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgattr::text FROM pg_trigger WHERE tgname = %s", [f"written_{NAME}"])
        [(numbers,)] = cursor.fetchall()
        cursor.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'ledger_account'::regclass AND attnum = ANY(%s)",
            [list(map(int, numbers.split()))],
        )
        assert {name for (name,) in cursor.fetchall()} == {"business_id", "kind"}


@ON_POSTGRESQL
@pytest.mark.django_db
def test_can_be_removed_and_added():
    with connection.schema_editor() as editor:
        editor.remove_constraint(Account, CHECK)
    make_invalid_account()

    with connection.schema_editor() as editor:
        editor.add_constraint(Account, CHECK)
    with pytest.raises(IntegrityError, match=NAME):
        make_invalid_account()


def test_replaces_a_check_in_migrations():
    assert CheckConstraint(condition=CHECK.condition, name=NAME) != CHECK
    assert TriggeredCheck(condition=CHECK.condition, name=NAME) == CHECK
