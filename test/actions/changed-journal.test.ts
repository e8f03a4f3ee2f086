// Tests that a submission is the same action whatever the journal learns or loses about its inputs between two identical calls, and
// even if the journal was locked while its file was registered.
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { migrateSchema } from "../../src/actions/schema.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import {
  createJob,
  enveloped,
  input,
  inputBinding,
  job,
  micEnveloped,
  problem,
  recipeOffer,
} from "../contract/samples.ts";
import { inProcessServerForTest } from "../support/server.ts";
import { answer, holdUntil, type RecordedRequest } from "../support/stub.ts";
import { benchForTest } from "./bench.ts";

const FILE = "devfile_1";
const HOUR_MS = 3_600_000;
const { inputBindings: _, clientReference: __, ...common } = createJob;
const runJob = {
  tool: "run_job",
  args: { ...common, inputs: [{ port: inputBinding.port, referenceId: FILE }], waitSeconds: 20 },
};
const runJobs = { tool: "run_jobs", args: { ...common, files: [FILE], port: inputBinding.port, waitSeconds: 20 } };
const submitFile = {
  tool: "submit_job",
  args: { ...common, inputBindings: [{ port: inputBinding.port, inputId: FILE }] },
};
const submitInput = { tool: "submit_job", args: { ...common, inputBindings: [inputBinding] } };
const OWN_KEY = { idempotencyKey: "a-key-of-my-own" };
const withOwnKey = ({ tool, args }: typeof runJob | typeof submitInput) => ({ tool, args: { ...args, ...OWN_KEY } });
const CALLS = [runJob, runJobs, submitFile, submitInput, withOwnKey(runJob), withOwnKey(submitInput)];

/**
 * The API with one recipe. It executes each key once. `returnsExisting`: a registration of a known file returns the first input of that file.
 * `onRegistration` runs after a registration took effect, before its answer.
 */
async function createScene({ returnsExisting = false, onRegistration = async (): Promise<void> => undefined } = {}) {
  const { stub, env, stateDir } = await benchForTest();
  const inputs = new Map<string, string>();
  const jobs = new Map<string, string>();
  let lostJobs = 0;
  const executeOnce = (made: Map<string, string>, { headers }: RecordedRequest, create: (count: number) => string) => {
    const key = String(headers["idempotency-key"]);
    const id = made.get(key) ?? create(made.size + 1);
    made.set(key, id);
    return id;
  };
  const inputId = (count: number) => (returnsExisting ? input.id : `micinput_${String(count).padStart(32, "0")}`);
  stub.respond((request) => {
    const { method, target } = request;
    const id = decodeURIComponent(target.split("/").at(-1) ?? "");
    if (target.includes("/recipe-versions/")) return answer(200, micEnveloped(recipeOffer));
    if (method === "GET" && target.includes("/inputs/")) return answer(200, micEnveloped({ ...input, id }));
    if (method === "GET") return answer(200, enveloped({ ...job, id, state: "SUCCEEDED", retryOfBatchId: null }));
    if (target.endsWith("/inputs")) {
      const made = { ...input, id: executeOnce(inputs, request, inputId) };
      return holdUntil(onRegistration(), answer(201, micEnveloped(made)));
    }
    const made = { ...job, id: executeOnce(jobs, request, (count) => `job-${count}`), retryOfBatchId: null };
    return lostJobs-- > 0 ? answer(503, problem, { "retry-after": "60" }) : answer(202, enveloped(made));
  });
  let server = await inProcessServerForTest(env);
  return {
    jobs,
    stateDir,
    call: (tool: string, args: object) => server.call(tool, args),
    loseNextJob(): void {
      lostJobs = 1;
    },
    async restart(changes: Readonly<Record<string, string>> = {}): Promise<void> {
      await server.end();
      server = await inProcessServerForTest({ ...env, ...changes });
    },
    async change(sql: string, values: readonly (string | number)[] = []): Promise<void> {
      const database = await openSqlite(stateDir);
      await migrateSchema(database);
      await database.query(sql, values);
      await database.close();
    },
  };
}
type Scene = Awaited<ReturnType<typeof createScene>>;

const RUNS = Number(process.env["FAULT_RUNS"] ?? 30);
const REGISTRATIONS = "tool = 'register_input'";
const registerFile = { workspaceId: common.workspaceId, inputKind: "M4_FILE", referenceId: FILE };

/** What may happen between two identical calls. No change makes another call run the job. */
const CHANGES: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  "the registrations are deleted": ({ change }) => change(`DELETE FROM actions WHERE ${REGISTRATIONS}`),
  "the outcome of the registrations was not recorded": ({ change }) =>
    change(`UPDATE actions SET state = 'unknown', outcome = NULL, resource_id = NULL WHERE ${REGISTRATIONS}`),
  "the registrations are in progress in a process that no longer works on them": ({ change }) =>
    change(`UPDATE actions SET state = 'in_progress', lease_until = 0, resource_id = NULL WHERE ${REGISTRATIONS}`),
  "the registrations are as old as the retention, and another server prunes them": async ({ change, restart }) => {
    await change(`UPDATE actions SET updated_at = updated_at - $1 WHERE ${REGISTRATIONS}`, [25 * HOUR_MS]);
    await restart({ MIC_ACTION_RETENTION_DAYS: "1" });
  },
  "the file is registered": ({ call }) => call("register_input", registerFile),
  "the file is registered again under another key": ({ call }) =>
    call("register_input", { ...registerFile, idempotencyKey: "another-registration" }),
  "resolve_actions runs": ({ call }) => call("resolve_actions", {}),
  "the server restarts": ({ restart }) => restart(),
};
const CHANGE_NAMES = Object.keys(CHANGES);

test("two identical submissions run once, whatever changes in the journal before, between and after them", {
  timeout: 60_000 + RUNS * 1_000,
}, async () => {
  const schedule = fc.record({
    call: fc.constantFrom(...CALLS),
    returnsExisting: fc.boolean(),
    isLost: fc.boolean(),
    before: fc.array(fc.constantFrom(...CHANGE_NAMES), { maxLength: 2 }),
    between: fc.array(fc.array(fc.constantFrom(...CHANGE_NAMES), { maxLength: 2 }), { minLength: 1, maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(schedule, async ({ call: { tool, args }, returnsExisting, isLost, before, between }) => {
      const scene = await createScene({ returnsExisting });
      for (const name of before) await CHANGES[name]?.(scene);
      if (isLost) scene.loseNextJob();
      await scene.call(tool, args);
      for (const names of between) {
        for (const name of names) await CHANGES[name]?.(scene);
        const { error, text } = await scene.call(tool, args);
        expect(error, text).toBeUndefined();
        expect([...scene.jobs.values()]).toEqual(["job-1"]);
      }
    }),
    { numRuns: RUNS },
  );
});

test("a submission runs once, also for a server that starts later, if the journal was locked while its file was registered", async () => {
  const calls = [runJob, runJobs, submitFile, withOwnKey(runJob)];
  await Promise.all(
    calls.map(async ({ tool, args }) => {
      let isLocked = false;
      const scene = await createScene({
        async onRegistration() {
          if (isLocked) return;
          isLocked = true;
          const database = await openSqlite(scene.stateDir);
          await database.query("BEGIN IMMEDIATE");
          // Longer than the 5 s for which a statement waits.
          void sleep(5_500)
            .then(() => database.query("COMMIT"))
            .then(() => database.close());
        },
      });
      for (const restarts of [false, false, true]) {
        if (restarts) await scene.restart();
        const { error, text } = await scene.call(tool, args);
        expect(error, text).toBeUndefined();
      }
      expect([...scene.jobs.values()], tool).toEqual(["job-1"]);
    }),
  );
});
