// The audit of a deployment, as those write into it who end no action: a row that cannot be written is logged, and fails nothing.
import type { AuditedEvent, Auditor } from "../actions/audit.ts";
import type { JournalHandle } from "../actions/open.ts";
import { reasonOf } from "../failure.ts";
import type { Log, Refusal } from "../mcp/runtime.ts";
import type { EndedDownload } from "./downloads/downloads.ts";

/** Whoever has the database and the keys may change teams: no sign-in says who he is. */
export const operatorOf = (team: string): Auditor => ({ caller: "operator", team, client: "mic-mcp" });

/** A download that is over; `outcome` says whether all of it left, or how it was answered instead. */
export function downloadRow(download: EndedDownload): readonly [Auditor, AuditedEvent] {
  const { caller, team = "", client, kind, of, status, isWhole, traceId } = download;
  const outcome = status === 200 ? (isWhole ? "whole" : "broken off") : `HTTP ${status}`;
  return [
    { caller, team, client, traceId: () => traceId },
    { event: "download", outcome, ...(kind === "asset" ? { resourceId: of } : { tool: of }) },
  ];
}

export interface Audit {
  /** Never throws. */
  write(auditor: Auditor, event: AuditedEvent): void;
  /** Resolves when all rows are written, or given up. */
  written(): Promise<void>;
}

/** What hears of each refusal to one caller. */
export const refusalsInto =
  ({ write }: Pick<Audit, "write">, auditor: Auditor) =>
  ({ tool, why }: Refusal): void =>
    write(auditor, { event: "refusal", outcome: why, ...(tool !== undefined && { tool }) });

export function createAudit(journal: Pick<JournalHandle, "open">, log: Pick<Log, "warn">): Audit {
  const underway = new Set<Promise<void>>();

  async function put(auditor: Auditor, event: AuditedEvent): Promise<void> {
    try {
      const { audit } = await journal.open();
      await audit(auditor, event);
    } catch (error) {
      const { caller, team, client } = auditor;
      log.warn({ caller, team, client, ...event, reason: reasonOf(error) }, "a row of the audit was not written");
    }
  }

  return {
    write(auditor, event) {
      // Whose work it is is known now; a moment later it may be over.
      const traceId = auditor.traceId?.();
      const row = put({ ...auditor, traceId: () => traceId }, event).finally(() => underway.delete(row));
      underway.add(row);
    },
    async written() {
      await Promise.all(underway);
    },
  };
}
