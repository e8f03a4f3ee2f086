// Redeems links to files: GET /downloads/{ticket}, streamed through from the service with a team's token fetched then. Nothing is
// stored, and the path is never logged: whoever has it may read.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Seals } from "../../auth/seals.ts";
import { Failure, type FailureKind, reasonOf } from "../../failure.ts";
import type { DefinedTool } from "../../toolkit/define-tool.ts";
import { DOWNLOADS_PATH, Ticket } from "../../toolkit/links/ticket.ts";
import type { Log, Runtime } from "../runtime.ts";
import { goneSignal } from "./exchange.ts";
import { makeRows, type OpenedFile, openAsset } from "./opened-file.ts";

/** What an audit may want to know. */
export interface EndedDownload {
  readonly caller: string;
  readonly team: string | undefined;
  /** The asset's id, or the tool whose rows they are. */
  readonly of: string;
  readonly status: number;
  readonly bytes: number;
  /** All of it was handed to the client's connection. */
  readonly isWhole: boolean;
}

export interface DownloadOptions {
  readonly seals: Pick<Seals, "redeem">;
  /** Those that make rows. */
  readonly tools: readonly DefinedTool[];
  /** What this caller is served with in this team; undefined where it is there no more. */
  readonly runtimeOf: (caller: string, team: string | undefined) => Promise<Runtime | undefined>;
  /** A link is redeemed only for the caller it was made for (MIC_DOWNLOAD_LINKS=bearer). */
  readonly needsCaller: boolean;
  /** A client that takes nothing for so long is cut off. */
  readonly stalledTimeoutMs: number;
  readonly log: Log;
  readonly onEnd?: (download: EndedDownload) => void;
  readonly limits?: DownloadLimits;
}

/** At once, in this process. */
export interface DownloadLimits {
  readonly all: number;
  readonly team: number;
}

const LIMITS: DownloadLimits = { all: 64, team: 16 };
const BUSY_SECONDS = 5;
const TEXT = "text/plain; charset=utf-8";

const ALWAYS = {
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

const STATUS: Partial<Readonly<Record<FailureKind, number>>> = { not_found: 404, rate_limited: 503, timeout: 504 };

function refusalOf(error: unknown, { redactor }: Runtime): Refused {
  if (!(error instanceof Failure)) return new Refused(500, "Internal server error.");
  const { kind, message, retryAfterSeconds } = error.facts;
  const after = retryAfterSeconds === undefined ? undefined : { "retry-after": String(retryAfterSeconds) };
  return new Refused(STATUS[kind] ?? 502, redactor.redact(`The file cannot be had now: ${message}`), after);
}

/** RFC 6266; what is not ASCII stands in filename* (RFC 8187) alone. */
function disposition(fileName: string): string {
  const plain = fileName.replace(/[^\x20-\x7e]/g, "_");
  const exact = encodeURIComponent(fileName).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}

export interface DownloadDoor {
  /** Whether this request is for a file. */
  owns(request: Pick<IncomingMessage, "url">): boolean;
  /**
   * Answers it to its end. `caller`: whose bearer token came with it, where links need one. Resolves when the connection has all of it
   * or is broken off; never rejects.
   */
  serve(incoming: IncomingMessage, outgoing: ServerResponse, caller?: string): Promise<void>;
}

export function createDownloadDoor(options: DownloadOptions): DownloadDoor {
  const { seals, tools, runtimeOf, needsCaller, stalledTimeoutMs, log, onEnd, limits = LIMITS } = options;
  const running = new Map<string, number>();
  let all = 0;

  async function redeemed({ method, url = "" }: IncomingMessage, caller: string | undefined) {
    if (method !== "GET") throw new Refused(405, "Only GET is served here.", { allow: "GET" });
    if (needsCaller && caller === undefined) throw new Refused(401, "This link needs the bearer token of its caller.");
    const [path = ""] = url.split("?");
    const opened = await seals.redeem("download", path.slice(DOWNLOADS_PATH.length), Ticket);
    if (opened === "late") throw new Refused(410, "This link is too old. Call the tool again for a new one.");
    const isTheirs = opened !== undefined && (caller === undefined || caller === opened.caller);
    if (!isTheirs) throw new Refused(404, "There is no such file.");
    return opened;
  }

  /** Takes a place; the caller gives it back. */
  function enter(team: string): () => void {
    const count = running.get(team) ?? 0;
    if (all >= limits.all || count >= limits.team)
      throw new Refused(503, "Too many downloads at once; try again.", { "retry-after": String(BUSY_SECONDS) });
    all += 1;
    running.set(team, count + 1);
    return () => {
      all -= 1;
      const left = (running.get(team) ?? 1) - 1;
      if (left === 0) running.delete(team);
      else running.set(team, left);
    };
  }

  async function open(ticket: Ticket, runtime: Runtime, signal: AbortSignal): Promise<OpenedFile> {
    if (ticket.kind === "asset") return await openAsset(ticket.assetId, runtime, signal);
    const tool = tools.find(({ name }) => name === ticket.tool);
    if (tool?.effect !== "export") throw new Refused(404, "There is no such file.");
    return await makeRows(tool, ticket.arguments, runtime, signal);
  }

  /** Throws when not all of it went out. */
  async function pour(
    { contentType, length, pieces }: OpenedFile,
    fileName: string,
    to: ServerResponse,
    { signal, onBytes }: { readonly signal: AbortSignal; readonly onBytes: (count: number) => void },
  ): Promise<void> {
    to.writeHead(200, {
      ...ALWAYS,
      "content-type": contentType,
      "content-disposition": disposition(fileName),
      ...(length !== undefined && { "content-length": length }),
    });
    for await (const piece of pieces) {
      signal.throwIfAborted();
      onBytes(piece.length);
      if (!to.write(piece)) await once(to, "drain", { signal });
    }
    const isFlushed = once(to, "finish", { signal });
    to.end();
    await isFlushed;
  }

  function refuse({ status, message, headers }: Refused, to: ServerResponse): void {
    const body = Buffer.from(`${message}\n`);
    to.writeHead(status, { ...ALWAYS, "content-type": TEXT, "content-length": body.length, ...headers });
    to.end(body);
  }

  /** One that was let in, from its place to its end. */
  async function give(
    ticket: Ticket,
    caller: string,
    { incoming, outgoing, signal }: { incoming: IncomingMessage; outgoing: ServerResponse; signal: AbortSignal },
  ): Promise<Pick<EndedDownload, "status" | "bytes" | "isWhole">> {
    const leave = enter(ticket.team ?? caller);
    let bytes = 0;
    const onBytes = (count: number): void => {
      bytes += count;
    };
    try {
      const runtime = await runtimeOf(caller, ticket.team);
      if (!runtime) throw new Refused(404, "There is no such file.");
      const file = await open(ticket, runtime, signal).catch((error: unknown) => {
        throw error instanceof Refused ? error : refusalOf(error, runtime);
      });
      await pour(file, ticket.fileName, outgoing, { signal, onBytes });
      return { status: 200, bytes, isWhole: true };
    } catch (error) {
      if (!outgoing.headersSent) throw error;
      log.info({ reason: reasonOf(error) }, "download broke off");
      // A reset, and no ordinary end: where no length could be promised, that alone tells a part from the whole.
      incoming.socket.resetAndDestroy();
      return { status: 200, bytes, isWhole: false };
    } finally {
      leave();
    }
  }

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse, caller: string | undefined) {
    const signal = goneSignal(incoming, outgoing);
    outgoing.setTimeout(stalledTimeoutMs, () => incoming.socket.resetAndDestroy());
    const opened = await redeemed(incoming, caller);
    const { value: ticket, caller: holder } = opened;
    const of = ticket.kind === "asset" ? ticket.assetId : ticket.tool;
    const said = { caller: holder, team: ticket.team, of };
    try {
      const ended = await give(ticket, holder, { incoming, outgoing, signal });
      onEnd?.({ ...said, ...ended });
      return ended.status;
    } catch (error) {
      const status = error instanceof Refused ? error.status : 500;
      onEnd?.({ ...said, status, bytes: 0, isWhole: false });
      throw error;
    }
  }

  return {
    owns: ({ url = "" }) => url.startsWith(DOWNLOADS_PATH),
    async serve(incoming, outgoing, caller) {
      const startedAt = performance.now();
      let status: number;
      try {
        status = await answer(incoming, outgoing, caller);
      } catch (error) {
        const refused = error instanceof Refused ? error : new Refused(500, "Internal server error.");
        if (!(error instanceof Refused)) log.error({ reason: reasonOf(error) }, "download");
        status = refused.status;
        if (outgoing.destroyed) return;
        refuse(refused, outgoing);
      }
      const ms = Math.round(performance.now() - startedAt);
      log.debug({ method: incoming.method, path: DOWNLOADS_PATH, status, ms }, "request");
    },
  };
}
