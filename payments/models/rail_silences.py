"""Rails that do not answer at the moment."""

from typing import ClassVar

from django.db import models


class RailSilence(models.Model):
    """A rail whose last question, when it was asked again about unknown outcomes, went unanswered.

    The row is deleted when the rail answers.
    """

    lane = models.CharField(max_length=40, primary_key=True)  # "bank:http"
    since = models.DateTimeField()
    probed_at = models.DateTimeField()  # a question that is not due yet was last asked then

    objects: ClassVar = models.Manager()

    def __str__(self) -> str:
        return self.lane
