// The answers to what a client asks first: who are you, which tools have you? They are the SDK's own, recorded by the build.
// Whatever is unusual in a request is left to the SDK itself.
import { showsViews } from "../../toolkit/views.ts";
import { FIRST_METHODS, type FirstMethod, questionOf, RECORDED_WORKSPACE, type Recording } from "./recording.ts";
import type { Settings } from "./settings.ts";

const META = "io.modelcontextprotocol";

type RequestId = string | number;
type JsonObject = Readonly<Record<string, unknown>>;

interface Request {
  /** Absent on a notification. */
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly params: JsonObject;
}

/** A request, and the JSON text of its result. */
export interface FirstAnswer {
  readonly request: JsonObject;
  readonly id: RequestId;
  readonly result: string;
}

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isText = (value: unknown): boolean => typeof value === "string";
const isRequestId = (value: unknown): value is RequestId =>
  typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value));

const hasOnly = (value: object, names: readonly string[]): boolean =>
  Object.keys(value).every((name) => names.includes(name));

const isObjectOf = (value: unknown, fits: (part: unknown) => boolean): boolean =>
  isJsonObject(value) && Object.values(value).every(fits);

const isImplementation = (value: unknown): boolean =>
  isJsonObject(value) &&
  hasOnly(value, ["name", "title", "version", "description", "websiteUrl"]) &&
  isText(value["name"]) &&
  isText(value["version"]) &&
  isObjectOf(value, isText);

const KNOWN_CAPABILITIES: Readonly<Record<string, (value: unknown) => boolean>> = {
  roots: (value) => isObjectOf(value, (part) => typeof part === "boolean") && hasOnly(Object(value), ["listChanged"]),
  sampling: (value) => isObjectOf(value, isJsonObject) && hasOnly(Object(value), ["context", "tools"]),
  elicitation: (value) => isObjectOf(value, isJsonObject) && hasOnly(Object(value), ["form", "url"]),
  experimental: (value) => isObjectOf(value, isJsonObject),
  extensions: (value) => isObjectOf(value, isJsonObject),
};

const areCapabilities = (value: unknown): boolean =>
  isJsonObject(value) && Object.entries(value).every(([name, part]) => KNOWN_CAPABILITIES[name]?.(part) === true);

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function requestOf(message: JsonObject): Request | undefined {
  if (!hasOnly(message, ["jsonrpc", "id", "method", "params"])) return undefined;
  const { jsonrpc, id, method, params = {} } = message;
  if (jsonrpc !== "2.0" || typeof method !== "string" || !isJsonObject(params)) return undefined;
  return id === undefined || isRequestId(id) ? { id, method, params } : undefined;
}

/** What a client begins with. */
interface Introduction {
  readonly version: string;
  readonly capabilities: unknown;
}

/** Of a request of the handshake's era. */
function introductionOfHandshake({ method, params }: Request): Introduction | undefined {
  const { protocolVersion, capabilities, clientInfo, ...rest } = params;
  const isUsual =
    method === "initialize" &&
    Object.keys(rest).length === 0 &&
    areCapabilities(capabilities) &&
    isImplementation(clientInfo);
  return isUsual && typeof protocolVersion === "string" ? { version: protocolVersion, capabilities } : undefined;
}

/** Of a request that stands by itself. */
function introductionOfRequest({ params }: Request): Introduction | undefined {
  const { _meta: meta, ...rest } = params;
  if (Object.keys(rest).length > 0 || !isJsonObject(meta)) return undefined;
  const {
    [`${META}/protocolVersion`]: version,
    [`${META}/clientInfo`]: client,
    [`${META}/clientCapabilities`]: capabilities,
    ...more
  } = meta;
  const isUsual = Object.keys(more).length === 0 && isImplementation(client) && areCapabilities(capabilities);
  return isUsual && typeof version === "string" ? { version, capabilities } : undefined;
}

/** Answers one line after the other; undefined once there is one that it cannot answer, and then no more. */
export type FirstAnswers = (line: string) => FirstAnswer | "nothing to say" | undefined;

export function createFirstAnswers(
  { workspaceId, apps, ...setting }: Settings,
  { pieces, rows, results }: Recording,
): FirstAnswers {
  /** Of the handshake, once there was one; else each request names its own. */
  let agreed: Introduction | undefined;
  let isModern = false;

  function resultOf(asked: string, { version, capabilities }: Introduction): string | undefined {
    const method = FIRST_METHODS.find((each) => each === asked);
    if (method === undefined) return undefined;
    const rowOf = (of: FirstMethod) => {
      const known = { ...setting, workspace: workspaceId !== undefined };
      const question = questionOf(known, of, version, showsViews(apps, capabilities));
      const row = Object.hasOwn(results, question) ? results[question] : undefined;
      return row === undefined ? undefined : rows[row];
    };
    // A list without a handshake is a modern one, and only modern versions are discovered.
    if (method === "tools/list" && agreed === undefined && !rowOf("server/discover")) return undefined;
    const text = rowOf(method)?.map((piece) => pieces[piece]);
    return text?.join("").replaceAll(RECORDED_WORKSPACE, () => workspaceId ?? "");
  }

  function introductionOf(request: Request): Introduction | undefined {
    if (agreed !== undefined) return Object.keys(request.params).length === 0 ? agreed : undefined;
    return request.method === "initialize" && !isModern
      ? introductionOfHandshake(request)
      : introductionOfRequest(request);
  }

  return (line) => {
    const message = parse(line);
    const request = isJsonObject(message) ? requestOf(message) : undefined;
    const introduction = request && introductionOf(request);
    if (!isJsonObject(message) || !request || introduction === undefined) return undefined;
    const { id, method } = request;
    if (id === undefined)
      return agreed !== undefined && method === "notifications/initialized" ? "nothing to say" : undefined;
    // A second handshake is for the SDK to judge.
    const result = agreed !== undefined && method !== "tools/list" ? undefined : resultOf(method, introduction);
    if (result === undefined) return undefined;
    if (method === "initialize") agreed = introduction;
    else isModern = agreed === undefined;
    return { request: message, id, result };
  };
}
