// Pages of a list: summaries by default, whole items on request, and the call that fetches the next page.
import * as z from "zod/v4";
import type { ServiceAnswer } from "../service/call.ts";
import { table } from "../table.ts";
import { callText, type ToolResult, withExactNumbers } from "./results.ts";
import type { ToolName } from "./tool-names.ts";
import { wholeTable } from "./whole-table.ts";

export const view = z.enum(["summary", "full"]).describe("Default summary.").optional();

interface PageEnvelope<T> {
  readonly data: readonly T[];
  readonly page: { readonly nextCursor: string | null; readonly hasMore: boolean };
  readonly meta: { readonly requestId: string };
}

interface PageOptions<T> {
  readonly tool: ToolName;
  readonly query: Readonly<Record<string, unknown>>;
  readonly view: "summary" | "full" | undefined;
  readonly items: string;
  /** The URI of the list. */
  readonly link: string;
  readonly summarize: (item: T) => Readonly<Record<string, unknown>>;
}

/** Columns are those that any row has; a row without one leaves its cell empty. */
function summaryTable(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const names = new Set<string>();
  for (const row of rows) for (const name of Object.keys(row)) names.add(name);
  const columns = [...names];
  return table(
    columns,
    rows.map((row) => columns.map((column) => String(row[column] ?? ""))),
  );
}

/** `hasMore` tells whether more remain (section 4.2); the text also mentions a cursor that says otherwise. */
function restText(hasMore: boolean, next: string | undefined): string {
  if (next === undefined) return hasMore ? "More remain, but the service gives no cursor to read them by." : "No more.";
  return hasMore ? `Next page: ${next}` : `No more, though the service gives a cursor: ${next}`;
}

export function pageResult<T>(
  answer: ServiceAnswer<PageEnvelope<T>>,
  options: PageOptions<T>,
): ToolResult<readonly T[]> {
  const { data, page, meta } = answer.value;
  const full = options.view === "full";
  const summaries = full ? [] : data.map(options.summarize);
  const items = full ? data.map(withExactNumbers) : summaries;
  const { nextCursor } = page;
  const again = { ...options.query, ...(full && { view: "full" }), cursor: nextCursor };
  const next = nextCursor === null ? undefined : callText({ tool: options.tool, arguments: again });
  const head = `${data.length} ${options.items}. ${restText(page.hasMore, next)}`;
  return {
    data,
    structured: { data: items, page, meta },
    text: `${head}\n${full ? wholeTable(items) : summaryTable(summaries)}`,
    drift: answer.drift,
    link: options.link,
  };
}
