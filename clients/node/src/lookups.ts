/** Where to look up a request whose answer was lost. */

/** The methods that look up what the requests to a path made or changed. */
const METHODS: Readonly<Record<string, string>> = {
  payments: "payments.get",
  refunds: "refunds.get",
  "virtual-accounts": "virtualAccounts.get",
  "payout-batches": "payoutBatches.get",
  beneficiaries: "beneficiaries.get",
  "payment-links": "paymentLinks.get",
  events: "events.get",
};

/** Returns the reference that a request makes or changes, or nothing. */
export function referenceOf(path: string, body: object | undefined): string {
  const own = (body as { reference?: unknown } | undefined)?.reference;
  if (typeof own === "string" && own) return own;
  const { subject } = parts(path);
  return subject === "simulate" ? "" : decodeURIComponent(subject);
}

/** Returns which call asks for the outcome of a write. */
export function advice(path: string, reference: string): string {
  const { group, last } = parts(path);
  const method = METHODS[last === "refunds" ? "refunds" : group];
  if (!reference || !method) return "client.requests.list() shows whether it arrived.";
  return `client.${method}(${JSON.stringify(reference)}) returns what came of it.`;
}

/** Returns the words of a path after `/api`: what it is about, which one, and what is done to it. */
function parts(path: string): { group: string; subject: string; last: string } {
  const [group = "", subject = "", last = ""] = (path.split("?")[0] ?? "").split("/").slice(2);
  return { group, subject, last };
}
