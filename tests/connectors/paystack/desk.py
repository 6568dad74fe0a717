"""The cardholder's bank at the simulated Paystack."""

from django.test import Client
from django.utils import timezone

from connectors.services import event_processing
from disputes.models import AnswerSending, CaseQuery
from disputes.services.rails import answers_sent, cases


class Desk:
    """The cardholder's bank at the simulator, and the webhooks of Paystack on their way to us."""

    def __init__(self, paystack, payment):
        self.paystack, self.payment = paystack, payment

    def open(self, **wishes):
        self.paystack.command(dispute={"reference": self.payment.pk.hex, **wishes})

    def case(self):
        [case] = self.paystack.simulator.integration.tables.disputes.values()
        return case

    def decide(self, resolution):
        self.paystack.command(decide={"id": self.case().id, "resolution": resolution})

    def deliver(self):
        self.paystack.deliver(Client())
        cases.query_due()
        event_processing.process_due()

    def send(self):
        """Send the answers that are due."""
        AnswerSending.objects.exclude(next_at=None).update(next_at=timezone.now())
        answers_sent.send_due()

    def look_again(self):
        """Query everything that is queried on a schedule, as if its time had come."""
        CaseQuery.objects.exclude(next_at=None).update(next_at=timezone.now())
        cases.query_due()
