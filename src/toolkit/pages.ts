// Pages of a list: summaries by default, whole items on request, and the call that fetches the next page.
import * as z from "zod/v4";
import { tableOf } from "../table.ts";
import { countFitting, pageThatFits } from "./page-that-fits.ts";
import { callText, type NextStep, nextText, type ToolResult, type View, withExactNumbers } from "./results.ts";
import type { ToolName } from "./tool-names.ts";
import { wholeTable } from "./whole-table.ts";

export const view = z.enum(["summary", "full"]).optional();

interface Page<T> {
  readonly data: readonly T[];
  readonly page: { readonly nextCursor: string | null; readonly hasMore: boolean };
  readonly meta: { readonly requestId: string };
}

interface PageAnswer<T> {
  readonly value: Page<T>;
  readonly drift: readonly string[];
}

interface PageOptions<T> {
  readonly tool: ToolName;
  readonly query: Readonly<Record<string, unknown>>;
  readonly view: View | undefined;
  /** "25 jobs: 20 SUCCEEDED, 5 FAILED." */
  readonly summary: string;
  /** Not all that was asked for has room. */
  readonly isCut?: boolean;
  /** Done first, before the next page. */
  readonly nextStep?: NextStep | undefined;
  /** Why the next page is not worth a step. */
  readonly isEnough?: boolean;
  /** What is said beside the rows. */
  readonly facts?: object;
  /** The URI of the list. */
  readonly link: string;
  readonly summarize: (item: T) => Readonly<Record<string, unknown>>;
}

/** One page; in view full no more items than one answer holds. */
export async function readPage<T, A extends PageAnswer<T>>(
  read: (limit?: number) => Promise<A>,
  view: View | undefined,
): Promise<{ readonly answer: A; readonly isCut: boolean }> {
  if (view !== "full") return { answer: await read(), isCut: false };
  const { answer, isCut } = await pageThatFits<T, A>(read, countFitting);
  return { answer: answer ?? (await read(1)), isCut };
}

/** `hasMore` tells whether more remain (section 4.2); the sentence also mentions a cursor that says otherwise. */
function restText(hasMore: boolean, hasCursor: boolean): string {
  if (hasMore) return hasCursor ? "More remain." : "More remain, but the service gives no cursor to read them by.";
  return hasCursor ? "No more, though the service gives a cursor." : "No more.";
}

export function pageResult<T>(
  { value: { data, page, meta }, drift }: PageAnswer<T>,
  options: PageOptions<T>,
): ToolResult<readonly T[]> {
  const { tool, query, view: shown, isCut = false, isEnough = false, facts = {}, link } = options;
  const full = shown === "full";
  const summaries = full ? [] : data.map(options.summarize);
  const items = full ? data.map(withExactNumbers) : summaries;
  const { nextCursor, hasMore } = page;
  const again = { ...query, ...(full && { view: "full" }), cursor: nextCursor };
  const nextPage: NextStep | undefined =
    nextCursor === null ? undefined : { tool, arguments: again, why: "the next page" };
  const room = isCut ? ["That is as many as one answer holds."] : [];
  const summary = [options.summary, ...room, restText(hasMore, nextPage !== undefined)].join(" ");
  const nextStep = options.nextStep ?? (hasMore && !isEnough ? nextPage : undefined);
  const lines = [
    summary,
    ...(nextStep ? [nextText(nextStep)] : []),
    ...(nextPage && nextPage !== nextStep ? [`Next page: ${callText(nextPage)}`] : []),
    ...(items.length === 0 ? [] : [full ? wholeTable(items) : tableOf(summaries)]),
  ];
  return {
    data,
    structured: { summary, ...(nextStep && { nextStep }), ...facts, data: items, page, meta },
    text: lines.join("\n"),
    drift,
    link,
  };
}
