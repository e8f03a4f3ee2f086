// Compares the fingerprints of all five actions with those that earlier builds stored in journals: a repeated call must find its action.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { identifies, identifyAction, type TraitsOf } from "../../src/actions/fingerprint.ts";
import { createEndpoints } from "../../src/contract/endpoints/endpoint.ts";
import { tools } from "../../tools/index.ts";

const workspaceId = "micws_1";
const recipeVersionId = "micrecipeversion_1";
const bindings = [
  { port: "roads", inputId: "micinput_2" },
  { port: "divisions", inputId: " micinput_1 " },
];
const submission = {
  workspaceId,
  recipeVersionId,
  inputBindings: bindings,
  parameterValues: { b: " x ", a: [null, 1] },
};
const request = {
  ...{ workspaceId, recipeVersionId, inputId: "micinput_1", recipeVersionHash: "ab".repeat(32) },
  ...{ purpose: " Census ", expiresAt: "2026-12-01T00:00:00Z" },
};
const registration = { workspaceId, inputKind: "M4_FILE", referenceId: "devfile_1" };
const references = new Map([["micinput_2", { inputKind: "M4_FILE", referenceId: "devfile_2" }]]);

/** A call, its target, and its two fingerprints in journals of version 0.1.0. */
const RECORDED: readonly (readonly [
  tool: string,
  args: Readonly<Record<string, unknown>>,
  target: string,
  fingerprint: string,
  bound: string | null,
])[] = [
  [
    "register_input",
    registration,
    "devfile_1",
    "ddc6b179e960f73d34cb65e9908c9990b13c5d732b8579021e746c4de55e3d86",
    null,
  ],
  [
    "register_input",
    { ...registration, alias: "Roads", clientReference: "n" },
    "devfile_1",
    "ddc6b179e960f73d34cb65e9908c9990b13c5d732b8579021e746c4de55e3d86",
    null,
  ],
  [
    "submit_job",
    submission,
    "micrecipeversion_1",
    "928cb022e60040c6281e8f8c2e84aa595e7e1f4aad1176bbf57ff23c25af4fc4",
    "0226a30b62188e862257ea06adea851e",
  ],
  [
    "submit_job",
    { ...submission, clientReference: "a note" },
    "micrecipeversion_1",
    "928cb022e60040c6281e8f8c2e84aa595e7e1f4aad1176bbf57ff23c25af4fc4",
    "0226a30b62188e862257ea06adea851e",
  ],
  [
    "submit_job",
    { ...submission, clientReference: null, inputBindings: bindings.slice(0, 1) },
    "micrecipeversion_1",
    "bcc0930a04dbcd992375550efc3e802c9e0ee04207241ab5d224e1a931f4d06c",
    "17a7b60370ec270935cdd2f78fed455e",
  ],
  [
    "cancel_job",
    { jobId: "micjob_1", reason: "r", resourceVersion: 3 },
    "micjob_1",
    "e513a4c0412ac4fc373022427d66c0cc6564d973b35582d9946f142dc37d69c2",
    null,
  ],
  [
    "retry_job",
    { jobId: "micjob_1", retryMode: "RESTART", reason: "r" },
    "micjob_1",
    "e513a4c0412ac4fc373022427d66c0cc6564d973b35582d9946f142dc37d69c2",
    null,
  ],
  [
    "request_file_processing",
    request,
    "micinput_1",
    "0611c6b612d53a0948a07cdd8feb5f0e27f3f529b178ea7b655c8ce29740ee56",
    null,
  ],
  [
    "request_file_processing",
    { ...request, expiresAt: "2027-01-01T00:00:00Z" },
    "micinput_1",
    "0611c6b612d53a0948a07cdd8feb5f0e27f3f529b178ea7b655c8ce29740ee56",
    null,
  ],
];

test.each(RECORDED)(
  "the fingerprints of %s %j are those of journals of version 0.1.0",
  async (name, args, ...recorded) => {
    const traits = tools.find((tool) => tool.name === name)?.traits;
    if (!traits) throw new Error(`${name} has no traits`);
    const identity = await identifyAction(args, traits, ["service", name], async () => references);
    expect([identity.targetId, identity.fingerprint, identity.boundFingerprint]).toEqual(recorded);
  },
);

test("a call with the default of an argument is identical to one without the argument, and its arguments are equal", async () => {
  const traits = {
    targetArgument: "jobId",
    arguments: { jobId: identifies(), priority: identifies({ default: "NORMAL" }), reason: "note" },
  } as const;
  const identify = (args: object) => identifyAction({ jobId: "micjob_1", ...args }, traits, [], async () => new Map());
  const [absent, normal, spaced, high] = await Promise.all(
    [{}, { priority: "NORMAL" }, { priority: " NORMAL" }, { priority: "HIGH" }].map(identify),
  );
  expect(normal).toEqual(absent);
  expect(spaced).toEqual(absent);
  expect(high?.fingerprint).not.toBe(absent?.fingerprint);
});

const endpoint = createEndpoints("job-processing").define({
  ...{ id: "pay", method: "POST", path: "/v1/payments" },
  body: z.strictObject({ amount: z.int(), note: z.string().optional() }),
  success: { status: 201, body: z.unknown() },
});

test("traits without a body field, or without the default of an optional one, do not compile", () => {
  const amount = identifies();
  // @ts-expect-error `note` is not classified.
  const incomplete: TraitsOf<typeof endpoint>["arguments"] = { amount };
  // @ts-expect-error `note` is optional: its default is needed.
  const withoutDefault: TraitsOf<typeof endpoint>["arguments"] = { amount, note: identifies() };
  // @ts-expect-error The default is not a value of `note`.
  const withOtherDefault: TraitsOf<typeof endpoint>["arguments"] = { amount, note: identifies({ default: 1 }) };
  // @ts-expect-error `amount` is not a text: a note needs a reason.
  const withoutReason: TraitsOf<typeof endpoint>["arguments"] = { amount: "note", note: "note" };
  const complete: TraitsOf<typeof endpoint>["arguments"] = { amount, note: identifies({ default: null }) };
  const each = [incomplete, withoutDefault, withOtherDefault, withoutReason, complete];
  expect(each.map((roles) => Object.keys(roles).length)).toEqual([1, 2, 2, 2, 2]);
});
