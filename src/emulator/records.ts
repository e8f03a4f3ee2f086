// What the emulator saw and did: the oracle that tests ask.
import { BoundedMap } from "../core/bounded-map.ts";
import { type Clock, instant } from "./clock.ts";
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

interface Keeping {
  readonly requestsKept: number;
  readonly executionsKept: number;
  /** Where there are several. */
  readonly namesClients: boolean;
}

export class Records {
  readonly #requests: RequestRecord[] = [];
  readonly #executions: BoundedMap<string, Execution>;
  readonly #clock: Clock;
  readonly #keeping: Keeping;

  constructor(clock: Clock, keeping: Keeping) {
    this.#clock = clock;
    this.#keeping = keeping;
    this.#executions = new BoundedMap(keeping.executionsKept);
  }

  get requests(): readonly RequestRecord[] {
    return this.#requests;
  }

  get executions(): readonly Execution[] {
    return [...this.#executions.values()];
  }

  /** Records a request; who sent it and the status are not known yet. */
  request(operationId: string | null, url: string, request: HttpRequest): RequestRecord {
    const [idempotencyKey] = request.header("idempotency-key");
    const record: RequestRecord = {
      operationId,
      method: request.method,
      path: url,
      headers: redacted(request.headers),
      bodySha256: sha256(request.body === "too large" ? "" : request.body),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      status: null,
      at: instant(this.#clock.now()),
    };
    this.#requests.push(record);
    if (this.#requests.length > this.#keeping.requestsKept) this.#requests.shift();
    return record;
  }

  /** Records the client of a request, if there are several clients. */
  client(record: RequestRecord, clientId: string): void {
    if (this.#keeping.namesClients) record.clientId = clientId;
  }

  execution(clientId: string, operationId: string, idempotencyKey: string): void {
    const name = `${clientId}\n${operationId}\n${idempotencyKey}`;
    const executions = (this.#executions.get(name)?.executions ?? 0) + 1;
    const whose = this.#keeping.namesClients ? { clientId } : {};
    this.#executions.set(name, { ...whose, operationId, idempotencyKey, executions });
  }
}

/** One value for each name; only the scheme of Authorization. */
const redacted = (headers: HttpRequest["headers"]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...headers].map(([name, values]) => {
      const isSecret = name === "authorization" || name === "proxy-authorization";
      return [name, (isSecret ? values.map((value) => value.split(" ", 1)[0]) : values).join(", ")];
    }),
  );
