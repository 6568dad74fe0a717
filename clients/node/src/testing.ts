/** What a test of your webhook receiver needs: events, and their signatures. */

import { randomUUID } from "node:crypto";

export { sign } from "./webhooks.js";

/** Returns the raw body of an event, as the service writes it. `changes` change its `data`. Any kind is accepted. */
export function event(kind = "payment.success", changes: Record<string, unknown> = {}): Uint8Array {
  const id = randomUUID();
  const now = new Date().toISOString();
  const failed = kind.endsWith(".failed") || kind.endsWith(".mismatch");
  const data = {
    request_type: kind.startsWith("payout.") ? "payout" : "payment",
    id: randomUUID(),
    reference: "order-1042",
    status: failed ? "failed" : "success",
    response_code: failed ? "20051" : "10000",
    response_summary: failed ? "Declined - Not sufficient funds" : "Payment completed",
    amount: 50_000,
    currency: "NGN",
    payment_timestamp: now,
    ...changes,
  };
  return Buffer.from(JSON.stringify({ id, event_id: id, event: kind, created_at: now, data }));
}
