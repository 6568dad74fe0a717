import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from merchants.models import ApiKey, AuditEntry, Business, Member, User
from tests.clients import Credentials, InProcessClient


def run(*arguments):
    printed = io.StringIO()
    call_command(*arguments, stdout=printed)
    return printed.getvalue()


def refused(*arguments):
    """Return the exit code of a command that fails."""
    with pytest.raises(CommandError) as refusal:
        run(*arguments)
    return refusal.value.returncode


@pytest.mark.parametrize("command", ["create_business", "list_businesses", "rotate_api_key", "sign_request"])
class TestHelp:
    def test_has_an_example_and_exits_with_0(self, command, capsys):
        with pytest.raises(SystemExit) as end:
            call_command(command, "--help")

        shown = " ".join(capsys.readouterr().out.split())
        assert end.value.code == 0
        assert f"Example: manage.py {command} " in shown


@pytest.mark.django_db
class TestCreateBusiness:
    def create(self, *arguments):
        return run("create_business", "--name", "Ada Books", "--email", "Ada@Example.com", *arguments)

    def test_prints_a_document_that_signs(self):
        document = json.loads(self.create("--json"))

        api = InProcessClient(Credentials(document["api_key"], document["secret_key"]))
        assert api.get("/api/banks").status_code == 200
        assert document["business"] == str(Business.objects.get().pk)
        assert document["email"] == "ada@example.com"

    def test_creates_an_owner_who_can_sign_in(self):
        document = json.loads(self.create("--json"))

        owner = User.objects.get()
        assert owner.check_password(document["password"])
        assert Member.objects.get(user=owner).role == Member.Role.OWNER
        assert not owner.is_staff

    def test_prints_no_password_for_an_existing_user(self):
        self.create()

        document = json.loads(self.create("--allow-duplicate", "--json"))

        assert document["password"] is None
        assert User.objects.count() == 1

    def test_refuses_a_second_business_of_the_same_name(self):
        first = json.loads(self.create("--json"))

        with pytest.raises(CommandError, match=first["business"]) as refusal:
            run("create_business", "--name", " Ada Books ", "--email", "other@example.com")

        assert refusal.value.returncode == 2
        assert Business.objects.count() == User.objects.count() == 1
        self.create("--allow-duplicate")
        assert Business.objects.count() == 2

    def test_prints_that_secrets_are_shown_once(self):
        assert "not shown again" in self.create()

    def test_is_in_the_audit_trail_without_secrets(self):
        document = json.loads(self.create("--json"))

        audited = str(list(AuditEntry.objects.values()))
        assert "business.created" in audited
        assert document["secret_key"] not in audited
        assert document["password"] not in audited

    @pytest.mark.parametrize(
        ("name", "email"),
        [
            ("", "ada@example.com"),
            ("  ", "ada@example.com"),
            ("x" * 201, "ada@example.com"),
            ("Ada", ""),
            ("Ada", "ada"),
            ("Ada", "a da@example.com"),
            ("Ada", "a" * 60 + "@" + ".".join(["b" * 60] * 4) + ".example"),
        ],
    )
    def test_rejects_an_invalid_name_or_address(self, name, email):
        assert refused("create_business", "--name", name, "--email", email) == 2
        assert not Business.objects.exists()


@pytest.mark.django_db
class TestListBusinesses:
    def test_lists_ids_and_names_oldest_first(self):
        opened = [
            json.loads(run("create_business", "--name", name, "--email", "ada@example.com", "--json"))
            for name in ("Ada Books", "Bisi Bikes")
        ]

        listed = json.loads(run("list_businesses", "--json"))["data"]

        assert [(each["business"], each["name"]) for each in listed] == [
            (each["business"], each["business_name"]) for each in opened
        ]
        assert opened[0]["business"] in run("list_businesses", "--name", "Ada Books")
        assert opened[1]["business"] not in run("list_businesses", "--name", "Ada Books")

    def test_says_how_to_create_the_first_one(self):
        assert "create_business" in run("list_businesses")


@pytest.mark.django_db
class TestRotateApiKey:
    def test_prints_a_new_pair_that_signs_and_ends_the_old_one(self, api, ada):
        document = json.loads(
            run("rotate_api_key", "--business", str(ada.business_id), "--overlap", "0", "--json")
        )

        new = InProcessClient(Credentials(document["api_key"], document["secret_key"]))
        assert new.get("/api/banks").status_code == 200
        assert api.get("/api/banks").json()["code"] == "unknown_key"
        assert document["older_keys_end_at"].endswith("Z")

    def test_finds_a_business_by_name_and_keeps_the_old_pair_for_a_day(self, api, ada):
        shown = run("rotate_api_key", "--business", "Ada Books")

        assert "shown only once" in shown
        assert api.get("/api/banks").status_code == 200

    @pytest.mark.parametrize("business", ["Unknown", "0b8f6a54-7d39-4f1c-9b2e-6c1f0e5a7d21", ""])
    def test_fails_for_an_unknown_business(self, ada, business):
        assert refused("rotate_api_key", "--business", business) == 1

    def test_fails_for_an_ambiguous_name(self, ada):
        Business.objects.create(name="Ada Books")

        assert refused("rotate_api_key", "--business", "Ada Books") == 1
        assert ApiKey.objects.count() == 1

    @pytest.mark.parametrize("overlap", ["-1", "8761", "nan", "inf"])
    def test_rejects_an_invalid_overlap(self, ada, overlap):
        assert refused("rotate_api_key", "--business", "Ada Books", f"--overlap={overlap}") == 2
        assert ApiKey.objects.count() == 1
