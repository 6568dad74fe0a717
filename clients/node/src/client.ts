/** The client: one object with a group of methods for each part of the API. */

import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { inspect } from "node:util";

import { Caller, INSPECT, type Fetch, type Query } from "./caller.js";
import { SluiceError } from "./errors.js";
import {
  Balance, Banks, Beneficiaries, Capabilities, CardChecks, Disputes, Events, PaymentLinks, Payments, PayoutBatches, Payouts, Refunds, Requests, Sandbox,
  Settlements, UnappliedTransfers, VirtualAccounts, WebhookEndpoints,
} from "./resources.js";
import { VERSION } from "./version.js";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** No key was found, or what was found can't be used. The message says what to do. */
export class NoCredentials extends SluiceError {}

export interface SluiceOptions {
  /** Milliseconds of each attempt as a whole; by default 70,000. */
  timeout?: number;
  /** How often a call is repeated after a failure; by default 2. */
  retries?: number;
  /** Whether a difference between this machine's clock and the service's is corrected; by default yes. */
  correctClock?: boolean;
  /** Allows `http://` to any host. Without it only to this machine. */
  insecureHttp?: boolean;
  /** Allows a browser, for test runners: a secret key has no business there. */
  allowBrowser?: boolean;
  /** In place of the built-in fetch. It must send the URL's path and query as they are. */
  fetch?: Fetch;
  /** Is told when the clock is corrected; by default `console.warn`. */
  warn?: (message: string) => void;
}

/** A client for one service and key pair. */
export class Sluice {
  readonly payments: Payments;
  readonly payouts: Payouts;
  readonly cardChecks: CardChecks;
  readonly refunds: Refunds;
  readonly virtualAccounts: VirtualAccounts;
  readonly banks: Banks;
  readonly capabilities: Capabilities;
  readonly balance: Balance;
  readonly settlements: Settlements;
  readonly unappliedTransfers: UnappliedTransfers;
  readonly payoutBatches: PayoutBatches;
  readonly beneficiaries: Beneficiaries;
  readonly disputes: Disputes;
  readonly paymentLinks: PaymentLinks;
  readonly events: Events;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly requests: Requests;
  readonly sandbox: Sandbox;
  readonly #caller: Caller;

  constructor(baseUrl: string, apiKey: string, secretKey: string, options: SluiceOptions = {}) {
    refuseBrowsers(options);
    for (const [name, key] of [["API key", apiKey], ["secret key", secretKey]] as const) {
      if (!/^[!-~]+$/.test(key)) {
        throw new TypeError(`The ${name} is empty, or has blanks or other characters that no key has.`);
      }
    }
    const caller = new Caller({
      baseUrl: checked(baseUrl, options),
      apiKey,
      secretKey,
      timeout: options.timeout ?? 70_000,
      retries: options.retries ?? 2,
      correctClock: options.correctClock ?? true,
      fetch: options.fetch ?? fetch,
      warn: options.warn ?? ((message) => { console.warn(message); }),
      userAgent: `sluice-node/${VERSION}`,
    });
    this.#caller = caller;
    this.payments = new Payments(caller);
    this.payouts = new Payouts(caller);
    this.cardChecks = new CardChecks(caller);
    this.refunds = new Refunds(caller);
    this.virtualAccounts = new VirtualAccounts(caller);
    this.banks = new Banks(caller);
    this.capabilities = new Capabilities(caller);
    this.balance = new Balance(caller);
    this.settlements = new Settlements(caller);
    this.unappliedTransfers = new UnappliedTransfers(caller);
    this.payoutBatches = new PayoutBatches(caller);
    this.beneficiaries = new Beneficiaries(caller);
    this.disputes = new Disputes(caller);
    this.paymentLinks = new PaymentLinks(caller);
    this.events = new Events(caller);
    this.webhookEndpoints = new WebhookEndpoints(caller);
    this.requests = new Requests(caller);
    this.sandbox = new Sandbox(caller);
  }

  /** Returns a client of SLUICE_BASE_URL, SLUICE_API_KEY and SLUICE_SECRET_KEY. */
  static fromEnv(options?: SluiceOptions): Sluice {
    const names = ["SLUICE_BASE_URL", "SLUICE_API_KEY", "SLUICE_SECRET_KEY"] as const;
    const missing = names.filter((name) => !process.env[name]);
    if (missing.length > 0) throw new NoCredentials(`Set ${missing.join(", ")}.`);
    const [baseUrl, apiKey, secretKey] = names.map((name) => process.env[name] as string);
    return new Sluice(baseUrl as string, apiKey as string, secretKey as string, options);
  }

  /** Returns a client of a profile that `sluice login` stored. */
  static fromProfile(name: string, options?: SluiceOptions): Sluice {
    const file = join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "sluice", "profiles.json");
    if ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o177) throw new NoCredentials(`${file} can be read by others: chmod 600 ${file}`);
    const profile = statSync(file, { throwIfNoEntry: false }) ? read(file)[name] : undefined;
    if (!profile) throw new NoCredentials(`There is no profile ${name} in ${file}. \`sluice login --name ${name}\` stores it.`);
    return ofDocument(profile, `the profile ${name}`, options);
  }

  /** Returns a client of a sandbox's demo business, by default of the one that was last started from this folder. */
  static fromSandbox(folder?: string, options?: SluiceOptions): Sluice {
    const place = resolve(folder ?? currentSandbox());
    if (!statSync(join(place, "credentials.json"), { throwIfNoEntry: false })?.isFile()) {
      throw new NoCredentials(
        `There is no sandbox in ${place}. Set SANDBOX_DATA to the sandbox's folder, or pass it: Sluice.fromSandbox(folder).`,
      );
    }
    const document = read(join(place, "credentials.json"));
    refuseOtherHosts(document["base_url"], place);
    return ofDocument(document, `the sandbox in ${place}`, options);
  }

  /** Makes a signed call that this version has no method for, and returns the JSON of the answer. */
  async call(method: string, path: string, query?: Query, body?: object): Promise<unknown> {
    const options = { ...(query ? { query } : {}), ...(body ? { body } : {}) };
    return (await this.#caller.call(method, path, options)).document;
  }

  [INSPECT](): string {
    return inspect(this.#caller).replace("Caller", "Sluice");
  }
}

function refuseBrowsers(options: SluiceOptions): void {
  if ("window" in globalThis && "document" in globalThis && !options.allowBrowser) {
    throw new SluiceError("This is a browser. A secret key must stay on your server.");
  }
}

function checked(baseUrl: string, options: SluiceOptions): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.href !== `${url.origin}/`) {
    throw new TypeError("The base URL must look like https://pay.example.com, without a path.");
  }
  if (url.protocol === "http:" && !LOOPBACK.has(url.hostname) && !options.insecureHttp) {
    throw new TypeError("The base URL must be https; insecureHttp allows http to any host.");
  }
  return url;
}

/** Refuses the keys of a folder that names another machine: a sandbox is on this one. */
function refuseOtherHosts(baseUrl: unknown, place: string): void {
  const isHere = typeof baseUrl !== "string" || (URL.canParse(baseUrl) && LOOPBACK.has(new URL(baseUrl).hostname));
  if (!isHere) throw new NoCredentials(`The sandbox in ${place} names ${JSON.stringify(baseUrl)}, which is not on this machine.`);
}

/** Returns the folder of SANDBOX_DATA, or that of the sandbox that was started last, or the default one. */
function currentSandbox(): string {
  if (process.env["SANDBOX_DATA"]) return process.env["SANDBOX_DATA"];
  try {
    const { folder } = read(join("var", "sandbox.current"));
    if (typeof folder === "string" && statSync(join(folder, "credentials.json")).isFile()) return folder;
  } catch {
    // There is none, or its folder is gone.
  }
  return join("var", "sandbox");
}

function read(file: string): Record<string, unknown> {
  try {
    const document: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof document === "object" && document !== null) return document as Record<string, unknown>;
  } catch {
    // Reported below, without anything of the file.
  }
  throw new NoCredentials(`${file} can't be read, or is not a JSON object.`);
}

function ofDocument(document: unknown, source: string, options?: SluiceOptions): Sluice {
  const { base_url, api_key, secret_key } = (document ?? {}) as Record<string, unknown>;
  if (typeof base_url !== "string" || typeof api_key !== "string" || typeof secret_key !== "string") {
    throw new NoCredentials(`${source} has no base_url, api_key or secret_key.`);
  }
  return new Sluice(base_url, api_key, secret_key, options);
}
