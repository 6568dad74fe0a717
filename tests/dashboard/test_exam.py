"""The page of the receiver exam."""

import re

import pytest
from django.utils import timezone

from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.webhooks.rows import make_endpoint
from webhooks.exams import exams
from webhooks.exams.exam import PROBES, ExamAnswer
from webhooks.exams.exam_records import QUEUE, Exam

pytestmark = pytest.mark.django_db

PAGE = "/dashboard/webhooks/exam/"
WEBHOOKS = "/dashboard/webhooks/"


@pytest.fixture
def endpoint(ada):
    return make_endpoint(business=ada.business)


def text_of(answer):
    assert answer.status_code == 200
    return answer.content.decode()


def results_in(page):
    return dict(re.findall(r'data-probe="(\w+)" data-result="(\w+)"', page))


def finish(exam, status):
    answers = {request.number: ExamAnswer(status, "", 3.0) for request in exam.all_requests}
    exams.finish(exam.pk, answers, now=timezone.now())


def test_is_reached_from_the_webhooks_page(browser, endpoint):
    page = text_of(browser.get(WEBHOOKS))

    assert re.search(rf'action="{PAGE}">.*Examine my receiver</button>', page, re.DOTALL)


def test_warns_before_the_button_that_no_such_payment_exists(browser, endpoint):
    page = text_of(browser.get(PAGE))

    warning, button = (
        page.index("The payments in these events don't exist."),
        page.index("Examine my receiver</button>"),
    )
    assert "the API answers 404" in page
    assert warning < button
    assert "data-exam" not in page


def test_is_of_the_endpoint_that_the_address_names(browser, endpoint, ada):
    second = make_endpoint(business=ada.business, number=1, url="http://127.0.0.1:9/second")

    page = text_of(browser.get(f"{PAGE}?endpoint={second.public_id}"))
    browser.post(PAGE, {"endpoint": second.public_id})

    assert second.url in page
    assert Exam.objects.get().endpoint_number == 1


def test_starts_an_exam_and_shows_it_without_javascript(browser, endpoint):
    page = text_of(browser.post(PAGE, follow=True))

    assert 'data-exam="running"' in page
    assert results_in(page) == {probe.name: "not_run" for probe in PROBES}
    assert page.count('status--waiting">Waiting<') == len(PROBES)
    assert '<noscript><p class="muted">Reload the page' in page
    assert re.search(r'<h2 id="result">Exam of <time[^>]*>\d+ \w+', page)

    finish(Exam.objects.get(), 204)
    page = text_of(browser.get(PAGE))

    assert 'data-exam="failed"' in page
    assert "Waiting" not in page
    assert "Reload the page" not in page
    assert results_in(page)["genuine"] == "passed"
    assert results_in(page)["wrong_key"] == "failed"
    assert "Your receiver answered 204: it accepted a signature made with another key." in page
    assert 'href="/docs/webhooks#verify-the-signature"' in page
    assert "X-Service-Idempotency-Key: " in page


def test_shows_the_request_of_a_chosen_probe(browser, endpoint):
    browser.post(PAGE)
    exam = Exam.objects.get()
    finish(exam, 204)

    link = f"?id={exam.pk}&amp;probe=genuine#probe-genuine"
    page = text_of(browser.get(PAGE))
    chosen = text_of(browser.get(f"{PAGE}?id={exam.pk}&probe=genuine"))

    assert link in page
    assert link not in chosen
    assert page.count("X-Service-Idempotency-Key: ") == chosen.count("X-Service-Idempotency-Key: ") == 1
    assert browser.get(f"{PAGE}?id={exam.pk}&probe=none").status_code == 200


def test_polls_while_an_exam_is_running(browser, endpoint):
    browser.post(PAGE)

    page, part = text_of(browser.get(PAGE)), text_of(browser.get(PAGE, headers={"HX-Request": "true"}))

    assert 'data-poll="2"' in page
    assert 'data-exam="running"' in part
    assert "<html" not in part
    finish(Exam.objects.get(), 204)
    assert "data-poll" not in text_of(browser.get(PAGE))


@pytest.mark.parametrize("names", [[], ["id"]])
def test_ends_an_overdue_exam(browser, endpoint, names):
    browser.post(PAGE)
    exam = Exam.objects.get()
    Exam.objects.update(created_at=timezone.now() - QUEUE)

    page = browser.get(PAGE, dict.fromkeys(names, exam.pk)).content.decode()

    assert 'data-exam="failed"' in page
    assert Exam.objects.get().state == "failed"


def test_says_why_an_exam_does_not_start(browser, endpoint):
    browser.post(PAGE)

    assert "Another exam is running." in text_of(browser.post(PAGE, follow=True))


def test_explains_the_exam_where_there_is_no_endpoint(browser, ada):
    page = text_of(browser.get(PAGE))

    assert "Save a webhook URL first." in page
    assert "Examine my receiver</button>" not in page
    assert "Save a webhook URL first." in text_of(browser.post(PAGE, follow=True))


def test_limits_exams(browser, endpoint, monkeypatch):
    monkeypatch.setattr(exams, "EXAMS", exams.Limit("exams", 0, exams.EXAMS.window))

    assert "Too many exams in an hour." in text_of(browser.post(PAGE, follow=True))
    assert not Exam.objects.exists()


def test_asks_what_the_exam_cannot_see(browser, endpoint):
    browser.post(PAGE)
    exam = Exam.objects.get()
    finish(exam, 204)
    assert exam.question in text_of(browser.get(PAGE))

    page = text_of(browser.post(f"{PAGE}{exam.pk}/acted/", {"acted": "more"}, follow=True))

    exam.refresh_from_db()
    assert (exam.acted, exam.state) == ("more", "failed")
    assert "Answer saved." in page
    assert "store the event ID in a unique column" in page
    page = text_of(browser.post(f"{PAGE}{exam.pk}/acted/", {"acted": "0"}, follow=True))
    assert "The name of this one is <code>payment.success</code>." in page
    assert "Choose one of the answers." in text_of(
        browser.post(f"{PAGE}{exam.pk}/acted/", {"acted": "often"}, follow=True)
    )


def test_asks_nothing_if_the_duplicate_was_not_sent(browser, endpoint):
    browser.post(PAGE)
    exam = Exam.objects.get()
    genuine = [each.number for each in exam.all_requests if each.probe == "genuine"]
    exams.finish(exam.pk, {number: ExamAnswer(500, "", 3.0) for number in genuine}, now=timezone.now())

    page = text_of(browser.get(PAGE))

    assert results_in(page)["duplicate"] == "not_run"
    assert exam.question not in page
    assert "Waiting" not in page


def test_shows_earlier_exams_of_the_business_only(browser, other_browser, endpoint):
    browser.post(PAGE)
    first = Exam.objects.get()
    finish(first, 400)
    browser.post(PAGE)

    assert 'data-exam="failed"' in text_of(browser.get(PAGE, {"id": str(first.pk)}))
    assert other_browser.get(PAGE, {"id": str(first.pk)}).status_code == 404
    assert other_browser.post(f"{PAGE}{first.pk}/acted/", {"acted": "1"}).status_code == 404
    assert browser.get(PAGE, {"id": "first"}).status_code == 404


def test_is_started_by_owners_and_developers_only(ada, endpoint):
    for role, status in {"owner": 302, "developer": 302, "finance": 403, "viewer": 403}.items():
        Exam.objects.all().delete()
        client = signed_in(MemberFactory(business=ada.business, role=role).user)

        assert client.post(PAGE).status_code == status, role
        assert ("Examine my receiver</button>" in text_of(client.get(PAGE))) == (status == 302), role
        assert ("Examine my receiver</button>" in text_of(client.get(WEBHOOKS))) == (status == 302), role


def test_is_for_the_sandbox_only(browser, endpoint, settings):
    settings.SANDBOX = False

    assert browser.get(PAGE).status_code == browser.post(PAGE).status_code == 404
    assert "Examine my receiver" not in text_of(browser.get(WEBHOOKS))
