// Kills servers with SIGKILL while their commands are at the API: after the first byte of a request and before its outcome is recorded,
// which the gate and the journal prove for each kill. A second client reads, a third one changes the same jobs, and the clocks differ.
// Each statement about an outcome is compared with what the API executed. FAULT_KILLS sets the number of kills in each series.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { startEmulator } from "../../src/emulator/index.ts";
import type { Database } from "../../src/store/database.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { createValue } from "../emulator/parameters.ts";
import { Service } from "../emulator/service.ts";
import {
  createProcessingBody,
  FILE,
  fileId,
  findOneInputOffer,
  readJob,
  registerInput,
  submitJob,
} from "../emulator/work.ts";
import { fakeClockCommand, fakeClockMissing } from "../support/fake-clock.ts";
import { rowOfEachJob } from "../support/job-rows.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { createSeededRandom, type SeededRandom } from "../support/random.ts";
import type { CallResult } from "../support/results.ts";
import { inProcessServerForTest, type RawClient, startServer } from "../support/server.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runCount } from "../support/thorough.ts";
import { describeUnless } from "../support/unless.ts";
import { describeWithPostgres } from "../teams/services.ts";
import { type Command, type Gate, gateForTest, MOMENTS, type Treatment } from "./gate.ts";

const SEED = Number(process.env["FAULT_SEED"] ?? 20_261_124);
const KILLS = Number(process.env["FAULT_KILLS"] ?? 2);
const HOUR_MS = 3_600_000;
const STAGE_MS = 60_000;

/** Hours by which the clocks of the servers' machine and of the API differ from the true time. */
type Hours = readonly [machine: number, api: number];
interface ClockPlan {
  readonly before: Hours;
  /** From the second process on. */
  readonly after: Hours;
  /** Each process differs from its machine's clock by up to this number of seconds. */
  readonly spreadSeconds: number;
  /** The agent repeats each call under a new key, unless the journal has its success: then a new key would run it again. */
  readonly usesNewKeys?: true;
}
const constant = (hours: Hours, spreadSeconds: number): ClockPlan => ({ before: hours, after: hours, spreadSeconds });
const jump = (before: Hours, after: Hours): ClockPlan => ({ before, after, spreadSeconds: 60 });

const series: readonly (readonly [string, readonly ClockPlan[]])[] = [
  ["clocks up to an hour apart", [constant([0, 0], 3_600)]],
  ["a new key for each repeated call", [{ ...constant([0, 0], 20), usesNewKeys: true }]],
  ["a constant difference of 50 h", [constant([0, 50], 60), constant([0, -50], 60)]],
  [
    "a jump of 50 h",
    // Both clocks; only the machine's, forward and back; only the API's; a clock that was ahead and is corrected 30 h later.
    [
      jump([0, 0], [50, 50]),
      jump([0, 0], [50, 0]),
      jump([0, 0], [-50, 0]),
      jump([0, 0], [0, 50]),
      jump([50, 0], [30, 30]),
    ],
  ],
];

interface Journal {
  readonly env: Readonly<Record<string, string>>;
  readonly database: Database;
  /** Statements that keep all other connections from writing. */
  readonly lock: readonly string[];
  readonly unlock: readonly string[];
  /** Whether the processes' clocks are the journal's clock. */
  readonly usesMachineClock: boolean;
}

interface Intent {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The effects that the agent wants, as the gate names them. */
  readonly units: readonly string[];
}

const newCounts = () => ({
  ...{
    groups: 0,
    kills: 0,
    "calls with a new key": 0,
    "kills not counted": 0,
    "actions interrupted": 0,
    actions: 0,
    executions: 0,
    replays: 0,
  },
  ...{ resolved: 0, unknown: 0, "again after the window": 0, "effects of the third client": 0, reads: 0 },
  ...{ duplicates: 0, lost: 0, "false sentences": 0 },
});
type Counts = ReturnType<typeof newCounts>;

const Rows = z.array(
  z.looseObject({
    ...{
      jobId: z.string().optional(),
      file: z.string().optional(),
      tool: z.string().optional(),
      targetId: z.string().optional(),
    },
    ...{ outcome: z.string().optional(), state: z.string().optional(), idempotencyKey: z.string().optional() },
    ...{ newJobId: z.string().optional(), createdId: z.string().optional(), finding: z.string().optional() },
  }),
);
type Row = z.infer<typeof Rows>[number];
const rowsOf = (result: CallResult, field: "results" | "actions"): readonly Row[] =>
  Rows.parse(rowOfEachJob(result.structured?.[field] ?? []));

function createClock(startMs: number) {
  let offsetMs = startMs;
  return {
    now: () => Date.now() + offsetMs,
    advance(ms: number) {
      offsetMs += ms;
    },
  };
}

/** Creates the resources of a group, and returns what its agent wants. */
async function createIntents(
  service: Service,
  gate: Gate,
  random: SeededRandom,
  seed: number,
  usesNewKeys: boolean,
): Promise<readonly Intent[]> {
  const { workspaceId } = service.emulator;
  const failed: string[] = [];
  for (let n = 0; n < 3; n++) failed.push((await submitJob(service, FILE.failsRetryably)).id);
  service.clock.advance(HOUR_MS);
  const [first = "", ...others] = failed;
  const running = await submitJob(service, FILE.succeeds);
  const offer = await findOneInputOffer(service);
  const port = offer.recipe.inputs[0]?.name;
  const job = {
    workspaceId,
    recipeVersionId: offer.recipe.versionId,
    parameterValues: createValue(offer.recipe.parameters),
  };
  const newInput = async (index: number): Promise<string> => {
    const { id } = await registerInput(service, index);
    gate.files.set(id, fileId(service, index));
    return id;
  };
  const reason = "in flight";
  const { succeeds: submitted, failsForGood: registered, waitsForReview: many, pauses: more } = FILE;
  const ran = FILE.quarantined + 1;
  const file = (index: number) => fileId(service, index);
  const expiresAt = new Date(service.clock.now() + 240 * HOUR_MS).toISOString();
  const all: readonly Intent[] = [
    {
      tool: "submit_job",
      args: { ...job, inputBindings: [{ port, inputId: await newInput(submitted) }] },
      units: [`jobs ${file(submitted)}`],
    },
    {
      tool: "run_job",
      args: { ...job, inputs: [{ port, referenceId: file(ran) }], waitSeconds: 0 },
      units: [`jobs ${file(ran)}`, `inputs ${file(ran)}`],
    },
    {
      tool: "run_jobs",
      args: { ...job, files: [file(many), file(more)], waitSeconds: 0 },
      units: [many, more].flatMap((index) => [`jobs ${file(index)}`, `inputs ${file(index)}`]),
    },
    {
      tool: "register_input",
      args: { workspaceId, inputKind: "M4_FILE", referenceId: file(registered) },
      units: [`inputs ${file(registered)}`],
    },
    { tool: "cancel_job", args: { jobId: running.id, reason, waitSeconds: 0 }, units: [`cancellations ${running.id}`] },
    {
      tool: "retry_job",
      args: { jobId: first, retryMode: random.pick(["SAFE_RESUME", "RESTART"]), reason },
      units: [`retries ${first}`],
    },
    {
      tool: "retry_jobs",
      args: { jobIds: others, retryMode: "SAFE_RESUME", reason, waitSeconds: 0 },
      units: others.map((id) => `retries ${id}`),
    },
    {
      tool: "request_file_processing",
      args: { ...createProcessingBody(service, offer, await newInput(submitted)), expiresAt },
      units: [`processing-requests ${file(submitted)}`],
    },
  ];
  // A new key renews only the actions that have a key of their own.
  const possible = usesNewKeys ? all.filter(({ units }) => units.length === 1) : all;
  const wanted = possible.filter(() => random.next() < 0.5);
  return (wanted.length === 0 ? [random.pick(possible)] : wanted).map((intent) =>
    !usesNewKeys && random.next() < 0.3
      ? { ...intent, args: { ...intent.args, idempotencyKey: `${intent.tool.replaceAll("_", "-")}-${seed}` } }
      : intent,
  );
}

const isByAnyone = (text: string): boolean => /by this call or by another client/.test(text);

/** Compares statements with the gate's record. Each false one is a finding. */
function createOracle(gate: Gate, service: Service, counts: Counts, mayBeOld: boolean, report: (text: string) => void) {
  function falsehood(what: string, text: string): void {
    counts["false sentences"] += 1;
    report(`${what}: ${text.slice(0, 600)}`);
  }
  /** The keys of the false rows of listings, each of which is reported once. */
  const denied = new Set<string>();
  const executedBy = (unit: string): readonly string[] =>
    gate.commandsFor(unit).flatMap(({ executions }) => executions);
  const snapshot = () => new Map([...gate.commands].map(([key, { executions }]) => [key, executions.length]));

  /** Checks the statements about other jobs, which need not be effects of this product. */
  async function checkJobs(text: string): Promise<void> {
    for (const [, jobId, retryId = ""] of text.matchAll(/Job (\S+) was retried as job (\w+)/g))
      if ((await readJob(service, retryId)).retryOfBatchId !== jobId) falsehood("is no retry of this job", text);
    for (const [, jobId = ""] of text.matchAll(/Job (\S+) was canceled, by/g))
      if ((await readJob(service, jobId)).state !== "CANCELLED") falsehood("is not canceled", text);
  }

  function checkRow(tool: string, unit: string, row: Row, before: number, text: string): void {
    const ids = executedBy(unit);
    const made = tool === "retry_jobs" ? row.newJobId : row["jobId"];
    const { outcome = row.state } = row;
    if (outcome === "retried" && made !== undefined && !ids.includes(made))
      falsehood(`${unit} reported, not executed`, text);
    if (tool === "run_jobs" && typeof made === "string" && !ids.includes(made))
      falsehood(`${unit} reported, not executed`, text);
    if (outcome === "rejected" && ids.length > 0) falsehood(`${unit} rejected, but executed`, text);
    if ((outcome === "not sent" || outcome === "NOT_RUN") && ids.length > before) falsehood(`${unit} executed`, text);
  }

  function checkResolved({ tool = "", idempotencyKey = "", outcome, createdId, finding = "" }: Row): void {
    const ids = gate.executionsOf(idempotencyKey);
    const text = `${tool} ${idempotencyKey} ${outcome}: ${finding}`;
    if (outcome === "resolved") {
      counts.resolved += 1;
      if (!isByAnyone(finding) && ids.length !== 1) falsehood(`resolved, executed ${ids.length} times`, text);
      if (!isByAnyone(finding) && createdId !== undefined && !ids.includes(createdId))
        falsehood("another resource", text);
      if (
        !/^Resolved: (the action ran once|it took effect|Job \S+ was (canceled|retried as job \S+), by)/.test(finding)
      )
        falsehood("a sentence that this test does not know", text);
    }
    const deniesEffect = outcome === "rejected" || /did not take effect|Nothing was changed/.test(finding);
    if (deniesEffect && ids.length > 0) falsehood("denied, but executed", text);
  }

  async function check(
    { tool, units }: Intent,
    result: CallResult,
    before: ReadonlyMap<string, number>,
  ): Promise<boolean> {
    const { error, action, structured, text } = result;
    const executedBefore = (unit: string): number =>
      gate.commandsFor(unit).reduce((sum, { key }) => sum + (before.get(key) ?? 0), 0);
    await checkJobs(text);
    if (!mayBeOld && /more than 20 h ago/.test(text)) falsehood("sent a few minutes ago", text);
    if (/Not run again|by an identical call/.test(text)) {
      counts.replays += 1;
      if (!isByAnyone(text) && units.every((unit) => executedBefore(unit) === 0)) falsehood("not run before", text);
    }
    const results = tool === "retry_jobs" || tool === "run_jobs" ? rowsOf(result, "results") : [];
    for (const row of results) {
      const unit = tool === "retry_jobs" ? `retries ${row.jobId}` : `jobs ${row.file}`;
      checkRow(tool, unit, row, executedBefore(unit), `${text}\n${JSON.stringify(row)}`);
    }
    if (tool === "resolve_actions") for (const row of rowsOf(result, "results")) checkResolved(row);
    const [unit = ""] = units;
    const key = action?.idempotencyKey ?? error?.idempotencyKey ?? "";
    const ids = gate.executionsOf(key);
    if (action && !error) {
      if (ids.length === 0 && !isByAnyone(text)) {
        counts.lost += 1;
        report(`${unit} reported as done, but never executed: ${text}`);
      }
      const { id } = z.looseObject({ id: z.string() }).parse(structured?.["data"]);
      if (tool !== "cancel_job" && ids.length > 0 && !ids.includes(id)) falsehood(`${unit} has another resource`, text);
    }
    if (error?.sideEffect === "none") {
      const during = executedBy(unit).length - executedBefore(unit);
      if (ids.length > 0 || (tool !== "resolve_actions" && during > 0)) falsehood(`${unit} was executed`, text);
    }
    if (error?.sideEffect === "done" && ids.length === 0 && !isByAnyone(text))
      falsehood(`${unit} was not executed`, text);
    if (
      error?.sideEffect === "unknown" &&
      !/resolve_actions|Make the same call|First find out|shows whether|nothing left|the job has ended/.test(text)
    )
      falsehood(`${unit}: no call that resolves it`, text);
    const isOpen = (row: Row) => row.outcome === "unknown" || row.outcome === "not sent" || row["error"] !== undefined;
    return error?.sideEffect !== "unknown" && !results.some(isOpen);
  }

  return {
    check,
    snapshot,
    executedBy,
    checkListing(result: CallResult, before: ReadonlyMap<string, number>): void {
      counts.reads += 1;
      for (const { idempotencyKey = "", state, ...row } of rowsOf(result, "actions")) {
        const text = JSON.stringify({ idempotencyKey, state, ...row });
        if (state !== "rejected" || (before.get(idempotencyKey) ?? 0) === 0 || denied.has(idempotencyKey)) continue;
        denied.add(idempotencyKey);
        falsehood("listed as rejected, but executed", text);
      }
    },
  };
}

type Mode = "kill" | "faults" | "clean";

const FAULTS: readonly Treatment[] = [
  ...[408, 503].flatMap((status) =>
    [true, false].map((isExecuted) => ({ kind: "status", status, isExecuted }) as const),
  ),
  ...(["reset", "lost", "pass"] as const).map((kind) => ({ kind })),
];

/**
 * How the gate treats the commands of one process. In a process that is killed, most are held. `refusal`: the status of an API that
 * checks the state before the key, so that it returns no stored answer.
 */
function createTreatment(
  random: SeededRandom,
  mode: Mode,
  refusal: number | undefined,
): (command: Command) => Treatment {
  const chosen = new Map<string, Treatment>();
  return ({ key, executions }) => {
    if (mode === "kill" && (chosen.has(key) || random.next() < 0.8))
      return { kind: "hold", moment: random.pick(MOMENTS), runsLater: random.next() < 0.5 };
    if (refusal !== undefined && executions.length > 0) return { kind: "status", status: refusal, isExecuted: false };
    if (mode === "clean") return { kind: "pass" };
    const earlier = chosen.get(key);
    if (earlier && earlier.kind !== "status") return { kind: "pass" };
    const treatment = earlier ?? random.pick(FAULTS);
    chosen.set(key, treatment);
    return treatment;
  };
}

async function runGroup(
  seed: number,
  plans: readonly ClockPlan[],
  journal: Journal,
  gate: Gate,
  counts: Counts,
  report: (text: string) => void,
) {
  // The first numbers of consecutive seeds are nearly equal.
  const random = createSeededRandom(Math.imul(seed, 0x9e3779b1));
  const plan = plans[seed % plans.length] ?? constant([0, 0], 0);
  const clock = createClock(plan.before[1] * HOUR_MS - HOUR_MS);
  const emulator = await startEmulator({ clock, seed: `kills ${seed}`, stageMs: STAGE_MS });
  const service = new Service(emulator, clock);
  gate.reset(emulator.baseUrl, clock.now);
  const env = { ...emulatorEnv({ ...emulator, baseUrl: gate.url }), ...journal.env };
  const usesNewKeys = plan.usesNewKeys === true;
  const intents = await createIntents(service, gate, random, seed, usesNewKeys);
  const withNewKey = async (intent: Intent, attempt: number): Promise<Intent> => {
    if (!usesNewKeys || attempt === 0) return intent;
    const rows = await journal.database.query("SELECT key FROM actions WHERE state = 'succeeded'");
    const succeeded = new Set(rows.map(({ key }) => key));
    const isRecorded = intent.units.some((unit) => gate.commandsFor(unit).some(({ key }) => succeeded.has(key)));
    if (isRecorded) return intent;
    counts["calls with a new key"] += 1;
    return {
      ...intent,
      args: { ...intent.args, idempotencyKey: `${intent.tool.replaceAll("_", "-")}-${seed}-${attempt}` },
    };
  };
  const steps = [`clocks ${JSON.stringify(plan)}`, intents.map(({ tool }) => tool).join(" ")];
  const mayBeOld = [0, 1].some((clockIndex) => (plan.after[clockIndex] ?? 0) - (plan.before[clockIndex] ?? 0) > 20);
  const oracle = createOracle(gate, service, counts, mayBeOld, (text) =>
    report(`${text}\n  after: ${steps.join("; ")}`),
  );
  const resolveIntent: Intent = { tool: "resolve_actions", args: {}, units: [] };

  const startProcess = async (attempt: number) => {
    const [machine] = attempt === 0 ? plan.before : plan.after;
    const spread = random.nextInteger(2 * plan.spreadSeconds + 1) - plan.spreadSeconds;
    return await startServer({ env, under: fakeClockCommand(machine * 3_600 + spread) });
  };
  async function perform(client: Pick<RawClient, "call">, intent: Intent): Promise<boolean> {
    const before = oracle.snapshot();
    return await oracle.check(intent, await client.call(intent.tool, intent.args), before);
  }

  // The second client, which only reads, and the third one, which has its own state folder.
  const reader = await inProcessServerForTest(env);
  const third = await inProcessServerForTest({
    ...emulatorEnv(emulator),
    MIC_STATE_DIR: join(journal.env["MIC_STATE_DIR"] ?? "", `third-${seed}`),
  });
  let isOver = false;
  const reading = (async () => {
    while (!isOver) {
      const before = oracle.snapshot();
      oracle.checkListing(await reader.call("list_actions", { limit: 100 }), before);
      await reader.request("resources/read", { uri: "mic://actions" });
      for (const { args } of intents) if (args["jobId"]) await reader.call("get_job", { jobId: args["jobId"] });
      await sleep(250);
    }
  })();
  const foreign = new Set<string>();
  async function interfere(): Promise<void> {
    const jobs = intents.filter(({ args }) => "jobId" in args || "jobIds" in args);
    if (jobs.length === 0 || random.next() < 0.6) return;
    const { tool, args, units } = random.pick(jobs);
    await sleep(random.nextInteger(200));
    const { idempotencyKey: _, ...own } = args;
    if ((await third.call(tool, own)).error) return;
    counts["effects of the third client"] += 1;
    for (const unit of units) foreign.add(unit);
  }

  const kills = 3 + random.nextInteger(6);
  const refusal = random.next() < 0.5 ? random.pick([404, 409, 409, 410, 422]) : undefined;
  if (refusal !== undefined) steps.push(`the API refuses repeated commands with ${refusal}`);
  for (let attempt = 0; attempt < kills; attempt++) {
    if (attempt === 1) clock.advance((plan.after[1] - plan.before[1]) * HOUR_MS);
    const mode = random.next() < 0.2 ? "faults" : "kill";
    const resolves = attempt > 0 && random.next() < (usesNewKeys ? 0.1 : 0.4);
    const calls = resolves ? [resolveIntent] : await Promise.all(intents.map((intent) => withNewKey(intent, attempt)));
    steps.push(`${mode} ${resolves ? "resolve_actions" : "calls"}`);
    const server = await startProcess(attempt);
    gate.held.length = 0;
    gate.treat(createTreatment(random, mode, refusal));
    const interfering = interfere();
    const results = calls.map((intent) => perform(server, intent));
    if (mode === "faults") {
      await Promise.all(results);
      await server.kill();
      await interfering;
      continue;
    }
    const ended = Promise.allSettled(results).then(() => true);
    const until = performance.now() + 5_000;
    while (gate.held.length === 0 && performance.now() < until) if (await Promise.race([ended, sleep(5, false)])) break;
    await sleep(random.nextInteger(120));
    const answered = gate.held.filter(({ moment }) => moment === "answered");
    const isLocked = answered.length > 0 && random.next() < 0.6;
    if (isLocked) for (const sql of journal.lock) await journal.database.query(sql);
    await Promise.all(answered.map(({ release }) => release()));
    if (answered.length > 0) await sleep(random.nextInteger(isLocked ? 20 : 3));
    await server.kill();
    // The process is dead. A command whose row is still in progress was interrupted before the record of its outcome.
    const rows = await journal.database.query("SELECT key FROM actions WHERE state = 'in_progress'").catch(() => []);
    if (isLocked) for (const sql of journal.unlock) await journal.database.query(sql);
    const inProgress = new Set(rows.map((row) => row["key"]));
    const interrupted = gate.held.filter(({ command }) => inProgress.has(command.key));
    counts["actions interrupted"] += new Set(interrupted.map(({ command }) => command.key)).size;
    counts[interrupted.length > 0 ? "kills" : "kills not counted"] += 1;
    steps.push(`killed at ${interrupted.map(({ command, moment }) => `${command.unit ?? command.key} ${moment}`)}`);
    await Promise.all(gate.held.filter((each) => !answered.includes(each)).map(({ release }) => release()));
    for (const result of await Promise.allSettled(results))
      if (result.status === "rejected" && !/the server has ended/.test(String(result.reason))) throw result.reason;
    await interfering;
    // All outcomes are certain, or too old to be sent again.
    if (attempt > 0 && gate.held.length === 0) break;
  }

  // A new process without faults repeats the calls until their outcomes are certain.
  const server = await startProcess(kills);
  let certain: readonly boolean[] = [];
  for (let round = 0; round < 3 && !(certain.length > 0 && certain.every(Boolean)); round++) {
    gate.treat(createTreatment(random, "clean", round === 0 ? refusal : undefined));
    if (round > 0 || random.next() < 0.6) {
      steps.push("resolve_actions");
      await perform(server, resolveIntent);
    }
    steps.push("calls");
    certain = await Promise.all(intents.map((intent) => perform(server, intent)));
    clock.advance(5 * STAGE_MS);
  }
  steps.push("calls");
  certain = await Promise.all(intents.map((intent) => perform(server, intent)));
  const last = await Promise.all(intents.map((intent) => server.call(intent.tool, intent.args)));
  isOver = true;
  await reading;
  await Promise.all([server.kill(), reader.end(), third.end()]);

  counts.groups += 1;
  const states = new Map(
    (await journal.database.query("SELECT key, state FROM actions")).map((row) => [row["key"], row["state"]]),
  );
  // After a real jump of the journal's clock, the same call is a new action, if the first one is recorded as done.
  const mayRunAgain = journal.usesMachineClock && plan.after[0] - plan.before[0] > 20;
  for (const [index, { units, tool }] of intents.entries())
    for (const unit of units) {
      const commands = gate.commandsFor(unit);
      const effects = oracle.executedBy(unit).length;
      const isUnknown =
        !certain[index] ||
        commands.some(({ key }) => states.get(key) === "unknown" || states.get(key) === "in_progress");
      counts.actions += 1;
      counts.executions += effects;
      if (isUnknown) counts.unknown += 1;
      const again = commands.filter(({ executions }) => executions.length > 0);
      // A file is registered again if the outcome of its registration can no longer be found out.
      const isRegisteredAgain =
        mayBeOld &&
        unit.startsWith("inputs ") &&
        again.length === 2 &&
        // A killed server leaves its registration in progress.
        again.some(({ key }) => ["unknown", "in_progress"].includes(String(states.get(key))));
      const isAgain =
        isRegisteredAgain ||
        (mayRunAgain &&
          again.length === 2 &&
          effects === 2 &&
          again.every(({ key }) => states.get(key) === "succeeded"));
      if (isAgain) counts["again after the window"] += 1;
      else if (effects > 1) {
        counts.duplicates += effects - 1;
        report(
          `${tool} ${unit} was executed ${effects} times under ${again.map(({ key }) => `${key} (${states.get(key)})`)}\n  after: ${steps.join("; ")}\n  ${last[index]?.text}`,
        );
      }
      const isForeign = foreign.has(unit);
      if (effects === 0 && !isUnknown && !isForeign && plan.after[1] === plan.before[1]) {
        counts.lost += 1;
        report(`${tool} ${unit} was never executed\n  after: ${steps.join("; ")}\n  ${last[index]?.text}`);
      }
      for (const { key, bodies } of commands) if (bodies.size > 1) report(`${key} was sent with several bodies`);
    }
  await emulator.close();
}

function testSeries(journalName: string, tested: typeof series, openJournal: () => Promise<Journal>): void {
  test.each(tested)(
    `${journalName}, %s: no action runs twice or is lost, and no result is false`,
    { timeout: 300_000 + KILLS * 30_000 },
    async (title, plans) => {
      const journal = await openJournal();
      onTestFinished(() => journal.database.close());
      const gate = await gateForTest();
      const counts = newCounts();
      const findings: string[] = [];
      for (let seed = SEED; counts.kills < KILLS; seed++)
        await runGroup(seed, plans, journal, gate, counts, (text) =>
          findings.push(`FAULT_SEED=${seed} FAULT_KILLS=1: ${text}`),
        );
      console.info(
        `${journalName}, ${title}, seed ${SEED}: ${Object.entries(counts)
          .map(([name, count]) => `${count} ${name}`)
          .join(", ")}`,
      );
      expect(findings.slice(0, 20), `${findings.length} findings`).toEqual([]);
    },
  );
}

describeUnless(fakeClockMissing, "servers that are killed while their commands are in flight", () => {
  describe("on SQLite", () => {
    testSeries("SQLite", series.slice(0, runCount(2, 4)), async () => {
      const stateDir = await folderForTest();
      const env = { MIC_STATE_DIR: stateDir };
      const database = await openSqlite(stateDir);
      return { env, database, lock: ["BEGIN IMMEDIATE"], unlock: ["ROLLBACK"], usesMachineClock: true };
    });
  });

  describeWithPostgres("on PostgreSQL", (postgres) => {
    testSeries("PostgreSQL", series.slice(0, runCount(1, 4)), async () => {
      const url = await postgres().createDatabase();
      const env = { MIC_STATE_DIR: await folderForTest(), MIC_JOURNAL_URL: url };
      const database = await openPostgres(url, { connections: 1 });
      const lock = ["BEGIN", "LOCK TABLE actions IN EXCLUSIVE MODE"];
      // The database would still run the waiting write of a process that is dead.
      const abort =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
      return { env, database, lock, unlock: [abort, "ROLLBACK"], usesMachineClock: false };
    });
  });
});
