"""The collections for Postman and Bruno: what is in them. They need no database. `tests/client_packages` runs them."""

import io
import json
import re
import zipfile

import pytest
from sluice.cli.collections import BRUNO_FILE

from developer_site.collections.bruno import bruno_archive
from developer_site.collections.build import collection
from developer_site.collections.postman import postman_file
from kit.text.masking import split_card_numbers
from payments.rules.sandbox_triggers import TEST_CARDS
from payments.sandbox.scenario_representation import SCENARIO
from payments.sandbox.scenario_steps import GOOD_CARD
from payments.sandbox.scenarios import scenarios

POSTMAN, BRUNO = "/api/collections/postman.json", "/api/collections/bruno.zip"
METHODS = {"get", "post", "patch", "put", "delete"}
VARIABLE = re.compile(r"\{\{([\w.-]+)\}\}")


@pytest.fixture
def postman(client):
    return client.get(POSTMAN).json()


@pytest.fixture
def bruno(client):
    """The texts of the files by their names."""
    with zipfile.ZipFile(io.BytesIO(client.get(BRUNO).content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.fixture
def document(client):
    return client.get("/api/openapi.json").json()


def requests_in(folder):
    for item in folder["item"]:
        yield from requests_in(item) if "item" in item else [item]


def folder_of(postman, name):
    (found,) = (folder for folder in postman["item"] if folder["name"] == name)
    return found


def script_of(item, listen):
    return "\n".join(
        line
        for event in item.get("event", [])
        if event["listen"] == listen
        for line in event["script"]["exec"]
    )


def operations(document):
    for path, item in document["paths"].items():
        for method in METHODS & item.keys():
            yield method.upper(), path, item[method]


def as_pattern(path):
    return re.compile(re.escape("{{base_url}}") + re.sub(r"\\\{\w+\\\}", r"{{\\w+}}", re.escape(path)))


class TestBoth:
    @pytest.mark.parametrize("write", [postman_file, bruno_archive])
    def test_have_the_same_bytes_for_the_same_document(self, document, write):
        played = [SCENARIO.represent(each) for each in scenarios()]

        first, second = (write(collection(json.loads(json.dumps(document)), played)) for _ in range(2))

        assert first == second

    def test_contain_no_key_and_no_card_but_test_cards(self, postman, bruno):
        test_cards = {GOOD_CARD, *(card.number for card in TEST_CARDS)}
        for text in (json.dumps(postman), "\n".join(bruno.values())):
            assert not re.search(r"(pk|sk|whk)_[a-z]+_\w", text)
            assert set(split_card_numbers(text)[1]) <= test_cards

    def test_sign_by_the_same_logic(self, postman, bruno):
        in_postman = script_of(postman, "prerequest").partition("// Signs")[2]
        in_bruno = re.sub("(?m)^  ", "", bruno["collection.bru"]).partition("// Signs")[2]

        assert len(in_postman) > 1_000
        assert in_bruno.startswith(in_postman)

    def test_have_an_empty_secret_key_and_the_address_of_this_service(self, postman, bruno, document):
        variables = {each["key"]: each for each in postman["variable"]}
        address = document["servers"][0]["url"]

        assert variables["secret_key"] == {"key": "secret_key", "value": "", "type": "secret"}
        assert (variables["base_url"]["value"], variables["api_key"]["value"]) == (address, "")
        assert bruno["environments/Without-keys.bru"] == (
            f"vars {{\n  base_url: {address}\n  api_key:\n}}\n\nvars:secret [\n  secret_key\n]\n"
        )

    def test_say_in_each_folder_whether_its_requests_can_be_refused(self, postman, bruno):
        assert "In a run of the whole folder" in folder_of(postman, "Payments")["description"]
        assert "The folder Scenarios has the flows" in folder_of(postman, "Payments")["description"]
        assert "Before creates what" in folder_of(postman, "Payments")["description"]
        assert "Every request succeeds" in folder_of(postman, "Balance")["description"]
        assert "The folder Scenarios has the flows" in bruno["Payments/folder.bru"]

    def test_do_not_name_the_scenarios_without_them(self, document):
        folders = collection(document, ()).folders

        assert [folder.name for folder in folders if "Scenarios" in folder.text] == []

    def test_say_how_to_see_a_replay(self, postman, bruno):
        for text in (postman["info"]["description"], bruno["collection.bru"]):
            assert "Idempotent-Replayed: true" in text

    def test_have_a_first_value_for_each_variable_of_an_operation(self, postman, bruno):
        names = {each["key"] for each in postman["variable"]} | {"new_reference"}
        requests = [each["request"] for each in requests_in(postman)]
        used = {name for request in requests for name in VARIABLE.findall(json.dumps(request))}
        first = {each["key"] for each in postman["variable"] if each["value"]}

        assert used <= names
        assert all(f"\n  {name}: " in bruno["collection.bru"] for name in first)


class TestOperations:
    def test_stand_in_the_folder_of_their_tag_with_every_example(self, postman, document):
        for method, path, operation in operations(document):
            folder = folder_of(postman, operation["tags"][0])
            found = [
                item["request"]
                for item in folder["item"]
                if not item["name"].startswith("Before ")
                and item["request"]["method"] == method
                and as_pattern(path).fullmatch(item["request"]["url"]["raw"])
            ]
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            bodies = [example["value"] for example in content.get("examples", {}).values()]

            assert len(found) == max(len(bodies), 1), (method, path)
            for request, body in zip(found, bodies, strict=False):
                assert json.loads(request["body"]["raw"]).keys() == body.keys()

    def test_follow_the_requests_that_they_need(self, postman):
        names = [item["name"] for item in folder_of(postman, "Refunds")["item"]]
        refund = names.index("Refund a payment: To an account")

        assert names[refund - 3 : refund] == [
            "Before Refund a payment: To an account (create an account)",
            "Before Refund a payment: To an account (expect a transfer)",
            "Before Refund a payment: To an account (simulate the transfer)",
        ]

    def test_must_succeed_after_the_requests_that_they_need(self, postman):
        items = {item["name"]: item for item in folder_of(postman, "Payments")["item"]}

        capture = script_of(items["Capture an authorised card payment: A part"], "test")

        assert "pm.expect([200]).to.include(pm.response.code)" in capture

    def test_are_the_same_in_bruno(self, postman, bruno):
        in_bruno = {
            (found[1].upper(), found[2])
            for text in bruno.values()
            if (found := re.search(r"(?m)^(get|post|patch|put|delete) \{\n  url: (.+)$", text))
        }

        assert in_bruno == {
            (each["request"]["method"], each["request"]["url"]["raw"]) for each in requests_in(postman)
        }
        assert sum("\n  type: http\n" in text for text in bruno.values()) == len(list(requests_in(postman)))

    def test_show_the_responses_of_the_document(self, postman, bruno, document):
        item = next(each for each in requests_in(postman) if each["name"] == "Look up a refund")
        (described,) = (each for _, path, each in operations(document) if path == "/api/refunds/{reference}")
        shown = described["responses"]["200"]["content"]["application/json"]["examples"]

        assert [json.loads(each["body"]) for each in item["response"]] == [
            each["value"] for each in shown.values()
        ]
        assert "### 200 A part\n" in bruno["Refunds/Look up a refund.bru"].replace("\n  ", "\n")

    def test_send_no_optional_parameter(self, postman, bruno):
        item = next(each for each in requests_in(postman) if each["name"] == "List events")

        assert len(item["request"]["url"]["query"]) > 3
        assert all(parameter["disabled"] for parameter in item["request"]["url"]["query"])
        assert "\n  ~state: waiting\n" in bruno["Events/List events.bru"]

    def test_create_resources_with_new_references(self, postman):
        for item in requests_in(postman):
            raw = item["request"].get("body", {}).get("raw", "{}")
            if item["request"]["method"] == "POST" and "reference" in json.loads(raw):
                assert json.loads(raw)["reference"] == "{{new_reference}}", item["name"]

    def test_save_what_the_paths_of_others_use(self, postman, bruno):
        created = next(each for each in requests_in(postman) if each["name"].endswith(": Card payment"))
        listed = next(each for each in requests_in(postman) if each["name"] == "List events")

        assert 'set("payment_reference", answer.reference)' in script_of(created, "test")
        assert 'set("event_id", answer.data?.[0]?.event_id)' in script_of(listed, "test")
        kept = 'bru.getVar("event_id") || bru.getCollectionVar("event_id")'
        assert f"  event_id: res.body?.data?.[0]?.event_id || {kept}\n" in bruno["Events/List events.bru"]


class TestScenarios:
    def test_are_all_there_with_their_steps_in_order(self, postman, bruno):
        folders = folder_of(postman, "Scenarios")["item"]

        assert [folder["name"] for folder in folders] == [each.name for each in scenarios()]
        for folder, scenario in zip(folders, scenarios(), strict=True):
            steps = [f"{number} {step.id}" for number, step in enumerate(scenario.steps, start=1)]
            assert [item["name"] for item in folder["item"]] == steps
            for number, step in enumerate(steps, start=1):
                assert f"  seq: {number}\n" in bruno[f"Scenarios/{scenario.name}/{step}.bru"]

    def test_check_status_and_response_code(self, postman, bruno):
        folders = {folder["name"]: folder for folder in folder_of(postman, "Scenarios")["item"]}
        script = script_of(folders["payment.failed.20051"]["item"][0], "test")

        assert "pm.expect([201]).to.include(pm.response.code)" in script
        assert 'pm.expect(pm.response.json().status).to.equal("failed")' in script
        assert 'pm.expect(pm.response.json().response_code).to.equal("20051")' in script
        in_bruno = bruno["Scenarios/payment.failed.20051/1 pay.bru"]
        assert "  res.status: in 201\n  res.body.status: eq " in in_bruno
        assert '  res.body.response_code: eq "20051"\n' in in_bruno

    def test_answer_the_page_of_3d_secure_as_the_payer(self, postman, bruno):
        folders = {folder["name"]: folder for folder in folder_of(postman, "Scenarios")["item"]}
        pay, payer, _ = folders["payment.3ds.approved"]["item"]

        assert 'set("pay.redirect_link", answer.redirect_link)' in script_of(pay, "test")
        assert payer["request"]["url"]["raw"] == "{{pay.redirect_link}}"
        assert payer["request"]["body"]["mode"] == "urlencoded"
        assert payer["protocolProfileBehavior"] == {"followRedirects": False}
        in_bruno = bruno["Scenarios/payment.3ds.approved/2 payer.bru"]
        assert "url: {{pay.redirect_link}}\n  body: formUrlEncoded" in in_bruno
        assert "req.setMaxRedirects(0)" in in_bruno

    def test_are_left_out_in_production(self, client, settings):
        settings.SANDBOX = False

        postman = client.get(POSTMAN).json()

        assert "Scenarios" not in [folder["name"] for folder in postman["item"]]
        assert "Scenarios" not in postman["info"]["description"]


class TestAddresses:
    @pytest.mark.parametrize(
        ("address", "content_type", "file"),
        [
            (POSTMAN, "application/json", "sluice.postman_collection.json"),
            (BRUNO, "application/zip", "sluice-bruno.zip"),
        ],
    )
    def test_answer_everyone_with_a_file(self, client, address, content_type, file):
        answer = client.get(address, HTTP_ACCEPT=content_type)

        assert (answer.status_code, answer["Content-Type"]) == (200, content_type)
        assert answer["Content-Disposition"] == f'attachment; filename="{file}"'

    @pytest.mark.parametrize("address", [POSTMAN, BRUNO])
    def test_answer_304_if_nothing_changed(self, client, address):
        etag = client.get(address)["ETag"]

        answer = client.get(address, HTTP_IF_NONE_MATCH=f'"other", {etag}')

        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", etag)
        assert client.get(address, HTTP_IF_NONE_MATCH='"other"').status_code == 200

    @pytest.mark.parametrize("address", [POSTMAN, BRUNO])
    def test_answer_405_to_a_post(self, client, address):
        assert client.post(address).json()["code"] == "method_not_allowed"


def test_files_of_bruno_have_names_that_every_file_system_takes(bruno):
    assert len({name.casefold() for name in bruno}) == len(bruno)
    assert not [name for name in bruno if re.search(r'[<>:"\\|?*]|[. ](/|$)', name)]


def test_names_of_files_are_those_that_the_client_writes(bruno):
    assert [name for name in bruno if not BRUNO_FILE.fullmatch(name)] == []
