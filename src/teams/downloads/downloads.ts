// Serves links to files: GET /downloads/{ticket} streams an asset from the API with a token of the team, or generates rows again. Nothing
// is stored. The path is never logged, because it may be sufficient to read the file.
import { create } from "content-disposition";
import { contentLengthOf, contentTypeOf, withAssetStream } from "../../api-client/asset-stream.ts";
import { CALL_LIMIT_MS } from "../../api-client/attempts.ts";
import { errorMessage, Failure, type FailureKind } from "../../core/failure.ts";
import type { Log, Runtime } from "../../mcp/runtime.ts";
import { createToolContext } from "../../mcp/tools/call.ts";
import { toCsv } from "../../toolkit/csv.ts";
import type { Exchange } from "../../transports/http/exchange.ts";
import { RequestRefused } from "../../transports/http/responses.ts";
import type { Audit } from "../audit/audit.ts";
import type { Encryption } from "../encryption.ts";
import { SECURITY_HEADERS } from "../frontend/edge.ts";
import type { ServeDownload } from "../frontend/frontend.ts";
import type { CallerClaims } from "../tenancy/runtimes.ts";
import { CSV_TYPE, DOWNLOADS_PATH, Ticket, toValidMediaType } from "./links.ts";

export interface DownloadOptions {
  readonly encryption: Pick<Encryption, "decryptForAny">;
  /** Resolves with the caller's runtime in this team; undefined if they are not a member now, or the team does not exist. */
  readonly runtimeOf: (caller: CallerClaims, team: string | undefined) => Promise<Runtime | undefined>;
  readonly log: Log;
  /** Receives the audit row of each download that has ended. Its outcome is `complete` or `interrupted`, or the status of a refusal. */
  readonly record: Audit["write"];
  readonly traceId: () => string | undefined;
  readonly limits?: DownloadLimits;
}

/** Maximum concurrent downloads in this process, for all teams (default 64) and for one team (default 16). */
export interface DownloadLimits {
  readonly all: number;
  readonly team: number;
}

const LIMITS: DownloadLimits = { all: 64, team: 16 };
const RETRY_AFTER_SECONDS = 5;

const HEADERS = { ...SECURITY_HEADERS, "content-security-policy": "default-src 'none'; sandbox" };

function refuseWithText(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): RequestRefused {
  const type = { "content-type": "text/plain; charset=utf-8" };
  return new RequestRefused(new Response(`${message}\n`, { status, headers: { ...HEADERS, ...type, ...headers } }));
}

const temporarilyUnavailable = (why: string): RequestRefused =>
  refuseWithText(503, `${why} Try again.`, { "retry-after": String(RETRY_AFTER_SECONDS) });

const noSuchFile = (): RequestRefused => refuseWithText(404, "The file does not exist.");

const STATUS: Partial<Readonly<Record<FailureKind, number>>> = { not_found: 404, rate_limited: 503, timeout: 504 };

/** Maps a Failure to a refusal. Any other error is internal, and is returned unchanged. */
function toRefusal(error: unknown, { redactor }: Runtime): unknown {
  if (!(error instanceof Failure)) return error;
  const { kind, retryAfterSeconds } = error.facts;
  const after = retryAfterSeconds === undefined ? undefined : { "retry-after": String(retryAfterSeconds) };
  return refuseWithText(STATUS[kind] ?? 502, redactor.redact(`The file could not be loaded: ${error.message}`), after);
}

interface OpenedFile {
  readonly contentType: string;
  /** In bytes. Undefined if the API does not report it. */
  readonly length: number | undefined;
  readonly chunks: AsyncIterable<Buffer> | Iterable<Buffer>;
}

async function openAsset(assetId: string, { ports }: Runtime, signal: AbortSignal): Promise<OpenedFile> {
  const { api } = ports;
  const context = { signal, deadlineAt: api.timing.clockMs() + CALL_LIMIT_MS };
  return await withAssetStream(api, assetId, context, async (answer) => {
    const length = contentLengthOf(answer);
    return { contentType: toValidMediaType(contentTypeOf(answer)), length, chunks: answer.body };
  });
}

async function regenerateRows(
  ticket: { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> },
  runtime: Runtime,
  signal: AbortSignal,
): Promise<OpenedFile> {
  const tool = runtime.tools.find(({ name }) => name === ticket.tool);
  if (!tool?.tabulate) throw noSuchFile();
  const deadlineAt = runtime.ports.api.timing.clockMs() + CALL_LIMIT_MS;
  const ctx = createToolContext(runtime, tool.name, { signal, deadlineAt });
  const csv = toCsv(await tool.tabulate(ticket.arguments, ctx));
  return { contentType: CSV_TYPE, length: csv.length, chunks: [csv] };
}

export function createDownloads(options: DownloadOptions): ServeDownload {
  const { encryption, runtimeOf, log, record, traceId, limits = LIMITS } = options;
  /** The team, or the caller without a team, of each running download. */
  const running: string[] = [];

  /** Occupies a slot, and returns the function that frees it. */
  function acquireSlot(name: string): () => void {
    const count = running.filter((each) => each === name).length;
    if (running.length >= limits.all || count >= limits.team)
      throw temporarilyUnavailable("Too many concurrent downloads.");
    running.push(name);
    return () => void running.splice(running.indexOf(name), 1);
  }

  /** True if the whole file was sent. A file that ends early resets the connection, so that a part does not look like the complete file. */
  async function sendFile({ contentType, length, chunks }: OpenedFile, fileName: string, exchange: Exchange) {
    exchange.startStream(200, {
      ...HEADERS,
      "content-type": contentType,
      "content-disposition": create(fileName, { fallback: fileName.replace(/[^\x20-\x7e]/g, "_") }),
      ...(length !== undefined && { "content-length": length }),
    });
    try {
      for await (const chunk of chunks) {
        exchange.signal.throwIfAborted();
        exchange.write(chunk);
        await exchange.waitForDrain();
      }
      exchange.end();
    } catch {
      exchange.reset();
    }
    return await exchange.finished;
  }

  async function sendDownload(ticket: Ticket, recipient: CallerClaims, exchange: Exchange): Promise<void> {
    const { id: caller } = recipient;
    const { team, client } = ticket;
    const source = ticket.kind === "asset" ? { resourceId: ticket.assetId } : { tool: ticket.tool };
    const recordOutcome = (outcome: string): void =>
      record({ caller, team: team ?? "", client, traceId }, { event: "download", outcome, ...source });
    const releaseSlot = acquireSlot(team ?? caller);
    try {
      const runtime = await runtimeOf(recipient, team).catch((error: unknown) => {
        log.error({ reason: errorMessage(error) }, "resolving the team of a download link failed");
        throw temporarilyUnavailable("The download link could not be resolved.");
      });
      if (!runtime) throw noSuchFile();
      const opening =
        ticket.kind === "asset"
          ? openAsset(ticket.assetId, runtime, exchange.signal)
          : regenerateRows(ticket, runtime, exchange.signal);
      const file = await opening.catch((error: unknown) => {
        throw toRefusal(error, runtime);
      });
      recordOutcome((await sendFile(file, ticket.fileName, exchange)) ? "complete" : "interrupted");
    } catch (error) {
      recordOutcome(`HTTP ${error instanceof RequestRefused ? error.response.status : 500}`);
      throw error;
    } finally {
      releaseSlot();
    }
  }

  async function serve(exchange: Exchange): Promise<void> {
    if (exchange.request.method !== "GET") throw refuseWithText(405, "Only GET is allowed.", { allow: "GET" });
    const decrypted = await encryption.decryptForAny("download", exchange.path.slice(DOWNLOADS_PATH.length), Ticket);
    if (decrypted === "expired")
      throw refuseWithText(410, "This link has expired. Call the tool again for a new link.");
    if (!decrypted) throw noSuchFile();
    await sendDownload(decrypted.value, { id: decrypted.caller, ...decrypted.value.holder }, exchange);
  }

  return async (exchange) => {
    if (!exchange.path.startsWith(DOWNLOADS_PATH)) return false;
    try {
      await serve(exchange);
      return true;
    } catch (error) {
      if (error instanceof RequestRefused) throw error;
      log.error({ reason: errorMessage(error) }, "download");
      throw refuseWithText(500, "Internal server error.");
    }
  };
}
