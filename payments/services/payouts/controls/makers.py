"""The maker of a payout, who may not approve it: a member, or a key and the member who made the key."""

from __future__ import annotations

from dataclasses import dataclass

from merchants.models import ApiKey, User


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Who asked for payouts. Neither: the sandbox, or a command."""

    user_id: int | None = None
    key_id: int | None = None

    @classmethod
    def of_key(cls, key: ApiKey) -> Maker:
        return cls(user_id=key.made_by_id, key_id=key.pk)

    @classmethod
    def of_member(cls, user: User) -> Maker:
        return cls(user_id=user.pk)

    @property
    def is_key(self) -> bool:
        return self.key_id is not None


NO_MAKER = Maker()
