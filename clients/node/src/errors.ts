/** Errors of the client. All are `SluiceError`s. A declined payment is no error: it has the status `failed`. */

/** Anything that this client throws about a request, an answer or an event. */
export class SluiceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** There was no answer. */
export class TransportError extends SluiceError {}

/** No byte of the request left: it can be sent again, whatever it was. */
export class NotSent extends TransportError {}

/** The request may have arrived. `reference` names what to ask for, if the request had one. */
export class OutcomeUnknown extends TransportError {
  constructor(message: string, readonly reference = "", options?: ErrorOptions) {
    super(message, options);
  }
}

export interface FieldError {
  field: string;
  code: string;
  message: string;
  suggestion?: string;
}

/** The problem document of an answer (RFC 9457). */
export interface ProblemDocument {
  code?: string;
  title?: string;
  detail?: string;
  errors?: FieldError[];
  request_id?: string;
  existing?: { id: string; status?: string };
  differs?: string[];
  mistake?: { code: string; message: string };
  server_time?: number;
  string_to_sign?: string;
  [name: string]: unknown;
}

/** The service refused a request. Decide by `code`. `retryAfter` is in seconds; `signed` the text that was signed, after a 401. */
export class ApiError extends SluiceError {
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly errors: FieldError[];
  readonly requestId: string;

  constructor(
    readonly status: number,
    readonly document: ProblemDocument,
    readonly retryAfter?: number,
    readonly signed = "",
  ) {
    super(textOf(status, document) + causeOf(document) + existingOf(document) + clockOf(document, signed) + comparisonOf(document, signed));
    this.code = document.code ?? "";
    this.title = document.title ?? "";
    this.detail = document.detail ?? "";
    this.errors = Array.isArray(document.errors) ? document.errors : [];
    this.requestId = document.request_id ?? "";
  }
}

/** 400 and other 4xx: the request is wrong. Its text lists every wrong field. */
export class InvalidRequest extends ApiError {}
/** 401: the key, the signature, the timestamp or the nonce. */
export class AuthenticationFailed extends ApiError {}
/** 403: the key may not do this, or only the sandbox does it. */
export class Forbidden extends ApiError {}
/** 404: your business has no such thing. */
export class NotFound extends ApiError {}
/** 409: the request conflicts with what exists. */
export class Conflict extends ApiError {}
/** What exists is not in a state in which this is possible. */
export class InvalidState extends Conflict {}
/** 429: too many calls. Wait for `retryAfter` seconds. */
export class RateLimited extends ApiError {}
/** 5xx: the service failed. */
export class ServerTrouble extends ApiError {}
/** No acquirer or bank can take this now. Nothing was executed. */
export class RailUnavailable extends ServerTrouble {}

/** The reference belongs to another request, whose result has `id` and had `firstStatus` just now. */
export class DuplicateReference extends Conflict {
  get id(): string {
    return this.document.existing?.id ?? "";
  }

  get firstStatus(): string {
    return this.document.existing?.status ?? "";
  }
}

type Kind = new (status: number, document: ProblemDocument, retryAfter?: number, signed?: string) => ApiError;

const CODES: [Kind, string][] = [
  [
    InvalidRequest,
    "malformed_json invalid_request unknown_field not_allowed_here reserved_reference card_number_misplaced " +
      "unsupported_currency no_price not_supported invalid_payment_method amount_too_small amount_too_large " +
      "destination_required length_required body_too_large unsupported_media_type not_acceptable method_not_allowed uri_too_long headers_too_large",
  ],
  [
    AuthenticationFailed,
    "missing_header malformed_header unknown_key timestamp_out_of_range invalid_signature nonce_reused",
  ],
  [Forbidden, "key_may_not_write key_may_not_decide sandbox_only"],
  [NotFound, "not_found unknown_account unknown_beneficiary"],
  [DuplicateReference, "duplicate_reference"],
  [
    InvalidState,
    "invalid_state not_refundable insufficient_funds beneficiary_blocked payout_limit_reached payouts_frozen " +
      "payment_disputed",
  ],
  [Conflict, "slug_taken url_taken limit_reached"],
  [RateLimited, "rate_limited"],
  [ServerTrouble, "internal_error temporarily_unavailable"],
  [RailUnavailable, "rail_unavailable"],
];

/** The class of each code. */
export const BY_CODE: ReadonlyMap<string, Kind> = new Map(
  CODES.flatMap(([kind, codes]) => codes.split(" ").map((code) => [code, kind] as const)),
);
const BY_STATUS = new Map<number, Kind>([
  [401, AuthenticationFailed],
  [403, Forbidden],
  [404, NotFound],
  [409, Conflict],
  [429, RateLimited],
]);

/** Returns the error of an answer: of its code, or of its status if this version does not know the code. */
export function errorOf(status: number, document: ProblemDocument, retryAfter?: number, signed = ""): ApiError {
  const kind = BY_CODE.get(document.code ?? "") ?? BY_STATUS.get(status) ?? ofRange(status);
  return new kind(status, document, retryAfter, signed);
}

function ofRange(status: number): Kind {
  if (status >= 500) return ServerTrouble;
  return status >= 400 ? InvalidRequest : ApiError;
}

function textOf(status: number, document: ProblemDocument): string {
  const what = document.detail || document.title || "The answer is not one of Sluice. Check host, port and https of the address.";
  const request = document.request_id ? ` (request ${document.request_id})` : "";
  const errors = Array.isArray(document.errors) ? document.errors : [];
  const fields = errors.map((error) => `\n  ${error.field}: ${error.message}`).join("");
  return `${status}${document.code ? ` ${document.code}` : ""}: ${what}${request}${fields}`;
}

/** Returns what the service found out: the fields that differ, or the mistake behind a signature. */
function causeOf({ differs, mistake }: ProblemDocument): string {
  if (differs?.length) return `\nFields that differ: ${differs.join(", ")}.`;
  return mistake ? `\n${mistake.message}` : "";
}

/** Returns what the reference belongs to, and what to do. */
function existingOf({ existing }: ProblemDocument): string {
  if (!existing?.status) return "";
  return `\nThe first request made ${existing.id}, ${existing.status}. Use a new reference, or repeat the first request exactly.`;
}

const SIGNED_LINES = ["timestamp", "nonce", "method", "target", "body hash"];

/** Returns how far this machine's clock is off, if that is what is wrong. */
function clockOf(document: ProblemDocument, signed: string): string {
  const own = Number(signed.split("\n")[0]);
  if (document.code !== "timestamp_out_of_range" || typeof document.server_time !== "number" || !own) return "";
  const difference = document.server_time - own;
  return `\nThe clock of this machine is ${Math.abs(difference)} s ${difference > 0 ? "slow" : "fast"}.`;
}

/** Returns what the service and this client signed side by side, with a mark at the first line that differs. */
function comparisonOf(document: ProblemDocument, signed: string): string {
  const theirs = (document.string_to_sign ?? "").split("\n");
  const ours = signed.split("\n");
  if (theirs.length !== SIGNED_LINES.length || ours.length !== SIGNED_LINES.length) return "";
  const differing = ours.findIndex((line, place) => line !== theirs[place]);
  const width = Math.max(...theirs.map((line) => line.length), "the service signed".length);
  const rows = SIGNED_LINES.map((name, place) =>
    `${place === differing ? ">" : " "} ${name.padEnd(10)}  ${(theirs[place] ?? "").padEnd(width)}  ${ours[place] ?? ""}`);
  const head = `${" ".repeat(14)}${"the service signed".padEnd(width)}  this client signed`;
  const end = differing < 0 && !document.mistake ? ["Both are the same, so the secret key is not that of this API key."] : [];
  return ["", head, ...rows, ...end].join("\n");
}
