// What a resource is: data that drives listings, reading, completion and updates. Most are what a tool reads, without
// its envelope, so whatever a resource shows can also be had by a tool.
import type { Geography } from "../../geography/geography.ts";
import { json } from "../../outside.ts";
import type { CallContext } from "../../service/attempts.ts";
import type { Service } from "../../service/call.ts";
import type { UseTool } from "../define-tool.ts";
import { exact } from "../results.ts";
import type { CandidateKind } from "./completion.ts";
import type { Variables } from "./uri.ts";

/** What a reading is made from. */
export interface Source {
  readonly useTool: UseTool;
  readonly geography: Geography;
  readonly context: CallContext;
}

export interface Reading {
  readonly text: string;
  /** Fields of the service's answer that the contract does not know. */
  readonly drift: readonly string[];
  /** How long a client may keep it. */
  readonly ttlMs: number;
}

/** One look at a resource that can be subscribed to. */
export interface Glimpse {
  /** Changes whenever the resource does. */
  readonly version: number;
  /** It will not change any more. */
  readonly ended: boolean;
}

export type Look = (variables: Variables, service: Service, context: CallContext) => Promise<Glimpse>;

export interface Resource {
  /** `mic://…`, with `{name}` for each variable. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: "application/json" | "text/tab-separated-values";
  /** The tool that reaches the same; where it is not offered, neither is the resource. */
  readonly tool: string;
  /** "public": the same for every client of the service. */
  readonly cacheScope: "public" | "private";
  /** What the template's variables may be, as far as the server knows. */
  readonly variables: Readonly<Record<string, CandidateKind>>;
  /** Throws Failure. */
  read(variables: Variables, source: Source): Promise<Reading>;
  /** Present where the resource can be subscribed to. Throws Failure. */
  readonly look?: Look;
}

/** The text of a JSON resource. */
export const jsonText = (content: unknown): string => json(exact(content));

interface ToolResourceDefinition extends Omit<Resource, "read" | "mimeType" | "variables"> {
  readonly variables?: Resource["variables"];
  /** Beside the template's variables. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** "data": what is in the tool's envelope; "whole": all that the tool tells. */
  readonly part: "data" | "whole";
  readonly ttlMs: (content: unknown) => number;
}

/** A resource that is what its tool reads; the template's variables are the tool's arguments. */
export function toolResource(definition: ToolResourceDefinition): Resource {
  const { part, ttlMs, variables = {}, arguments: fixed, ...resource } = definition;
  return {
    ...resource,
    variables,
    mimeType: "application/json",
    async read(given, { useTool }) {
      const { structured, drift } = await useTool(resource.tool, { ...fixed, ...toolArguments(given) });
      const content = part === "data" ? structured["data"] : structured;
      return { text: jsonText(content), drift, ttlMs: ttlMs(content) };
    },
  };
}

/** The only variable that its tool calls otherwise: a URI says whose code it is by where it stands. */
const toolArguments = ({ code, ...others }: Variables): Variables =>
  code === undefined ? others : { ...others, state: code };
