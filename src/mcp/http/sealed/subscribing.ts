// What resources/subscribe and unsubscribe do in a sealed session: they look, and write it down. The instance that has the
// session's stream watches (stream.ts).
import { Failure } from "../../../failure.ts";
import type { Subscriptions } from "../../resources/subscriptions.ts";
import type { HttpService } from "../port.ts";
import type { SessionRows } from "./port.ts";
import type { Session } from "./session.ts";

const MAX_SUBSCRIPTIONS = 100;

const tooMany = (): Failure =>
  new Failure({
    kind: "rate_limited",
    message: `This session has subscribed to ${MAX_SUBSCRIPTIONS} resources already, and no more can be.`,
    retryable: true,
    sideEffect: "none",
    next: "Unsubscribe from some, or read with waitSeconds instead.",
  });

export interface Subscribing {
  readonly service: HttpService;
  readonly session: Session;
  readonly rows: SessionRows;
  /** Hears of each change, once it is written. */
  changed(): Promise<void>;
}

/** One call looks once, so there are no updates to deliver. */
export function createSubscribing({ service, session, rows, changed }: Subscribing): Subscriptions {
  return {
    deliverTo: () => undefined,
    canWatch: (uri) => service.createSubscriptions().canWatch(uri),
    async join(uri, subscriber) {
      const subscriptions = service.createSubscriptions();
      try {
        if (!(await subscriptions.join(uri, subscriber))) return false;
        const version = subscriptions.versionOf(uri) ?? null;
        const bounds = { until: session.until, max: MAX_SUBSCRIPTIONS };
        if (!(await rows.subscribe(session.id, { uri, version }, bounds))) throw tooMany();
      } finally {
        subscriptions.close();
      }
      await changed();
      return true;
    },
    versionOf: () => undefined,
    async leave(uri) {
      await rows.unsubscribe(session.id, uri);
      await changed();
    },
    leaveAll: () => undefined,
    close: () => undefined,
  };
}
