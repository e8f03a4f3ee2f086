// The transport of one session: knows which response carries an answer, and hands over the answers of requests that came past
// the SDK's HTTP, whoever answers them.
import {
  type JSONRPCMessage,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { withLegacyCode } from "../messages/legacy-codes.ts";
import type { Reads } from "../messages/reads.ts";
import type { Deliveries } from "../tools/deliveries.ts";
import type { Ask } from "./answer.ts";

type Options = NonNullable<ConstructorParameters<typeof WebStandardStreamableHTTPServerTransport>[0]>;
type Send = WebStandardStreamableHTTPServerTransport["send"];
type Told = Parameters<Ask>[1];

/** Called once the response that holds these answers is out. */
export type Outgoing = (() => void)[];

export interface SessionParts {
  readonly deliveries: Deliveries;
  readonly reads: Reads;
}

export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  /** By the ids of requests whose response is open. */
  readonly outgoing = new Map<RequestId, Outgoing>();
  readonly #deliveries: Deliveries;
  readonly #reads: Reads;
  #isClosed = false;
  readonly #asked = new Map<RequestId, Told>();

  constructor(options: Options, { deliveries, reads }: SessionParts) {
    super(options);
    this.#deliveries = deliveries;
    this.#reads = reads;
  }

  /** A request that is given up goes on, as the protocol has it; nobody hears its answer. */
  readonly ask: Ask = (request, told) => {
    const { id } = request;
    if (this.#isClosed) {
      told(undefined);
      return () => undefined;
    }
    this.#asked.set(id, told);
    if (!this.#reads.take(request, (answer) => void this.#tell(id, answer, told))) this.onmessage?.(request);
    return () => {
      if (this.#asked.get(id) === told) this.#asked.delete(id);
    };
  };

  /** Whether somebody waits for this answer beside the SDK's HTTP: `by`, where it is not for just anyone. */
  #tell(id: RequestId, answer: JSONRPCMessage, by?: Told): boolean {
    const told = this.#asked.get(id);
    if (!told || (by && told !== by)) return false;
    this.#asked.delete(id);
    told(answer);
    return true;
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    this.#reads.close();
    await super.close();
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    for (const told of asked) told(undefined);
  }

  override async send(message: Parameters<Send>[0], options?: Parameters<Send>[1]): Promise<void> {
    const answer = withLegacyCode(message);
    const id = "result" in message || "error" in message ? message.id : undefined;
    this.#reads.sent(message);
    if (id !== undefined && this.#tell(id, answer)) return;
    await super.send(answer, options);
    if (id === undefined) return;
    // Without an open response the answer is lost: the same call gets the outcome later.
    const isOut = this.#deliveries.answered(id);
    this.outgoing.get(id)?.push(isOut);
  }
}
