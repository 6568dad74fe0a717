"""Files of evidence as responses, for the API and for pages."""

from django.http import HttpResponse

from disputes.models import DisputeEvidence


def attachment(file: DisputeEvidence) -> HttpResponse:
    """Return a file so that a browser saves it and never shows it."""
    return HttpResponse(
        bytes(file.file.content),
        headers={
            "Content-Type": file.type,
            "Content-Disposition": f'attachment; filename="{file.pk}.{file.name.rpartition(".")[2]}"',
            "X-Content-Type-Options": "nosniff",
        },
    )
