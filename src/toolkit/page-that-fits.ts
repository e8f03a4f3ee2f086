// A page with no more items than there is room for. Cursors are the service's own, so a page that is too long is read again, shorter.
import { withExactNumbers } from "./results.ts";

/** As many bytes of whole items as one answer holds: clients cut off, or drop, what is over 50,000 characters or 25,000 tokens. */
export const MAX_WHOLE_BYTES = 40_000;

export const bytesOf = (item: unknown): number => Buffer.byteLength(JSON.stringify(withExactNumbers(item)));

/** How many whole items, from the first, have room; one has always. */
export function countFitting(items: readonly unknown[]): number {
  let bytes = 0;
  const over = items.findIndex((item) => {
    bytes += bytesOf(item);
    return bytes > MAX_WHOLE_BYTES;
  });
  return over === -1 ? items.length : Math.max(1, over);
}

/** The list may move between two readings. A service that still gives more than it is asked for keeps its page: no item is lost. */
const MAX_READINGS = 4;

interface Paged<T> {
  readonly value: { readonly data: readonly T[] };
}

export interface FittingPage<A> {
  /** Undefined where not one item has room. */
  readonly answer: A | undefined;
  /** The page would have been longer. */
  readonly isCut: boolean;
}

/** `room`: how many of these items, from the first, have room. */
export async function pageThatFits<T, A extends Paged<T>>(
  read: (limit?: number) => Promise<A>,
  room: (items: readonly T[]) => number | Promise<number>,
): Promise<FittingPage<A>> {
  let answer = await read();
  for (let readings = 1; ; readings++) {
    const { data } = answer.value;
    const count = await room(data);
    if (count >= data.length || readings === MAX_READINGS) return { answer, isCut: readings > 1 };
    if (count === 0) return { answer: undefined, isCut: true };
    answer = await read(count);
  }
}
