"""A form for a file that staff preview, then take. The page of the preview carries the file, so that nothing is stored before."""

import hashlib
import zlib
from base64 import b64decode, b64encode
from typing import Any, ClassVar

from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile

MOST_BYTES = 900_000  # the whole form may have a mebibyte


class PreviewedFileForm(forms.Form):
    """A file to preview, or to take once it was previewed. `cleaned_data` has the `digest` of its bytes."""

    too_large: ClassVar[str]  # what to do instead, for people

    file = forms.FileField(required=False, widget=forms.FileInput(attrs={"required": True}))
    previewed = forms.CharField(required=False, widget=forms.HiddenInput)  # SHA-256 of the file
    # The previewed file, as its page carries it.
    name = forms.CharField(required=False, max_length=255, widget=forms.HiddenInput)
    content = forms.CharField(required=False, widget=forms.HiddenInput)

    @property
    def is_confirmed(self) -> bool:
        """Return whether the file is to be taken. It was previewed then."""
        return bool(self.cleaned_data["previewed"])

    @property
    def carried(self) -> str:
        """Return the file for the page of its preview, compressed, or an empty text if it has to be chosen again."""
        file = self.cleaned_data["file"]
        file.seek(0)
        text = b64encode(zlib.compress(file.read())).decode()
        return text if len(text) <= MOST_BYTES else ""

    def clean_file(self) -> Any:
        file: Any = self.cleaned_data["file"] or self._carried()
        if file is None:
            raise forms.ValidationError("Choose a file.")
        if file.size > MOST_BYTES:
            raise forms.ValidationError(self.too_large)
        self.cleaned_data["digest"] = hashlib.sha256(file.read()).hexdigest()
        file.seek(0)
        return file

    def _carried(self) -> SimpleUploadedFile | None:
        content, name = (self.data.get(self.add_prefix(each), "") for each in ("content", "name"))
        if not content or not name:
            return None
        try:
            # One byte more than is allowed is enough to refuse what decompresses to very much.
            read = zlib.decompressobj().decompress(b64decode(content, validate=True), MOST_BYTES + 1)
        except (ValueError, zlib.error):
            return None
        return SimpleUploadedFile(name, read)

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if "digest" in given and given.get("previewed") not in ("", given["digest"]):
            self.add_error("file", "This isn't the file that was previewed. Preview it first.")
        return given
