"""Pages without the indentation of their templates, so that it doesn't count among the 60 KB of a page."""

import re

from django.template import Origin
from django.template.loaders.filesystem import Loader

INDENTATION = re.compile(r"(<pre\b.*?</pre>)|^[ \t]+", re.DOTALL | re.MULTILINE)


class Unindented(Loader):
    """Load our templates. HTML shows indented lines as it shows others, except in `pre`; mails keep theirs."""

    def get_contents(self, origin: Origin) -> str:
        contents = super().get_contents(origin)
        return INDENTATION.sub(r"\1", contents) if origin.name.endswith(".html") else contents
