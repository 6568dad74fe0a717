"""Forms of saved views."""

from django import forms

from dashboard.models import SavedView
from dashboard.ui.forms.forms import PageForm


class ViewForm(PageForm):
    """The name of a view."""

    name = forms.CharField(max_length=SavedView.LONGEST_NAME, label="Name")


class NewViewForm(ViewForm):
    """The name of a view, and the filters it keeps."""

    query = forms.CharField(required=False, max_length=SavedView.LONGEST_QUERY)
