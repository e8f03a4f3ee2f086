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

/** Time limit from the call to the result, without the start of the thread. */
const LIMIT_MS = 2_000;
/** Time limit of the start of the thread, which takes 0.1 s on an idle machine. It says nothing about the schema. */
const START_MS = 10_000;
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

interface PendingCheck {
  readonly contentHash: string;
  /** Stops the thread after this time. Unlike the thread, which is unreferenced, the timer keeps the process of a command alive. */
  readonly limit: (ms: number) => void;
  readonly resolve: (errors: FieldError[]) => void;
}

/** The contentHash of each schema that exceeded the limits: later calls skip it. */
const expensiveSchemas = new BoundedMap<string, true>(500);
/** The process has one thread, so its limits apply to all callers together. It returns results in order. */
let thread: Worker | undefined;
let isReady = false;
let pending: PendingCheck[] = [];
let idleTimer: NodeJS.Timeout | undefined;

/** Stops the thread. Only the API validates the values of pending checks. */
function stopThread(): void {
  const stopped = thread;
  const [current, ...waiting] = pending;
  thread = undefined;
  pending = [];
  if (current && isReady) expensiveSchemas.set(current.contentHash, true);
  for (const { resolve } of current ? [current, ...waiting] : []) resolve([]);
  void stopped?.terminate();
}

function getOrStartThread(): Worker {
  if (thread) return thread;
  const options = { env: {}, resourceLimits: HEAP, stdout: true, stderr: true };
  const started = new Worker(new URL(FILE, import.meta.url), options);
  isReady = false;
  started.on("message", (message: "ready" | FieldError[]) => {
    if (started !== thread) return;
    if (message !== "ready") return pending.shift()?.resolve(message);
    isReady = true;
    for (const { limit } of pending) limit(LIMIT_MS);
  });
  // This event is also emitted if the thread is out of memory.
  started.on("error", () => {
    if (started === thread) stopThread();
  });
  started.unref();
  thread = started;
  return started;
}

/** None if the schema cannot be used or exceeds the limits; then only the API validates the values. */
async function findParameterErrors(parameters: RecipeParameters, values: JsonObject): Promise<FieldError[]> {
  const { contentHash } = parameters;
  if (expensiveSchemas.has(contentHash) || jsonBytes(values) > MAX_VALUE_BYTES) return [];
  clearTimeout(idleTimer);
  const check: ParameterCheck = { parameters, values };
  let timer: NodeJS.Timeout | undefined;
  function limit(ms: number): void {
    clearTimeout(timer);
    timer = setTimeout(stopThread, ms);
  }
  const errors = await new Promise<FieldError[]>((resolve) => {
    pending.push({ contentHash, limit, resolve });
    getOrStartThread().postMessage(check);
    limit(isReady ? LIMIT_MS : START_MS);
  });
  clearTimeout(timer);
  clearTimeout(idleTimer);
  if (pending.length === 0) idleTimer = setTimeout(stopThread, IDLE_MS).unref();
  return errors;
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
