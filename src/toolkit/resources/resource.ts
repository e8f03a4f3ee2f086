// This module defines a resource as data that drives listing, reading, completion and updates. Most resources return the data of a tool
// without its envelope, so tools can read everything that resources show.

import type { CallContext } from "../../api-client/attempts.ts";
import { listPlaygroundDistricts } from "../../contract/endpoints/playground.ts";
import { invalidArguments } from "../../core/failure.ts";
import { say } from "../../core/text.ts";
import type { ToolName } from "../../core/tool-names.ts";
import { formatJson } from "../../core/untrusted-text.ts";
import { type RenderedResult, type ToolResult, withExactNumbers } from "../results.ts";
import type { Ports } from "../tool-context.ts";
import type { UriVariables } from "../uri.ts";

const { state: stateCode } = listPlaygroundDistricts.query.shape;

/** Calls an offered read-only tool. Throws Failure. */
export type UseTool = (
  name: ToolName,
  args: Readonly<Record<string, unknown>>,
) => Promise<ToolResult & Pick<RenderedResult, "structured">>;

export interface ResourceSource {
  readonly useTool: UseTool;
  readonly ports: Pick<Ports, "geography"> & VersionPorts;
  readonly context: CallContext;
}

export interface ResourceContent {
  readonly text: string;
  /** Fields of the API's response that the contract does not define. */
  readonly drift: readonly string[];
  /** How long a client may cache the content. */
  readonly ttlMs: number;
}

/** The result of one read of a resource that clients can subscribe to. */
export interface ObservedVersion {
  /** Changes whenever the resource does. */
  readonly version: number | string;
  readonly hasEnded: boolean;
}

/** What reads of a version need. */
export type VersionPorts = Pick<Ports, "api" | "actions" | "retries">;

export interface Resource {
  /** `mic://…`, with `{name}` for each variable. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: "application/json" | "text/tab-separated-values";
  /** The tool that returns the same data. If it is not offered, the resource is not offered either. */
  readonly tool: ToolName;
  /** "public": the content is the same for every client of the API. */
  readonly cacheScope: "public" | "private";
  /** Throws Failure. */
  read(variables: UriVariables, source: ResourceSource): Promise<ResourceContent>;
  /** Present if clients can subscribe to the resource. Returns the function that reads its version, which throws Failure. */
  watchVersion?(variables: UriVariables, ports: VersionPorts): (context: CallContext) => Promise<ObservedVersion>;
}

export const jsonText = (content: unknown): string => formatJson(withExactNumbers(content));

interface ToolResourceDefinition extends Omit<Resource, "read" | "mimeType" | "cacheScope"> {
  readonly cacheScope?: Resource["cacheScope"];
  /** Arguments in addition to the template's variables. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** "data" (default): the data in the tool's envelope; "whole": the complete result of the tool. */
  readonly part?: "data" | "whole";
  /** Returns fields to add to the content. */
  extend?(result: ToolResult, source: ResourceSource): Promise<object>;
  readonly ttlMs: number | ((result: ToolResult) => number);
}

/** Creates a resource from a read-only tool. The template's variables become the tool's arguments. */
export function toolResource(definition: ToolResourceDefinition): Resource {
  const { part = "data", ttlMs, arguments: fixed, extend, ...resource } = definition;
  return {
    cacheScope: "private",
    ...resource,
    mimeType: "application/json",
    async read(given, source) {
      const result = await source.useTool(resource.tool, { ...fixed, ...toolArguments(given) });
      const shown = part === "data" ? result.data : result.structured;
      const content = extend ? { ...Object(shown), ...(await extend(result, source)) } : shown;
      return { text: jsonText(content), drift: result.drift, ttlMs: typeof ttlMs === "number" ? ttlMs : ttlMs(result) };
    },
  };
}

/** Renames `code` to `state`, the only variable that has another name in its tool. Throws Failure (invalid_arguments). */
function toolArguments({ code, ...others }: UriVariables): UriVariables {
  if (code === undefined) return others;
  // The tool also accepts names, but each resource has only one URI.
  const { success, data } = stateCode.safeParse(code);
  if (!success) throw invalidArguments(say`code must be two letters.`);
  return { ...others, state: data };
}
