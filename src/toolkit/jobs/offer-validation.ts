// This module checks a job against its recipe's offer before it is sent. The parameter schema comes from the API, the values from an
// agent. A backtracking pattern, or a few hundred bytes of nested anyOf, can take unlimited time and memory. Therefore a thread
// validates the values, and is stopped if it exceeds its limits. In that case only the API validates them.
import { Worker } from "node:worker_threads";
import { type InputBinding, MAX_BINDINGS, Port } from "../../contract/endpoints/bodies.ts";
import { type JsonObject, jsonBytes } from "../../contract/json.ts";
import type { FieldError } from "../../contract/problem.ts";
import type { RecipeOffer, RecipeParameters } from "../../contract/recipes.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { ParameterCheck } from "./parameter-thread.ts";

/**
 * Limit of the CPU time that this process uses while the thread validates one job. Elapsed time says nothing about a schema: on a busy machine,
 * a cheap one takes seconds. Node 20 does not report the CPU time of one thread.
 */
const LIMIT_CPU_MS = 2_000;
/** The start of the thread takes 0.1 s of CPU time. A thread that does not start says nothing about the schema. */
const START_CPU_MS = 10_000;
const INTERVAL_MS = 50;
/**
 * With these limits, the peak of the whole process stays below 64 MB. V8 grants a heap at its limit up to 16 MB more, and code is outside
 * the heap.
 */
const HEAP = { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 4 };
/** The same limit as for an offer (docs/contract.md, 2.2). */
const MAX_VALUE_BYTES = 65_536;
/** The thread is stopped this long after its last check. */
const IDLE_MS = 10_000;

/** Sources that run without a build also use the built file: on Node 20 a thread does not inherit the TypeScript loader. */
const FILE = import.meta.url.endsWith(".ts") ? "../../../dist/parameter-thread.js" : "./parameter-thread.js";

interface PendingCheck extends ParameterCheck {
  readonly resolve: (errors: FieldError[] | Promise<FieldError[]>) => void;
}

/** The contentHash of each schema that exceeded the limits: later calls skip it. */
const expensiveSchemas = new BoundedMap<string, true>(500);
/** The process has one thread, so its limits apply to all callers together. It returns results in order. */
let thread: Worker | undefined;
let isReady = false;
let pending: PendingCheck[] = [];
let idleTimer: NodeJS.Timeout | undefined;
/** Unlike the thread, which is unreferenced, this timer keeps the process of a command alive. */
let limitTimer: NodeJS.Timeout | undefined;
/** CPU time of the process when the thread began its current step. */
let cpuBefore = process.cpuUsage();

/** Stops the thread. Only the API validates the values of the current check; a new thread validates those that wait. */
function stopThread(): void {
  const stopped = thread;
  const [current, ...waiting] = pending;
  thread = undefined;
  pending = [];
  clearInterval(limitTimer);
  if (current && isReady) expensiveSchemas.set(current.parameters.contentHash, true);
  current?.resolve([]);
  for (const { parameters, values, resolve } of waiting) resolve(findParameterErrors(parameters, values));
  void stopped?.terminate();
}

function stopIfTooExpensive(): void {
  const { user, system } = process.cpuUsage(cpuBefore);
  if ((user + system) / 1_000 >= (isReady ? LIMIT_CPU_MS : START_CPU_MS)) stopThread();
}

function getOrStartThread(): Worker {
  if (thread) return thread;
  const options = { env: {}, resourceLimits: HEAP, stdout: true, stderr: true };
  const started = new Worker(new URL(FILE, import.meta.url), options);
  isReady = false;
  started.on("message", (message: "ready" | FieldError[]) => {
    if (started !== thread) return;
    cpuBefore = process.cpuUsage();
    if (message === "ready") isReady = true;
    else pending.shift()?.resolve(message);
    if (pending.length > 0) return;
    clearInterval(limitTimer);
    idleTimer = setTimeout(stopThread, IDLE_MS).unref();
  });
  // This event is also emitted if the thread is out of memory.
  started.on("error", () => {
    if (started === thread) stopThread();
  });
  started.unref();
  thread = started;
  return started;
}

/** Returns no errors if the schema cannot be used or exceeds the limits; then only the API validates the values. */
async function findParameterErrors(parameters: RecipeParameters, values: JsonObject): Promise<FieldError[]> {
  if (expensiveSchemas.has(parameters.contentHash) || jsonBytes(values) > MAX_VALUE_BYTES) return [];
  clearTimeout(idleTimer);
  return await new Promise<FieldError[]>((resolve) => {
    getOrStartThread().postMessage({ parameters, values } satisfies ParameterCheck);
    if (pending.push({ parameters, values, resolve }) > 1) return;
    cpuBefore = process.cpuUsage();
    limitTimer = setInterval(stopIfTooExpensive, INTERVAL_MS);
  });
}

// The contract does not state that ports are the names of the recipe's inputs, or that each must be bound. The names are not the ports
// if one is not a valid port, or if there are too many to bind. Then only the API can check the bindings (open question 15).
const areValidPorts = (names: ReadonlySet<string>): boolean =>
  names.size <= MAX_BINDINGS && [...names].every((name) => Port.safeParse(name).success);

function findPortErrors(offer: RecipeOffer, bindings: readonly InputBinding[]): FieldError[] {
  const ports = new Set(offer.recipe.inputs.map(({ name }) => name));
  if (!areValidPorts(ports)) return [];
  const bound = new Set(bindings.map(({ port }) => port));
  const unknown = bindings.flatMap(({ port }, index) =>
    ports.has(port)
      ? []
      : [
          {
            pointer: `/inputBindings/${index}/port`,
            code: "UNKNOWN_PORT",
            message: `the recipe has no such port; it has: ${[...ports].join(", ")}`.slice(0, 1000),
          },
        ],
  );
  const missing = [...ports].filter((port) => !bound.has(port));
  if (missing.length === 0) return unknown;
  const message = `must bind every port; missing: ${missing.join(", ")}`.slice(0, 1000);
  return [...unknown, { pointer: "/inputBindings", code: "MISSING_PORT", message }];
}

/** Returns the errors in a job's ports and parameterValues that the API would reject (docs/contract.md, 4.2), by JSON pointer. */
export async function findOfferErrors(
  offer: RecipeOffer,
  job: { inputBindings: readonly InputBinding[]; parameterValues: JsonObject },
): Promise<FieldError[]> {
  const inValues = await findParameterErrors(offer.recipe.parameters, job.parameterValues);
  return [...findPortErrors(offer, job.inputBindings), ...inValues];
}
