// Records the requests that the emulator received and the commands that it executed, as an oracle for tests.
import { BoundedMap } from "../core/bounded-map.ts";
import { type Clock, toInstant } from "./clock.ts";
import type { HttpRequest } from "./http/request.ts";
import { sha256 } from "./ids.ts";

export interface RequestRecord {
  readonly operationId: string | null;
  readonly method: string;
  /** The path and query as they were sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, or of an empty body if the body was too large. */
  readonly bodySha256: string;
  readonly idempotencyKey?: string;
  /** The client of the request's token, after the token was checked. */
  clientId?: string;
  /** Null until the request is answered; it stays null if the answer was withheld. */
  status: number | null;
  readonly at: string;
}

interface Execution {
  readonly clientId?: string;
  readonly operationId: string;
  readonly idempotencyKey: string;
  readonly executions: number;
}

export type Records = ReturnType<typeof createRecords>;

/** `includesClientIds`: the emulator has several clients. */
export function createRecords(clock: Clock, maxRequests: number, maxExecutions: number, includesClientIds: boolean) {
  const requests: RequestRecord[] = [];
  const executed = new BoundedMap<string, Execution>(maxExecutions);
  return {
    requests,
    listExecutions: (): readonly Execution[] => [...executed.values()],
    recordRequest(operationId: string | null, url: string, request: HttpRequest): RequestRecord {
      const [idempotencyKey] = request.header("idempotency-key");
      const record: RequestRecord = {
        operationId,
        method: request.method,
        path: url,
        headers: redactHeaders(request.headers),
        bodySha256: sha256(request.body === "too large" ? "" : request.body),
        idempotencyKey,
        status: null,
        at: toInstant(clock.now()),
      };
      requests.push(record);
      if (requests.length > maxRequests) requests.shift();
      return record;
    },
    recordClient(record: RequestRecord, clientId: string): void {
      if (includesClientIds) record.clientId = clientId;
    },
    recordExecution(clientId: string, operationId: string, idempotencyKey: string): void {
      const name = `${clientId}\n${operationId}\n${idempotencyKey}`;
      const executions = (executed.get(name)?.executions ?? 0) + 1;
      executed.set(name, { ...(includesClientIds && { clientId }), operationId, idempotencyKey, executions });
    },
  };
}

/** Joins the values of each header; keeps only the scheme of Authorization and Proxy-Authorization. */
const redactHeaders = (headers: HttpRequest["headers"]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...headers].map(([name, values]) => {
      const isSecret = name === "authorization" || name === "proxy-authorization";
      return [name, (isSecret ? values.map((value) => value.split(" ", 1)[0]) : values).join(", ")];
    }),
  );
