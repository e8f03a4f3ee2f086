// An asset's bytes streamed to a file: constant memory, a partial file first, hashed on the way, never overwriting.
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { join, parse } from "node:path";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { Failure } from "../failure.ts";
import type { CallContext } from "./attempts.ts";
import type { Service } from "./call.ts";
import type { CallRequest } from "./encode.ts";
import { nameFromHeader } from "./file-names.ts";
import { claimName, diskFailure, nameTaken, prepareFolder, refuseTaken } from "./new-file.ts";
import type { Sends } from "./observed.ts";
import { eachTry, openOnce, pieces, typeOf } from "./open-file.ts";
import { makePartialFile, type PartialFile } from "./partial-files.ts";
import { type OpenAnswer, TransportError } from "./transport.ts";

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

const MAX_NUMBERED = 1000;

async function settleName(part: string, folder: string, name: string, numbered: boolean): Promise<string> {
  const { name: stem, ext } = parse(name);
  for (let n = 1; n <= (numbered ? MAX_NUMBERED : 1); n++) {
    const fileName = n === 1 ? name : `${stem} (${n})${ext}`;
    if (await claimName(part, join(folder, fileName))) return fileName;
  }
  throw nameTaken(name, "fileName");
}

/** Streams a 200's body into `file`. Throws TransportError when the body breaks off, the file's own error when the disk does. */
async function pour(answer: OpenAnswer, file: FileHandle, onBytes: DownloadTarget["onBytes"]) {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of pieces(answer)) {
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
  const answer = await openOnce(service, endpoint, request, context, sends);
  const name = target.fileName ?? nameFromHeader(answer.headers["content-disposition"], target.fallbackName);
  let part: PartialFile | undefined;
  let file: FileHandle | undefined;
  try {
    part = await makePartialFile(target.folder);
    file = await open(part.path, "wx", 0o600);
    const { bytes, sha256 } = await pour(answer, file, target.onBytes);
    await file.close();
    const fileName = await settleName(part.path, target.folder, name, target.fileName === undefined);
    const contentType = typeOf(answer);
    return { path: join(target.folder, fileName), bytes, sha256, contentType, fileName };
  } catch (error) {
    answer.body.destroy();
    await file?.close().catch(() => undefined);
    if (error instanceof TransportError || error instanceof Failure || context.signal.aborted) throw error;
    throw diskFailure(target.folder, error);
  } finally {
    await part?.remove();
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
  return await eachTry(service, endpoint, context, (sends) =>
    attempt(service, endpoint, request, target, context, sends),
  );
}
