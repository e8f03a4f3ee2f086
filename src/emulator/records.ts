// What the emulator saw and did: the oracle that tests ask.
import { BoundedMap } from "../core/bounded-map.ts";
import { type Clock, toInstant } from "./clock.ts";
import type { HttpRequest } from "./http/request.ts";
import { sha256 } from "./ids.ts";

export interface RequestRecord {
  readonly operationId: string | null;
  readonly method: string;
  /** With the query, as it was sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of what was read of the body. */
  readonly bodySha256: string;
  readonly idempotencyKey?: string;
  /** Whose token it carried, once that was looked at. */
  clientId?: string;
  /** Null while unanswered, and for ever when the answer was withheld. */
  status: number | null;
  readonly at: string;
}

interface Execution {
  readonly clientId?: string;
  readonly operationId: string;
  readonly idempotencyKey: string;
  readonly executions: number;
}

interface RecordOptions {
  readonly maxRequestRecords: number;
  readonly maxExecutionRecords: number;
  /** Where there are several. */
  readonly includesClientIds: boolean;
}

export class Records {
  readonly #requests: RequestRecord[] = [];
  readonly #executions: BoundedMap<string, Execution>;
  readonly #clock: Clock;
  readonly #options: RecordOptions;

  constructor(clock: Clock, options: RecordOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#executions = new BoundedMap(options.maxExecutionRecords);
  }

  get requests(): readonly RequestRecord[] {
    return this.#requests;
  }

  get executions(): readonly Execution[] {
    return [...this.#executions.values()];
  }

  /** Records a request; who sent it and the status are not known yet. */
  recordRequest(operationId: string | null, url: string, request: HttpRequest): RequestRecord {
    const [idempotencyKey] = request.header("idempotency-key");
    const record: RequestRecord = {
      operationId,
      method: request.method,
      path: url,
      headers: redactHeaders(request.headers),
      bodySha256: sha256(request.body === "too large" ? "" : request.body),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      status: null,
      at: toInstant(this.#clock.now()),
    };
    this.#requests.push(record);
    if (this.#requests.length > this.#options.maxRequestRecords) this.#requests.shift();
    return record;
  }

  /** Records the client of a request, if there are several clients. */
  recordClient(record: RequestRecord, clientId: string): void {
    if (this.#options.includesClientIds) record.clientId = clientId;
  }

  recordExecution(clientId: string, operationId: string, idempotencyKey: string): void {
    const name = `${clientId}\n${operationId}\n${idempotencyKey}`;
    const executions = (this.#executions.get(name)?.executions ?? 0) + 1;
    const clientField = this.#options.includesClientIds ? { clientId } : {};
    this.#executions.set(name, { ...clientField, operationId, idempotencyKey, executions });
  }
}

/** One value for each name; only the scheme of Authorization. */
const redactHeaders = (headers: HttpRequest["headers"]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...headers].map(([name, values]) => {
      const isSecret = name === "authorization" || name === "proxy-authorization";
      return [name, (isSecret ? values.map((value) => value.split(" ", 1)[0]) : values).join(", ")];
    }),
  );
