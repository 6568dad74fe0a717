"""Views of the API that need no signature."""

from rest_framework.views import APIView


class OpenView(APIView):
    """A view that holds nothing of any business, so it is not authenticated."""

    authentication_classes = []
    permission_classes = []
    throttle_classes = []
