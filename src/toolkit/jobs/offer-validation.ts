// Checks a job against its recipe's offer before it is sent. The parameter schema comes from the API and the values from an agent: a
// pattern that backtracks, or a few hundred bytes of nested anyOf, can take any time and any memory. So a thread validates them, and is
// ended when it takes too much. Such values are then left to the API.
import { Worker } from "node:worker_threads";
import { type InputBinding, MAX_BINDINGS, Port } from "../../contract/endpoints/bodies.ts";
import { type JsonObject, jsonBytes } from "../../contract/json.ts";
import type { FieldError } from "../../contract/problem.ts";
import type { RecipeOffer, RecipeParameters } from "../../contract/recipes.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { ParameterCheck } from "./parameter-thread.ts";

/** From the call to the result, the start of the thread included: 0.1 s on an idle machine. */
const LIMIT_MS = 2_000;
/** The peak of the whole process stays below 64 MB: V8 grants a heap at its limit up to 16 MB more, and code lies outside of it. */
const HEAP = { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 4 };
/** As much as an offer may have. */
const MAX_VALUE_BYTES = 65_536;
/** The thread ends this long after its last check. */
const IDLE_MS = 10_000;

/** The sources use the build's file too: on Node 20 a thread does not inherit the loader that reads TypeScript. */
const FILE = import.meta.url.endsWith(".ts") ? "../../../dist/parameter-thread.js" : "./parameter-thread.js";

interface PendingCheck {
  readonly contentHash: string;
  readonly resolve: (errors: FieldError[]) => void;
}

/** Schemas, by contentHash, that were not validated within the limit: a later call does not wait for them again. */
const expensiveSchemas = new BoundedMap<string, true>(500);
/** One thread for the process, so that its limits hold for all callers together; it answers in order. */
let thread: Worker | undefined;
let pending: PendingCheck[] = [];
let idleTimer: NodeJS.Timeout | undefined;

/** Ends the thread. What it has not validated is left to the API. */
function stopThread(): void {
  const stopped = thread;
  const [current, ...waiting] = pending;
  thread = undefined;
  pending = [];
  if (current) expensiveSchemas.set(current.contentHash, true);
  for (const { resolve } of current ? [current, ...waiting] : []) resolve([]);
  void stopped?.terminate();
}

function getOrStartThread(): Worker {
  if (thread) return thread;
  const options = { env: {}, resourceLimits: HEAP, stdout: true, stderr: true };
  const started = new Worker(new URL(FILE, import.meta.url), options);
  started.on("message", (errors: FieldError[]) => {
    if (started === thread) pending.shift()?.resolve(errors);
  });
  // Out of memory, too.
  started.on("error", () => {
    if (started === thread) stopThread();
  });
  started.unref();
  thread = started;
  return started;
}

/** Violations of the published parameter schema; none when it cannot be used, or not within the limit: then only the API validates. */
async function findParameterErrors(parameters: RecipeParameters, values: JsonObject): Promise<FieldError[]> {
  const { contentHash } = parameters;
  if (expensiveSchemas.has(contentHash) || jsonBytes(values) > MAX_VALUE_BYTES) return [];
  clearTimeout(idleTimer);
  const check: ParameterCheck = { parameters, values };
  // Unlike the thread, the timer keeps the process of a command alive.
  let timer: NodeJS.Timeout | undefined;
  const errors = await new Promise<FieldError[]>((resolve) => {
    pending.push({ contentHash, resolve });
    getOrStartThread().postMessage(check);
    timer = setTimeout(stopThread, LIMIT_MS);
  });
  clearTimeout(timer);
  clearTimeout(idleTimer);
  if (pending.length === 0) idleTimer = setTimeout(stopThread, IDLE_MS).unref();
  return errors;
}

// The contract does not say that ports are the names of the recipe's inputs, each bound: where a name can be no port, or not
// all can be bound, they are not, and only the service knows what they are (doubt 15).
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

/** What the service would refuse about a job's ports and parameterValues (docs/contract.md, 4.2), by JSON pointer. */
export async function findOfferErrors(
  offer: RecipeOffer,
  job: { inputBindings: readonly InputBinding[]; parameterValues: JsonObject },
): Promise<FieldError[]> {
  const inValues = await findParameterErrors(offer.recipe.parameters, job.parameterValues);
  return [...findPortErrors(offer, job.inputBindings), ...inValues];
}
