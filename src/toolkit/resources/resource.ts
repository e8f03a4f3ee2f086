// What a resource is: data that drives listings, reading, completion and updates. Most are what a tool reads, without
// its envelope, so a tool can read everything that a resource shows.

import type { CallContext } from "../../api-client/attempts.ts";
import type { ApiClient } from "../../api-client/client.ts";
import { listPlaygroundDistricts } from "../../contract/endpoints/playground.ts";
import { invalidArguments } from "../../core/failure.ts";
import { formatJson } from "../../core/untrusted-text.ts";
import type { Geography } from "../../geography/geography.ts";
import type { CompletionKind } from "../completion-value.ts";
import { type ToolResult, withExactNumbers } from "../results.ts";
import type { ToolName } from "../tool-names.ts";
import type { UriVariables } from "../uri.ts";

const { state: stateCode } = listPlaygroundDistricts.query.shape;

/** Calls an offered tool that reads. Throws Failure. */
export type UseTool = (name: ToolName, args: Readonly<Record<string, unknown>>) => Promise<ToolResult>;

/** What a resource is read from. */
export interface ResourceSource {
  readonly useTool: UseTool;
  readonly geography: Geography;
  readonly context: CallContext;
}

export interface ResourceContent {
  readonly text: string;
  /** Fields of the service's answer that the contract does not know. */
  readonly drift: readonly string[];
  /** How long a client may keep it. */
  readonly ttlMs: number;
}

/** One look at a resource that can be subscribed to. */
export interface ObservedVersion {
  /** Changes whenever the resource does. */
  readonly version: number;
  /** It will not change any more. */
  readonly hasEnded: boolean;
}

export type ReadVersion = (
  variables: UriVariables,
  service: ApiClient,
  context: CallContext,
) => Promise<ObservedVersion>;

export interface Resource {
  /** `mic://…`, with `{name}` for each variable. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: "application/json" | "text/tab-separated-values";
  /** The tool that reaches the same; where it is not offered, neither is the resource. */
  readonly tool: ToolName;
  /** "public": the same for every client of the service. */
  readonly cacheScope: "public" | "private";
  /** What the template's variables may be, as far as the server knows. */
  readonly variables: Readonly<Record<string, CompletionKind>>;
  /** Throws Failure. */
  read(variables: UriVariables, source: ResourceSource): Promise<ResourceContent>;
  /** Present where the resource can be subscribed to. Throws Failure. */
  readonly readVersion?: ReadVersion;
}

/** The text of a JSON resource. */
export const jsonText = (content: unknown): string => formatJson(withExactNumbers(content));

interface ToolResourceDefinition extends Omit<Resource, "read" | "mimeType" | "variables"> {
  readonly variables?: Resource["variables"];
  /** Beside the template's variables. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** "data": what is in the tool's envelope; "whole": the tool's whole answer. */
  readonly part: "data" | "whole";
  readonly ttlMs: (result: ToolResult) => number;
}

/** A resource that is what its tool reads; the template's variables are the tool's arguments. */
export function toolResource(definition: ToolResourceDefinition): Resource {
  const { part, ttlMs, variables = {}, arguments: fixed, ...resource } = definition;
  return {
    ...resource,
    variables,
    mimeType: "application/json",
    async read(given, { useTool }) {
      const result = await useTool(resource.tool, { ...fixed, ...toolArguments(given) });
      const content = part === "data" ? result.data : result.structured;
      return { text: jsonText(content), drift: result.drift, ttlMs: ttlMs(result) };
    },
  };
}

/** The only variable that its tool calls otherwise: a URI says whose code it is by where it stands. Throws Failure. */
function toolArguments({ code, ...others }: UriVariables): UriVariables {
  if (code === undefined) return others;
  // The tool takes names as well; a resource has one URI.
  const { success, data } = stateCode.safeParse(code);
  if (!success) throw invalidArguments("code must be two letters.");
  return { ...others, state: data };
}
