/** Client for Sluice, a payment service that merchants run themselves. */

export { NoCredentials, Sluice, type SluiceOptions } from "./client.js";
export {
  ApiError, AuthenticationFailed, Conflict, DuplicateReference, Forbidden, InvalidRequest, InvalidState, NotFound, NotSent,
  OutcomeUnknown, RailUnavailable, RateLimited, ServerTrouble, SluiceError, TransportError,
  type FieldError, type ProblemDocument,
} from "./errors.js";
export type { Fetch, Meta } from "./caller.js";
export { Listener } from "./listeners.js";
export { Page } from "./page.js";
export { metaOf, type Schemas } from "./resources.js";
export { UnexpectedAnswer, UnknownScenario, WrongChange, type Played } from "./scenarios.js";
export * as signing from "./signing.js";
export * as webhooks from "./webhooks.js";
export { VERSION } from "./version.js";
