/** Play a scenario of the sandbox: its calls in their order, and the payer's answers to 3-D Secure pages. */

import { randomBytes } from "node:crypto";

import type { Caller } from "./caller.js";
import { SluiceError } from "./errors.js";
import type { components } from "./schema.js";

type Scenario = components["schemas"]["Scenario"];
type Step = components["schemas"]["ScenarioStep"];
type Json = Record<string, unknown>;

/** A step was not answered as its scenario says. */
export class UnexpectedAnswer extends SluiceError {}

/** There is no such scenario. */
export class UnknownScenario extends SluiceError {}

/** A scenario has no such field to change, or the value has another type. */
export class WrongChange extends SluiceError {}

export interface Played {
  scenario: string;
  event: string | null;
  /** The answers by step. */
  answers: Record<string, Json>;
  status: string;
  responseCode: string;
}

/** Plays a scenario with changes, as `{"pay.amount": 500}`. */
export async function play(caller: Caller, scenario: Scenario, changes: Json = {}): Promise<Played> {
  const bodies = changed(scenario, changes);
  const answers: Record<string, Json> = {};
  for (const step of scenario.steps) {
    const reference = `${scenario.name.split(".")[0]?.replaceAll("_", "-")}-${randomBytes(4).toString("hex")}`;
    const path = String(resolved(step.path, answers, reference));
    const body = resolved(bodies[step.id], answers, reference) as Json | undefined;
    if (step.payer) await answerAsPayer(caller, step, path, body);
    else answers[step.id] = await call(caller, step, path, body);
  }
  const end = answers[scenario.ends.step] ?? {};
  const { status, response_code } = end;
  return { scenario: scenario.name, event: scenario.event, answers, status: String(status), responseCode: String(response_code) };
}

async function call(caller: Caller, step: Step, path: string, body: Json | undefined): Promise<Json> {
  const options = body === undefined ? {} : { body };
  const answer = await caller.call(step.method ?? "GET", path, { ...options, isRepeatable: false });
  const document = answer.document as Json;
  const { http_status, ...outcome } = step.expect;
  if (answer.meta.status !== http_status) {
    throw new UnexpectedAnswer(`Step ${step.id}: expected ${http_status}, not ${answer.meta.status}.`);
  }
  for (const [name, wanted] of Object.entries(outcome)) {
    if (document[name] !== wanted) {
      throw new UnexpectedAnswer(`Step ${step.id}: expected the ${name} ${wanted}, not ${String(document[name])}.`);
    }
  }
  return document;
}

/** Of the address only the path is used: this client talks to its own service alone. */
async function answerAsPayer(caller: Caller, step: Step, address: string, form: Json = {}): Promise<void> {
  const status = await caller.postForm(new URL(address).pathname, form as Record<string, string>);
  if (status !== step.expect.http_status) {
    throw new UnexpectedAnswer(`Step ${step.id}: expected ${step.expect.http_status}, not ${status}.`);
  }
}

function changed(scenario: Scenario, changes: Json): Record<string, unknown> {
  const bodies: Record<string, unknown> = Object.fromEntries(
    scenario.steps.map((step) => [step.id, structuredClone(step.body)]),
  );
  const known = scenario.changes as Record<string, string>;
  for (const [path, value] of Object.entries(changes)) {
    const kind = known[path];
    if (kind === undefined) {
      throw new WrongChange(
        `${scenario.name} has no field ${path} to change. It has: ${Object.keys(known).join(", ") || "none"}.`,
      );
    }
    if (typeOf(value) !== kind) throw new WrongChange(`${path} must be of the type ${kind}, not ${JSON.stringify(value)}.`);
    const parts = path.split(".");
    const last = parts.pop() as string;
    let body: unknown = bodies;
    for (const part of parts) body = (body as Json)[part];
    (body as Json)[last] = value;
  }
  return bodies;
}

function typeOf(value: unknown): string {
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** Returns a part of a step with values in place of `{{new}}` and `{{step.path}}`. */
function resolved(node: unknown, answers: Record<string, Json>, reference: string): unknown {
  if (typeof node === "string") {
    return node.replaceAll(/\{\{([A-Za-z0-9_.]+)\}\}/g, (_, expression: string) => {
      if (expression === "new") return reference;
      return String(expression.split(".").reduce<unknown>((value, part) => (value as Json)[part], answers));
    });
  }
  if (Array.isArray(node)) return node.map((each) => resolved(each, answers, reference));
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([name, each]) => [name, resolved(each, answers, reference)]));
}
