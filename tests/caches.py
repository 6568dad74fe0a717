"""What a process keeps for five seconds."""

from payments.services.fee_rules import cached_rules
from payments.services.rails.declared_accounts import cached_declarations
from payments.services.rails.rail_choices import cached_choices
from payments.services.rails.rail_queries.rail_blocks import cached_blocks

CACHED = (cached_rules, cached_choices, cached_declarations, cached_blocks)
