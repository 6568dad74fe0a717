/** Lists of the API, page by page. */

import type { Meta } from "./caller.js";

/**
 * A page of a list. `for await` runs through this page and all that follow, which are fetched when they are needed.
 *
 * `next` is the path and query of the next page. Of the address in the answer the host is never used: a hostile answer
 * can't make this client send a signed request elsewhere.
 */
export class Page<T> implements AsyncIterable<T> {
  readonly #fetch: (target: string) => Promise<Page<T>>;

  constructor(
    readonly data: T[],
    readonly next: string | undefined,
    readonly meta: Meta,
    fetch: (target: string) => Promise<Page<T>>,
  ) {
    this.#fetch = fetch;
  }

  /** Yields this page and all that follow. */
  async *pages(): AsyncGenerator<Page<T>> {
    let page: Page<T> | undefined = this;
    while (page !== undefined) {
      yield page;
      page = page.next === undefined ? undefined : await this.#fetch(page.next);
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const page of this.pages()) yield* page.data;
  }
}

/** Returns path and query of an address, exactly as they are. */
export function targetOf(address: unknown): string | undefined {
  if (typeof address !== "string" || !address) return undefined;
  const target = address.replace(/^[a-z][a-z0-9+.-]*:(\/\/[^/?#]*)?/i, "").split("#")[0] ?? "";
  return target.startsWith("/") ? target : `/${target}`;
}
