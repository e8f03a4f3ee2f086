// This module builds pages of a list: summaries by default, full items on request, and the call that fetches the next page.

import { formatRecordTable } from "../core/table.ts";
import { ask, call, join, own, raw, say, type Text } from "../core/text.ts";
import { formatCompactTable } from "./compact-table.ts";
import { type NextStep, type ToolResult, toolResult, type View, withExactNumbers } from "./results.ts";
import type { ToolContext } from "./tool-context.ts";
import type { ResourceReference } from "./uri.ts";

/** Maximum bytes of full items in one result: clients truncate or drop results over 50,000 characters or 25,000 tokens. */
export const MAX_FULL_VIEW_BYTES = 40_000;

export const bytesOf = (item: unknown): number => Buffer.byteLength(JSON.stringify(withExactNumbers(item)));

/** Returns how many items from the start of the list fit into one result in full; at least one. */
function countFitting(items: readonly unknown[]): number {
  let bytes = 0;
  const firstOverflow = items.findIndex((item) => {
    bytes += bytesOf(item);
    return bytes > MAX_FULL_VIEW_BYTES;
  });
  return firstOverflow === -1 ? items.length : Math.max(1, firstOverflow);
}

/** If the API still returns too many items after this many reads, the page is kept, so that no item is lost. */
const MAX_READINGS = 4;

export interface FittingPage<A> {
  /** Undefined if not even one item fits. */
  readonly answer: A | undefined;
  /** True if the page was shortened. */
  readonly isCut: boolean;
}

/** Only the API can create cursors, so a page that is too long is read again with a smaller limit. `countThatFit`: leading items. */
export async function readFittingPage<T, A extends { readonly value: { readonly data: readonly T[] } }>(
  read: (limit?: number) => Promise<A>,
  countThatFit: (items: readonly T[]) => number | Promise<number>,
): Promise<FittingPage<A>> {
  let answer = await read();
  for (let readings = 1; ; readings++) {
    const { data } = answer.value;
    const count = await countThatFit(data);
    if (count >= data.length || readings === MAX_READINGS) return { answer, isCut: readings > 1 };
    if (count === 0) return { answer: undefined, isCut: true };
    answer = await read(count);
  }
}

interface PageAnswer<T> {
  readonly value: {
    readonly data: readonly T[];
    readonly page: { readonly nextCursor: string | null; readonly hasMore: boolean };
    readonly meta: { readonly requestId: string };
  };
  readonly drift: readonly string[];
  readonly leftOut?: readonly string[] | undefined;
}

interface PageOptions<T> {
  /** The arguments of this page, with its cursor. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly view: View | undefined;
  /** "25 jobs: 20 SUCCEEDED, 5 FAILED." */
  readonly summary: Text;
  /** True if not all requested items fit. */
  readonly isCut: boolean;
  /** The sentence that replaces "The list continues." */
  readonly end?: Text | undefined;
  /** The next call; reading the next page does not count as one. */
  readonly nextStep?: NextStep;
  readonly facts?: object;
  readonly link: ResourceReference;
  readonly summarize: (item: T) => Readonly<Record<string, unknown>>;
  /** The items that are summarized (default: all). If some are left out, `facts` contains them. */
  readonly items?: readonly T[];
  /** Additional lines of the text after the rows. */
  readonly lines?: ToolResult["lines"];
}

/** Reads one page; in the full view, at most as many items as fit into one result. */
export async function readPage<T, A extends PageAnswer<T>>(
  read: (limit?: number) => Promise<A>,
  view: View | undefined,
): Promise<{ readonly answer: A; readonly isCut: boolean }> {
  if (view !== "full") return { answer: await read(), isCut: false };
  const { answer, isCut } = await readFittingPage<T, A>(read, countFitting);
  return { answer: answer ?? (await read(1)), isCut };
}

/** Whether no URL can contain the cursor, because it has half of a character. */
export const isUnsendable = (cursor: string): boolean => /\p{Surrogate}/u.test(cursor);

/** The API returned a cursor that no request can contain, or one that was already read: following it would never end. */
export const BROKEN_LIST = say`The API's list is broken: its next cursor cannot be sent, or leads back to a page that was already read, so the remaining items cannot be read. ${ask("Report")} this to the operator of the API.`;

/** `hasMore` decides whether more items remain (docs/contract.md, 4.2). The sentence also mentions a cursor that contradicts it. */
function restText(hasMore: boolean, hasCursor: boolean): Text {
  if (hasMore)
    return hasCursor ? say`The list continues.` : say`The list continues, but the API gives no cursor for it.`;
  return hasCursor ? say`The list ends here, although the API gives a cursor.` : say`The list ends here.`;
}

const MAX_LEFT_OUT = 3;

/** Returns the sentence about the items of a list that break the contract; undefined if there are no such items. */
export function leftOutText(leftOut: readonly string[] = []): Text | undefined {
  if (leftOut.length === 0) return undefined;
  const more = leftOut.length - MAX_LEFT_OUT;
  const items = own(leftOut.length === 1 ? "item that breaks" : "items that break");
  const shown = join(leftOut.slice(0, MAX_LEFT_OUT).map(raw), "; ");
  return say`Not shown: ${leftOut.length} ${items} the API's contract: ${shown}${more > 0 && say` and ${more} more`}.`;
}

export function pageResult<T>(
  { value: { data, page, meta }, drift, leftOut }: PageAnswer<T>,
  { query, view, isCut, end, facts = {}, link, ...options }: PageOptions<T>,
  ctx: Pick<ToolContext, "tool">,
): ToolResult<readonly T[]> {
  const isFull = view === "full";
  const summaries = isFull ? [] : (options.items ?? data).map(options.summarize);
  const items = isFull ? data.map(withExactNumbers) : summaries;
  const { hasMore } = page;
  const { cursor, ...filter } = query;
  const isBroken = page.nextCursor !== null && page.nextCursor === cursor;
  const nextCursor = isBroken ? null : page.nextCursor;
  const rest = isBroken && hasMore ? BROKEN_LIST : restText(hasMore, nextCursor !== null);
  const again = { ...filter, ...(isFull && { view }), cursor: nextCursor };
  return toolResult(data, {
    summary: join([
      options.summary,
      leftOutText(leftOut),
      isCut && say`This answer has reached its size limit.`,
      end ?? rest,
    ]),
    nextStep: options.nextStep,
    fields: { ...facts, data: items, page: { ...page, nextCursor } },
    ...{ requestId: meta.requestId, isFull },
    lines: [
      nextCursor === null ? undefined : say`Next page: ${call(ctx.tool, again)}`,
      items.length === 0 ? undefined : isFull ? formatCompactTable(items) : formatRecordTable(summaries),
      ...(options.lines ?? []),
    ],
    drift,
    link,
  });
}
