// Seeded schedules of faults over the whole way of an action, in one process with virtual time. A failing schedule is shrunk
// and prints its seed: FAULT_SEED=<seed> npx vitest run test/faults (FAULT_RUNS for more of them, as .ci/run asks for).
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "../../src/actions/migrations.ts";
import { openSqlite } from "../../src/actions/sqlite.ts";
import { startEmulator } from "../../src/emulator/index.ts";
import { registerInput } from "../../tools/register-input.ts";
import { submitJob } from "../../tools/submit-job.ts";
import { Service } from "../emulator/service.ts";
import { FILE, jobBodyFor } from "../emulator/work.ts";
import { manualClock } from "../support/emulator.ts";
import {
  type Call,
  ENDS,
  type JournalStrike,
  Machine,
  makeWorld,
  REPEAT_MS,
  RESEND_MS,
  STRIKES,
  type World,
  WRITES,
} from "./machine.ts";

const SEED = Number(process.env["FAULT_SEED"] ?? 20_261_121);
const RUNS = Number(process.env["FAULT_RUNS"] ?? 40);
/** The emulator lists all its executions each time it is asked: a new one now and then keeps that short. */
const RUNS_EACH = 20;

interface Step {
  readonly who: 0 | 1;
  /** Without a key, with the key last heard of, or with a new one of the agent's own. */
  readonly ask: "keyless" | "keyed" | "own";
  readonly order: number;
  readonly strikes: readonly (typeof STRIKES)[number][];
  readonly journal: JournalStrike | undefined;
  /** The answer is read; it never leaves; or it leaves, and its reader dies with it unread. */
  readonly answer: "read" | "lost" | "unread";
  /** The same call at the same moment, to the other process or to the same. */
  readonly twin: "none" | "other" | "same";
  /** Time that passes before. */
  readonly jumpMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  who: fc.constantFrom(0 as const, 1 as const),
  ask: fc.oneof(
    { weight: 6, arbitrary: fc.constant("keyless" as const) },
    { weight: 3, arbitrary: fc.constant("keyed" as const) },
    { weight: 1, arbitrary: fc.constant("own" as const) },
  ),
  order: fc.nat(5),
  strikes: fc.array(fc.constantFrom(...STRIKES), { maxLength: 4 }),
  journal: fc.option(fc.record({ at: fc.constantFrom(...WRITES), how: fc.constantFrom(...ENDS) }), {
    nil: undefined,
    freq: 3,
  }),
  answer: fc.oneof(
    { weight: 4, arbitrary: fc.constant("read" as const) },
    { weight: 1, arbitrary: fc.constantFrom("lost" as const, "unread" as const) },
  ),
  twin: fc.oneof(
    { weight: 6, arbitrary: fc.constant("none" as const) },
    { weight: 1, arbitrary: fc.constantFrom("other" as const, "same" as const) },
  ),
  jumpMs: fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.constantFrom(1_000, 40_000) },
    { weight: 1, arbitrary: fc.constantFrom(3_600_000, RESEND_MS + 1) },
  ),
});

const schedule = fc.record({
  what: fc.constantFrom("register_input" as const, "submit_job" as const),
  /** A dead process is seen at once (this machine), or its lease has to run out (another one). */
  seesDeath: fc.boolean(),
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
});

/** What an agent wants done once. */
interface Intent {
  key: string | undefined;
  /** The agent was told how it ended, and it cannot end in another way any more. */
  isOver: boolean;
  /** When its success was last sent. */
  sentAtMs?: number;
  /** The agent has named its key since. */
  isHeard: "yes" | "perhaps" | "no";
}

/** From when to when a call went. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The agent and what it may rely on. */
class Model {
  readonly #intents: Intent[] = [];
  /** Not told yet: the same call is about one of these. */
  readonly #untold = new Set<Intent>();
  /** Told, but perhaps not written down as told: the same call is about one of these or is a new one. */
  readonly #perhapsUntold = new Set<Intent>();
  lastKey: string | undefined;

  get intents(): readonly Intent[] {
    return this.#intents;
  }

  /** Sent, but perhaps not heard: the same call is about it, for certain, perhaps, or not any more. */
  #isSame({ sentAtMs, isHeard }: Intent, { fromMs, toMs }: Span): "yes" | "perhaps" | "no" {
    if (sentAtMs === undefined || isHeard === "yes" || fromMs - sentAtMs >= REPEAT_MS) return "no";
    return isHeard === "no" && toMs - sentAtMs < REPEAT_MS ? "yes" : "perhaps";
  }

  /** The agent names this key: it has heard of what was sent to it. */
  hear(key: string): void {
    const intent = this.#intents.find((each) => each.key === key);
    // Where the journal does not know that it was sent, there was nothing to hear.
    if (intent?.sentAtMs !== undefined && intent.isHeard !== "yes")
      intent.isHeard = this.#perhapsUntold.has(intent) ? "perhaps" : "yes";
  }

  /** Which intent a call with this outcome was about. */
  identify(ask: Step["ask"], askedKey: string | undefined, observed: string | undefined, span: Span): Intent {
    const byKey = this.#intents.find(({ key }) => key !== undefined && key === (askedKey ?? observed));
    if (askedKey !== undefined) {
      if (observed !== undefined) expect(observed).toBe(askedKey);
      return byKey ?? this.#begin(askedKey);
    }
    expect(ask).toBe("keyless");
    const sent = (certain: "yes" | "perhaps") => this.#intents.filter((each) => this.#isSame(each, span) === certain);
    const known = [...this.#untold, ...sent("yes")];
    const possible = [...known, ...this.#perhapsUntold, ...sent("perhaps")];
    const keyless = possible.find(({ key }) => key === undefined);
    if (observed === undefined) return keyless ?? known[0] ?? this.#begin(undefined);
    if (byKey) {
      expect(possible, "an action that was heard of is not resumed").toContain(byKey);
      return byKey;
    }
    if (keyless) {
      keyless.key = observed;
      return keyless;
    }
    expect(known, "an untold action is resumed, not begun anew").toEqual([]);
    return this.#begin(observed);
  }

  #begin(key: string | undefined): Intent {
    const intent: Intent = { key, isOver: false, isHeard: "no" };
    this.#intents.push(intent);
    return intent;
  }

  /** `sentAtMs`: of a success. */
  told(intent: Intent, isWritten: boolean, isOver: boolean, sentAtMs?: number): void {
    if (sentAtMs !== undefined) intent.sentAtMs = sentAtMs;
    this.#untold.delete(intent);
    intent.isOver ||= isOver;
    if (isWritten) this.#perhapsUntold.delete(intent);
    else this.#perhapsUntold.add(intent);
  }

  /** What was sent was not read after all. */
  unread(intent: Intent): void {
    if (intent.isHeard === "yes" || this.#untold.size > 0) return;
    if (intent.isHeard === "perhaps") {
      // Heard of, it stays sent; if not, it is as if it had never been sent.
      this.#perhapsUntold.add(intent);
      return;
    }
    delete intent.sentAtMs;
    intent.isOver = false;
    this.#perhapsUntold.delete(intent);
    this.#untold.add(intent);
  }

  untold(intent: Intent): void {
    // Told again or not, it was told.
    if (intent.isOver) return;
    this.#perhapsUntold.delete(intent);
    this.#untold.add(intent);
  }

  /** Nothing was sent: as if it had never been asked, but that the journal may have noted it before it failed. */
  refused(intent: Intent): void {
    if (this.#untold.has(intent)) return;
    this.#perhapsUntold.add(intent);
  }

  isUntold(intent: Intent): boolean {
    return this.#untold.has(intent);
  }
}

/** The same arguments, typed in another order at every depth. */
function shuffled(value: unknown, order: number): unknown {
  if (Array.isArray(value)) return value.map((part) => shuffled(part, order));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, part]) => [name, shuffled(part, order)] as const);
  const at = order % Math.max(1, entries.length);
  return Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)]);
}

const TOOLS = { register_input: registerInput, submit_job: submitJob };
interface Schedule {
  readonly what: keyof typeof TOOLS;
  readonly seesDeath: boolean;
  readonly steps: readonly Step[];
}
type Examples = Readonly<Record<Schedule["what"], object>>;

let runs = 0;

async function run(world: World, examples: Examples, { what, seesDeath, steps }: Schedule): Promise<void> {
  const owner = `run-${++runs}`;
  world.sent.length = 0;
  const machines: [Machine, Machine] = [new Machine(world), new Machine(world)];
  const model = new Model();
  const meant = { ...examples[what], clientReference: owner };
  let ownKeys = 0;

  const replaceCrashed = (): void => {
    for (const at of [0, 1] as const) {
      if (!machines[at].crashed) continue;
      if (seesDeath) world.gone.add(machines[at].owner);
      machines[at] = new Machine(world);
    }
  };

  async function play({ who, ask, order, strikes, journal, answer, twin, jumpMs }: Step): Promise<readonly Call[]> {
    await world.arrive();
    world.clock.advance(jumpMs);
    replaceCrashed();
    const asked = ask === "own" ? `own-${owner}-${++ownKeys}` : ask === "keyed" ? model.lastKey : undefined;
    const kind = asked === undefined ? "keyless" : ask;
    if (asked !== undefined) model.hear(asked);
    const fromMs = world.clock.now();
    const key = asked !== undefined && { idempotencyKey: asked };
    const args = { ...Object(shuffled(meant, order)), ...key };
    const script = { tool: TOOLS[what], arguments: args, owner, strikes, journal };
    const plain = { ...script, arguments: { ...meant, ...key }, strikes: [], journal: undefined };
    const other = machines[twin === "same" ? who : who === 0 ? 1 : 0];
    const calls = await Promise.all([machines[who].call(script), ...(twin === "none" ? [] : [other.call(plain)])]);
    for (const call of calls) await judge(call, kind, asked, answer, calls.length > 1, fromMs);
    return calls;
  }

  async function judge(
    call: Call,
    ask: Step["ask"],
    asked: string | undefined,
    fate: Step["answer"],
    hasTwin: boolean,
    fromMs: number,
  ): Promise<void> {
    const { outcome, sent } = call;
    const keys = new Set(sent.map(({ key }) => key));
    if (outcome.kind === "value") keys.add(outcome.key);
    if (outcome.kind === "failure" && outcome.facts.idempotencyKey !== undefined)
      keys.add(outcome.facts.idempotencyKey);
    expect(keys.size, "one call is about one action").toBeLessThanOrEqual(1);
    const [observed] = keys;
    const intent = model.identify(ask, asked, observed, { fromMs, toMs: world.clock.now() });
    const { facts } = outcome.kind === "failure" ? outcome : { facts: undefined };

    if (facts?.kind === "internal") {
      expect(sent, "nothing is sent without a journal").toEqual([]);
      expect(facts.retryable).toBe(true);
      expect(facts.sideEffect).not.toBe("done");
      if (facts.sideEffect === "none" && !hasTwin) expect(await world.executions(intent.key ?? "")).toBe(0);
      model.refused(intent);
      return;
    }
    const wasUntold = model.isUntold(intent);
    if (outcome.kind === "crash" || facts?.kind === "cancelled") {
      if (ask === "keyless" || sent.length > 0 || wasUntold) model.untold(intent);
      else model.told(intent, false, false);
      return;
    }
    const executions = await world.executions(observed ?? "");
    if (outcome.kind === "value") expect(executions, "what is told as done is done").toBe(1);
    if (facts && observed === undefined) throw new Error(`a failure without a key: ${JSON.stringify(facts)}`);
    if (facts?.sideEffect === "done") expect(executions).toBe(1);
    if (facts?.sideEffect === "none" && !hasTwin) {
      expect(executions, "what is told as not done is not done").toBe(0);
      expect(world.late, "nor is it on its way").toEqual([]);
    }
    if (facts?.sideEffect === "unknown") {
      expect(facts.next).toMatch(
        facts.retryable || facts.kind !== "outcome_unknown" ? new RegExp(`${what} \\{.*\\}`) : /find out/i,
      );
      if (facts.kind === "outcome_unknown" && !facts.retryable) expect(sent, "too old to be sent again").toEqual([]);
      model.untold(intent);
    } else if (fate === "lost") model.untold(intent);
    else {
      const isSuccess = facts?.sideEffect !== "none";
      const isWritten = (await call.deliver(fate === "unread")) && !hasTwin;
      model.told(intent, isWritten, isSuccess || !facts.retryable, isSuccess ? world.clock.now() : undefined);
      if (fate === "unread" && isSuccess) {
        if (isWritten) model.unread(intent);
        else model.refused(intent);
      }
    }
    if (fate === "read" && observed !== undefined) model.lastKey = observed;
  }

  for (const each of steps) await play(each);

  // The dust settles: the agent asks until it is told, and then asks for another one.
  for (const machine of machines) machine.calm();
  const plain: Step = {
    who: 0,
    ask: "keyless",
    order: 1,
    strikes: [],
    journal: undefined,
    answer: "read",
    twin: "none",
    jumpMs: 60_000,
  };
  for (const each of [plain, { ...plain, ask: "keyed", who: 1 }, { ...plain, who: 1 }] satisfies readonly Step[])
    for (const { outcome } of await play(each)) {
      const told = outcome.kind === "value" || (outcome.kind === "failure" && outcome.facts.sideEffect !== "unknown");
      const isTooOld = outcome.kind === "failure" && /more than 24 h ago/.test(outcome.facts.message);
      expect(told || isTooOld, `in the end it is told: ${JSON.stringify(outcome)}`).toBe(true);
    }

  const bytesOf = new Map<string, string>();
  for (const { key, bytes } of world.sent) {
    expect(bytesOf.get(key) ?? bytes, "the same key, the same bytes").toBe(bytes);
    bytesOf.set(key, bytes);
  }
  for (const key of bytesOf.keys()) expect(await world.executions(key), key).toBeLessThanOrEqual(1);
  // Every key that was sent belongs to one thing that the agent wanted.
  const wanted = model.intents.flatMap(({ key }) => key ?? []);
  expect(new Set(wanted).size).toBe(wanted.length);
  for (const key of bytesOf.keys()) expect(wanted).toContain(key);
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mic-mcp-faults-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function check(seed: number, numRuns: number): Promise<void> {
  const clock = manualClock();
  const emulator = await startEmulator({ clock });
  const database = await openSqlite(folder);
  await migrate(database);
  // What survives a power cut is no question here.
  await database.query("PRAGMA synchronous = OFF");
  const world = makeWorld(emulator, clock, database);
  const example = await jobBodyFor(new Service(emulator, clock), FILE.succeeds);
  const examples = {
    submit_job: example,
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
    await database.close();
    await emulator.close();
  }
}

for (let batch = 0; batch * RUNS_EACH < RUNS; batch++)
  test(
    `an action happens once, and what is told of it is true (seed ${SEED + batch}, ${Math.min(RUNS_EACH, RUNS - batch * RUNS_EACH)} schedules)`,
    { timeout: 120_000 },
    () => check(SEED + batch, Math.min(RUNS_EACH, RUNS - batch * RUNS_EACH)),
  );
