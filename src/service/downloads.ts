// Downloads that outlive one tool call: a call waits 45 s at most, the next one with the same arguments goes on waiting.
import { within } from "../async.ts";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { Failure } from "../failure.ts";
import { type CallContext, timeLeftMs } from "./attempts.ts";
import type { Service } from "./call.ts";
import { type DownloadTarget, downloadFile, type SavedFile } from "./download.ts";
import type { CallRequest } from "./encode.ts";
import { cancelled } from "./outcomes.ts";

interface Running {
  readonly done: Promise<SavedFile>;
  readonly stop: AbortController;
  bytes: number;
  waiting: number;
  settled: boolean;
}

/** Time kept back from a call's deadline to write its answer. */
const MARGIN_MS = 500;

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
  const unsettled = new Set<Running>();

  function start(
    key: string,
    endpoint: Endpoint,
    request: CallRequest,
    target: DownloadTarget,
    deadlineAt: number,
  ): Running {
    const stop = new AbortController();
    // The deadline bounds the attempts to begin; a stream that has begun goes on until it ends.
    const context = { signal: stop.signal, deadlineAt };
    const count = (bytes: number) => {
      download.bytes = bytes;
    };
    const done = downloadFile(service, endpoint, request, { ...target, onBytes: count }, context);
    const download: Running = { done, stop, bytes: 0, waiting: 0, settled: false };
    running.set(key, download);
    unsettled.add(download);
    // Finished while nobody waits: kept for the call that comes back for it.
    const settle = () => {
      download.settled = true;
      unsettled.delete(download);
    };
    done.then(settle, settle);
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
      const timeoutMs = timeLeftMs(context, service.timing) - MARGIN_MS;
      const ticker = setInterval(() => onBytes(download.bytes), 1000);
      try {
        const tooLate = () => stillRunning(download.bytes);
        return await within(download.done, { signal: context.signal, timeoutMs, tooLate });
      } catch (error) {
        throw context.signal.aborted ? cancelled(endpoint, undefined, false) : error;
      } finally {
        clearInterval(ticker);
        download.waiting--;
        if (download.settled) running.delete(key);
        // A cancelled call takes its download with it, unless another call waits for the same one.
        if (context.signal.aborted && download.waiting === 0) {
          running.delete(key);
          download.stop.abort();
        }
      }
    },
    /** Ends every download; no partial file stays. */
    async close(): Promise<void> {
      const ending = [...unsettled].map(({ done, stop }) => {
        stop.abort();
        return done.catch(() => undefined);
      });
      await Promise.all(ending);
    },
  };
}
