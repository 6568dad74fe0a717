"""The view of `benchmarks.echo`, in a separate module because it needs the settings."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class EchoView(APIView):
    def post(self, request: Request) -> Response:
        return Response(request.data)


urlpatterns = [path("echo", EchoView.as_view())]
