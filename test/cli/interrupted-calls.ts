// The calls that tests cancel or stop at each of their requests, and how the API answers the request at which that happens.
import * as z from "zod/v4";
import { FILE, findOneInputOffer, registerInput } from "../emulator/work.ts";
import { createBatchArguments, createRunArguments } from "../tools/bench.ts";
import type { userForTest } from "./test-user.ts";

type User = Awaited<ReturnType<typeof userForTest>>;

/** The action of a tool as the journal names it and its operation, operations that the call requests, the duration of a job's stage that the tool needs in ms, and arguments. */
export const TOOLS = {
  run_job: {
    action: "submit_job",
    operationId: "createMicJob",
    requests: ["createMicPublicInput", "createMicJob", "getMicJob"],
    stageMs: 60_000,
    args: ({ service }: User): Promise<object> => createRunArguments(service, FILE.succeeds),
  },
  run_jobs: {
    action: "submit_job",
    operationId: "createMicJob",
    requests: ["createMicPublicInput", "createMicJob", "getMicJob"],
    stageMs: 60_000,
    args: ({ service }: User): Promise<object> => createBatchArguments(service, [FILE.succeeds]),
  },
  retry_job: {
    action: "retry_job",
    operationId: "retryMicJob",
    requests: ["retryMicJob", "getMicJob"],
    stageMs: 20,
    args: async (user: User) => ({ jobId: await user.failedJob(), retryMode: "SAFE_RESUME", reason: "again" }),
  },
  retry_jobs: {
    action: "retry_job",
    operationId: "retryMicJob",
    requests: ["retryMicJob", "getMicJob"],
    stageMs: 20,
    args: async (user: User) => ({ jobIds: [await user.failedJob()], retryMode: "SAFE_RESUME", reason: "again" }),
  },
  cancel_job: {
    action: "cancel_job",
    operationId: "cancelMicJob",
    requests: ["cancelMicJob", "getMicJob"],
    stageMs: 60_000,
    args: async (user: User) => ({ jobId: await user.job(FILE.succeeds), reason: "stop" }),
  },
  cancel_jobs: {
    action: "cancel_job",
    operationId: "cancelMicJob",
    requests: ["cancelMicJob", "getMicPublicOperation"],
    stageMs: 60_000,
    args: async (user: User) => ({ jobIds: [await user.job(FILE.succeeds)], reason: "stop" }),
  },
  request_file_processing: {
    action: "request_file_processing",
    operationId: "requestMicSharedFileProcessing",
    requests: ["requestMicSharedFileProcessing"],
    stageMs: 60_000,
    async args({ service }: User) {
      const { id: inputId } = await registerInput(service, FILE.succeeds);
      const { recipe } = await findOneInputOffer(service);
      const { versionId: recipeVersionId, versionHash: recipeVersionHash } = recipe;
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      return { inputId, recipeVersionId, recipeVersionHash, purpose: "test", expiresAt };
    },
  },
} as const;

/** The arguments of a call that waits this long. */
export async function argumentsOf(tool: keyof typeof TOOLS, user: User) {
  const args: object = await TOOLS[tool].args(user);
  return (waitSeconds: number): object => (tool === "request_file_processing" ? args : { ...args, waitSeconds });
}

/** Whether and how the API answers the request at which the call is interrupted. */
export const ANSWERS = {
  answered: undefined,
  "not answered": { kind: "hang" },
  "executed but not answered": { kind: "hang", afterCommit: true },
} as const;

export const Actions = z.looseObject({
  actions: z.array(
    z.looseObject({
      ...{ tool: z.string(), state: z.string(), idempotencyKey: z.string() },
      createdId: z.string().optional(),
    }),
  ),
});

export const namesOf = <T extends object>(table: T): readonly (keyof T)[] =>
  z.array(z.custom<keyof T>()).parse(Object.keys(table));
