"""Saved views of lists."""

import pytest
from django.db import connection

from dashboard.models import SavedView
from dashboard.saved_views.services import MOST, save
from tests.addresses import MEMBERS, RULES
from tests.racing import racers

pytestmark = pytest.mark.django_db

SAVE = "/dashboard/views/"


def saved(browser, *, name="Failed this week", query="status=failed&period=7d", **changes):
    return browser.post(SAVE, {"list": "payments", "name": name, "query": query, **changes})


def test_a_saved_view_is_listed_and_opens_the_list_with_its_filters(browser, ada):
    answer = saved(browser, query="?status=failed&period=7d&before=x")

    assert answer["Location"] == "/dashboard/payments/?status=failed&period=7d"
    page = browser.get(answer["Location"])
    assert page.context["views"].here.name == "Failed this week"
    assert "Failed this week" in browser.get("/dashboard/payments/").content.decode()
    assert "Failed this week" not in browser.get("/dashboard/payouts/").content.decode()


def test_a_name_is_escaped_and_replaces_the_view_of_the_same_name(browser, ada):
    for query in ("status=failed", "status=pending"):
        saved(browser, name="<script>alert(1)</script>", query=query)

    assert SavedView.objects.get().query == "status=pending"
    assert "<script>alert" not in browser.get("/dashboard/payments/").content.decode()


def test_a_card_number_is_not_stored(browser, ada):
    saved(browser, query="q=4084084084084081")

    assert "4084084084084081" not in SavedView.objects.get().query


def test_rename_and_delete(browser, ada):
    saved(browser)
    saved(browser, name="Other")
    view = SavedView.objects.get(name="Other")

    taken = browser.post(f"{SAVE}{view.pk}/", {"name": "Failed this week"})
    browser.post(f"{SAVE}{view.pk}/", {"name": "Renamed"})

    assert "Another view of this list has this name." in taken.content.decode()
    assert set(SavedView.objects.values_list("name", flat=True)) == {"Failed this week", "Renamed"}
    browser.post(f"{SAVE}{view.pk}/", {"action": "delete"})
    assert not SavedView.objects.filter(pk=view.pk).exists()


@pytest.mark.parametrize(
    "changes", [{"name": ""}, {"name": "x" * 61}, {"query": "x" * 2001}, {"query": f"q={'é' * 400}"}]
)
def test_invalid_values_save_nothing(browser, ada, changes):
    assert saved(browser, **changes).status_code == 302
    assert not SavedView.objects.exists()


def test_only_known_lists_have_views(browser, ada):
    assert saved(browser, list="//evil.example").status_code == 404


def test_every_list_that_offers_views_saves_them(browser, ada):
    pages = [f"/{route}" for route in MEMBERS if "<" not in route and RULES[route].readers]
    offered = {page: (browser.get(page).context or {}).get("views") for page in pages}

    addresses = {
        page: saved(browser, list=views.list, query="q=1")["Location"]
        for page, views in offered.items()
        if views
    }

    assert "/dashboard/disputes/" in addresses
    assert addresses == {page: f"{page}?q=1" for page in addresses}


def test_a_member_has_a_limited_number(browser, ada):
    for number in range(MOST + 1):
        saved(browser, name=f"View {number}")

    assert SavedView.objects.count() == MOST


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_the_limit_holds_for_simultaneous_requests(ada_member):
    for number in range(MOST - 1):
        save(ada_member, listed="payments", name=f"View {number}", query="")

    with racers(4) as race:
        race.race(
            *(
                lambda each=each: save(ada_member, listed="payments", name=f"New {each}", query="")
                for each in range(4)
            )
        )

    assert SavedView.objects.count() == MOST
