/** Signed calls: retries, timeouts, the clock's difference, and errors of answers. */

import { inspect } from "node:util";

import { ApiError, AuthenticationFailed, errorOf, NotSent, OutcomeUnknown, TransportError } from "./errors.js";
import type { ProblemDocument } from "./errors.js";
import * as signing from "./signing.js";

const RETRIED = new Set([429, 500, 502, 503, 504]);
const FIRST_WAIT = 500; // milliseconds; doubled each time
const LONGEST_RETRY_AFTER = 30; // seconds
const ALL_RETRIES = 60_000; // milliseconds
const CLOCK_KEPT = 600_000; // milliseconds
const LARGEST_DIFFERENCE = 24 * 3600; // seconds
const NOT_MODIFIED = 304;
// The connection was never made, so that no byte left.
const NOT_CONNECTED = new Set([
  "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT",
  "DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID",
]);

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
   * Makes a call and returns its answer. Each attempt sends the same bytes with a new signature.
   *
   * @throws ApiError the service refused it
   * @throws NotSent no byte left
   * @throws OutcomeUnknown the request may have arrived
   */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const url = this.#url(path, options.query);
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    const reference = String((options.body as { reference?: unknown } | undefined)?.reference ?? "");
    const isRepeatable = options.isRepeatable ?? (method === "GET" || reference !== "");
    const retries = isRepeatable ? this.#options.retries : 0;
    const deadline = Date.now() + ALL_RETRIES;
    for (let number = 0; ; number += 1) {
      try {
        return await this.#attempt(method, url, body, options.headers ?? {}, reference);
      } catch (problem) {
        const wait = waitAfter(problem, number);
        if (number >= retries || wait === undefined || Date.now() + wait > deadline) throw problem;
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

  [inspect.custom](): string {
    return `Caller(${this.#options.baseUrl.origin}, ${this.#options.apiKey}, ***)`;
  }

  /** Returns the URL that is handed to fetch, after its own normalisation: its path and query are signed. */
  #url(path: string, query: Query = {}): URL {
    const url = new URL(this.#options.baseUrl.pathname.replace(/\/$/, "") + path, this.#options.baseUrl);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.append(name, String(value));
    }
    return url;
  }

  async #attempt(
    method: string, url: URL, body: string | undefined, headers: Record<string, string>, reference: string,
  ): Promise<Answer> {
    try {
      return await this.#send(method, url, body, headers, reference);
    } catch (problem) {
      if (!(problem instanceof AuthenticationFailed) || !this.#learnTheTime(problem)) throw problem;
    }
    return await this.#send(method, url, body, headers, reference);
  }

  async #send(
    method: string, url: URL, body: string | undefined, headers: Record<string, string>, reference: string,
  ): Promise<Answer> {
    const signed = this.#headers(method, url, body ?? "");
    const init = { method, headers: { ...signed, ...headers }, ...(body === undefined ? {} : { body }) };
    let answer: Response;
    let text: string;
    try {
      answer = await this.#fetch(url, init);
      text = await answer.text();
    } catch (problem) {
      throw transportError(problem, reference);
    }
    return read(answer, text);
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

  /** Returns whether the call should be repeated with the service's time, which is kept for ten minutes. */
  #learnTheTime(refused: ApiError): boolean {
    const serverTime = refused.document.server_time;
    if (refused.code !== "timestamp_out_of_range" || typeof serverTime !== "number") return false;
    const difference = Math.round(serverTime - Date.now() / 1000);
    if (!this.#options.correctClock || Math.abs(difference) > LARGEST_DIFFERENCE) return false;
    const side = difference > 0 ? "slow" : "fast";
    this.#options.warn(`sluice: the clock of this machine is ${Math.abs(difference)} s ${side}`);
    this.#clock = { difference, until: Date.now() + CLOCK_KEPT };
    return true;
  }
}

function read(answer: Response, text: string): Answer {
  const meta: Meta = {
    status: answer.status,
    requestId: answer.headers.get("x-request-id") ?? "",
    replayed: answer.headers.get("idempotent-replayed") === "true",
    headers: answer.headers,
  };
  if (answer.status === NOT_MODIFIED) return { document: undefined, meta };
  const document = parsed(text);
  if (!answer.ok) {
    const problem = typeof document === "object" && document !== null ? (document as ProblemDocument) : {};
    throw errorOf(answer.status, problem, retryAfter(answer));
  }
  if (document === undefined) throw new OutcomeUnknown("The answer is not JSON: is this the address of the service?");
  return { document, meta };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function transportError(problem: unknown, reference: string): TransportError {
  const cause = problem instanceof Error ? (problem.cause as { code?: string } | undefined) : undefined;
  if (cause?.code !== undefined && NOT_CONNECTED.has(cause.code)) {
    return new NotSent(`The service could not be reached: ${cause.code}.`, { cause: problem });
  }
  const why = problem instanceof Error && problem.name === "TimeoutError" ? "it took too long" : (cause?.code ?? "it failed");
  const what = reference ? ` The request may have arrived: look up or repeat "${reference}".` : "";
  return new OutcomeUnknown(`There was no answer: ${why}.${what}`, reference, { cause: problem });
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
