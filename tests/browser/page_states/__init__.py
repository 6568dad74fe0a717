"""Every page of the product, by persona: captured by `screenshots` and checked by tests.

A page state is a URL, and an action performed there first. A URL of `config.urls` that no page state visits
fails `test_every_page`. Each group of personas has a test file, so that the groups run at the same time.
"""

from tests.browser.page_states.business import BUSINESS
from tests.browser.page_states.money import MONEY
from tests.browser.page_states.staff import STAFF
from tests.browser.page_states.visitors import VISITORS

PERSONAS = VISITORS | MONEY | BUSINESS | STAFF
