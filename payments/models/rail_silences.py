"""Rails that are currently unavailable."""

from typing import ClassVar

from django.db import models


class RailSilence(models.Model):
    """A rail that didn't answer the last requery. The row is deleted when the rail answers."""

    lane = models.CharField(max_length=40, primary_key=True)  # "bank:http"
    since = models.DateTimeField()
    probed_at = models.DateTimeField()  # when the rail was last queried ahead of schedule

    objects: ClassVar = models.Manager()

    def __str__(self) -> str:
        return self.lane
