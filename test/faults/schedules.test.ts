// Runs seeded schedules of failures over the whole lifecycle of an action, in one process with virtual time. A failing schedule
// is shrunk and prints its seed: FAULT_SEED=<seed> npx vitest run test/faults (FAULT_RUNS for more schedules, as .ci/run sets
// it).

import fc from "fast-check";
import { expect, test } from "vitest";
import { DEDUPLICATION_WINDOW_MS } from "../../src/actions/deduplication-window.ts";
import { startEmulator } from "../../src/emulator/index.ts";
import { registerInput } from "../../tools/register-input.ts";
import { submitJob } from "../../tools/submit-job.ts";
import { Service } from "../emulator/service.ts";
import { createJobBodyForFile, FILE } from "../emulator/work.ts";
import { createManualClock } from "../support/emulator.ts";
import {
  type CallRecord,
  createSimulatedServer,
  INJECTED_FAILURES,
  makeWorld,
  type World,
  WRITE_FAILURES,
  WRITES,
} from "./simulated-server.ts";
import { openFastJournal } from "./virtual-server.ts";

const SEED = Number(process.env["FAULT_SEED"] ?? 20_261_121);
const RUNS = Number(process.env["FAULT_RUNS"] ?? 24);
/** The emulator lists all its executions on each request. A new emulator after this number of runs keeps the list short. */
const RUNS_EACH = 20;
const WINDOW_MS = DEDUPLICATION_WINDOW_MS;

const weighted = <const T>(...choices: readonly (readonly [weight: number, value: T])[]) =>
  fc.oneof(...choices.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));

const step = fc.record({
  serverIndex: fc.constantFrom<(0 | 1)[]>(0, 1),
  /** Without a key, with the key that the agent read last, or with a new explicit key. */
  keyMode: weighted<"keyless" | "keyed" | "own">([6, "keyless"], [3, "keyed"], [1, "own"]),
  order: fc.nat(5),
  failures: fc.array(fc.constantFrom(...INJECTED_FAILURES), { maxLength: 4 }),
  journal: fc.option(fc.record({ write: fc.constantFrom(...WRITES), mode: fc.constantFrom(...WRITE_FAILURES) }), {
    nil: undefined,
    freq: 3,
  }),
  /** Whether the agent reads the answer. It has no effect on the next identical call. */
  answer: weighted<"read" | "lost">([4, "read"], [1, "lost"]),
  /** An identical call at the same moment, to the other process or to the same one. */
  duplicate: weighted<"none" | "other" | "same">([12, "none"], [1, "other"], [1, "same"]),
  /** Time in ms that passes before the step. */
  jumpMs: fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.constantFrom(1_000, 40_000) },
    { weight: 2, arbitrary: fc.constantFrom(3_600_000, WINDOW_MS - 3_600_000, WINDOW_MS + 1) },
  ),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const schedule = fc.record({
  what: fc.constantFrom("register_input" as const, "submit_job" as const),
  /** True: a dead process is detected at once (same machine). False: its lease must expire (another machine). */
  detectsDeath: fc.boolean(),
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
});

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One action that calls have made, as far as their answers show it. */
interface Intent {
  /** Undefined if no call has shown it; the journal may not have it. */
  key: string | undefined;
  created: Span;
  /** `unseen`: may not be recorded. `unresolved`: in progress or unknown. `perhaps`: the write of its resolution failed. */
  state: "unseen" | "unresolved" | "perhaps succeeded" | "succeeded" | "perhaps rejected" | "rejected";
  resolved?: Span;
}

const overlaps = (one: Span, other: Span): boolean => one.fromMs <= other.toMs && other.fromMs <= one.toMs;

/** The deduplication rule, as an agent may rely on it. */
class Model {
  readonly intents: Intent[] = [];
  lastKey: string | undefined;

  /** Whether a call without a key would return this action. */
  #isLive(intent: Intent, call: Span): "yes" | "perhaps" | "no" {
    const { state, resolved, created } = intent;
    if (state === "rejected") return "no";
    if (state === "unseen" || state === "perhaps rejected") return "perhaps";
    if (state === "succeeded" && resolved) {
      if (call.fromMs - resolved.toMs >= WINDOW_MS) return "no";
      return call.toMs - resolved.fromMs < WINDOW_MS ? "yes" : "perhaps";
    }
    // A later success of an identical action with an explicit key gives the agent the outcome that it needs.
    const later = this.intents.filter((each) => each !== intent && /succeeded/.test(each.state));
    if (later.some((each) => each.created.toMs >= created.fromMs)) return "perhaps";
    return state === "perhaps succeeded" && resolved && call.toMs - resolved.fromMs >= WINDOW_MS ? "perhaps" : "yes";
  }

  /** Returns the action that a call with this outcome concerns. */
  identify(requestedKey: string | undefined, observed: string | undefined, call: Span): Intent {
    const byKey = this.intents.find(({ key }) => key !== undefined && key === (requestedKey ?? observed));
    if (requestedKey !== undefined) {
      const other = observed === requestedKey ? undefined : this.intents.find(({ key }) => key === observed);
      // A new key is not used while an identical action is unresolved: the call resolves that one.
      if (observed !== undefined && observed !== requestedKey) {
        expect(byKey, "a known key is the action of that key").toBeUndefined();
        if (other?.resolved && !overlaps(other.resolved, call)) expect(other.state).toMatch(/perhaps/);
        const hidden = this.intents.find(({ key }) => key === undefined);
        if (other || !hidden) return other ?? this.#begin(observed, call);
        hidden.key = observed;
        return hidden;
      }
      return byKey ?? this.#begin(requestedKey, call);
    }
    const known = this.intents.filter(({ key }) => key !== undefined);
    const live = known.filter((each) => this.#isLive(each, call) === "yes");
    const hidden = this.intents.find(({ key }) => key === undefined);
    if (observed === undefined) {
      const [latest = hidden] = live.slice(-1);
      if (latest === undefined) return this.#begin(undefined, call);
      // Each of the calls that showed nothing may have created it.
      if (latest === hidden) latest.created = { fromMs: latest.created.fromMs, toMs: call.toMs };
      return latest;
    }
    if (byKey) {
      // The other of two simultaneous calls may have just returned the outcome.
      const isEarlier = [byKey.created, byKey.resolved].every((span) => span === undefined || !overlaps(span, call));
      const isOver = this.#isLive(byKey, call) === "no" && isEarlier;
      expect(isOver, `an action of the past is not resumed: ${JSON.stringify(byKey)}`).toBe(false);
      return byKey;
    }
    // An action whose creation no answer showed can exist only if it was made when no other was live.
    const barring = live.filter(({ created }) => !hidden || !overlaps(created, hidden.created));
    expect(barring, "the same call is the same action").toEqual([]);
    if (!hidden) return this.#begin(observed, call);
    hidden.key = observed;
    return hidden;
  }

  /** The keys of the actions that certainly had an unknown outcome during the call, and can still be sent again. */
  findUnresolved = (call: Span): readonly (string | undefined)[] =>
    this.intents
      .filter(({ state, created }) => state === "unresolved" && call.toMs - created.fromMs < WINDOW_MS)
      .map(({ key }) => key);

  #begin(key: string | undefined, created: Span): Intent {
    const intent: Intent = { key, created, state: "unseen" };
    this.intents.push(intent);
    return intent;
  }

  /** `isCertain`: no failure prevented the journal from recording it. A replay shows a resolution that was recorded earlier. */
  markResolved(
    intent: Intent,
    resolution: "succeeded" | "rejected",
    at: Span,
    isReplay: boolean,
    isCertain: boolean,
  ): void {
    if (intent.state === "succeeded") return;
    const { fromMs } = (resolution === "succeeded" && (intent.resolved ?? (isReplay && intent.created))) || at;
    intent.resolved = { fromMs, toMs: at.toMs };
    intent.state = isCertain ? resolution : `perhaps ${resolution}`;
  }

  /** A call did not return the outcome. `isRecorded`: the journal certainly has the action without a resolution. */
  markUnresolved(intent: Intent, isRecorded: boolean): void {
    if (/succeeded/.test(intent.state)) return;
    if (isRecorded) intent.state = "unresolved";
    else if (intent.state === "unresolved" || intent.state === "rejected") intent.state = "perhaps rejected";
  }
}

function reorderKeys(value: unknown, order: number): unknown {
  if (Array.isArray(value)) return value.map((part) => reorderKeys(part, order));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, part]) => [name, reorderKeys(part, order)] as const);
  const at = order % Math.max(1, entries.length);
  return Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)]);
}

const TOOLS = { register_input: registerInput, submit_job: submitJob };
type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never;
type Examples = Readonly<Record<Schedule["what"], object>>;

let runs = 0;

async function run(world: World, examples: Examples, { what, detectsDeath, steps }: Schedule): Promise<void> {
  const owner = `run-${++runs}`;
  world.sent.length = 0;
  const start = () => createSimulatedServer(world);
  const machines: [ReturnType<typeof start>, ReturnType<typeof start>] = [start(), start()];
  const model = new Model();
  const baseArguments = { ...examples[what], clientReference: owner };
  let ownKeys = 0;

  const replaceCrashed = (): void => {
    for (const at of [0, 1] as const) {
      if (!machines[at].isCrashed()) continue;
      if (detectsDeath) world.deadOwners.add(machines[at].owner);
      machines[at] = start();
    }
  };

  async function runStep(each: Step): Promise<readonly CallRecord[]> {
    const { serverIndex, keyMode, order, failures, journal, duplicate, jumpMs } = each;
    await world.deliverDelayed();
    world.clock.advance(jumpMs);
    replaceCrashed();
    const requestedKey =
      keyMode === "own" ? `own-${owner}-${++ownKeys}` : keyMode === "keyed" ? model.lastKey : undefined;
    const fromMs = world.clock.now();
    const key = requestedKey !== undefined && { idempotencyKey: requestedKey };
    const args = { ...Object(reorderKeys(baseArguments, order)), ...key };
    const script = { tool: TOOLS[what], arguments: args, owner, failures, journal };
    const plain = { ...script, arguments: { ...baseArguments, ...key }, failures: [], journal: undefined };
    const other = machines[duplicate === "same" ? serverIndex : serverIndex === 0 ? 1 : 0];
    const calls = await Promise.all([
      machines[serverIndex].call(script),
      ...(duplicate === "none" ? [] : [other.call(plain)]),
    ]);
    machines[serverIndex].clearJournalFailure();
    const span = { fromMs, toMs: world.clock.now() };
    for (const call of calls) await checkCall(call, requestedKey, each, span);
    return calls;
  }

  async function checkCall(
    { outcome, sent }: CallRecord,
    requestedKey: string | undefined,
    { answer, duplicate, journal }: Step,
    span: Span,
  ): Promise<void> {
    const [hasDuplicate, hasJournalFailure] = [duplicate !== "none", journal !== undefined];
    const keys = new Set(sent.map(({ key }) => key));
    if (outcome.kind === "value") keys.add(outcome.key);
    if (outcome.kind === "failure" && outcome.facts.idempotencyKey !== undefined)
      keys.add(outcome.facts.idempotencyKey);
    expect(keys.size, "one call is about one action").toBeLessThanOrEqual(1);
    const [observed] = keys;
    const isNew = !model.intents.some(({ key }) => key === observed);
    if (observed === requestedKey && isNew && sent.length > 0)
      expect(model.findUnresolved(span), "a new key is sent only if no identical action is unresolved").toEqual([]);
    const intent = model.identify(requestedKey, observed, span);
    const { facts } = outcome.kind === "failure" ? outcome : { facts: undefined };

    if (facts?.kind === "unavailable") {
      expect(sent, "nothing is sent without a journal").toEqual([]);
      expect(facts.retryable).toBe(true);
      expect(facts.sideEffect).not.toBe("done");
      if (facts.sideEffect === "none" && !hasDuplicate) expect(await world.executions(intent.key ?? "")).toBe(0);
      model.markUnresolved(intent, false);
      return;
    }
    if (outcome.kind === "crash" || facts?.kind === "cancelled") {
      model.markUnresolved(intent, sent.length > 0 && !hasJournalFailure);
      return;
    }
    const executions = await world.executions(observed ?? "");
    if (outcome.kind === "value") expect(executions, "an action that is reported as done is done").toBe(1);
    if (facts && observed === undefined) throw new Error(`a failure without a key: ${JSON.stringify(facts)}`);
    if (facts?.sideEffect === "done") expect(executions).toBe(1);
    if (facts?.sideEffect === "none" && !hasDuplicate) {
      expect(executions, "an action that is reported as not done is not done").toBe(0);
      expect(world.delayedRequests, "nor is it on its way").toEqual([]);
    }
    if (facts?.sideEffect === "unknown") {
      const isTooOld = facts.kind === "outcome_unknown" && !facts.retryable;
      expect(facts.next).toMatch(isTooOld ? /find out/i : /resolve_actions \{.*\}/);
      if (isTooOld) expect(sent, "too old to be sent again").toEqual([]);
      model.markUnresolved(intent, true);
    } else {
      const resolution = facts?.sideEffect === "none" ? "rejected" : "succeeded";
      model.markResolved(intent, resolution, span, sent.length === 0, !hasJournalFailure && !hasDuplicate);
    }
    if (answer === "read" && observed !== undefined) model.lastKey = observed;
  }

  for (const each of steps) await runStep(each);

  // Without failures, the agent repeats the call until it has an answer, and then once again.
  for (const machine of machines) machine.clearJournalFailure();
  const common = { order: 1, journal: undefined, answer: "read", duplicate: "none", jumpMs: 60_000 } as const;
  const plain: Step = { ...common, serverIndex: 0, keyMode: "keyless", failures: [] };
  const answers: string[] = [];
  for (const each of [
    plain,
    { ...plain, keyMode: "keyed", serverIndex: 1 },
    { ...plain, serverIndex: 1 },
  ] satisfies Step[])
    for (const { outcome } of await runStep(each)) {
      const facts = outcome.kind === "failure" ? outcome.facts : undefined;
      const key = outcome.kind === "value" ? outcome.key : facts?.sideEffect === "done" && facts.idempotencyKey;
      const isTooOld = facts !== undefined && /more than 20 h ago/.test(facts.message);
      expect(key || isTooOld, `in the end there is an answer: ${JSON.stringify(outcome)}`).toBeTruthy();
      if (key && each.keyMode === "keyless") answers.push(key);
    }
  expect(new Set(answers).size, "the same call is the same action").toBeLessThanOrEqual(1);

  const bytesOf = new Map<string, string>();
  for (const { key, bytes } of world.sent) {
    expect(bytesOf.get(key) ?? bytes, "the same key, the same bytes").toBe(bytes);
    bytesOf.set(key, bytes);
  }
  for (const key of bytesOf.keys()) expect(await world.executions(key), key).toBeLessThanOrEqual(1);
  // Every key that was sent belongs to one action that the agent wanted.
  const wanted = model.intents.flatMap(({ key }) => key ?? []);
  expect(new Set(wanted).size).toBe(wanted.length);
  for (const key of bytesOf.keys()) expect(wanted).toContain(key);
}

async function checkSchedules(seed: number, numRuns: number): Promise<void> {
  const clock = createManualClock();
  const emulator = await startEmulator({ clock });
  const database = await openFastJournal();
  const world = makeWorld(emulator, clock, database);
  const examples = {
    submit_job: await createJobBodyForFile(new Service(emulator, clock), FILE.succeeds),
    register_input: {
      workspaceId: emulator.workspaceId,
      inputKind: "M4_FILE",
      referenceId: emulator.fileIds[0],
      alias: "a file",
    },
  };
  try {
    await fc.assert(
      fc.asyncProperty(schedule, (each) => run(world, examples, each)),
      { seed, numRuns, ...(process.env["FAULT_PATH"] !== undefined && { path: process.env["FAULT_PATH"] }) },
    );
  } finally {
    await world.transport.close();
    await emulator.close();
  }
}

for (let batch = 0; batch * RUNS_EACH < RUNS; batch++) {
  const runs = Math.min(RUNS_EACH, RUNS - batch * RUNS_EACH);
  test(`an action runs at most once, and each answer about it is correct (seed ${SEED + batch}, ${runs} schedules)`, () =>
    checkSchedules(SEED + batch, runs));
}
