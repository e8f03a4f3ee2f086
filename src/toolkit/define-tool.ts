// What a tool is: data from which everything that agents see is derived, plus one function that runs it.
import type * as z from "zod/v4";
import type { ActionTraits, Arguments } from "../actions/fingerprint.ts";
import type { CallerActionDescriptor } from "../actions/service-actions.ts";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import type { JsonSchema } from "../contract/json-schema.ts";
import type { Toolset } from "../core/config.ts";
import { checkArguments, toListedSchema } from "./arguments.ts";
import type { CompletionKind, CompletionValue } from "./completion-value.ts";
import { explainMissingId } from "./id-hints.ts";
import type { ToolResult } from "./results.ts";
import { toExactArguments, withNotes } from "./tolerant-arguments.ts";
import type { Ports, ToolCall } from "./tool-call.ts";
import type { ToolName } from "./tool-names.ts";
import type { ViewName } from "./views.ts";

/**
 * What a call does. Annotations, the read-only filter and the use of an Idempotency-Key are derived from it.
 * read: nothing changes; save: a file is written here; export: a file is written if `saveAs` is given; the others change something at
 * the API.
 */
export type Effect = "read" | "save" | "export" | "create" | "cancel" | "retry";

/** What the user is asked, and the version of the job that the question is about. */
export interface ConfirmationPrompt {
  readonly text: string;
  /** Undefined if the job could not be read. */
  readonly resourceVersion: number | undefined;
}

/** A call that discards something: the user is asked before. */
export interface ConfirmationRequest {
  /** Reads what it is about; undefined if nothing would be discarded. Throws Failure if it cannot be done: then the user is not asked. */
  prepare(call: ToolCall): Promise<ConfirmationPrompt | undefined>;
  /** What the call does: nothing is asked if the journal has all of them. Undefined: `prepare` decides. */
  readonly actions: readonly CallerActionDescriptor[] | undefined;
  readonly idempotencyKey: string | undefined;
}

/** A call with nothing but an idempotencyKey: which tool's action the key names, and what the call's arguments are then. */
export interface CallByKey {
  readonly tool: ToolName;
  argumentsOf(stored: Arguments): Arguments;
}

/** The kinds of resource that actions make. A job continues after its action: for a client that follows tasks it is a task. */
export type CreatedResourceKind = "job" | "input" | "operation" | "processing request";

/** What a definition states and everyone may read. */
interface ToolMetadata {
  readonly name: ToolName;
  readonly title: string;
  readonly description: string;
  readonly effect: Effect;
  /** Undefined if the tool is no single operation of the API. */
  readonly endpoint?: Endpoint | undefined;
  /** What shows its result to the user: the tool is listed for clients that show views. */
  readonly view?: ViewName | undefined;
  readonly makes?: CreatedResourceKind | undefined;
  /** Defined if each call is exactly one action. */
  readonly traits?: ActionTraits | undefined;
  /** Undefined if a key alone is no call (default: if the tool has `traits`, its own action and the stored arguments). */
  readonly byKey?: CallByKey | undefined;
}

/** The facts of a tool that need no ports. */
export interface ToolFacts extends ToolMetadata {
  readonly toolset: Toolset;
  /** A call may change something at the API. */
  readonly isWrite: boolean;
  readonly argumentNames: readonly string[];
  readonly outputSchema: JsonSchema;
  inputSchema(): JsonSchema;
  /** The exact form of the arguments: what is not given is absent, and each value is under its own name. */
  toExact(args: Arguments): Arguments;
}

export interface Tool extends ToolFacts {
  /** Values for completion that its answers contain. */
  readonly completions:
    | {
        readonly kind: CompletionKind;
        readonly ttlMs: number;
        /** Undefined if it lists the values of a workspace, and there is no workspace. Throws Failure. */
        list(call: ToolCall, workspaceId: string | undefined): Promise<readonly CompletionValue[] | undefined>;
      }
    | undefined;
  /** Checks the arguments strictly; undefined if the user need not be asked first. Throws Failure. */
  confirmationFor(args: Arguments): ConfirmationRequest | undefined;
  /** Checks the arguments strictly, then runs. Throws Failure. */
  invoke(args: Arguments, call: ToolCall): Promise<ToolResult>;
}

export interface DefinedTool extends ToolFacts {
  create(ports: Ports): Tool;
}

/** The output schema. `T`: the data of the result. */
export interface Output<T> {
  readonly schema: JsonSchema;
  /** Never there: it ties the schema to the type of the data. */
  readonly data?: T;
}

export interface ToolDefinition<N extends ToolName, I extends z.ZodRawShape, O> extends ToolMetadata {
  readonly name: N;
  readonly input: z.ZodObject<I, z.core.$strict>;
  readonly output: Output<O>;
  /** Default: what the endpoint's API says; jobs if there is none. */
  readonly toolset?: Toolset;
  /** What is listed instead if files are links. */
  readonly withLinks?: { readonly description: string; readonly output: Output<O> };
  /** What a variable of a URI or a prompt may be, if the answer says so. */
  readonly completions?: {
    readonly kind: CompletionKind;
    readonly ttlMs: number;
    /** The arguments to ask with; undefined if there is nothing to ask for. */
    arguments(workspaceId: string | undefined): Arguments | undefined;
    toValues(data: O): readonly CompletionValue[];
  };
  /** How the user is asked before the call (default: `actions` is the tool's own action); undefined if the call discards nothing. */
  readonly confirm?: (args: z.output<z.ZodObject<I>>) =>
    | {
        readonly actions?: readonly CallerActionDescriptor[];
        prepare(call: ToolCall, ports: Ports): Promise<ConfirmationPrompt | undefined>;
      }
    | undefined;
  run(args: z.output<z.ZodObject<I, z.core.$strict>>, call: ToolCall, ports: Ports): Promise<ToolResult<O>>;
}

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
 *   input: z.strictObject({ ...getMicPublicInput.pathParameters.shape }),
 *   output: outputs.advised<Input>(),
 *   run: ({ inputId }, call, ports) =>
 *     readResource({ endpoint: getMicPublicInput, path: { inputId }, presenter: inputPresenter }, call, ports),
 * });
 */
export function defineTool<const N extends ToolName, const I extends z.ZodRawShape, O>(
  definition: ToolDefinition<N, I, O>,
): DefinedTool & { readonly name: N } {
  const { input, output, withLinks, completions, confirm, run, ...metadata } = definition;
  const { name, effect, endpoint, traits } = metadata;
  let schema: JsonSchema | undefined;
  const facts = {
    byKey: traits && { tool: name, argumentsOf: (stored: Arguments) => stored },
    ...metadata,
    toolset: metadata.toolset ?? (endpoint?.api === "playground" ? "geography" : "jobs"),
    isWrite: effect !== "read" && effect !== "save" && effect !== "export",
    argumentNames: Object.keys(input.shape),
    outputSchema: output.schema,
    /** Made when it is first asked for: a start need not wait for the schemas of all tools. */
    inputSchema(): JsonSchema {
      schema ??= toListedSchema(input);
      return schema;
    },
    toExact: (args: Arguments) => read(args).arguments,
  } as const;
  const read = (args: Arguments) => toExactArguments(input, facts.inputSchema(), args);
  const check = (args: Arguments) => checkArguments(name, input, facts.inputSchema(), facts.toExact(args));

  return {
    ...facts,
    create: (ports) => ({
      ...facts,
      ...(withLinks &&
        ports.files.kind === "links" && { description: withLinks.description, outputSchema: withLinks.output.schema }),
      completions: completions && {
        kind: completions.kind,
        ttlMs: completions.ttlMs,
        async list(call, workspaceId) {
          const args = completions.arguments(workspaceId);
          return args && completions.toValues((await run(check(args), call, ports)).data);
        },
      },
      confirmationFor(args) {
        const checked = confirm && check(args);
        const confirmation = checked && confirm(checked);
        if (!confirmation) return undefined;
        const { idempotencyKey: key, ...actionArguments }: Arguments = checked;
        const explicitKey = traits && typeof key === "string" ? key : undefined;
        return {
          prepare: async (call) => await confirmation.prepare(call, ports),
          actions:
            confirmation.actions ?? (traits && [{ tool: name, arguments: actionArguments, traits, explicitKey }]),
          idempotencyKey: explicitKey,
        };
      },
      async invoke(args, call) {
        const checked = check(args);
        try {
          return withNotes(await run(checked, call, ports), read(args).notes);
        } catch (error) {
          throw explainMissingId(error, checked);
        }
      },
    }),
  };
}
