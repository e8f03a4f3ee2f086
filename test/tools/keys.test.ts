// Tests idempotency keys: the server creates one if none is given and otherwise uses the given one; each key stands for one
// action.
import { expect, test } from "vitest";
import { operations, type PostId, postIds } from "../operations.ts";
import type { Bench, ToolSuccess } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

// The rules of section 4.2, written independently: a key that the server creates must match all of them, for any operation.
const GRAMMARS = [/^\P{Cc}{8,160}$/u, /^[A-Za-z0-9._:/-]{1,128}$/, /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.:-]{7,127}$/];

const keyOf = ({ structured }: ToolSuccess): string => String(Object(structured["action"]).idempotencyKey);

async function keysSent(bench: Bench, id: PostId): Promise<readonly (string | undefined)[]> {
  return (await bench.requests(id)).map(({ idempotencyKey }) => idempotencyKey);
}

describeLatestRevision((bench) => {
  for (const id of postIds) {
    const { tool } = operations[id];

    test(`${tool} creates an unpredictable key that matches all three grammars [4.2/idempotency-key-required, 4.2/job-key-length, 4.2/job-key-characters, 4.2/input-key, 4.2/processing-request-key]`, async () => {
      const keys: string[] = [];
      const args = await bench().argumentsFor(id);
      // After a rejection the same call is a new action.
      for (let call = 0; call < 3; call += 1) {
        const refusal = { kind: "status", status: 422, code: "NO", retryable: false };
        await bench().service.injectFault(refusal, { operationId: id });
        keys.push((await bench().fails(tool, args, "rejected")).idempotencyKey ?? "");
        expect((await keysSent(bench(), id)).at(-1)).toBe(keys.at(-1));
      }
      const made = await bench().ok(tool, args);
      expect((await keysSent(bench(), id)).at(-1)).toBe(keyOf(made));
      keys.push(keyOf(made));
      for (const key of keys) for (const grammar of GRAMMARS) expect(key).toMatch(grammar);
      expect(new Set(keys).size).toBe(keys.length);
      // 128 random bits are 32 hexadecimal digits; two keys have no more digits in common than chance explains.
      const [one = "", other = ""] = keys.map((key) => /[0-9a-f]{32}$/.exec(key)?.[0] ?? "");
      expect(one).toHaveLength(32);
      expect([...one].filter((digit, at) => digit === other[at]).length).toBeLessThan(16);
    });
  }

  test("a key with characters that headers allow is sent unchanged", async () => {
    const idempotencyKey = 'a "b", c;d=~%20\\';
    await bench().ok("submit_job", { ...(await bench().argumentsFor("createMicJob")), idempotencyKey });
    expect((await keysSent(bench(), "createMicJob")).at(-1)).toBe(idempotencyKey);
  });
});
