// An asset's answer, opened and still to be read: for those who save it, show it or hand it on.
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { attemptLimitMs, type CallContext, withRetries } from "./attempts.ts";
import type { Service } from "./call.ts";
import { cancelled, refusal, transportFailure } from "./classify.ts";
import { type CallRequest, encodeRequest, wireRequest } from "./encode.ts";
import { type OpenAnswer, TransportError, type WireAnswer } from "./transport.ts";

const MAX_ERROR_BYTES = 64 * 1024;

/** An error answer, judged by its status however little of its body arrives. */
async function drained({ status, headers, body }: OpenAnswer): Promise<WireAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > MAX_ERROR_BYTES) break;
      chunks.push(chunk);
    }
  } catch {
    // What has arrived has to do.
  }
  return { status, headers, body: Buffer.concat(chunks) };
}

/**
 * Opens a file and does `work` with the answer, both as often as a read may be tried, each time with a token fetched then. Throws
 * Failure.
 */
export async function withOpenFile<T>(
  service: Service,
  endpoint: Endpoint,
  request: CallRequest,
  context: CallContext,
  work: (answer: OpenAnswer) => Promise<T>,
): Promise<T> {
  const { timing, transport } = service;
  const sendCounter = { count: 0 };
  const encoded = encodeRequest(endpoint, request);
  async function attempt(): Promise<T> {
    const wire = wireRequest(await service.baseUrl(), endpoint, encoded);
    const limits = { timeoutMs: attemptLimitMs(context, timing), signal: context.signal };
    const answer = await service.authorized(
      endpoint,
      wire,
      context,
      (sent) => transport.open(sent, limits),
      sendCounter,
    );
    if (answer.status !== endpoint.success.status) throw refusal(endpoint, await drained(answer), timing.now());
    return await work(answer);
  }
  return await withRetries({ endpoint, context, timing }, () =>
    attempt().catch((error: unknown) => {
      if (context.signal.aborted) throw cancelled(endpoint, undefined, false);
      throw error instanceof TransportError ? transportFailure(endpoint, error) : error;
    }),
  );
}

/** The contract promises no header of an asset (4.2): none is needed. */
export const typeOf = ({ headers }: OpenAnswer): string => headers["content-type"] ?? "application/octet-stream";

/** How many bytes come, where the service says it. */
export function lengthOf({ headers }: OpenAnswer): number | undefined {
  const stated = headers["content-length"] ?? "";
  return /^\d{1,15}$/.test(stated) ? Number(stated) : undefined;
}
