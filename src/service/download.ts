// An asset's bytes streamed to a file: constant memory, a .part beside the target, hashed on the way, never overwriting.
import { createHash } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { join, parse } from "node:path";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { Failure, reasonOf } from "../failure.ts";
import { ATTEMPT_LIMIT_MS, type CallContext, timeLeftMs, withRetries } from "./attempts.ts";
import type { Service } from "./call.ts";
import { type CallRequest, encodeRequest, wireRequest } from "./encode.ts";
import { nameFromHeader } from "./file-names.ts";
import { claimName, diskFailure, nameTaken, prepareFolder, refuseTaken } from "./new-file.ts";
import type { Sends } from "./observed.ts";
import { cancelled, refusal, transportFailure } from "./outcomes.ts";
import { partialName } from "./partial-files.ts";
import { type OpenAnswer, TransportError, type WireAnswer } from "./transport.ts";

export interface SavedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly contentType: string;
  readonly fileName: string;
}

export interface DownloadTarget {
  readonly folder: string;
  /** Asked for by name; left out, the service's own name is used, numbered when taken. */
  readonly fileName?: string;
  /** Makes a name where the service gives none. */
  readonly fallbackName: string;
  readonly onBytes?: (bytes: number) => void;
}

const MAX_ERROR_BYTES = 64 * 1024;
const MAX_NUMBERED = 1000;

async function settleName(part: string, folder: string, name: string, numbered: boolean): Promise<string> {
  const { name: stem, ext } = parse(name);
  for (let n = 1; n <= (numbered ? MAX_NUMBERED : 1); n++) {
    const fileName = n === 1 ? name : `${stem} (${n})${ext}`;
    if (await claimName(part, join(folder, fileName))) return fileName;
  }
  throw nameTaken(name, "fileName");
}

/** An error answer, judged by its status however little of its body arrives. */
async function drain(answer: OpenAnswer): Promise<WireAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer.body) {
      size += chunk.length;
      if (size > MAX_ERROR_BYTES) break;
      chunks.push(chunk);
    }
  } catch {
    // What has arrived has to do.
  }
  return { status: answer.status, headers: answer.headers, body: Buffer.concat(chunks) };
}

/** Streams a 200's body into `file`. Throws TransportError when the body breaks off, the file's own error when the disk does. */
async function pour(answer: OpenAnswer, file: FileHandle, onBytes: DownloadTarget["onBytes"]) {
  const hash = createHash("sha256");
  let bytes = 0;
  const chunks = answer.body[Symbol.asyncIterator]();
  for (;;) {
    const next = await chunks.next().catch((error: unknown) => {
      throw new TransportError(reasonOf(error), { sent: true }, { cause: error });
    });
    if (next.done) break;
    const chunk: Buffer = next.value;
    hash.update(chunk);
    await file.writeFile(chunk);
    bytes += chunk.length;
    onBytes?.(bytes);
  }
  await file.sync();
  return { bytes, sha256: hash.digest("hex") };
}

/** One attempt. Throws TransportError (may be tried again) or Failure. */
async function attempt(
  service: Service,
  endpoint: Endpoint,
  request: CallRequest,
  target: DownloadTarget,
  context: CallContext,
  sends: Sends,
) {
  const wire = wireRequest(await service.baseUrl(), endpoint, encodeRequest(endpoint, request));
  const timeoutMs = Math.max(1, Math.min(ATTEMPT_LIMIT_MS, timeLeftMs(context, service.timing)));
  const answer = await service.authorized(
    endpoint,
    wire,
    context,
    (authorizedWire) => service.transport.open(authorizedWire, { timeoutMs, signal: context.signal }),
    { drop: ({ body }) => body.dump(), sends },
  );
  if (answer.status !== endpoint.success.status) throw refusal(endpoint, await drain(answer), service.timing.now());

  const name = target.fileName ?? nameFromHeader(answer.headers["content-disposition"], target.fallbackName);
  const part = join(target.folder, partialName(name));
  let file: FileHandle | undefined;
  try {
    file = await open(part, "wx", 0o600);
    const { bytes, sha256 } = await pour(answer, file, target.onBytes);
    await file.close();
    const fileName = await settleName(part, target.folder, name, target.fileName === undefined);
    const contentType = answer.headers["content-type"] ?? "application/octet-stream";
    return { path: join(target.folder, fileName), bytes, sha256, contentType, fileName };
  } catch (error) {
    answer.body.destroy();
    await file?.close().catch(() => undefined);
    await unlink(part).catch(() => undefined);
    if (error instanceof TransportError || error instanceof Failure || context.signal.aborted) throw error;
    throw diskFailure(target.folder, error);
  }
}

/**
 * Downloads to `target.folder` (made when missing). A broken stream is begun anew while the time lasts; a failure
 * leaves no file behind.
 */
export async function downloadFile(
  service: Service,
  endpoint: Endpoint,
  request: CallRequest,
  target: DownloadTarget,
  context: CallContext,
): Promise<SavedFile> {
  await prepareFolder(target.folder);
  if (target.fileName !== undefined) await refuseTaken(target.folder, target.fileName, "fileName");
  const sends = { count: 0 };
  return await withRetries({ endpoint, context, timing: service.timing }, async () => {
    try {
      return await attempt(service, endpoint, request, target, context, sends);
    } catch (error) {
      if (context.signal.aborted) throw cancelled(endpoint, undefined, false);
      throw error instanceof TransportError ? transportFailure(endpoint, error) : error;
    }
  });
}
