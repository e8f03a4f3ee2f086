// This module opens the content of an asset as a stream, for code that saves, shows or forwards it.
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { attemptLimitMs, type CallContext, withRetries } from "./attempts.ts";
import { cancelledFailure, refusalFailure, transportFailure } from "./classify.ts";
import type { ApiClient } from "./client.ts";
import { type CallRequest, encodeRequest, toWireRequest } from "./encode.ts";
import { type StreamedResponse, TransportError, type WireRequest, type WireResponse } from "./transport.ts";

const MAX_ERROR_BYTES = 64 * 1024;

/** Reads up to 64 KiB of the body of an error response. Its status is sufficient, even if the body breaks off. */
async function readErrorBody({ status, headers, body }: StreamedResponse): Promise<WireResponse> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > MAX_ERROR_BYTES) break;
      chunks.push(chunk);
    }
  } catch {
    // The part that has arrived is used.
  }
  return { status, headers, body: Buffer.concat(chunks) };
}

/**
 * Opens a file and runs `work` on the response. Both are retried like any read, and each attempt requests a valid token. Throws
 * Failure.
 */
export async function withAssetStream<T>(
  service: ApiClient,
  endpoint: Endpoint,
  request: CallRequest,
  context: CallContext,
  work: (response: StreamedResponse) => Promise<T>,
): Promise<T> {
  const { timing, transport } = service;
  const sendCounter = { count: 0 };
  const encoded = encodeRequest(endpoint, request);
  return await withRetries({ endpoint, context, timing }, async () => {
    try {
      const wire = toWireRequest(await service.baseUrl(), endpoint, encoded);
      const limits = { timeoutMs: attemptLimitMs(context, timing), signal: context.signal };
      const openStream = (sent: WireRequest) => transport.openStream(sent, limits);
      const response = await service.authorized(endpoint, wire, context, openStream, sendCounter);
      if (response.status !== endpoint.success.status)
        throw refusalFailure(endpoint, await readErrorBody(response), timing.now());
      return await work(response);
    } catch (error) {
      if (context.signal.aborted) throw cancelledFailure(endpoint, undefined, false);
      throw error instanceof TransportError ? transportFailure(endpoint, error) : error;
    }
  });
}

/** Returns the content type of an asset. The contract guarantees no response headers (docs/contract.md, 4.2), so there is a default. */
export const contentTypeOf = ({ headers }: StreamedResponse): string =>
  headers["content-type"] ?? "application/octet-stream";

/** Returns the size of the body in bytes, if the API states it. */
export function contentLengthOf({ headers }: StreamedResponse): number | undefined {
  const stated = headers["content-length"] ?? "";
  return /^\d{1,15}$/.test(stated) ? Number(stated) : undefined;
}
