// What a tool is: data that drives what agents see, plus one function that runs it.
import * as z from "zod/v4";
import type { ActionTraits, Arguments } from "../actions/fingerprint.ts";
import type { NamedAction } from "../actions/of-service.ts";
import type { Toolset } from "../config.ts";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import type { Input } from "../contract/inputs.ts";
import type { Job } from "../contract/jobs.ts";
import { isJsonObject } from "../contract/json.ts";
import { jsonPointer } from "../contract/json-pointer.ts";
import type { JsonSchema } from "../contract/json-schema.ts";
import type { Operation } from "../contract/operation.ts";
import type { ProcessingRequest } from "../contract/processing-requests.ts";
import { excerpt } from "../excerpt.ts";
import { invalidArguments } from "../failure.ts";
import { quote } from "../outside.ts";
import { listedSchema } from "./listed-schema.ts";
import { type Output, outputs } from "./outputs.ts";
import type { Ports } from "./ports.ts";
import type { Candidate, CandidateKind } from "./resources/candidate.ts";
import type { ActionResult, ToolResult } from "./results.ts";
import type { ToolCall } from "./tool-call.ts";
import type { ToolName } from "./tool-names.ts";
import type { ViewName } from "./views.ts";

/**
 * What a call does. Annotations, the read-only filter and the use of an Idempotency-Key are derived from it.
 * read: nothing changes; save: a file is written here; export: so it is where `saveAs` is given; the rest change something at
 * the service.
 */
export type Effect = "read" | "save" | "export" | "create" | "cancel" | "retry";

/** What a person is asked, and the version of the job that it speaks of. */
export interface PreparedQuestion {
  readonly text: string;
  /** Undefined where the job could not be read. */
  readonly resourceVersion: number | undefined;
}

/** A call that throws something away: a person is asked before. */
export interface PersonQuestion {
  /**
   * Looks at what it is about; undefined where nothing would be thrown away. Throws Failure where it cannot be done: then
   * nobody need be asked.
   */
  prepare(call: ToolCall): Promise<PreparedQuestion | undefined>;
  /** What the call does: nothing is asked if the journal has all of them. Undefined: `prepare` decides. */
  readonly actions: readonly NamedAction[] | undefined;
  readonly idempotencyKey: string | undefined;
}

/** A call with nothing but an idempotencyKey: which tool's action the key names, and what the call's arguments are then. */
export interface CallByKey {
  readonly tool: ToolName;
  argumentsOf(stored: Arguments): Arguments;
}

/** The kinds of resource that actions make. */
export interface Made {
  readonly job: Job;
  readonly input: Input;
  readonly operation: Operation;
  readonly "processing request": ProcessingRequest;
}

/** Values for completion that a list holds. */
export interface CandidateSource {
  readonly kind: CandidateKind;
  readonly keptMs: number;
  /** Undefined where it lists a workspace's, and there is no workspace. Throws Failure. */
  list(call: ToolCall, workspaceId: string | undefined): Promise<readonly Candidate[] | undefined>;
}

/** What is said of a tool; it takes nothing to know it. */
export interface ToolFacts {
  readonly name: ToolName;
  readonly title: string;
  readonly description: string;
  readonly toolset: Toolset;
  readonly effect: Effect;
  /** Absent where a tool is no single operation of the service. */
  readonly endpoint: Endpoint | undefined;
  /** What shows its result to a person: it is listed for clients that show views. */
  readonly view: ViewName | undefined;
  readonly argumentNames: readonly string[];
  readonly outputSchema: JsonSchema;
  inputSchema(): JsonSchema;
}

interface CreatedTool extends ToolFacts {
  /** Undefined where keys name nothing. */
  readonly byKey: CallByKey | undefined;
  /** Checks the arguments strictly; undefined where no person need be asked first. Throws Failure. */
  question(args: Arguments): PersonQuestion | undefined;
}

/** A tool whose call changes nothing at the service. */
export interface ReadingTool extends CreatedTool {
  readonly kind: "reading";
  readonly makes: undefined;
  readonly traits: undefined;
  readonly candidates: CandidateSource | undefined;
  /** Checks the arguments strictly, then runs. Throws Failure. */
  invoke(args: Arguments, call: ToolCall): Promise<ToolResult>;
}

/** A tool whose call is an action. */
export interface ActionTool<M extends keyof Made> extends CreatedTool {
  readonly kind: "action";
  readonly makes: M;
  readonly traits: ActionTraits;
  readonly candidates: undefined;
  /** Checks the arguments strictly, then runs. Throws Failure. */
  invoke(args: Arguments, call: ToolCall): Promise<ActionResult<Made[M]>>;
}

/** What several actions led to. */
export interface ProcedureResult<T = unknown> extends ToolResult<T> {
  /** The job that the last of them started, as that action answers. */
  readonly job?: ActionResult<Job>;
}

/** A tool whose call is several actions. Each is in the journal by itself, under the name of the tool that does it alone. */
export interface ProcedureTool extends CreatedTool {
  readonly kind: "procedure";
  readonly makes: "job" | undefined;
  readonly traits: undefined;
  readonly candidates: undefined;
  /** Checks the arguments strictly, then runs. Throws Failure. */
  invoke(args: Arguments, call: ToolCall): Promise<ProcedureResult>;
}

export type Tool = ReadingTool | { [M in keyof Made]: ActionTool<M> }[keyof Made] | ProcedureTool;

/** A tool as its file defines it: what is said of it, and how to make it. */
export interface DefinedTool extends ToolFacts {
  readonly makes: keyof Made | undefined;
  create(ports: Ports): Tool;
}

type ArgumentsSchema<I extends z.ZodRawShape> = z.ZodObject<I, z.core.$strict>;

interface Definition<N extends ToolName, I extends z.ZodRawShape> {
  readonly name: N;
  readonly title: string;
  readonly description: string;
  readonly input: ArgumentsSchema<I>;
}

export interface ToolDefinition<N extends ToolName, I extends z.ZodRawShape, O> extends Definition<N, I> {
  readonly endpoint?: Endpoint;
  /** Left out, it is what the endpoint's API says; jobs where there is none. */
  readonly toolset?: Toolset;
  readonly effect: "read" | "save" | "export";
  readonly output: Output<O>;
  /** What is said of it instead where files are links. */
  readonly withLinks?: { readonly description: string; readonly output: Output<O> };
  readonly view?: ViewName;
  /** What a variable of a URI or a prompt may be, where the answer says so. */
  readonly candidates?: {
    readonly kind: CandidateKind;
    readonly keptMs: number;
    /** The arguments to ask with; undefined where there is nothing to ask for. */
    arguments(workspaceId: string | undefined): z.input<ArgumentsSchema<I>> | undefined;
    from(data: O): readonly Candidate[];
  };
  run(args: z.output<ArgumentsSchema<I>>, call: ToolCall, ports: Ports): Promise<ToolResult<O>>;
}

export interface ActionDefinition<N extends ToolName, I extends z.ZodRawShape, M extends keyof Made>
  extends Definition<N, I> {
  readonly endpoint: Endpoint;
  readonly effect: "create" | "cancel" | "retry";
  /** The kind of resource that it answers with. A job goes on: for a client that follows tasks it is a task. */
  readonly makes: M;
  readonly traits: ActionTraits;
  /** Makes the question to a person before this call; undefined when it throws nothing away. */
  readonly confirm?: (
    args: z.output<ArgumentsSchema<I>>,
  ) => ((call: ToolCall, ports: Ports) => Promise<PreparedQuestion>) | undefined;
  run(args: z.output<ArgumentsSchema<I>>, call: ToolCall, ports: Ports): Promise<ActionResult<Made[M]>>;
}

export interface ProcedureDefinition<N extends ToolName, I extends z.ZodRawShape, O> extends Definition<N, I> {
  readonly effect: "create" | "retry";
  /** A job, where its last action starts one: for a client that follows tasks it is a task. */
  readonly makes?: "job";
  readonly output: Output<O>;
  /** Of which of its actions `idempotencyKey` is the key, where it takes one. */
  readonly byKey?: CallByKey;
  /** What the call does and how a person is asked before; undefined when it throws nothing away. */
  readonly confirm?: (args: z.output<ArgumentsSchema<I>>) =>
    | {
        readonly actions?: readonly NamedAction[];
        prepare(call: ToolCall, ports: Ports): Promise<PreparedQuestion | undefined>;
      }
    | undefined;
  run(args: z.output<ArgumentsSchema<I>>, call: ToolCall, ports: Ports): Promise<ProcedureResult<O>>;
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

/** Strict arguments: what a schema says of them, and how they are checked. Throws Failure. */
function strictArguments<I extends z.ZodRawShape>(name: string, input: ArgumentsSchema<I>) {
  let schema: JsonSchema | undefined;
  let uses = 0;
  let judge = input;
  return {
    argumentNames: Object.keys(input.shape),
    /** Made when first asked for: the build has asked already. */
    inputSchema(): JsonSchema {
      schema ??= listedSchema(input);
      return schema;
    },
    check(args: Arguments) {
      uses += 1;
      // Zod's generated parser, from the second call on: making one takes longer than a check without.
      if (uses === 2) judge = z.compile(input);
      const parsed = judge.safeParse(args);
      if (!parsed.success) return refuse(name, input, parsed.error);
      refuseRounded(name, parsed.data, []);
      return parsed.data;
    },
  };
}

export function defineTool<const N extends ToolName, const I extends z.ZodRawShape, O>(
  definition: ToolDefinition<N, I, O>,
): DefinedTool & { readonly name: N } {
  const { endpoint, name, title, description, effect, input, output, withLinks, view, candidates, run } = definition;
  const { argumentNames, inputSchema, check } = strictArguments(name, input);
  const toolset = definition.toolset ?? (endpoint?.api === "playground" ? "geography" : "jobs");
  const outputSchema = output.schema;
  const facts = { name, title, description, toolset, effect, endpoint, view, argumentNames, outputSchema, inputSchema };
  return {
    ...facts,
    makes: undefined,
    create: (ports) => ({
      ...facts,
      ...(withLinks &&
        ports.files.kind === "links" && {
          description: withLinks.description,
          outputSchema: withLinks.output.schema,
        }),
      kind: "reading",
      makes: undefined,
      traits: undefined,
      byKey: undefined,
      candidates: candidates && {
        kind: candidates.kind,
        keptMs: candidates.keptMs,
        async list(call, workspaceId) {
          const args = candidates.arguments(workspaceId);
          return args === undefined ? undefined : candidates.from((await run(check(args), call, ports)).data);
        },
      },
      question: () => undefined,
      invoke: async (args, call) => await run(check(args), call, ports),
    }),
  };
}

export function defineAction<const N extends ToolName, const I extends z.ZodRawShape, const M extends keyof Made>(
  definition: ActionDefinition<N, I, M>,
): Omit<DefinedTool, "create"> & { readonly name: N; create(ports: Ports): ActionTool<M> } {
  const { endpoint, name, title, description, effect, makes, traits, input, confirm, run } = definition;
  const { argumentNames, inputSchema, check } = strictArguments(name, input);
  const outputSchema = outputs.action<Made[M]>().schema;
  const toolset = "jobs";
  const facts = {
    name,
    title,
    description,
    toolset,
    effect,
    endpoint,
    view: undefined,
    argumentNames,
    outputSchema,
    inputSchema,
    makes,
  } as const;
  return {
    ...facts,
    create: (ports) => ({
      ...facts,
      kind: "action",
      traits,
      byKey: { tool: name, argumentsOf: (stored) => stored },
      candidates: undefined,
      question(args) {
        if (!confirm) return undefined;
        const checked = check(args);
        const prepare = confirm(checked);
        if (prepare === undefined) return undefined;
        const { idempotencyKey: key, ...meant }: Arguments = checked;
        const idempotencyKey = typeof key === "string" ? key : undefined;
        return {
          prepare: async (call) => await prepare(call, ports),
          actions: [{ tool: name, arguments: meant, traits, explicitKey: idempotencyKey }],
          idempotencyKey,
        };
      },
      invoke: async (args, call) => await run(check(args), call, ports),
    }),
  };
}

/** A tool over several actions: it runs each as the tool that does it alone would. */
export function defineProcedure<const N extends ToolName, const I extends z.ZodRawShape, O>(
  definition: ProcedureDefinition<N, I, O>,
): DefinedTool & { readonly name: N } {
  const { name, title, description, effect, input, output, makes, byKey, confirm, run } = definition;
  const { argumentNames, inputSchema, check } = strictArguments(name, input);
  const outputSchema = output.schema;
  const said = { name, title, description, effect, argumentNames, outputSchema, inputSchema, makes };
  const facts = { ...said, toolset: "jobs", endpoint: undefined, view: undefined } as const;
  return {
    ...facts,
    create: (ports) => ({
      ...facts,
      kind: "procedure",
      traits: undefined,
      byKey,
      candidates: undefined,
      question(args) {
        const asked = confirm?.(check(args));
        if (asked === undefined) return undefined;
        const { actions, prepare } = asked;
        return { actions, idempotencyKey: undefined, prepare: async (call) => await prepare(call, ports) };
      },
      invoke: async (args, call) => await run(check(args), call, ports),
    }),
  };
}

/** Arguments as an agent may send them: an object, or nothing at all. */
export function argumentsObject(name: string, args: unknown): Arguments {
  if (args === undefined) return {};
  if (isJsonObject(args)) return { ...args };
  throw invalidArguments(`${name} was not called: arguments must be a JSON object.`);
}
