// This module downloads assets to files in constant memory: it hashes and writes a partial file first, and never overwrites a
// file.
// A download outlives its tool call: a call waits until its time limit, and the next call with the same arguments continues to wait.
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { withTimeout } from "../core/async.ts";
import { abortFailure, Failure } from "../core/failure.ts";
import { say, type Text } from "../core/text.ts";
import { contentLengthOf, contentTypeOf, fileWarning, withAssetStream } from "./asset-stream.ts";
import { ANSWER_MARGIN_MS, type CallContext, timeLeftMs } from "./attempts.ts";
import type { ApiClient } from "./client.ts";
import { assertNameFree, createFile, diskFailure, nameFromHeader, prepareFolder } from "./new-file.ts";
import { type StreamedResponse, TransportError } from "./transport.ts";

export interface SavedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly contentType: string;
  readonly fileName: string;
  /** A sentence, if the answer may not be the complete file. */
  readonly warning?: Text;
}

/** `total`: the size of the file, if the API states it. */
export type OnBytes = (bytes: number, total?: number) => void;

interface Download {
  readonly assetId: string;
  readonly folder: string;
  /** The requested name. If it is undefined, the API's name is used (if it gives none, the id), and numbered if it is taken. */
  readonly fileName?: string | undefined;
}

/** Streams the body of a 200 response into `file`. Throws TransportError if the body breaks off, and the file's error if writing fails. */
async function streamToFile(response: StreamedResponse, file: FileHandle, onBytes: OnBytes) {
  const total = contentLengthOf(response);
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of response.body) {
    hash.update(chunk);
    await file.writeFile(chunk);
    bytes += chunk.length;
    onBytes(bytes, total);
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Saves the response of one attempt. Throws TransportError, which may be retried, or Failure. */
async function saveResponse(
  response: StreamedResponse,
  { assetId, folder, fileName }: Download,
  { signal }: CallContext,
  onBytes: OnBytes,
): Promise<SavedFile> {
  const name = fileName ?? nameFromHeader(response.headers["content-disposition"], assetId);
  const newFile = { folder, name, mayNumber: fileName === undefined };
  try {
    const { written, path, fileName } = await createFile(newFile, (file) => streamToFile(response, file, onBytes));
    const warning = fileWarning(response, fileName);
    return {
      path,
      ...written,
      contentType: contentTypeOf(response),
      fileName,
      ...(warning !== undefined && { warning }),
    };
  } catch (error) {
    response.body.destroy();
    if (error instanceof TransportError || error instanceof Failure || signal.aborted) throw error;
    throw diskFailure(folder, error);
  }
}

/** A broken stream starts again while time is left. A failure leaves no file behind. */
async function downloadFile(
  service: ApiClient,
  download: Download,
  context: CallContext,
  onBytes: OnBytes,
): Promise<SavedFile> {
  const { assetId, folder, fileName } = download;
  await prepareFolder(folder);
  if (fileName !== undefined) await assertNameFree(folder, fileName);
  return await withAssetStream(service, assetId, context, (response) =>
    saveResponse(response, download, context, onBytes),
  );
}

interface RunningDownload {
  readonly done: Promise<SavedFile>;
  readonly abortController: AbortController;
  bytes: number;
  total?: number | undefined;
  waiterCount: number;
  isFinished: boolean;
}

const incompleteDownloadFailure = (bytes: number): Failure =>
  new Failure({
    kind: "timeout",
    message: say`The download is not complete yet: ${bytes} bytes so far. It continues in the background.`,
    retryable: true,
    sideEffect: "none",
    next: say`Call download_asset again with the same arguments to wait for it.`,
  });

export function createDownloads(service: ApiClient) {
  const running = new Map<string, RunningDownload>();

  function start(key: string, wanted: Download, deadlineAt: number): RunningDownload {
    const abortController = new AbortController();
    // No attempt starts after the deadline; a stream that has started continues until it ends.
    const context = { signal: abortController.signal, deadlineAt };
    const updateBytes: OnBytes = (bytes, total) => {
      download.bytes = bytes;
      download.total = total;
    };
    const done = downloadFile(service, wanted, context, updateBytes);
    const download: RunningDownload = { done, abortController, bytes: 0, waiterCount: 0, isFinished: false };
    running.set(key, download);
    // A download that finishes while no call waits is kept for the next call with the same arguments.
    const markFinished = () => {
      download.isFinished = true;
    };
    done.then(markFinished, markFinished);
    return download;
  }

  return {
    /** Starts or joins a download. `onBytes` receives the bytes so far once a second. Throws Failure. */
    async save(wanted: Download, context: CallContext, onBytes: OnBytes): Promise<SavedFile> {
      const key = JSON.stringify([wanted.assetId, wanted.folder, wanted.fileName]);
      const download = running.get(key) ?? start(key, wanted, context.deadlineAt);
      download.waiterCount++;
      const timeoutMs = timeLeftMs(context, service.timing) - ANSWER_MARGIN_MS;
      const progressTimer = setInterval(() => onBytes(download.bytes, download.total), 1000);
      try {
        const timeoutError = () => incompleteDownloadFailure(download.bytes);
        return await withTimeout(download.done, { signal: context.signal, timeoutMs, timeoutError });
      } catch (error) {
        throw context.signal.aborted ? abortFailure(context.signal) : error;
      } finally {
        clearInterval(progressTimer);
        download.waiterCount--;
        if (download.isFinished) running.delete(key);
        // If a call is cancelled, its download is aborted, unless another call waits for the same one.
        if (context.signal.aborted && download.waiterCount === 0) {
          running.delete(key);
          download.abortController.abort();
        }
      }
    },
  };
}
