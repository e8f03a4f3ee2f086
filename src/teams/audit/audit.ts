// Writes the audit of a deployment, and finds the trace ids for its rows. A row that cannot be written is logged, and no call fails.
import { AsyncLocalStorage } from "node:async_hooks";
import { errorMessage } from "../../core/failure.ts";
import type { Log } from "../../mcp/runtime.ts";
import type { Database } from "../../store/database.ts";
import { type AuditEvent, type Auditor, insertAuditEvent } from "./rows.ts";

export type Audit = ReturnType<typeof createAudit>;

export function createAudit(database: Pick<Database, "query">, log: Pick<Log, "warn">) {
  const pendingWrites = new Set<Promise<void>>();

  async function writeRow(auditor: Auditor, event: AuditEvent): Promise<void> {
    try {
      await insertAuditEvent(database, auditor, event);
    } catch (error) {
      const { caller, team, client } = auditor;
      log.warn({ caller, team, client, ...event, reason: errorMessage(error) }, "writing an audit row failed");
    }
  }

  return {
    /** Never throws. */
    write(auditor: Auditor, event: AuditEvent): void {
      const row = writeRow(auditor, event).finally(() => pendingWrites.delete(row));
      pendingWrites.add(row);
    },
    /** Resolves when each row was written or has failed. */
    async flush(): Promise<void> {
      await Promise.all(pendingWrites);
    },
  };
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;
const NOT_A_TRACE = /^(?:ff|00-0{32})/;

export type CallerTrace = ReturnType<typeof createCallerTrace>;

/** Keeps the trace that a caller's request names (W3C Trace Context). It needs no telemetry. */
export function createCallerTrace() {
  const current = new AsyncLocalStorage<string>();
  return {
    /** Runs `serve` in the trace of a request. `traceparent`: as the caller sent it; an invalid one is ignored. */
    run<R>(traceparent: unknown, serve: () => R): R {
      const isTrace = typeof traceparent === "string" && !NOT_A_TRACE.test(traceparent);
      const id = isTrace ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
      return id === undefined ? serve() : current.run(id, serve);
    },
    id: (): string | undefined => current.getStore(),
  };
}
