// Checks a server's instructions against the tools that the same server lists.
import { expect } from "vitest";
import * as z from "zod/v4";
import { tools } from "../../tools/index.ts";
import type { TestClient } from "./mcp.ts";

/** Some clients truncate instructions at 2,048 bytes. */
const MAX_BYTES = 2_000;

const Properties = z.looseObject({ properties: z.record(z.string(), z.unknown()).default({}) });
/** Only names that cannot be mistaken for ordinary words. */
const ARGUMENTS = new Set(tools.flatMap(({ argumentNames }) => argumentNames).filter((name) => /[A-Z]/.test(name)));

export async function expectConsistentInstructions(client: TestClient, what: string): Promise<void> {
  const text = client.instructions() ?? "";
  expect(text, what).not.toBe("");
  expect(Buffer.byteLength(text), what).toBeLessThan(MAX_BYTES);
  const listed = await client.listTools();
  const names = listed.map(({ name }) => name);
  const mentionedTools = tools.map(({ name }): string => name).filter((name) => new RegExp(`\\b${name}\\b`).test(text));
  expect(
    mentionedTools.filter((name) => !names.includes(name)),
    `${what}: tools that are not listed`,
  ).toEqual([]);
  const acceptedNames = new Set(
    listed.flatMap(({ inputSchema }) => Object.keys(Properties.parse(inputSchema).properties)),
  );
  const mentioned = [...ARGUMENTS].filter((name) => new RegExp(`\\b${name}\\b`).test(text));
  expect(
    mentioned.filter((name) => !acceptedNames.has(name)),
    `${what}: arguments that no listed tool takes`,
  ).toEqual([]);
}
