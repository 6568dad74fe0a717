/** A listener of the sandbox: copies of your events for a machine that has no public address. */

import type { components } from "./schema.js";

type Schemas = components["schemas"];
type Send = <T extends object>(path: string, body: object, options: { isRepeatable: boolean }) => Promise<T>;

/** Polls for copies of your events. `sandbox.listener(name)` makes one; `begin` tells the service of it. */
export class Listener {
  readonly name: string;
  readonly #path: string;
  readonly #send: Send;

  constructor(name: string, path: string, send: Send) {
    this.name = name;
    this.#path = path;
    this.#send = send;
  }

  /** Begins to listen, or continues. The answer has the key that signs the copies. */
  begin(events?: Schemas["ListenerRequest"]["events"]): Promise<Schemas["Listener"]> {
    const path = this.#path.slice(0, this.#path.lastIndexOf("/"));
    return this.#send(path, { name: this.name, ...(events ? { events } : {}) }, { isRepeatable: true });
  }

  /**
   * Returns what is new, or what is not acknowledged yet. `ack` has ids of events that were received.
   *
   * Waits up to `wait` seconds for an event. Wait `poll_after` seconds before the next call.
   */
  poll({ ack = [], wait = 10 }: Schemas["PollRequest"] = {}): Promise<Schemas["ListenerPoll"]> {
    return this.#send(`${this.#path}/poll`, { ack, wait }, { isRepeatable: true });
  }

  /** Ends the listener, and deletes what it did not acknowledge. */
  end(): Promise<Schemas["EndedListener"]> {
    return this.#send(`${this.#path}/end`, {}, { isRepeatable: false });
  }
}
