"""What the `detail` of each problem can say, for the search and the pages of the errors.

A test compares it with the texts in the code. "…" stands for a value. Codes that aren't here send their advice
(`config.errors.error_codes`).
"""

DETAILS: dict[str, tuple[str, ...]] = {
    "malformed_json": (
        "NaN and Infinity are not JSON.",
        "The body has a duplicate key.",
        "The body holds a number that is too long.",
        "The body holds half of a surrogate pair.",
        "The body is nested too deeply.",
        "The body is not JSON: see line …, column ….",
        "The body is not valid JSON: line …, column ….",
        "The body must be JSON in UTF-8.",
        "The body must be one JSON object.",
    ),
    "invalid_request": (
        "Enter the sender's account number and bank. The bank did not send them.",
        "Leave account number and bank empty. The money goes back to the sender's account, which the bank sent.",
        "See errors: every wrong field, by its dotted path.",
        "Subscribe to one or more of …, or to single events.",
        "The address may not hold a card number.",
    ),
    "not_supported": (
        "3-D Secure can't be requested here, because the provider decides when to use it. An owner can accept that in Settings.",
        "3-D Secure isn't available here.",
        "Amounts in … must be multiples of ….",
        "Cards are entered on the provider's own page. Use the hosted checkout: create a payment link, and send the payer there.",
        "Cards can't be checked here.",
        "Payments can only be refunded in full here. Leave `amount` out.",
        "Payments can't be authorised now and captured later here. Leave `capture` out.",
        "Payments in … can't be processed here.",
        "The largest amount that can be processed is … (…).",
        "The longest time for a transfer here is … seconds.",
        "The shortest time for a transfer here is … seconds.",
        "The smallest amount that can be processed is … (…).",
    ),
    "amount_too_large": (
        "At most … is disputed.",
        "At most … is left to refund.",
        "At most … was authorised.",
        "Nothing is left to refund: all of it was refunded….",
        "The amount exceeds the available amount.",
    ),
    "missing_header": (
        "X-Api-Key, X-Timestamp, X-Nonce and X-Signature are all required.",
        (
            "The Authorization header is not used: sign the request, and send X-Api-Key, X-Timestamp, X-Nonce and "
            "X-Signature. See …/docs/signing."
        ),
        "X-Bank-Timestamp and X-Bank-Signature are both required.",
        "… … missing.",
    ),
    "malformed_header": (
        "An authentication header is malformed, or was sent more than once.",
        "X-Bank-Signature must have exactly 64 hex digits.",
        "X-Bank-Timestamp must be Unix seconds: 1 to 12 digits.",
    ),
    "unknown_key": (
        "This key pair belongs to another environment. Keys of this one begin with pk_…_.",
        "No active key pair has this X-Api-Key: it was revoked, has expired, or belongs to another installation.",
    ),
    "timestamp_out_of_range": (
        "The timestamp is too far from the server's clock.",
        "… is … seconds … the server's clock; send Unix seconds within ±… s of it. server_time is the server's clock.",
    ),
    "invalid_signature": (
        "The signature does not match.",
        "X-Bank-Signature does not match this body and timestamp.",
    ),
    "nonce_reused": (
        "This X-Nonce was used before with this key. Sign again with a new one.",
    ),
    "key_may_not_write": (
        "This key pair may only read. Use one with full access.",
    ),
    "key_may_not_decide": (
        (
            "Your business does not let API keys decide about unapplied transfers. Decide in the dashboard, or ask an "
            "owner of the business to turn on `API keys may decide about unapplied transfers` under Settings."
        ),
        (
            "Your business does not let API keys add webhook endpoints or change their URLs. Do it in the dashboard, or "
            "ask an owner of the business to turn on `API keys may change webhook URLs` under Settings."
        ),
    ),
    "sandbox_only": (
        "This is available in the sandbox only.",
    ),
    "unknown_account": (
        "No virtual account has, or ever had, this account number.",
    ),
    "unknown_beneficiary": (
        "The bank has no account with this number.",
    ),
    "duplicate_reference": (
        "This bank reference belongs to a transfer with another account number, amount or currency.",
        "This bank reference was already used for a return with a different payout reference, amount or currency.",
        "This reference was already used for a different request.",
    ),
    "url_taken": (
        "Another endpoint has this URL. Change that one, or use another URL.",
    ),
    "limit_reached": (
        "There are … endpoints already. Delete one of them first.",
    ),
    "slug_taken": (
        "This slug is taken. Choose another one.",
    ),
    "insufficient_funds": (
        (
            "Your balance lacks … for this batch. Wait for money, or approve it with `as_far_as_balance`: payouts are then sent in "
            "the order of the file, and the rest waits for money."
        ),
        (
            "Your balance doesn't cover this refund by bank transfer. Refund it after the next settlement, or ask for a "
            "top-up."
        ),
        (
            "This refund would make you owe more than is agreed. Refund it after the next settlement, or ask for a "
            "top-up."
        ),
    ),
    "not_refundable": (
        "A card check moves no money, so there is nothing to refund.",
        (
            "A payout can't be refunded, because the beneficiary has received the money. If the bank returns it, the "
            "amount is credited to your balance."
        ),
        "This can't be refunded.",
    ),
    "beneficiary_blocked": (
        "This beneficiary is blocked. Owners and finance can lift the block in the dashboard.",
    ),
    "payouts_frozen": (
        "The operator has frozen the payouts of this business.",
        "The operator has frozen the payouts of this business. Nothing was stored.",
    ),
    "invalid_state": (
        "The first endpoint can't be deleted. Disable it instead.",
        "An inquiry moves no money, so there is nothing to accept. Refund the payment instead.",
        "Only a transfer of less than its payment expected can be accepted for it. Credit it instead.",
        "The operator of this service has blocked this beneficiary. Contact the operator.",
        "The time to answer this dispute is over.",
        "There is nothing to submit. Add evidence, or leave less of the packet out.",
        "This dispute awaits no answer: it is ….",
        "This dispute takes …. Remove one first.",
        "This payment is being advanced by another call.",
        "A … of this payment is in progress.",
        "Its capture has another amount: …. …",
        "No attempt of this event is planned for later. It is ….…",
        "Nothing is held of this settlement until a date, or you owe more than your balance has.",
        "Only a card payment that its acquirer may charge after it failed is watched.",
        "Another owner must confirm this change.",
        "Only a payment that waits for its payer can be cancelled. ……",
        "Only a payout that waits for approval can be cancelled. …",
        "Only a successful payment can be refunded. …",
        "A payout to this account would wait for approval or for your server, and a refund can't wait. Send a payout to it instead.",
        "Only a successful payout can be reversed. …",
        "Only an authorised payment that was not captured or voided allows this. …",
        "The payout is being decided about, or payouts are frozen. Try again later.",
        "The payouts have changed since approval was asked for. Nothing was sent.",
        "The payouts of this business are frozen already.",
        "The payouts of this business aren't frozen.",
        "This beneficiary was deleted.",
        "This business is closed. Reopen it before you lift the freeze.",
        "This change was already decided.",
        "This was already decided, or its time is over.",
        "You have already approved this. Another member must approve it too.",
        "This money was already ….",
        "This payment is not waiting for anything that can be advanced. …",
        "This payment's acquirer has answered. …",
        "A payment into this static account is open. Wait until it has finished, or use a dynamic account.",
        "An attempt is due or in progress.",
        "Another exam is running. Wait until it has finished.",
        "Nothing is left to refund: all of it was refunded….",
        "Only a transfer of a payment link that waits for its payer can be ended.",
        "Save a webhook URL first. The exam sends its requests to it.",
        "Subscribe to payment or payout events first. The exam sends these.",
        "Test events are sent once. Send a new one from the dashboard.",
        "The acquirer declined this. The authorisation is unchanged.",
        "The authorisation has expired.",
        "The bank has returned more of this payout in the meantime.",
        "The event was skipped: you unsubscribed from it, disabled the endpoint for seven days, or deleted it.",
        "The event's body was deleted at the end of its retention period.",
        "The event's endpoint was deleted.",
        "The exam has ended.",
        "This has changed since you opened the page. Nothing was done. Look at it and decide again.",
        "The exam is running. Answer when it has finished.",
        "The operator has blocked this link: …",
        "The rail is being queried about this payment. Try again later.",
        "The return does not match this payout: ….",
        "The service sends the requests of this exam.",
        "The time to pay is over. The payment is about to expire.",
        "The transaction's state does not allow this.",
        "There are … listeners already. End one of them, or use its name.",
        "This event is being advanced by another call.",
        "This return was already applied to a payout, or written off.",
        "This money was already returned or credited.",
        "This transaction has changed in the meantime.",
        "No payout of this batch has failed. Pending ones may still succeed.",
        "Only a checked batch can be approved. This one is ….",
        "Only a ready batch can be scheduled. This one is ….",
        "The reference …, or one of its payouts', is taken.",
        "The rows can't be edited any more. The batch is ….",
        "These payouts need a decision: ….",
        "This batch does not wait for approval: it is ….",
        "This batch is completed. Nothing of it can be cancelled.",
        "This payout can't be changed any more. The batch is ….",
        "… uses are paid or held. `max_uses` can't be lower.",
    ),
    "rail_unavailable": (
        "All trace numbers of this hour are taken. Nothing was stored.",
        "No hosting bank is configured.",
        "The acquirer or bank for this kind of payment is unavailable at the moment.",
        "The bank did not answer the name enquiry in time. Try again.",
        "The link takes no cards. Nothing was stored.",
        "This kind of payment has no configured connector here.",
        "This was sent to another account of the acquirer or bank. It waits until that one is configured.",
    ),
    "payment_disputed": (
        "The cardholder's bank disputes … of this payment. A refund would pay that back twice. … can be refunded.",
        "This money is disputed.",
    ),
    "unsupported_media_type": (
        "The file is neither a PDF, a PNG nor a JPEG. Its content decides, not its name or Content-Type.",
    ),
}  # fmt: skip
