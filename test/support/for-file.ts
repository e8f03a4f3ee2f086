// Opens something once for all tests of a file or a describe block.
import { afterAll, beforeAll } from "vitest";

/** Returns a function that returns the opened value while the tests run. Call it at the top level of a file or block. */
export function openForFile<T>(open: () => Promise<T>, close: (opened: T) => unknown): () => T {
  let opened: { readonly value: T } | undefined;
  beforeAll(async () => {
    opened = { value: await open() };
  });
  afterAll(async () => {
    if (opened) await close(opened.value);
  });
  return () => {
    if (opened === undefined) throw new Error("this is open only while tests run");
    return opened.value;
  };
}
