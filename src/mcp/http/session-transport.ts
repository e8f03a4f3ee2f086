// The transport of one session: returns the answers of requests that bypass the SDK's HTTP handling.
import {
  type JSONRPCMessage,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { withLegacyCode } from "../messages/legacy-codes.ts";
import type { Reads } from "../messages/reads.ts";
import type { Ask } from "./answer.ts";

type Options = NonNullable<ConstructorParameters<typeof WebStandardStreamableHTTPServerTransport>[0]>;
type Send = WebStandardStreamableHTTPServerTransport["send"];
type Told = Parameters<Ask>[1];

export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #reads: Reads;
  #isClosed = false;
  readonly #asked = new Map<RequestId, Told>();

  constructor(options: Options, reads: Reads) {
    super(options);
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
  }
}
