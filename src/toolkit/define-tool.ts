// This module defines a tool: data from which everything that agents see is derived, and one function that runs it.

import type * as z from "zod/v4";
import type { ActionDescriptor } from "../actions/actions.ts";
import type { ActionTraits, Arguments, TraitsOf } from "../actions/fingerprint.ts";
import type { Endpoint, ParameterName } from "../contract/endpoints/endpoint.ts";
import type { JsonSchema } from "../contract/json.ts";
import type { Toolset } from "../core/config.ts";
import { join } from "../core/text.ts";
import type { ToolName } from "../core/tool-names.ts";
import { checkArguments, toListedSchema } from "./arguments.ts";
import { builtSchemas } from "./built-schemas.ts";
import type { Table } from "./csv.ts";
import { explainMissingId } from "./id-hints.ts";
import type { ToolResult } from "./results.ts";
import { type ExactArguments, toExactArguments, withNotes } from "./tolerant-arguments.ts";
import type { ToolContext } from "./tool-context.ts";
import type { ViewName } from "./views.ts";

/** read: changes nothing; save: writes a local file; the others change data of the API. Annotations and filters follow from it. */
export type Effect = "read" | "save" | "create" | "cancel" | "retry";

/** The question to the user, and the version of the job that it is about. */
export interface ConfirmationPrompt {
  readonly text: string;
  /** Undefined if the job could not be read, or if the question is about several jobs. */
  readonly resourceVersion: number | undefined;
}

/** The confirmation of a call that discards something: the user is asked before it runs. */
export interface ConfirmationRequest {
  /** Builds the question; returns undefined if nothing would be discarded. Throws Failure if the call cannot succeed. */
  prepare(ctx: ToolContext): Promise<ConfirmationPrompt | undefined>;
  /** The actions of the call. The user is not asked if the journal contains all of them. If undefined, `prepare` decides. */
  readonly actions: readonly ActionDescriptor[] | undefined;
  readonly idempotencyKey: string | undefined;
}

/** A call with only an idempotencyKey: the tool of the action with that key, and the function that returns the call's arguments. */
export interface CallByKey {
  readonly tool: ToolName;
  argumentsOf(stored: Arguments): Arguments;
}

/** The kinds of resource that actions create. A job continues after its action, so it becomes a task for clients that follow tasks. */
export type CreatedResourceKind = "job" | "input" | "operation" | "processing request";

/** The names of the variables and arguments that have completions. */
export const COMPLETION_KINDS = [
  "jobId",
  "versionId",
  "code",
  "workspaceId",
  "referenceId",
  "inputId",
  "operationId",
  "requestId",
] as const;

export type CompletionKind = (typeof COMPLETION_KINDS)[number];

export interface CompletionValue {
  readonly value: string;
  /** Text that the user may type instead. Completion shows only the values. */
  readonly name?: string;
  /** True if the resource has not ended, or an action on it is unresolved. Such values are offered first. */
  readonly isUnresolved?: boolean;
}

/** The properties that the author of a tool writes and that the server uses unchanged. */
interface SharedProperties {
  readonly name: ToolName;
  readonly title: string;
  readonly description: string;
  /** Words that users type but that the description lacks, for hosts that search for tools. */
  readonly searchHint?: string;
  /** True for the tools that most sessions need: hosts that search for tools load them at once. */
  readonly alwaysLoad?: boolean;
  readonly effect: Effect;
  /** Undefined unless the tool is a single operation of the API. */
  readonly endpoint?: Endpoint;
  /** The parameters of the operation that are not arguments, each with the reason. */
  readonly setByTool?: Readonly<Record<string, string>>;
  /** The view that shows the result to the user. Such a tool is listed only for clients that show views. */
  readonly view?: ViewName;
  readonly makes?: CreatedResourceKind;
  /** Defined if each call is exactly one action. */
  readonly traits?: ActionTraits;
  /** Undefined if a call needs more than a key (default for a tool with `traits`: its own action and the stored arguments). */
  readonly byKey?: CallByKey;
}

/** A tool as the server uses it. */
export interface Tool extends SharedProperties {
  /** The tool is offered with each of these toolsets. */
  readonly toolsets: readonly Toolset[];
  /** True if a call may change data of the API. */
  readonly isWrite: boolean;
  readonly argumentNames: readonly string[];
  readonly outputSchema: JsonSchema | undefined;
  inputSchema(): JsonSchema;
  /** The exact form of the arguments: a value that was not given is absent, and each value is under its own name. */
  toExact(args: Arguments): ExactArguments;
  /** Lists values for completion from the results of the tool. */
  readonly completions:
    | {
        readonly kind: CompletionKind;
        readonly ttlMs: number;
        /** Returns undefined if the values belong to a workspace and there is no workspace. Throws Failure. */
        list(ctx: ToolContext): Promise<readonly CompletionValue[] | undefined>;
      }
    | undefined;
  /** Returns undefined if the user need not be asked about this call. Throws Failure if it finds invalid arguments. */
  readonly confirmationFor: ((args: Arguments) => ConfirmationRequest | undefined) | undefined;
  /** Validates the arguments, then runs the tool. Throws Failure. */
  run(args: Arguments, ctx: ToolContext): Promise<ToolResult>;
  /** Validates the arguments, then returns all rows that the tool lists. Undefined if the tool lists no table. Throws Failure. */
  readonly tabulate: ((args: Arguments, ctx: ToolContext) => Promise<Table>) | undefined;
}

/** The output schema. `T`: the type of the result's data. */
export interface Output<T> {
  readonly schema: JsonSchema | undefined;
  /** Never set: it ties the schema to the type of the data. */
  readonly data?: T;
}

/** A tool as its author writes it. */
export interface ToolDefinition<N extends ToolName, I extends z.ZodRawShape, O> extends SharedProperties {
  readonly name: N;
  readonly input: z.ZodObject<I, z.core.$strict>;
  readonly output: Output<O>;
  /** Default: "geography" for an endpoint of the playground API, otherwise "jobs". */
  readonly toolsets?: readonly Toolset[];
  /** Completion values for a URI variable or a prompt argument, taken from the results. */
  readonly completions?: {
    readonly kind: CompletionKind;
    readonly ttlMs: number;
    /** Returns the arguments of the call that lists the values; undefined if there is nothing to list. */
    arguments(workspaceId: string | undefined): Arguments | undefined;
    toValues(data: O): readonly CompletionValue[];
  };
  /** Returns the question before the call (default of `actions`: the tool's own action); undefined if the call discards nothing. */
  readonly confirm?: (args: z.output<z.ZodObject<I>>) =>
    | {
        readonly actions?: readonly ActionDescriptor[];
        prepare(ctx: ToolContext): Promise<ConfirmationPrompt | undefined>;
      }
    | undefined;
  run(args: z.output<z.ZodObject<I, z.core.$strict>>, ctx: ToolContext): Promise<ToolResult<O>>;
  /** Returns all rows of the call, for save_table. */
  tabulate?(args: z.output<z.ZodObject<I, z.core.$strict>>, ctx: ToolContext): Promise<Table>;
}

/** Each parameter of the tool's operation is an argument of the same name, or is in `setByTool`. */
type AllParameters<E extends Endpoint | undefined, I> = E extends Endpoint
  ? [Exclude<ParameterName<E>, keyof I>] extends [never]
    ? object
    : { readonly setByTool: Readonly<Record<Exclude<ParameterName<E>, keyof I>, string>> }
  : object;

/** Only a tool without traits reads, and the traits of an action are those of its operation. */
type EffectOf<E extends Endpoint | undefined> = E extends Endpoint
  ? E["method"] extends "GET"
    ? { readonly effect: "read" | "save" }
    : { readonly effect: "create" | "cancel" | "retry"; readonly traits: TraitsOf<E> }
  : object;

/**
 * Defines a tool. The types of `run`'s arguments and of its result's data follow from `input` and `output`.
 *
 * @example
 * export const getInput = defineTool({
 *   endpoint: getMicPublicInput,
 *   name: "get_input",
 *   title: "Get an input",
 *   description: "One registered input: state, scan result, the file or dataset it stands for.",
 *   effect: "read",
 *   input: z.strictObject({ inputId: getMicPublicInput.pathParameters.shape.inputId }),
 *   output: outputs.resource<Input>(),
 *   run: ({ inputId }, ctx) =>
 *     readResource(
 *       { endpoint: getMicPublicInput, path: { inputId }, describe: describeInput, status: inputStatus },
 *       ctx,
 *     ),
 * });
 */
export function defineTool<
  const N extends ToolName,
  const I extends z.ZodRawShape,
  O,
  const E extends Endpoint | undefined = undefined,
>(
  definition: ToolDefinition<N, I, O> & { readonly endpoint?: E } & AllParameters<E, I> & EffectOf<E>,
): Tool & { readonly name: N } {
  const { input, output, completions, confirm, run, tabulate, ...shared } = definition;
  const { name, effect, endpoint, traits } = shared;
  let schema: JsonSchema | undefined;
  /** Builds the schema on first use, so that the start of the server does not wait for the schemas of all tools. */
  function inputSchema(): JsonSchema {
    schema ??= builtSchemas[name] ?? toListedSchema(input);
    return schema;
  }
  const toExact = (args: Arguments): ExactArguments => toExactArguments({ name, effect }, input, inputSchema(), args);
  const check = (args: Arguments) => checkArguments(name, input, inputSchema(), args);

  return {
    byKey: traits && { tool: name, argumentsOf: (stored: Arguments) => stored },
    ...shared,
    toolsets: shared.toolsets ?? [endpoint?.api === "playground" ? "geography" : "jobs"],
    isWrite: effect !== "read" && effect !== "save",
    argumentNames: Object.keys(input.shape),
    outputSchema: output.schema,
    inputSchema,
    toExact,
    completions: completions && {
      kind: completions.kind,
      ttlMs: completions.ttlMs,
      async list(ctx) {
        const args = completions.arguments(ctx.workspaceId);
        return args && completions.toValues((await run(check(args), ctx)).data);
      },
    },
    confirmationFor:
      confirm &&
      ((args) => {
        const checked = check(toExact(args).arguments);
        const confirmation = confirm(checked);
        if (!confirmation) return undefined;
        const { idempotencyKey: key, ...actionArguments }: Arguments = checked;
        const explicitKey = traits && typeof key === "string" ? key : undefined;
        const own = traits && [{ tool: name, arguments: actionArguments, traits, explicitKey }];
        return {
          prepare: confirmation.prepare,
          actions: confirmation.actions ?? own,
          idempotencyKey: explicitKey,
        };
      }),
    async run(args, ctx) {
      const exact = toExact(args);
      const checked = check(exact.arguments);
      try {
        return withNotes(await run(checked, ctx), exact.notes);
      } catch (error) {
        throw explainMissingId(error, checked);
      }
    },
    tabulate:
      tabulate &&
      (async (args, ctx) => {
        const exact = toExact(args);
        const table = await tabulate(check(exact.arguments), ctx);
        return { ...table, summary: join([...exact.notes, table.summary]) };
      }),
  };
}
