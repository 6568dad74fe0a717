/** Groups of methods, one for each part of the API. Field names are those on the wire. */

import { randomBytes } from "node:crypto";

import type { Answer, Caller, Meta, Query } from "./caller.js";
import { Listener } from "./listeners.js";
import { Page, targetOf } from "./page.js";
import { play, UnknownScenario, type Played } from "./scenarios.js";
import type { components, operations } from "./schema.js";

export type Schemas = components["schemas"];
export type Filters<Name extends keyof operations> = NonNullable<operations[Name]["parameters"]["query"]>;
type Request<T, Fixed extends string> = Omit<T, Fixed>;

const PAYMENTS = "/api/payments";
const REFUNDS = "/api/refunds";
const ACCOUNTS = "/api/virtual-accounts";
const LINKS = "/api/payment-links";
const UNAPPLIED = "/api/unapplied-transfers";
const SETTLEMENTS = "/api/settlements";
const BATCHES = "/api/payout-batches";
const BENEFICIARIES = "/api/beneficiaries";
const ENDPOINTS = "/api/webhook-endpoints";
const EVENTS = "/api/events";
const BALANCE = "/api/balance";
const BANKS = "/api/banks";
const DISPUTES = "/api/disputes";
const CAPABILITIES = "/api/capabilities";
const SANDBOX = "/api/sandbox";
const EXAMS = `${SANDBOX}/exams`;
const REPEATED = { isRepeatable: true };
const ONCE = { isRepeatable: false };

const metas = new WeakMap<object, Meta>();

/** Returns what came beside the body of a result: status, request id, whether it was replayed, and headers. */
export function metaOf(result: object): Meta | undefined {
  return metas.get(result);
}

class Resource {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  protected get caller(): Caller {
    return this.#caller;
  }

  protected async read<T extends object>(path: string, query?: Query): Promise<T> {
    return result<T>(await this.#caller.call("GET", path, query ? { query } : {}));
  }

  protected async send<T extends object>(path: string, body: object = {}, options: { isRepeatable?: boolean } = {}): Promise<T> {
    return result<T>(await this.#caller.call("POST", path, { body, ...options }));
  }

  protected async page<T>(path: string, query?: object): Promise<Page<T>> {
    const answer = await this.#caller.call("GET", path, query ? { query: query as Query } : {});
    const { data, next } = answer.document as { data: T[]; next?: string | null };
    return new Page(data, targetOf(next), answer.meta, (target) => this.page<T>(target));
  }
}

function result<T extends object>(answer: Answer): T {
  const document = answer.document as T;
  metas.set(document, answer.meta);
  return document;
}

/** Returns a path; references are quoted as they are signed. Throws a TypeError if one is empty or has a slash. */
function path(first: string, ...parts: string[]): string {
  for (const part of parts) {
    if (!part || part.includes("/")) throw new TypeError(`${JSON.stringify(part)} is no reference: it is empty, or has a slash.`);
  }
  return [first, ...parts.map((part) => encodeURIComponent(part).replaceAll("%3A", ":"))].join("/");
}

/** Payments by card and by bank transfer. Payouts and card checks are listed here too. */
export class Payments extends Resource {
  /** Pays by card. A declined payment is returned with the status `failed`. */
  card(request: Request<Schemas["CardPaymentRequest"], "request_type" | "payment_method">): Promise<Schemas["Payment"]> {
    return this.create({ request_type: "payment", payment_method: "card", ...request });
  }

  /** Waits for a transfer into a virtual account. The answer has the account number for the payer. */
  transfer(
    request: Request<Schemas["VirtualAccountPaymentRequest"], "request_type" | "payment_method">,
  ): Promise<Schemas["Payment"]> {
    return this.create({ request_type: "payment", payment_method: "virtual_account", ...request });
  }

  /** Sends a plain request. */
  create(request: Schemas["CreatePaymentRequest"]): Promise<Schemas["Payment"]> {
    return this.send(PAYMENTS, request);
  }

  get(reference: string): Promise<Schemas["Payment"]> {
    return this.read(path(PAYMENTS, reference));
  }

  /** Lists payments, payouts and card checks, newest first. */
  list(filters?: Filters<"listPayments">): Promise<Page<Schemas["Payment"]>> {
    return this.page(PAYMENTS, filters);
  }

  /** Captures an authorised payment, in whole or, with an amount in minor units, in part. */
  capture(reference: string, amount?: number): Promise<Schemas["Payment"]> {
    return this.send(path(PAYMENTS, reference, "capture"), amount === undefined ? {} : { amount }, REPEATED);
  }

  void(reference: string): Promise<Schemas["Payment"]> {
    return this.send(path(PAYMENTS, reference, "void"), {}, REPEATED);
  }

  cancel(reference: string): Promise<Schemas["Payment"]> {
    return this.send(path(PAYMENTS, reference, "cancel"), {}, REPEATED);
  }

  /** Returns the payment once it is final, or as it is after `timeout` seconds. */
  async wait(reference: string, timeout = 60): Promise<Schemas["Payment"]> {
    const deadline = Date.now() + timeout * 1000;
    for (;;) {
      const payment = await this.get(reference);
      if (payment.status !== "pending" || Date.now() + 1000 > deadline) return payment;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

/** Payouts to bank accounts. */
export class Payouts extends Resource {
  /** Pays out. A payout that the bank refuses is returned with the status `failed`. */
  create(request: Request<Schemas["PayoutRequest"], "request_type">): Promise<Schemas["Payment"]> {
    return this.send(PAYMENTS, { request_type: "payout", ...request });
  }
}

/** Checks whether a card is valid, without an amount. */
export class CardChecks extends Resource {
  /** Checks a card. Without a reference it is given one, so that the call can be repeated. */
  create(
    request: Request<Schemas["CardCheckRequest"], "request_type" | "reference"> & { reference?: string },
  ): Promise<Schemas["Payment"]> {
    const reference = request.reference ?? `check-${randomBytes(12).toString("hex")}`;
    return this.send(PAYMENTS, { request_type: "card_check", ...request, reference });
  }
}

/** Refunds of card and transfer payments. */
export class Refunds extends Resource {
  /** Refunds what is left, or an amount in minor units. */
  create(paymentReference: string, request: Schemas["RefundRequest"]): Promise<Schemas["Refund"]> {
    return this.send(path(PAYMENTS, paymentReference, "refunds"), request);
  }

  get(reference: string): Promise<Schemas["Refund"]> {
    return this.read(path(REFUNDS, reference));
  }

  list(paymentReference: string, filters?: Filters<"listRefunds">): Promise<Page<Schemas["Refund"]>> {
    return this.page(path(PAYMENTS, paymentReference, "refunds"), filters);
  }
}

/** Account numbers that receive money. */
export class VirtualAccounts extends Resource {
  /** Opens an account with a permanent number for a customer. */
  static(request: Request<Schemas["StaticAccountRequest"], "type" | "account_type">): Promise<Schemas["VirtualAccount"]> {
    return this.send(ACCOUNTS, { type: "static", ...request });
  }

  /** Opens a static account of a business. */
  business(
    request: Request<Schemas["BusinessAccountRequest"], "type" | "account_type">,
  ): Promise<Schemas["VirtualAccount"]> {
    return this.send(ACCOUNTS, { type: "static", account_type: "business", ...request });
  }

  /** Opens an account that gets a number for each payment. */
  dynamic(request: Request<Schemas["DynamicAccountRequest"], "type" | "account_type">): Promise<Schemas["VirtualAccount"]> {
    return this.send(ACCOUNTS, { type: "dynamic", ...request });
  }

  get(reference: string): Promise<Schemas["VirtualAccount"]> {
    return this.read(path(ACCOUNTS, reference));
  }

  list(filters?: Filters<"listVirtualAccounts">): Promise<Page<Schemas["VirtualAccount"]>> {
    return this.page(ACCOUNTS, filters);
  }

  deactivate(reference: string): Promise<Schemas["VirtualAccount"]> {
    return this.send(path(ACCOUNTS, reference, "deactivate"), {}, REPEATED);
  }

  /** Lets money arrive, in the sandbox. Never repeated: a second call is a second transfer. */
  simulateTransfer(request: Schemas["SimulateRequest"]): Promise<Schemas["Simulated"]> {
    return this.send(`${ACCOUNTS}/simulate`, request, ONCE);
  }
}

/** Banks that payouts can go to. */
export class Banks extends Resource {
  #known: { etag: string; banks: Schemas["Bank"][] } | undefined;

  /** Lists all banks. The list is kept, and fetched again only after it has changed. */
  async list(): Promise<Schemas["Bank"][]> {
    const known = this.#known;
    const answer = await this.caller.call("GET", BANKS, known ? { headers: { "If-None-Match": known.etag } } : {});
    if (answer.document === undefined && known) return known.banks;
    const banks = (answer.document as Schemas["BankList"]).data;
    this.#known = { etag: answer.meta.headers.get("etag") ?? "", banks };
    return banks;
  }

  /** Returns the holder of an account. */
  resolve(request: Schemas["ResolveBeneficiaryRequest"]): Promise<Schemas["Beneficiary"]> {
    return this.send(`${BANKS}/resolve`, request, REPEATED);
  }
}

/** What can be done in each currency. */
export class Capabilities extends Resource {
  /** Returns what can be done for each kind of request and currency. */
  async list(): Promise<Schemas["Capability"][]> {
    return (await this.read<Schemas["CapabilityList"]>(CAPABILITIES)).data;
  }
}

/** Your balance. */
export class Balance extends Resource {
  /** Returns a balance for each currency. */
  async get(): Promise<Schemas["Balance"][]> {
    return (await this.read<Schemas["BalanceList"]>(BALANCE)).data;
  }

  movements(filters?: Filters<"listMovements">): Promise<Page<Schemas["Movement"]>> {
    return this.page(`${BALANCE}/movements`, filters);
  }
}

/** Batches of payments on their way to your balance. */
export class Settlements extends Resource {
  list(filters?: Filters<"listSettlements">): Promise<Page<Schemas["Settlement"]>> {
    return this.page(SETTLEMENTS, filters);
  }

  get(settlementId: string, page?: Filters<"getSettlement">): Promise<Schemas["SettlementWithItems"]> {
    return this.read(path(SETTLEMENTS, settlementId), page);
  }
}

/** Money that arrived and matches no payment. */
export class UnappliedTransfers extends Resource {
  list(filters?: Filters<"listUnappliedTransfers">): Promise<Page<Schemas["UnappliedTransfer"]>> {
    return this.page(UNAPPLIED, filters);
  }

  /** Credits it to your balance. */
  credit(transferId: string, request: Schemas["CreditUnappliedRequest"]): Promise<Schemas["UnappliedTransfer"]> {
    return this.send(path(UNAPPLIED, transferId, "credit"), request, REPEATED);
  }

  /** Returns it to its sender, or to `destination`. */
  return(transferId: string, request: Schemas["ReturnUnappliedRequest"]): Promise<Schemas["UnappliedTransfer"]> {
    return this.send(path(UNAPPLIED, transferId, "return"), request, REPEATED);
  }
}

/** Many payouts as one request: checked, approved, sent and followed. */
export class PayoutBatches extends Resource {
  create(request: Schemas["PayoutBatchRequest"]): Promise<Schemas["PayoutBatch"]> {
    return this.send(BATCHES, request);
  }

  get(reference: string): Promise<Schemas["PayoutBatch"]> {
    return this.read(path(BATCHES, reference));
  }

  list(filters?: Filters<"listPayoutBatches">): Promise<Page<Schemas["PayoutBatch"]>> {
    return this.page(BATCHES, filters);
  }

  /** Lists the payouts of a batch in the order of the file. */
  payouts(reference: string, filters?: Filters<"listBatchPayouts">): Promise<Page<Schemas["PayoutBatchItem"]>> {
    return this.page(path(BATCHES, reference, "payouts"), filters);
  }

  /** Releases a batch. `accept`: why payouts that are not `ok` are paid, by their references. */
  approve(reference: string, request: Schemas["ApproveRequest"] = {}): Promise<Schemas["PayoutBatch"]> {
    return this.send(path(BATCHES, reference, "approve"), request, REPEATED);
  }

  /** Cancels what is not sent yet. */
  cancel(reference: string): Promise<Schemas["PayoutBatch"]> {
    return this.send(path(BATCHES, reference, "cancel"), {}, REPEATED);
  }

  /** Makes a new batch of the failed payouts. */
  retry(reference: string): Promise<Schemas["PayoutBatch"]> {
    return this.send(path(BATCHES, reference, "retry"), {}, REPEATED);
  }
}

/** Bank accounts that you pay. */
export class Beneficiaries extends Resource {
  create(request: Schemas["SavedBeneficiaryRequest"]): Promise<Schemas["SavedBeneficiary"]> {
    return this.send(BENEFICIARIES, request);
  }

  get(reference: string): Promise<Schemas["SavedBeneficiary"]> {
    return this.read(path(BENEFICIARIES, reference));
  }

  list(filters?: Filters<"listBeneficiaries">): Promise<Page<Schemas["SavedBeneficiary"]>> {
    return this.page(BENEFICIARIES, filters);
  }

  /** Changes a beneficiary. `null` removes a value. */
  async update(reference: string, changes: Schemas["BeneficiaryChangeRequest"]): Promise<Schemas["SavedBeneficiary"]> {
    return result(await this.caller.call("PATCH", path(BENEFICIARIES, reference), { body: changes, ...REPEATED }));
  }

  /** Hides a beneficiary. Its payouts stay. */
  async delete(reference: string): Promise<void> {
    await this.caller.call("DELETE", path(BENEFICIARIES, reference), ONCE);
  }
}

/** What cardholders' banks take back, and your answers. */
export class Disputes extends Resource {
  list(filters?: Filters<"listDisputes">): Promise<Page<Schemas["Dispute"]>> {
    return this.page(DISPUTES, filters);
  }

  get(disputeId: string): Promise<Schemas["Dispute"]> {
    return this.read(path(DISPUTES, disputeId));
  }

  /** Adds a text to your answer. Nothing is sent until you submit it. */
  addEvidence(disputeId: string, request: Schemas["EvidenceRequest"]): Promise<Schemas["DisputeEvidence"]> {
    return this.send(path(DISPUTES, disputeId, "evidence"), request, ONCE);
  }

  /** Removes a text or a file from your answer, before you submit it. */
  async removeEvidence(disputeId: string, itemId: string): Promise<void> {
    await this.caller.call("DELETE", path(DISPUTES, disputeId, "evidence", itemId));
  }

  /** Submits your answer, once. `leave_out` names parts of the packet that aren't sent with your evidence. */
  submit(disputeId: string, request: Schemas["SubmitRequest"] = {}): Promise<Schemas["Dispute"]> {
    return this.send(path(DISPUTES, disputeId, "submit"), request, REPEATED);
  }

  /** Concedes all of it, or an amount in minor units. That is final. */
  accept(disputeId: string, request: Schemas["AcceptRequest"] = {}): Promise<Schemas["Dispute"]> {
    return this.send(path(DISPUTES, disputeId, "accept"), request, REPEATED);
  }
}

/** Pages on which payers pay. */
export class PaymentLinks extends Resource {
  create(request: Schemas["LinkRequest"]): Promise<Schemas["PaymentLink"]> {
    return this.send(LINKS, request);
  }

  get(reference: string): Promise<Schemas["PaymentLink"]> {
    return this.read(path(LINKS, reference));
  }

  list(filters?: Filters<"listPaymentLinks">): Promise<Page<Schemas["PaymentLink"]>> {
    return this.page(LINKS, filters);
  }

  /** Changes a link. `null` removes a value. */
  async update(reference: string, changes: Schemas["LinkChangeRequest"]): Promise<Schemas["PaymentLink"]> {
    return result(await this.caller.call("PATCH", path(LINKS, reference), { body: changes, ...REPEATED }));
  }

  activate(reference: string): Promise<Schemas["PaymentLink"]> {
    return this.send(path(LINKS, reference, "activate"), {}, REPEATED);
  }

  deactivate(reference: string): Promise<Schemas["PaymentLink"]> {
    return this.send(path(LINKS, reference, "deactivate"), {}, REPEATED);
  }

  checkouts(reference: string, filters?: Filters<"listCheckouts">): Promise<Page<Schemas["Checkout"]>> {
    return this.page(path(LINKS, reference, "checkouts"), filters);
  }
}

/** Events that you were notified of. */
export class Events extends Resource {
  list(filters?: Filters<"listEvents">): Promise<Page<Schemas["EventRecord"]>> {
    return this.page(EVENTS, filters);
  }

  get(eventId: string): Promise<Schemas["EventInDetail"]> {
    return this.read(path(EVENTS, eventId));
  }

  /** Sends an event again. Never repeated: look the event up if the answer is lost. */
  resend(eventId: string, request: Schemas["ResendRequest"] = {}): Promise<Schemas["EventRecord"]> {
    return this.send(path(EVENTS, eventId, "resend"), request, ONCE);
  }
}

/** URLs that receive your events. */
export class WebhookEndpoints extends Resource {
  /** Creates an endpoint. Never repeated: if the answer is lost, list the endpoints and rotate the key. */
  create(request: Schemas["WebhookEndpointRequest"]): Promise<Schemas["WebhookEndpointWithKey"]> {
    return this.send(ENDPOINTS, request, ONCE);
  }

  list(filters?: Filters<"listWebhookEndpoints">): Promise<Page<Schemas["WebhookEndpoint"]>> {
    return this.page(ENDPOINTS, filters);
  }

  get(endpointId: string): Promise<Schemas["WebhookEndpoint"]> {
    return this.read(path(ENDPOINTS, endpointId));
  }

  /** Changes an endpoint. `null` removes its description. */
  async update(endpointId: string, changes: Schemas["WebhookEndpointChangeRequest"]): Promise<Schemas["WebhookEndpoint"]> {
    return result(await this.caller.call("PATCH", path(ENDPOINTS, endpointId), { body: changes, ...REPEATED }));
  }

  /** Deletes an endpoint. Its deliveries that wait are skipped. */
  async delete(endpointId: string): Promise<void> {
    await this.caller.call("DELETE", path(ENDPOINTS, endpointId), ONCE);
  }

  /** Rotates the signing key. Never repeated: if the answer is lost, rotate again. */
  rotate(endpointId: string, request: Schemas["KeyRotationRequest"] = {}): Promise<Schemas["WebhookEndpointWithKey"]> {
    return this.send(path(ENDPOINTS, endpointId, "rotate"), request, ONCE);
  }
}

/** The log of your requests to this API. */
export class Requests extends Resource {
  list(filters?: Filters<"listRequests">): Promise<Page<Schemas["RequestLogEntry"]>> {
    return this.page("/api/requests", filters);
  }
}

/** What only the sandbox does. */
export class Sandbox extends Resource {
  /** Lists what can be made to happen. */
  async scenarios(): Promise<Schemas["Scenario"][]> {
    return (await this.read<Schemas["ScenarioList"]>(`${SANDBOX}/scenarios`)).data;
  }

  /** Plays a scenario by its name, with changes such as `{"pay.amount": 500}`. */
  async play(name: string, changes: Record<string, unknown> = {}): Promise<Played> {
    const scenario = (await this.scenarios()).find((each) => each.name === name);
    if (!scenario) throw new UnknownScenario(`There is no scenario ${name}. sandbox.scenarios() and \`sluice trigger --list\` list them.`);
    return play(this.caller, scenario, changes);
  }

  /** Lets what a payment waits for happen now. Until `watch`, fails one that its acquirer doesn't know, or looks again. */
  advancePayment(reference: string, until?: Schemas["AdvancePaymentRequest"]["until"]): Promise<Schemas["AdvancedPayment"]> {
    return this.send(`${SANDBOX}/advance`, { payment: reference, until }, ONCE);
  }

  /** Has a batch checked or sent now, your server asked about it, or its wait for approval or money ended. Until `rejected`, another member rejects it. */
  advancePayoutBatch(reference: string, until?: Schemas["AdvancePayoutBatchRequest"]["until"]): Promise<Schemas["PayoutBatch"]> {
    return this.send(`${SANDBOX}/advance`, { payout_batch: reference, until }, ONCE);
  }

  /** Has the next attempt of a waiting event made now. Repeat the call to make all eight. */
  advanceEvent(eventId: string): Promise<Schemas["EventRecord"]> {
    return this.send(`${SANDBOX}/advance`, { event: eventId }, ONCE);
  }

  /**
   * Settles everything that has no batch, and moves the new batches to a state.
   *
   * `settlementAccount`: pay out what was released. It becomes your settlement account if you have none.
   */
  closeDay(
    state: Schemas["AdvanceDayRequest"]["day"] = "released",
    settlementAccount?: Schemas["AdvanceDayRequest"]["settlement_account"],
  ): Promise<Schemas["ClosedDay"]> {
    const body = { day: state, ...(settlementAccount && { settlement_account: settlementAccount }) };
    return this.send(`${SANDBOX}/advance`, body, ONCE);
  }

  /** Returns what is held of a released settlement to your balance, as if its days were over. */
  returnReserve(settlementId: string): Promise<Schemas["ClosedDay"]> {
    return this.send(`${SANDBOX}/advance`, { reserve: settlementId }, ONCE);
  }

  /** Returns a listener, which polls for copies of your events once it has begun. */
  listener(name: string): Listener {
    return new Listener(name, path(`${SANDBOX}/listeners`, name), (...call) => this.send(...call));
  }

  /**
   * Starts an exam of your webhook receiver, by default that of your first endpoint. For the target `client`, send its
   * `requests` and report the answers.
   */
  exam(request: Schemas["ExamRequest"] = { target: "endpoint" }): Promise<Schemas["Exam"]> {
    return this.send(EXAMS, request, ONCE);
  }

  getExam(examId: string): Promise<Schemas["Exam"]> {
    return this.read(path(EXAMS, examId));
  }

  /** Reports the answers to the requests of an exam, or your own to its question. Never repeated: look the exam up. */
  reportExam(examId: string, request: Schemas["ExamAnswersRequest"]): Promise<Schemas["Exam"]> {
    return this.send(path(EXAMS, examId, "answers"), request, ONCE);
  }
}
