"""Exams of receivers, with their requests and answers."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q

from merchants.models import Business
from webhooks.exams.exam import SECONDS, Answers, ExamAnswer, ExamRequest, Manner, ProbeResult, judge
from webhooks.exams.exam_requests import reference_of

KEPT = 20  # per business
KEPT_DAYS = 30
DUPLICATE = "duplicate"  # the probe that the question is about
GRACE = timedelta(seconds=30)  # for the last answers to be recorded
QUEUE = timedelta(minutes=10)  # an exam that no worker has begun by then is over


class Exam(models.Model):
    """An exam of a business's receiver. At most one per business is running."""

    class Target(models.TextChoices):
        ENDPOINT = "endpoint"  # the service sends the requests
        CLIENT = "client"  # the merchant's own tool sends them, signed with the key of a listener

    class State(models.TextChoices):
        RUNNING = "running"
        PASSED = "passed"
        FAILED = "failed"

    class Acted(models.TextChoices):
        """How often the merchant's system acted upon the duplicate, as the merchant says."""

        NEVER = "0"
        ONCE = "1"
        MORE = "more"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="+", db_index=False)
    target = models.CharField(max_length=8, choices=Target.choices)
    endpoint_number = models.IntegerField(default=0, db_default=0)  # of the endpoint, within the business
    listener = models.CharField(max_length=64, blank=True)
    tag = models.CharField(max_length=8)  # in the references of its events
    requests = models.JSONField()
    answers = models.JSONField(default=dict)  # by the request's number
    state = models.CharField(max_length=7, choices=State.choices, default=State.RUNNING)
    acted = models.CharField(max_length=4, choices=Acted.choices, blank=True)
    created_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True)  # null until a worker sends its requests
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["business"], condition=Q(state="running"), name="one_running_exam_per_business"
            ),
            models.CheckConstraint(
                condition=Q(state="running", finished_at__isnull=True)
                | Q(state__in=["passed", "failed"], finished_at__isnull=False),
                name="finished_exams_have_finished_at",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["business", "-created_at"], name="exams_newest_first"),
            models.Index(fields=["created_at"], name="exams_oldest_first"),
        ]

    def __str__(self) -> str:
        return f"exam {self.tag}"

    @property
    def question(self) -> str:
        return f"How often did your system act upon {reference_of(self.tag, DUPLICATE)}?"

    @property
    def duplicate_event(self) -> str:
        """Return the name of the event that the question is about."""
        return self.all_requests[0].headers["X-Service-Event"]

    @property
    def asks(self) -> bool:
        """Return whether there is something to ask: the receiver was sent the duplicate."""
        return any(each.probe.name == DUPLICATE and each.answer for each in self.results)

    @property
    def is_running(self) -> bool:
        return self.state == self.State.RUNNING

    @property
    def all_requests(self) -> list[ExamRequest]:
        return [ExamRequest(**each | {"manner": Manner(each["manner"])}) for each in self.requests]

    @property
    def all_answers(self) -> Answers:
        return {int(number): ExamAnswer(*answer) for number, answer in self.answers.items()}

    @property
    def results(self) -> list[ProbeResult]:
        return judge(self.all_requests, self.all_answers, is_over=not self.is_running)

    def ends_at(self) -> datetime:
        """Return when a running exam is given up."""
        if self.begun_at is None:
            return self.created_at + QUEUE
        return self.begun_at + timedelta(seconds=SECONDS) + GRACE
