// What a tool is: data that drives what agents see, plus one function that runs it.
import type * as z from "zod/v4";
import type { Actions, Delivery } from "../actions/actions.ts";
import type { ActionTraits } from "../actions/identity.ts";
import type { Journal } from "../actions/journal.ts";
import type { Toolset } from "../config.ts";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { isJsonObject } from "../contract/json.ts";
import { type JsonSchema, toJsonSchema } from "../contract/json-schema.ts";
import { excerpt } from "../excerpt.ts";
import { invalidArguments } from "../failure.ts";
import type { Geography } from "../geography/geography.ts";
import { quote } from "../outside.ts";
import type { CallContext } from "../service/attempts.ts";
import type { Service } from "../service/call.ts";
import { jsonPointer } from "../service/decode.ts";
import type { Downloads } from "../service/downloads.ts";
import type { Offers } from "./jobs/offers.ts";
import type { Retries } from "./jobs/retries.ts";

/**
 * What a call does. Annotations, the read-only filter and the use of an Idempotency-Key are derived from it.
 * read: nothing changes; save: a file is written here; the rest change something at the service.
 */
export type Effect = "read" | "save" | "create" | "cancel" | "retry";

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
}

/** What was looked at before a person is asked, and what they are asked. */
export interface Look {
  readonly question: string;
  /** Undefined where the job could not be read. */
  readonly resourceVersion: number | undefined;
}

/** A call that throws something away: a person is asked before. */
export interface Question {
  /** Looks at what it is about. Throws Failure where it cannot be done: then nobody need be asked. */
  look(call: ToolCall): Promise<Look>;
  /** The arguments that say what is meant, without the key. */
  readonly meant: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string | undefined;
}

/** What one call of a tool works with. */
export interface ToolCall {
  /** The tool's own name. */
  readonly tool: string;
  readonly actions: Actions;
  /** Opens the action journal. Throws Failure. */
  readonly journal: () => Promise<Journal>;
  /** Whose Idempotency-Keys these are: base URL and client. Throws Failure `not_configured`. */
  readonly serviceName: () => Promise<string>;
  readonly service: Service;
  /** Every playground request goes through it. */
  readonly geography: Geography;
  readonly downloads: Downloads;
  readonly offers: Offers;
  /** Which jobs this process has seen retried. */
  readonly retries: Retries;
  readonly downloadDir: string;
  /** The Idempotency-Key that a new action of this call takes, where the agent names none. */
  readonly proposedKey?: string | undefined;
  /** The version of the job that the person was asked about. */
  readonly shownVersion?: number | undefined;
  readonly context: CallContext;
  /** Whether an agent can call this tool here. */
  isOffered(tool: string): boolean;
  /** Tells the client how far the work is; does nothing when it did not ask. */
  report(progress: Progress): void;
  /** This call's answer will carry an action's outcome to the agent. */
  carry(delivery: Delivery): void;
}

export interface ToolResult {
  /** Follows the tool's output schema; complete by itself. */
  readonly structured: Readonly<Record<string, unknown>>;
  /** The same, lean, for clients that show text only. */
  readonly text: string;
  /** Fields of the service's answer that the contract does not know. */
  readonly drift: readonly string[];
  /** The URI of the resource that it speaks of. */
  readonly link?: string;
}

/** Calls a tool by its name, for what is made from its results: resources and completions. Throws Failure. */
export type UseTool = (name: string, args: Readonly<Record<string, unknown>>) => Promise<ToolResult>;

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly toolset: Toolset;
  readonly effect: Effect;
  /** Its result is a job that goes on: for a client that follows tasks, a task. */
  readonly startsJob: boolean;
  /** Absent where a tool is no single operation of the service. */
  readonly endpoint: Endpoint | undefined;
  /** Present where a call of it is an action. */
  readonly traits: ActionTraits | undefined;
  readonly argumentNames: readonly string[];
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  /** Checks the arguments strictly; undefined where no person need be asked first. Throws Failure. */
  question(args: Readonly<Record<string, unknown>>): Question | undefined;
  /** Checks the arguments strictly, then runs. Throws Failure. */
  invoke(args: Readonly<Record<string, unknown>>, call: ToolCall): Promise<ToolResult>;
}

export interface ToolDefinition<I extends z.ZodRawShape> {
  readonly endpoint?: Endpoint;
  /** Left out, it is what the endpoint's API says; jobs where there is none. */
  readonly toolset?: Toolset;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly effect: Effect;
  readonly startsJob?: true;
  readonly traits?: ActionTraits;
  readonly input: z.ZodObject<I, z.core.$strict>;
  readonly output: JsonSchema;
  /** Makes the question to a person before this call; undefined when it throws nothing away. */
  readonly confirm?: (args: z.output<z.ZodObject<I, z.core.$strict>>) => Question["look"] | undefined;
  run(args: z.output<z.ZodObject<I, z.core.$strict>>, call: ToolCall): Promise<ToolResult>;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => quote(name)).join(", ");
}

/** A message may hold as many unknown arguments as it has room for, each as long: no answer is to be as long again. */
const MAX_UNKNOWN = 20;
const MAX_NAME = 200;

/** Every violation by pointer; an unknown argument is named together with the valid ones. */
function refuse(name: string, input: z.ZodObject, error: z.ZodError): never {
  const valid = Object.keys(input.shape);
  const fieldErrors = error.issues.flatMap((issue) => {
    if (issue.code !== "unrecognized_keys")
      return [{ pointer: jsonPointer(issue.path), code: issue.code.toUpperCase(), message: issue.message }];
    const known =
      issue.path.length === 0 ? (valid.length === 0 ? "it takes none" : `it takes: ${valid.join(", ")}`) : "";
    return issue.keys.slice(0, MAX_UNKNOWN).map((key) => ({
      pointer: jsonPointer([...issue.path, excerpt(key, MAX_NAME)]),
      code: "UNKNOWN_ARGUMENT",
      message: `unknown argument${known === "" ? "" : `; ${known}`}`,
    }));
  });
  const where = fieldErrors.map(({ pointer }) => pointer.slice(1) || "arguments");
  throw invalidArguments(
    `${name} was not called: wrong argument${where.length === 1 ? "" : "s"} ${quoted([...new Set(where)])}.`,
    fieldErrors,
    "Correct the arguments and call again.",
  );
}

/** JSON numbers beyond 2^53-1, 1e400 among them, were already rounded when they arrived: sent on they would be others (doubt 18). */
function refuseRounded(name: string, value: unknown, path: readonly PropertyKey[]): void {
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw invalidArguments(`${name} was not called: a number beyond 9007199254740991 cannot be sent exactly.`, [
      { pointer: jsonPointer(path), code: "NOT_EXACT", message: "must be at most 9007199254740991 in magnitude" },
    ]);
  if (typeof value === "object" && value !== null)
    for (const [key, part] of Object.entries(value)) refuseRounded(name, part, [...path, key]);
}

export function defineTool<const I extends z.ZodRawShape>(definition: ToolDefinition<I>): Tool {
  const { endpoint, name, title, description, effect, input, output, confirm } = definition;
  let schema: JsonSchema | undefined;

  function check(args: Readonly<Record<string, unknown>>) {
    const parsed = input.safeParse(args);
    if (!parsed.success) return refuse(name, input, parsed.error);
    refuseRounded(name, args, []);
    return parsed.data;
  }

  return {
    name,
    title,
    description,
    effect,
    startsJob: definition.startsJob ?? false,
    endpoint,
    traits: definition.traits,
    toolset: definition.toolset ?? (endpoint?.api === "playground" ? "geography" : "jobs"),
    argumentNames: Object.keys(input.shape),
    // Made when first asked for: the build has asked already.
    get inputSchema() {
      schema ??= toJsonSchema(input, "input");
      return schema;
    },
    outputSchema: output,
    question(args) {
      if (!confirm) return undefined;
      const checked = check(args);
      const look = confirm(checked);
      if (look === undefined) return undefined;
      const { idempotencyKey, ...meant }: Readonly<Record<string, unknown>> = checked;
      return { look, meant, idempotencyKey: typeof idempotencyKey === "string" ? idempotencyKey : undefined };
    },
    invoke: async (args, call) => await definition.run(check(args), call),
  };
}

/** Arguments as an agent may send them: an object, or nothing at all. */
export function argumentsObject(name: string, args: unknown): Readonly<Record<string, unknown>> {
  if (args === undefined) return {};
  if (isJsonObject(args)) return { ...args };
  throw invalidArguments(`${name} was not called: arguments must be a JSON object.`);
}
