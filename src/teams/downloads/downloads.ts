// Redeems links to files: GET /downloads/{ticket}, streamed through from the service with a team's token fetched then. Nothing is
// stored, and the path is never logged: whoever has it may read.
import type { IncomingMessage } from "node:http";
import type { Caller } from "../../caller.ts";
import { Failure, type FailureKind, reasonOf } from "../../failure.ts";
import { plain, type Served } from "../../mcp/http/port.ts";
import type { Log, Runtime } from "../../mcp/runtime.ts";
import type { DefinedTool } from "../../toolkit/define-tool.ts";
import type { Seals } from "../keys/encryption.ts";
import { makeRows, type OpenedFile, openAsset } from "./opened-file.ts";
import { DOWNLOADS_PATH, Ticket } from "./ticket.ts";

/** What an audit may want to know. */
export interface EndedDownload {
  readonly caller: string;
  readonly team: string | undefined;
  /** The OAuth client that the link was made for. */
  readonly client: string;
  readonly kind: Ticket["kind"];
  /** The asset's id, or the tool whose rows they are. */
  readonly of: string;
  /** Of the request. */
  readonly traceId: string | undefined;
  readonly status: number;
  readonly bytes: number;
  /** All of it was handed to the client's connection. */
  readonly isWhole: boolean;
}

/** What membership in the link's team depends on: by the request's token, or as the ticket has it. */
export type LinkCaller = Pick<Caller, "id" | "issuer" | "subject" | "groups">;

export interface DownloadOptions {
  readonly seals: Pick<Seals, "redeem">;
  /** Those that make rows. */
  readonly tools: readonly DefinedTool[];
  /** What this caller is served in this team; undefined if they are not a member now, or there is no such team. */
  readonly runtimeOf: (caller: LinkCaller, team: string | undefined) => Promise<Runtime | undefined>;
  /** "bearer": a link opens with the token of the caller for whom it was made, and for nobody else. */
  readonly links: "ticket" | "bearer";
  readonly log: Log;
  readonly onEnd?: (download: EndedDownload) => void;
  /** Of the request that is served now. */
  readonly traceId?: () => string | undefined;
  readonly limits?: DownloadLimits;
}

/** At once, in this process. */
export interface DownloadLimits {
  readonly all: number;
  readonly team: number;
}

const LIMITS: DownloadLimits = { all: 64, team: 16 };
const RETRY_AFTER_SECONDS = 5;

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; sandbox",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

/** An answer that is no file. */
class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

const tryAgain = (why: string): Refused =>
  new Refused(503, `${why} Try again in a moment.`, { "retry-after": String(RETRY_AFTER_SECONDS) });

const noSuchFile = (): Refused => new Refused(404, "There is no such file.");

const STATUS: Partial<Readonly<Record<FailureKind, number>>> = { not_found: 404, rate_limited: 503, timeout: 504 };

/** What the service's refusal is to whoever opens a link. What is no Failure is a fault of our own. */
function refusalOf(error: unknown, { redactor }: Runtime): unknown {
  if (!(error instanceof Failure)) return error;
  const { kind, message, retryAfterSeconds } = error.facts;
  const after = retryAfterSeconds === undefined ? undefined : { "retry-after": String(retryAfterSeconds) };
  return new Refused(STATUS[kind] ?? 502, redactor.redact(`The file cannot be had now: ${message}`), after);
}

/** RFC 6266; what is not ASCII stands in filename* (RFC 8187) alone. */
function disposition(fileName: string): string {
  const plainName = fileName.replace(/[^\x20-\x7e]/g, "_");
  const exact = encodeURIComponent(fileName).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plainName}"; filename*=UTF-8''${exact}`;
}

const said = ({ status, message, headers }: Refused): Served =>
  plain({
    status,
    headers: { ...HEADERS, "content-type": "text/plain; charset=utf-8", ...headers },
    text: `${message}\n`,
  });

interface Asked {
  readonly path: string;
  /** Fires when the client has gone. */
  readonly signal: AbortSignal;
  /** Whose access token came with the request; or the refusal of it. */
  callerOf(): Promise<LinkCaller | Response>;
}

/** What this path is served; undefined where it is no link to a file. */
export type ServeDownload = (request: Pick<IncomingMessage, "method">, asked: Asked) => Promise<Served | undefined>;

export function createDownloadDoor(options: DownloadOptions): ServeDownload {
  const { seals, tools, runtimeOf, links, log, onEnd, traceId, limits = LIMITS } = options;
  const running = new Map<string, number>();
  let all = 0;

  /** Takes a place, and returns what gives it back. */
  function enter(name: string): () => void {
    const count = running.get(name) ?? 0;
    if (all >= limits.all || count >= limits.team) throw tryAgain("Too many downloads at once.");
    all += 1;
    running.set(name, count + 1);
    return () => {
      all -= 1;
      const left = (running.get(name) ?? 1) - 1;
      if (left === 0) running.delete(name);
      else running.set(name, left);
    };
  }

  async function open(ticket: Ticket, runtime: Runtime, signal: AbortSignal): Promise<OpenedFile> {
    if (ticket.kind === "asset") return await openAsset(ticket.assetId, runtime, signal);
    const tool = tools.find(({ name }) => name === ticket.tool);
    if (tool?.effect !== "export") throw noSuchFile();
    return await makeRows(tool, ticket.arguments, runtime, signal);
  }

  async function give(ticket: Ticket, by: LinkCaller, signal: AbortSignal): Promise<Served> {
    const { team, client, kind } = ticket;
    const of = kind === "asset" ? ticket.assetId : ticket.tool;
    const { id: caller } = by;
    const about = { caller, team, client, kind, of, traceId: traceId?.() };
    let bytes = 0;
    const leave = enter(ticket.team ?? caller);
    try {
      const runtime = await runtimeOf(by, ticket.team).catch((error: unknown) => {
        log.error({ reason: reasonOf(error) }, "nobody can tell what a link is for");
        throw tryAgain("Nobody can tell now what this link is for.");
      });
      if (!runtime) throw noSuchFile();
      const { contentType, length, pieces } = await open(ticket, runtime, signal).catch((error: unknown) => {
        throw refusalOf(error, runtime);
      });
      const counted = async function* () {
        for await (const piece of pieces) {
          bytes += piece.length;
          yield piece;
        }
      };
      const headers = { ...HEADERS, "content-type": contentType, "content-disposition": disposition(ticket.fileName) };
      return {
        response: { status: 200, headers, length, pieces: counted() },
        kind: "call",
        async over(isWhole) {
          leave();
          onEnd?.({ ...about, status: 200, bytes, isWhole });
        },
      };
    } catch (error) {
      leave();
      onEnd?.({ ...about, status: error instanceof Refused ? error.status : 500, bytes, isWhole: false });
      throw error;
    }
  }

  async function serve(
    { method }: Pick<IncomingMessage, "method">,
    { path, signal, callerOf }: Asked,
  ): Promise<Served> {
    if (method !== "GET") throw new Refused(405, "Only GET is served here.", { allow: "GET" });
    const caller = links === "bearer" ? await callerOf() : undefined;
    if (caller instanceof Response) return plain(caller);
    const opened = await seals.redeem("download", path.slice(DOWNLOADS_PATH.length), Ticket);
    if (opened === "late") throw new Refused(410, "This link is too old. Call the tool again for a new one.");
    if (!opened || (caller && caller.id !== opened.caller)) throw noSuchFile();
    return await give(opened.value, caller ?? { id: opened.caller, ...opened.value.holder }, signal);
  }

  return async (request, asked) => {
    if (!asked.path.startsWith(DOWNLOADS_PATH)) return undefined;
    try {
      return await serve(request, asked);
    } catch (error) {
      if (error instanceof Refused) return said(error);
      log.error({ reason: reasonOf(error) }, "download");
      return said(new Refused(500, "Internal server error."));
    }
  };
}
