// Downloads of assets to files: constant memory, a partial file first, hashed on the way, never overwriting. They outlive one tool
// call: a call waits 45 s at most, the next one with the same arguments continues to wait.
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { withTimeout } from "../core/async.ts";
import { Failure } from "../core/failure.ts";
import { ANSWER_MARGIN_MS, type CallContext, timeLeftMs } from "./attempts.ts";
import type { Service } from "./call.ts";
import { cancelled } from "./classify.ts";
import type { CallRequest } from "./encode.ts";
import { nameFromHeader } from "./file-names.ts";
import { diskFailure, makeFile, prepareFolder, refuseTaken } from "./new-file.ts";
import { typeOf, withOpenFile } from "./open-file.ts";
import { type OpenAnswer, TransportError } from "./transport.ts";

export interface SavedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly contentType: string;
  readonly fileName: string;
}

interface DownloadTarget {
  readonly folder: string;
  /** Asked for by name; left out, the service's own name is used, numbered when taken. */
  readonly fileName?: string;
  /** Makes a name where the service gives none. */
  readonly fallbackName: string;
  readonly onBytes?: (bytes: number) => void;
}

/** Streams a 200's body into `file`. Throws TransportError when the body breaks off, the file's own error when the disk does. */
async function pour(answer: OpenAnswer, file: FileHandle, onBytes: DownloadTarget["onBytes"]) {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of answer.body) {
    hash.update(chunk);
    await file.writeFile(chunk);
    bytes += chunk.length;
    onBytes?.(bytes);
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** One attempt. Throws TransportError (may be tried again) or Failure. */
async function save(answer: OpenAnswer, target: DownloadTarget, { signal }: CallContext): Promise<SavedFile> {
  const { folder, fileName: argument, fallbackName, onBytes } = target;
  const name = argument ?? nameFromHeader(answer.headers["content-disposition"], fallbackName);
  const newFile = { folder, name, argument: argument === undefined ? undefined : "fileName" };
  try {
    const { written, path, fileName } = await makeFile(newFile, (file) => pour(answer, file, onBytes));
    return { path, ...written, contentType: typeOf(answer), fileName };
  } catch (error) {
    answer.body.destroy();
    if (error instanceof TransportError || error instanceof Failure || signal.aborted) throw error;
    throw diskFailure(folder, error);
  }
}

/**
 * Downloads to `target.folder` (made when missing). A broken stream starts again while time is left; a failure
 * leaves no file behind.
 */
async function downloadFile(
  service: Service,
  endpoint: Endpoint,
  request: CallRequest,
  target: DownloadTarget,
  context: CallContext,
): Promise<SavedFile> {
  await prepareFolder(target.folder);
  if (target.fileName !== undefined) await refuseTaken(target.folder, target.fileName, "fileName");
  return await withOpenFile(service, endpoint, request, context, (answer) => save(answer, target, context));
}

interface Running {
  readonly done: Promise<SavedFile>;
  readonly stop: AbortController;
  bytes: number;
  waiting: number;
  isFinished: boolean;
}

const stillRunning = (bytes: number): Failure =>
  new Failure({
    kind: "timeout",
    message: `The download is not complete yet: ${bytes} bytes so far. It goes on in the background.`,
    retryable: true,
    sideEffect: "none",
    next: "Call download_asset again with the same arguments to wait for it.",
  });

export type Downloads = ReturnType<typeof createDownloads>;

export function createDownloads(service: Service) {
  const running = new Map<string, Running>();
  /** Those that were given up, too: each still has a partial file to remove. */
  const unfinished = new Set<Running>();

  function start(
    key: string,
    endpoint: Endpoint,
    request: CallRequest,
    target: DownloadTarget,
    deadlineAt: number,
  ): Running {
    const stop = new AbortController();
    // The deadline bounds the attempts to begin; a stream that has begun continues until it ends.
    const context = { signal: stop.signal, deadlineAt };
    const count = (bytes: number) => {
      download.bytes = bytes;
    };
    const done = downloadFile(service, endpoint, request, { ...target, onBytes: count }, context);
    const download: Running = { done, stop, bytes: 0, waiting: 0, isFinished: false };
    running.set(key, download);
    unfinished.add(download);
    // Finished while no call waits: kept for the call that comes back for it.
    const markFinished = () => {
      download.isFinished = true;
      unfinished.delete(download);
    };
    done.then(markFinished, markFinished);
    return download;
  }

  return {
    /** Starts or joins a download and waits for it within the call's time. `onBytes` gets the progress about once a second. */
    async save(
      endpoint: Endpoint,
      request: CallRequest,
      target: DownloadTarget,
      context: CallContext,
      onBytes: (bytes: number) => void,
    ): Promise<SavedFile> {
      const key = JSON.stringify([request.path, target.folder, target.fileName]);
      const download = running.get(key) ?? start(key, endpoint, request, target, context.deadlineAt);
      download.waiting++;
      const timeoutMs = timeLeftMs(context, service.timing) - ANSWER_MARGIN_MS;
      const ticker = setInterval(() => onBytes(download.bytes), 1000);
      try {
        const timeoutError = () => stillRunning(download.bytes);
        return await withTimeout(download.done, { signal: context.signal, timeoutMs, timeoutError });
      } catch (error) {
        throw context.signal.aborted ? cancelled(endpoint, undefined, false) : error;
      } finally {
        clearInterval(ticker);
        download.waiting--;
        if (download.isFinished) running.delete(key);
        // A cancelled call takes its download with it, unless another call waits for the same one.
        if (context.signal.aborted && download.waiting === 0) {
          running.delete(key);
          download.stop.abort();
        }
      }
    },
    /** Ends every download; no partial file stays. */
    async close(): Promise<void> {
      const ending = [...unfinished].map(({ done, stop }) => {
        stop.abort();
        return done.catch(() => undefined);
      });
      await Promise.all(ending);
    },
  };
}
