// What holds for the arguments of every tool, and values at and beyond the bounds that the contract's grammars have.
import { expect } from "vitest";
import { type OperationId, operations } from "../operations.ts";
import type { Args, Bench } from "./bench.ts";

export interface Bounds {
  /** Values that are sent. */
  readonly takes?: readonly unknown[];
  /** Values that are refused here. */
  readonly refuses: readonly unknown[];
  /** Where a refused value is pointed at, if not at the argument itself. */
  readonly at?: string;
}

const a = (count: number): string => "a".repeat(count);
/** One character, two UTF-16 units. */
export const WIDE = "\u{1F600}";
const CONTROLS = ["\u0000", "\u001f", "\u007f", "\u009f"].map((control) => `text${control}text`);
const BLANK = ["", " ", "\u2003\t", "\u00a0"];

/** None of these is a string, and none becomes one. */
const NO_STRINGS = [5, true, null, ["a"], { a: 1 }];
const NO_INTEGERS = ["5", 5.5, true, null, [5], "", 1e300];

/** 1-128 characters, whatever they are. */
export const anyId: Bounds = {
  takes: [a(1), a(128), WIDE.repeat(128), "a b/c?d#e%2f"],
  refuses: ["", a(129), WIDE.repeat(129), ...NO_STRINGS],
};

/** As anyId, in a path: `.` and `..` would be another path. */
export const pathId: Bounds = { takes: anyId.takes ?? [], refuses: [...anyId.refuses, ".", ".."] };

export const workspaceStyleId: Bounds = {
  takes: ["a", "9", a(128), "a.b", "A:b_c-d.e"],
  refuses: ["", a(129), "-a", ".a", "_a", ":a", "a..b", "a b", "a/b", "é", "a\n", WIDE, ...NO_STRINGS],
};

export const prefixed = (prefix: string): Bounds => ({
  takes: [`${prefix}${"0123456789abcdef".repeat(2)}`],
  refuses: [
    "",
    prefix,
    `${prefix}${a(31)}`,
    `${prefix}${a(33)}`,
    `${prefix}${"A".repeat(32)}`,
    `${prefix}${"g".repeat(32)}`,
    `x${prefix}${a(32)}`,
    `${prefix}${a(32)}\n`,
    a(32),
    ...NO_STRINGS,
  ],
});

export const hex64: Bounds = {
  takes: ["0123456789abcdef".repeat(4)],
  refuses: ["", a(63), a(65), "A".repeat(64), "g".repeat(64), ...NO_STRINGS],
};

export const oneOf = (...values: readonly string[]): Bounds => ({
  takes: values,
  refuses: ["", "OTHER", ...values.map((value) => `${value} `), ...values.map(swapCase), ...NO_STRINGS],
});

const swapCase = (text: string): string => (text === text.toLowerCase() ? text.toUpperCase() : text.toLowerCase());

export const integer = (min: number, max: number): Bounds => ({
  takes: [min, max],
  refuses: [min - 1, max + 1, -max, ...NO_INTEGERS],
});

/** Counted in UTF-16 units, without control characters, not blank. */
export const plainText = (max: number): Bounds => ({
  takes: ["a", a(max), WIDE.repeat(max / 2), " a "],
  refuses: [...BLANK, a(max + 1), `${WIDE.repeat(max / 2)}a`, ...CONTROLS, ...NO_STRINGS],
});

/** Counted in characters, valid Unicode, without control characters, not blank. */
export const scalarText = (max: number): Bounds => ({
  takes: ["a", a(max), WIDE.repeat(max)],
  refuses: [...BLANK, a(max + 1), WIDE.repeat(max + 1), "a\ud800", "\udc00a", ...CONTROLS, ...NO_STRINGS],
});

/** Characters of any kind. */
export const anyText = (max: number): Bounds => ({
  takes: ["a", a(max), WIDE.repeat(max)],
  refuses: ["", a(max + 1), WIDE.repeat(max + 1), ...NO_STRINGS],
});

export const utcInstant: Bounds = {
  takes: ["2100-01-15T11:00:00Z", "2100-01-15T11:00:00.5Z", "2100-01-15T11:00:00.123456Z"],
  refuses: [
    "",
    "2100-01-15",
    "2100-01-15T11:00:00",
    "2100-01-15T11:00:00+00:00",
    "2100-01-15t11:00:00z",
    "2100-01-15T11:00:00.Z",
    "2100-01-15T11:00:00.1234567Z",
    "2100-02-30T11:00:00Z",
    "2100-01-15T24:00:00Z",
    "2100-01-15T11:00:60Z",
    "2100-13-01T11:00:00Z",
    ...NO_STRINGS,
  ],
};

/** The three grammars of Idempotency-Key; keys go into a header, so printable ASCII alone (docs/interface.md, "Settled readings"). */
export const textKey: Bounds = {
  takes: [a(8), a(160), 'a b"c,d;e'],
  refuses: [
    "",
    a(7),
    a(161),
    " ".repeat(8),
    ` ${a(8)}`,
    `${a(8)} `,
    "schlüssel",
    `${a(8)}\n`,
    ...CONTROLS,
    ...NO_STRINGS,
  ],
};
export const inputKey: Bounds = {
  takes: ["a", a(128), "A9._:/-"],
  refuses: ["", a(129), "a b", "a,b", "a\n", "é", ...NO_STRINGS],
};
export const processingKey: Bounds = {
  takes: ["a1234567", a(128), "a_b.c:d-e"],
  refuses: ["", a(7), a(129), "-2345678", "a..45678", "a/345678", "a 345678", ...NO_STRINGS],
};

/** Every value is tried in its place among arguments that are right. */
export async function expectBounds(
  bench: Bench,
  id: OperationId,
  bounds: Readonly<Record<string, Bounds>>,
): Promise<void> {
  const { tool } = operations[id];
  const args = await bench.argumentsFor(id);
  const listed = (await bench.connection.listTools()).find(({ name }) => name === tool)?.inputSchema["properties"];
  expect(Object.keys(bounds).sort(), `${tool}'s arguments`).toEqual(Object.keys(listed ?? {}).sort());
  const entries = Object.entries(bounds);
  await bench.sendsNothing(async () => {
    for (const [name, { refuses, at = `/${name}` }] of entries)
      for (const value of refuses) await bench.refuses(tool, { ...args, [name]: value }, at);
  });
  for (const [name, { takes = [] }] of entries)
    for (const value of takes) await expectSent(bench, tool, { ...args, [name]: value });
}

/** The service got it and does not call it malformed; what it thinks of it otherwise does not matter here. */
async function expectSent(bench: Bench, tool: string, args: Args): Promise<void> {
  const { error, text } = await bench.call(tool, args);
  // A key that is as it has to be, and belongs to an action of another tool's test.
  if (error === undefined || (error.kind === "conflict" && text.includes("The key "))) return;
  // Only the service's answers have a status.
  expect(error.status, `${tool} ${JSON.stringify(args).slice(0, 300)}: ${text}`).toBeDefined();
  const isForeignCursor = error.code === "INVALID_CURSOR" || error.code === "INVALID_PLAYGROUND_REQUEST";
  if (!isForeignCursor) expect(error.status, text).not.toBe(400);
}
