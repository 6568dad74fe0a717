"""The words of disputes: stages, statuses, reasons and kinds of evidence, as they are stored and sent."""

from django.db import models


class Stage(models.TextChoices):
    """The stages of a case, in their order."""

    INQUIRY = "inquiry"  # a question; no money moves
    CHARGEBACK = "chargeback"
    PRE_ARBITRATION = "pre_arbitration"
    ARBITRATION = "arbitration"


class Status(models.TextChoices):
    NEEDS_RESPONSE = "needs_response"
    UNDER_REVIEW = "under_review"  # the business has answered
    ACCEPTED = "accepted"  # the business conceded all or a part; final
    EXPIRED = "expired"  # not answered in time, so lost; final
    WON = "won"  # final, and so are the others
    LOST = "lost"
    WITHDRAWN = "withdrawn"  # by the cardholder's bank: as won


class Reason(models.TextChoices):
    FRAUDULENT = "fraudulent"
    DUPLICATE = "duplicate"
    PRODUCT_NOT_RECEIVED = "product_not_received"
    PRODUCT_UNACCEPTABLE = "product_unacceptable"
    CREDIT_NOT_PROCESSED = "credit_not_processed"
    SUBSCRIPTION_CANCELLED = "subscription_cancelled"
    UNRECOGNISED = "unrecognised"
    AMOUNT_DIFFERS = "amount_differs"
    GENERAL = "general"


class EvidenceKind(models.TextChoices):
    RECEIPT = "receipt"
    CUSTOMER_COMMUNICATION = "customer_communication"
    DELIVERY = "delivery"
    SERVICE = "service"
    REFUND_POLICY = "refund_policy"
    DUPLICATE_EXPLANATION = "duplicate_explanation"
    OTHER = "other"


LONGEST_CASE_NUMBER = 64
LONGEST_TEXT = 3_000  # characters of a text of evidence
# The open ones. All others are final.
OPEN = (Status.NEEDS_RESPONSE, Status.UNDER_REVIEW)
# The final ones that give the business its money back. As far as the money goes, they don't contradict each other.
FOR_THE_BUSINESS = (Status.WON, Status.WITHDRAWN)
STAGES = tuple(Stage)
