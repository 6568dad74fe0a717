/** Signed calls: retries, timeouts, the clock's difference, and errors of answers. */

import { ApiError, AuthenticationFailed, errorOf, NotSent, OutcomeUnknown, TransportError } from "./errors.js";
import type { ProblemDocument } from "./errors.js";
import { advice, referenceOf } from "./lookups.js";
import * as signing from "./signing.js";

const RETRIED = new Set([429, 500, 502, 503, 504]);
const FIRST_WAIT = 500; // milliseconds; doubled each time
const LONGEST_RETRY_AFTER = 30; // seconds
const ALL_RETRIES = 60_000; // milliseconds
const CLOCK_KEPT = 600_000; // milliseconds
const LARGEST_DIFFERENCE = 24 * 3600; // seconds
const WITHOUT_BODY = new Set([204, 304]);
const UNAUTHORIZED = 401;
const NOT_OURS = "The answer is not one of Sluice's: is this the address of the service?";
// Fields whose boolean would be a mistake of the program: `true` is JSON that looks right.
const WHOLE = new Set([
  "amount", "min", "max", "suggested", "expiry_duration", "transfer_window", "max_uses", "quantity_max",
]);
// The connection was never made, so that no byte left.
const NOT_CONNECTED = new Set([
  "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT",
  "DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** How Node names the method that prints an object, by its global name: the types then need nothing of Node's. */
export const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** What an answer says beside its body. */
export interface Meta {
  status: number;
  requestId: string;
  replayed: boolean;
  headers: Headers;
}

export interface Answer {
  document: unknown;
  meta: Meta;
}

export type Query = Record<string, string | number | boolean | undefined>;

export interface CallOptions {
  query?: Query;
  body?: object;
  headers?: Record<string, string>;
  /** Whether a call whose answer is lost may be made again. By default: GETs, and bodies with a reference. */
  isRepeatable?: boolean;
}

/** A function with the interface of the built-in `fetch`. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

export interface CallerOptions {
  baseUrl: URL;
  apiKey: string;
  secretKey: string;
  /** Milliseconds of each attempt as a whole. */
  timeout: number;
  retries: number;
  correctClock: boolean;
  fetch: Fetch;
  warn: (message: string) => void;
  userAgent: string;
}

export class Caller {
  readonly #options: CallerOptions;
  #clock = { difference: 0, until: 0 };

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /**
   * Makes a call and returns its answer. Each attempt sends the same bytes with a new signature. A path may have a query.
   *
   * @throws TypeError a number is not whole, or an amount is a boolean
   * @throws ApiError the service refused it
   * @throws NotSent no byte left
   * @throws OutcomeUnknown the request may have arrived
   */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const url = this.#url(path, options.query);
    checkAmounts(options.body);
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    const hasReference = Boolean((options.body as { reference?: unknown } | undefined)?.reference);
    const retries = (options.isRepeatable ?? (method === "GET" || hasReference)) ? this.#options.retries : 0;
    const deadline = performance.now() + ALL_RETRIES;
    let isCorrected = false;
    for (let number = 0; ; ) {
      try {
        return await this.#send(method, url, body, options.headers ?? {});
      } catch (problem) {
        let wait: number | undefined = 0;
        if (!isCorrected && this.#learnTheTime(problem)) {
          isCorrected = true;
        } else {
          wait = number < retries ? waitAfter(problem, number) : undefined;
          number += 1;
        }
        if (wait === undefined || performance.now() + wait > deadline) throw named(problem, method, path, options.body);
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  /** Posts a form without a signature to a path of the service, as a payer does, and returns the status. */
  async postForm(path: string, form: Record<string, string>): Promise<number> {
    const answer = await this.#fetch(this.#url(path), {
      method: "POST",
      body: new URLSearchParams(form).toString(),
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
    });
    await answer.arrayBuffer();
    return answer.status;
  }

  [INSPECT](): string {
    return `Caller(${this.#options.baseUrl.origin}, ${this.#options.apiKey}, ***)`;
  }

  /** Returns the URL that is handed to fetch, after its own normalisation: its path and query are signed. */
  #url(path: string, query: Query = {}): URL {
    if (!path.startsWith("/")) throw new TypeError("A path starts with a slash, such as /api/banks.");
    const url = new URL(this.#options.baseUrl.origin + path); // never another host, whatever the path is
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.append(name, String(value));
    }
    return url;
  }

  async #send(
    method: string, url: URL, body: string | undefined, headers: Record<string, string>,
  ): Promise<Answer> {
    const signed = this.#headers(method, url, body ?? "");
    const init = { method, headers: { ...signed, ...headers }, ...(body === undefined ? {} : { body }) };
    let answer: Response;
    let text: string;
    try {
      answer = await this.#fetch(url, init);
      text = await answer.text();
    } catch (problem) {
      throw this.#transportError(problem);
    }
    const parts = { timestamp: signed["X-Timestamp"] ?? "", nonce: signed["X-Nonce"] ?? "", body: body ?? "" };
    return read(answer, text, () => signing.stringToSign({ ...parts, method, target: url.pathname + url.search }));
  }

  #fetch(url: URL, init: RequestInit): Promise<Response> {
    const signal = AbortSignal.timeout(this.#options.timeout);
    return this.#options.fetch(url, { ...init, redirect: "manual", signal });
  }

  #headers(method: string, url: URL, body: string): Record<string, string> {
    const now = Date.now();
    const difference = now < this.#clock.until ? this.#clock.difference : 0;
    const signed = signing.headers({
      apiKey: this.#options.apiKey,
      secretKey: this.#options.secretKey,
      method,
      target: url.pathname + url.search,
      body,
      timestamp: Math.floor(now / 1000 + difference),
    });
    const type: Record<string, string> = method === "GET" ? {} : { "Content-Type": "application/json" };
    return { Accept: "application/json", "User-Agent": this.#options.userAgent, ...type, ...signed };
  }

  #transportError(problem: unknown): TransportError {
    const cause = problem instanceof Error ? (problem.cause as { code?: string } | undefined) : undefined;
    if (cause?.code !== undefined && NOT_CONNECTED.has(cause.code)) {
      return new NotSent(`${this.#options.baseUrl.host} could not be reached: ${cause.code}.`, { cause: problem });
    }
    const isLate = problem instanceof Error && problem.name === "TimeoutError";
    const why = isLate ? `it took longer than ${this.#options.timeout} ms, the option timeout` : (cause?.code ?? "it failed");
    return new OutcomeUnknown(`There was no answer: ${why}.`, "", { cause: problem });
  }

  /** Returns whether the call should be repeated with the service's time, which is kept for ten minutes. */
  #learnTheTime(problem: unknown): boolean {
    if (!(problem instanceof AuthenticationFailed) || problem.code !== "timestamp_out_of_range") return false;
    const serverTime = problem.document.server_time;
    if (typeof serverTime !== "number") return false;
    const difference = Math.round(serverTime - Date.now() / 1000);
    if (!this.#options.correctClock || Math.abs(difference) > LARGEST_DIFFERENCE) return false;
    const side = difference > 0 ? "slow" : "fast";
    this.#options.warn(`sluice: the clock of this machine is ${Math.abs(difference)} s ${side}`);
    this.#clock = { difference, until: Date.now() + CLOCK_KEPT };
    return true;
  }
}

/** Throws a TypeError for a number that is not whole, and for a boolean where one belongs. The value is not repeated. */
function checkAmounts(value: unknown, name = ""): void {
  if (typeof value === "object" && value !== null) {
    for (const [key, each] of Object.entries(value)) checkAmounts(each, Array.isArray(value) ? name : key);
  } else if (name === "overlap_hours" && Number.isFinite(value)) {
    return; // the sandbox takes fractions
  } else if ((typeof value === "number" && !Number.isSafeInteger(value)) || (typeof value === "boolean" && WHOLE.has(name))) {
    throw new TypeError(`${name} must be a whole number, in minor units if it is an amount.`);
  }
}

function read(answer: Response, text: string, signed: () => string): Answer {
  const meta: Meta = {
    status: answer.status,
    requestId: answer.headers.get("x-request-id") ?? "",
    replayed: answer.headers.get("idempotent-replayed") === "true",
    headers: answer.headers,
  };
  if (WITHOUT_BODY.has(answer.status)) return { document: undefined, meta };
  const document = parsed(text);
  if (answer.ok && document) return { document, meta };
  if (answer.ok) throw new OutcomeUnknown(NOT_OURS);
  throw errorOf(answer.status, document ?? {}, retryAfter(answer), answer.status === UNAUTHORIZED ? signed() : "");
}

/** Returns the JSON object that a text is, or undefined. */
function parsed(text: string): ProblemDocument | undefined {
  try {
    const document: unknown = JSON.parse(text);
    return typeof document === "object" && document !== null && !Array.isArray(document) ? { ...document } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns what a call ends with: after a write whose answer is lost, with its reference and the call that asks for it. */
function named(problem: unknown, method: string, path: string, body: object | undefined): unknown {
  if (!(problem instanceof OutcomeUnknown) || method === "GET") return problem;
  const reference = referenceOf(path, body);
  const text = `${problem.message} The request may have arrived: ${advice(path, reference)}`;
  return new OutcomeUnknown(text, reference, { cause: problem.cause });
}

function retryAfter(answer: Response): number | undefined {
  const text = answer.headers.get("retry-after") ?? "";
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Returns the milliseconds to wait before another attempt, or undefined if there must be none. */
function waitAfter(problem: unknown, number: number): number | undefined {
  const drawn = Math.random() * FIRST_WAIT * 2 ** number;
  if (problem instanceof TransportError) return drawn;
  if (!(problem instanceof ApiError) || !RETRIED.has(problem.status)) return undefined;
  if (problem.retryAfter === undefined) return drawn;
  return problem.retryAfter <= LONGEST_RETRY_AFTER ? problem.retryAfter * 1000 : undefined;
}
