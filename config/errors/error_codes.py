"""The error codes of the API, each with its HTTP status, title and advice."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """An error code with its HTTP status, title and advice."""

    status: int
    title: str
    help: str


ERROR_CODES: dict[str, ErrorCode] = {
    "malformed_json": ErrorCode(400, "The body is not one JSON object", "Send one JSON object in UTF-8, without duplicate keys, NaN or Infinity."),
    "invalid_request": ErrorCode(400, "The request has invalid fields", "See `errors`, which lists every invalid field by its dotted path."),
    "unknown_field": ErrorCode(400, "The request has an unknown field", "Remove the field or correct its spelling. Unknown fields are refused, because ignoring a typing error could move money wrongly."),
    "not_allowed_here": ErrorCode(400, "The request has a field of another kind of request", "Remove the field. It belongs to another request_type or payment_method."),
    "unsupported_currency": ErrorCode(400, "The currency is not enabled", "Use an ISO 4217 code that is enabled for the business. A payout's currency must be the bank's: see GET /api/banks."),
    "no_price": ErrorCode(400, "There is no price for this currency", "Use another currency, or ask your operator to agree a price for it."),
    "not_supported": ErrorCode(400, "The connected acquirer or bank cannot do this", "Change the fields that `errors` names. GET /api/capabilities lists what can be done in each currency. Nothing was stored."),
    "invalid_payment_method": ErrorCode(400, "The virtual account cannot receive payments", "Use the `id` of one of your active virtual accounts, in its currency."),
    "reserved_reference": ErrorCode(400, "The reference has a reserved prefix", "Choose a reference that does not begin with va_, chk_, pl_, return_ or settlement_: Sluice generates those."),
    "card_number_misplaced": ErrorCode(400, "The card number is in another field", "Send the card number in `source.pan` only. Other fields may be stored, shown or forwarded."),
    "destination_required": ErrorCode(400, "The destination of the returned money is missing", "Add `destination` with name, account_number and bank_code: the bank did not name an account of the sender that payouts can reach."),
    "amount_too_small": ErrorCode(400, "The amount is below the smallest payment", "Use a larger amount. An owner sets the smallest payment of each currency in Settings, as `Smallest payment (minimum)`."),
    "amount_too_large": ErrorCode(400, "The amount is too large", "Use an amount of at most what was authorised or is left to refund."),
    "missing_header": ErrorCode(401, "An authentication header is missing", "Merchants send X-Api-Key, X-Timestamp, X-Nonce and X-Signature; the hosting bank sends X-Bank-Timestamp and X-Bank-Signature."),
    "malformed_header": ErrorCode(401, "An authentication header is malformed", "Send each header once, in the documented format."),
    "unknown_key": ErrorCode(401, "The key is unknown, revoked or expired", "Use the public id of an active key pair."),
    "timestamp_out_of_range": ErrorCode(401, "The timestamp is out of range", "Correct your clock. `server_time` is the server's time. Timestamps are accepted within 300 seconds."),
    "invalid_signature": ErrorCode(401, "The signature is wrong", "In the sandbox, `mistake` names the known mistake that leads to your signature. If there is none, compare your string to sign with `string_to_sign`."),
    "nonce_reused": ErrorCode(401, "The nonce was used before", "Sign again with a new nonce. The reference makes a repeated request safe."),
    "key_may_not_write": ErrorCode(403, "The key is read-only", "Use a key pair with full access."),
    "key_may_not_decide": ErrorCode(403, "API keys may not decide about this", "Decide in the dashboard, or ask an owner to let API keys decide in Settings. `detail` names the setting."),
    "sandbox_only": ErrorCode(403, "Available only in the sandbox", "Call it in the sandbox."),
    "not_found": ErrorCode(404, "The resource was not found", "Check the address and the reference."),
    "unknown_account": ErrorCode(404, "The account number was not found", "Use the account number of one of your virtual accounts, or of an open payment into one."),
    "unknown_beneficiary": ErrorCode(404, "The bank did not find the account", "Check the account number and the bank with the beneficiary."),
    "method_not_allowed": ErrorCode(405, "The method is not allowed here", "See the `Allow` header."),
    "not_acceptable": ErrorCode(406, "The response format is not available", "Accept application/json."),
    "beneficiary_blocked": ErrorCode(409, "The beneficiary is blocked", "Pay another account, or ask an owner or finance to lift the block in the dashboard. Nothing was stored."),
    "duplicate_reference": ErrorCode(409, "The reference belongs to another request", "Use a new reference, or repeat the first request exactly."),
    "url_taken": ErrorCode(409, "Another webhook endpoint has this URL", "See `existing`. Change that endpoint or rotate its key, or use another URL."),
    "limit_reached": ErrorCode(409, "There are as many as there may be", "Delete one that you no longer need first. `detail` names the limit."),
    "slug_taken": ErrorCode(409, "The slug is taken", "Choose another slug, or leave it out. A slug is never given again."),
    "insufficient_funds": ErrorCode(409, "The balance doesn't cover this", "Wait for the next settlement, or ask your operator for a top-up. Nothing was stored."),
    "payout_limit_reached": ErrorCode(409, "The payout is over a limit of the business", "See `limit`. Wait until `ends_at`, pay less, or ask an owner to raise the limit in Settings. Nothing was stored."),
    "payouts_frozen": ErrorCode(409, "The payouts of the business are frozen", "Ask your operator. Send the same payout again once the freeze is lifted. Nothing was stored."),
    "payment_disputed": ErrorCode(409, "The money is disputed", "Answer the dispute instead of refunding: see GET /api/disputes. What a dispute holds or took would be paid back twice."),
    "not_refundable": ErrorCode(409, "This can't be refunded", "Only payments can be refunded. `detail` says why this one can't."),
    "invalid_state": ErrorCode(409, "The state does not allow this", "Look up the current state of the payment, payment link or event. `detail` says what it forbids."),
    "length_required": ErrorCode(411, "The body's length is missing", "Send Content-Length instead of a chunked body."),
    "body_too_large": ErrorCode(413, "The body is too large", "Send at most 64 KiB, or 1 MiB to POST /api/payout-batches. A file of a dispute has at most 4 MiB."),
    "uri_too_long": ErrorCode(414, "The request target is too long", "Send a request line of at most 8190 bytes."),
    "unsupported_media_type": ErrorCode(415, "The body has another media type", "Send Content-Type: application/json, and no Content-Encoding. A file of a dispute is a PDF, a PNG or a JPEG by its content."),
    "headers_too_large": ErrorCode(431, "The headers are too large", "Send at most 100 headers of at most 8190 bytes each."),
    "rate_limited": ErrorCode(429, "Too many requests", "Retry after the number of seconds in `Retry-After`."),
    "internal_error": ErrorCode(500, "Something went wrong on our side", "Try again with the same reference; nothing is done twice. If the error persists, send us the request id."),
    "rail_unavailable": ErrorCode(503, "This kind of payment is not available", "Try again later. Nothing was stored."),
    "temporarily_unavailable": ErrorCode(503, "The service is not available at the moment", "Try again after `Retry-After`, with the same reference."),
}  # fmt: skip
