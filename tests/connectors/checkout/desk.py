"""The issuer's side at the simulated Checkout.com."""

from django.db.models import F
from django.test import Client as HttpClient
from django.utils import timezone

from connectors.services import event_processing
from disputes.models import AnswerSending, CaseQuery
from disputes.services.rails import answers_sent, cases
from disputes.services.rails.answers_sent import SETTLES_IN
from tests.connectors.provider_webhooks import CHECKOUT


class Desk:
    """The issuer's side at the simulator, and the webhooks of Checkout.com on their way to us."""

    def __init__(self, simulator, inbox):
        self.simulator, self.inbox = simulator, inbox

    def open(self, payment, **wishes):
        """Dispute a payment, and return the number of the case."""
        found = self.simulator.account.payments[payment.acquirer_reference]
        return self.simulator.disputes.open(found, **wishes).id

    def case(self):
        [case] = self.simulator.account.disputes.values()
        return case

    def deliver(self):
        """Send our endpoint what is due, and process it."""
        assert set(self.receive()) <= {200}
        self.process()

    def receive(self, *, shuffle=None):
        """Send our endpoint what is due, in any order if told so, and return the statuses of its answers."""
        self.simulator.deliver(shuffle=shuffle)
        statuses = [
            HttpClient().post(CHECKOUT, body, content_type="application/json", headers=headers).status_code
            for _, headers, body in self.inbox.received
        ]
        self.inbox.received.clear()
        return statuses

    def process(self):
        event_processing.process_due()
        cases.query_due()

    def send(self):
        """Send the answers that are due."""
        AnswerSending.objects.exclude(next_at=None).update(next_at=timezone.now())
        answers_sent.send_due()

    def let_settle(self):
        """Let the time pass after which an answer that isn't shown is sent again."""
        AnswerSending.objects.update(sent_at=F("sent_at") - SETTLES_IN)
        self.send()

    def look_again(self):
        """Query everything that is queried on a schedule, as if its time had come."""
        CaseQuery.objects.exclude(next_at=None).update(next_at=timezone.now())
        cases.query_due()
