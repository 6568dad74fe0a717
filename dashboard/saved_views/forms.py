"""Forms of saved views."""

from django import forms

from dashboard.models import SavedView
from dashboard.saved_views.services import normalised
from dashboard.ui.forms.forms import PageForm

TOO_LONG = "These filters are too long to be saved."


class ViewForm(PageForm):
    """The name of a view."""

    name = forms.CharField(max_length=SavedView.LONGEST_NAME, label="Name")


class NewViewForm(ViewForm):
    """The name of a view, and the filters it keeps."""

    query = forms.CharField(required=False, max_length=SavedView.LONGEST_QUERY)

    def clean_query(self) -> str:
        """Refuse filters that are too long once they are encoded, as they are stored."""
        query: str = self.cleaned_data["query"]
        if len(normalised(query)) > SavedView.LONGEST_QUERY:
            raise forms.ValidationError(TOO_LONG)
        return query
