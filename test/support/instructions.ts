// Checks a server's instructions against the tools that the same server lists.
import { expect } from "vitest";
import * as z from "zod/v4";
import { tools } from "../../tools/index.ts";
import type { TestClient } from "./mcp.ts";

/** Some clients truncate instructions at 2,048 bytes. */
const MAX_BYTES = 2_000;

const Properties = z.looseObject({ properties: z.record(z.string(), z.unknown()).default({}) });
/** Tools and their arguments; only names that cannot be mistaken for ordinary words. */
const NAMES = tools
  .flatMap(({ name, argumentNames }) => [name, ...argumentNames])
  .filter((name) => /[A-Z_]/.test(name));

export async function expectConsistentInstructions(client: TestClient, what: string): Promise<void> {
  const text = client.instructions() ?? "";
  expect(text, what).not.toBe("");
  expect(Buffer.byteLength(text), what).toBeLessThan(MAX_BYTES);
  const listed = await client.listTools();
  const offered = new Set(
    listed.flatMap(({ name, inputSchema }) => [name, ...Object.keys(Properties.parse(inputSchema).properties)]),
  );
  const mentioned = NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(text));
  expect(
    mentioned.filter((name) => !offered.has(name)),
    `${what}: tools that are not listed, or arguments that no listed tool takes`,
  ).toEqual([]);
}
