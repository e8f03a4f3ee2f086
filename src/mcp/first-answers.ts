// The answers to what a client asks first: who are you, which tools have you? They are known before the SDK is loaded, and
// are word for word what it would say (test/mcp/first-answers.test.ts). Whatever is unusual in a request is for the SDK.
import type { Config } from "../config.ts";
import { isJsonObject } from "../contract/json-object.ts";
import { instructions } from "./instructions.ts";
import { CACHE_HINTS, capabilities, serverInfo } from "./server-info.ts";
import { hasTasks, type Listing, listed, offeredTools } from "./tools/offered-tools.ts";

export const LEGACY_VERSIONS: readonly string[] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];
export const MODERN_VERSION = "2026-07-28";

const META = "io.modelcontextprotocol";

type RequestId = string | number;

/** Requests that are answered already, each with a field of its result: the server hears them too, and must not answer again. */
export type Answered = Map<RequestId, string>;

export interface FirstAnswer {
  readonly id: RequestId;
  /** One that only this answer has. */
  readonly field: string;
  readonly result: Readonly<Record<string, unknown>>;
}

interface Request {
  /** Absent on a notification. */
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const isText = (value: unknown): boolean => typeof value === "string";
const isRequestId = (value: unknown): value is RequestId =>
  typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value));

const hasOnly = (value: object, names: readonly string[]): boolean =>
  Object.keys(value).every((name) => names.includes(name));

const isObjectOf = (value: unknown, fits: (part: unknown) => boolean): boolean =>
  isJsonObject(value) && Object.values(value).every(fits);

const isPlainObject = (value: unknown): boolean => isJsonObject(value);

const isImplementation = (value: unknown): boolean =>
  isJsonObject(value) &&
  hasOnly(value, ["name", "title", "version", "description", "websiteUrl"]) &&
  isText(value["name"]) &&
  isText(value["version"]) &&
  isObjectOf(value, isText);

const KNOWN_CAPABILITIES: Readonly<Record<string, (value: unknown) => boolean>> = {
  roots: (value) => isObjectOf(value, (part) => typeof part === "boolean") && hasOnly(Object(value), ["listChanged"]),
  sampling: (value) => isObjectOf(value, isPlainObject) && hasOnly(Object(value), ["context", "tools"]),
  elicitation: (value) => isObjectOf(value, isPlainObject) && hasOnly(Object(value), ["form", "url"]),
  experimental: (value) => isObjectOf(value, isPlainObject),
  extensions: (value) => isObjectOf(value, isPlainObject),
};

const areCapabilities = (value: unknown): boolean =>
  isJsonObject(value) && Object.entries(value).every(([name, part]) => KNOWN_CAPABILITIES[name]?.(part) === true);

function readRequest(line: string): Request | undefined {
  try {
    const message: unknown = JSON.parse(line);
    if (!isJsonObject(message) || !hasOnly(message, ["jsonrpc", "id", "method", "params"])) return undefined;
    const { jsonrpc, id, method, params = {} } = message;
    if (jsonrpc !== "2.0" || typeof method !== "string" || !isJsonObject(params)) return undefined;
    return id === undefined || isRequestId(id) ? { id, method, params } : undefined;
  } catch {
    return undefined;
  }
}

function isModern({ params }: Request): boolean {
  const { _meta: meta, ...rest } = params;
  return (
    Object.keys(rest).length === 0 &&
    isJsonObject(meta) &&
    hasOnly(meta, [`${META}/protocolVersion`, `${META}/clientInfo`, `${META}/clientCapabilities`]) &&
    meta[`${META}/protocolVersion`] === MODERN_VERSION &&
    isImplementation(meta[`${META}/clientInfo`]) &&
    areCapabilities(meta[`${META}/clientCapabilities`])
  );
}

function isInitialize({ params }: Request): boolean {
  const { protocolVersion, capabilities, clientInfo, ...rest } = params;
  return (
    Object.keys(rest).length === 0 &&
    typeof protocolVersion === "string" &&
    LEGACY_VERSIONS.includes(protocolVersion) &&
    areCapabilities(capabilities) &&
    isImplementation(clientInfo)
  );
}

export interface Known {
  readonly version: string;
  readonly config: Config;
  /** The tools of the whole catalogue. */
  readonly listings: () => readonly Listing[];
}

/** Whether the configuration alone tells what a login would: then nothing has to be read before the first answers. */
export const isSettled = ({ workspaceId, baseUrl, credentials, keychain, warnings }: Config): boolean =>
  warnings.length === 0 &&
  (workspaceId !== undefined || keychain === "off" || (baseUrl !== undefined && credentials !== undefined));

export type FirstAnswers = (line: string) => FirstAnswer | "nothing to say" | undefined;

/** Answers one line after the other; undefined once there is one that it cannot answer, and then no more. */
export function createFirstAnswers({ version, config, listings }: Known): FirstAnswers {
  let era: "legacy" | "modern" | undefined;
  const about = () => instructions(config, config.workspaceId, []);
  const tools = () => offeredTools(listings(), config).map((tool) => listed(tool, config.workspaceId));
  const complete = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
  const _meta = { [`${META}/serverInfo`]: serverInfo(version) };

  function legacy({ id, method, params }: Request): ReturnType<FirstAnswers> {
    if (id === undefined) return method === "notifications/initialized" ? "nothing to say" : undefined;
    const plain = Object.keys(params).length === 0;
    return method === "tools/list" && plain ? { id, field: "tools", result: { tools: tools() } } : undefined;
  }

  function modern({ id, method }: Request): ReturnType<FirstAnswers> {
    if (id === undefined) return undefined;
    if (method === "tools/list")
      return { id, field: "tools", result: { tools: tools(), ...complete, ...CACHE_HINTS["tools/list"], _meta } };
    if (method !== "server/discover") return undefined;
    const supportedVersions = [MODERN_VERSION];
    return {
      id,
      field: "supportedVersions",
      result: {
        supportedVersions,
        capabilities: capabilities(hasTasks(listings(), config)),
        instructions: about(),
        ...complete,
        _meta,
      },
    };
  }

  return (line) => {
    const request = readRequest(line);
    if (!request) return undefined;
    const { id, method, params } = request;
    if (era === undefined && method === "initialize" && id !== undefined && isInitialize(request)) {
      era = "legacy";
      const { protocolVersion } = params;
      const result = {
        protocolVersion,
        capabilities: capabilities(false),
        serverInfo: serverInfo(version),
        instructions: about(),
      };
      return { id, field: "protocolVersion", result };
    }
    if (era === "legacy") return legacy(request);
    if (!isModern(request)) return undefined;
    era = "modern";
    return modern(request);
  };
}
