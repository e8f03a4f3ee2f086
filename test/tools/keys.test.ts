// Tests idempotency keys: the server creates one if none is given and otherwise uses the given one; each key stands for one
// action.
import { expect, test } from "vitest";
import { operations, postIds } from "../operations.ts";
import { describeLatestRevision } from "./revisions.ts";

// The rules of section 4.2, written independently: a key that the server creates must match all of them, for any operation.
const GRAMMARS = [/^\P{Cc}{8,160}$/u, /^[A-Za-z0-9._:/-]{1,128}$/, /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.:-]{7,127}$/];

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
        const { result, sent } = await bench().capture(() => bench().call(tool, args));
        expect(bench().expectFailure(result, "rejected").idempotencyKey).toBe(sent.at(-1)?.idempotencyKey);
        keys.push(sent.at(-1)?.idempotencyKey ?? "");
      }
      const { result, sent } = await bench().capture(() => bench().ok(tool, args));
      expect(result.structured).toMatchObject({ action: { idempotencyKey: sent.at(-1)?.idempotencyKey } });
      keys.push(sent.at(-1)?.idempotencyKey ?? "");
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
    const args = { ...(await bench().argumentsFor("createMicJob")), idempotencyKey };
    const sent = await bench().captureRequests(() => bench().ok("submit_job", args));
    expect(sent).toMatchObject([{ idempotencyKey }]);
  });
});
