// An asset's answer, opened and still to be read: for those who save it, show it or hand it on.
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { reasonOf } from "../failure.ts";
import { ATTEMPT_LIMIT_MS, type CallContext, timeLeftMs, withRetries } from "./attempts.ts";
import type { Service } from "./call.ts";
import { type CallRequest, encodeRequest, wireRequest } from "./encode.ts";
import type { Sends } from "./observed.ts";
import { cancelled, refusal, transportFailure } from "./outcomes.ts";
import { type OpenAnswer, TransportError, type WireAnswer } from "./transport.ts";

const MAX_ERROR_BYTES = 64 * 1024;

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

/** Opens it once, with a token fetched now. Throws TransportError (it may be tried again) or Failure. */
export async function openOnce(
  service: Service,
  endpoint: Endpoint,
  request: CallRequest,
  context: CallContext,
  sends: Sends,
): Promise<OpenAnswer> {
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
  return answer;
}

/** The body as it comes. Throws TransportError when it breaks off. */
export async function* pieces(answer: OpenAnswer): AsyncGenerator<Buffer, void, undefined> {
  const chunks = answer.body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await chunks.next().catch((error: unknown) => {
        throw new TransportError(reasonOf(error), { sent: true }, { cause: error });
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    answer.body.destroy();
  }
}

/** Tries `work` as often as a read may be tried; all of it counts what it sends together. Throws Failure. */
export async function eachTry<T>(
  service: Service,
  endpoint: Endpoint,
  context: CallContext,
  work: (sends: Sends) => Promise<T>,
): Promise<T> {
  const sends = { count: 0 };
  return await withRetries({ endpoint, context, timing: service.timing }, async () => {
    try {
      return await work(sends);
    } catch (error) {
      if (context.signal.aborted) throw cancelled(endpoint, undefined, false);
      throw error instanceof TransportError ? transportFailure(endpoint, error) : error;
    }
  });
}

/** The contract promises no header of an asset (4.2): none is needed. */
export const typeOf = ({ headers }: OpenAnswer): string => headers["content-type"] ?? "application/octet-stream";

/** How many bytes come, where the service says it. */
export function lengthOf({ headers }: OpenAnswer): number | undefined {
  const stated = headers["content-length"] ?? "";
  return /^\d{1,15}$/.test(stated) ? Number(stated) : undefined;
}
