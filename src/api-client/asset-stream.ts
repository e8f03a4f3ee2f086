// This module opens the content of an asset as a stream, for code that saves, shows or forwards it.
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import type { CallContext } from "./attempts.ts";
import { codedFileFailure, refusalFailure } from "./classify.ts";
import type { ApiClient } from "./client.ts";
import type { CallRequest } from "./encode.ts";
import { contentCodingOf, type StreamedResponse, type WireResponse } from "./transport.ts";

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

/** Opens a file and runs `work` on the response. Both are retried like any read. Throws Failure. */
export const withAssetStream = <T>(
  service: ApiClient,
  endpoint: Endpoint,
  request: CallRequest,
  context: CallContext,
  work: (response: StreamedResponse) => Promise<T>,
): Promise<T> =>
  service.stream(endpoint, request, context, async (response) => {
    const coding = contentCodingOf(response);
    if (response.status === endpoint.success.status && coding === undefined) return await work(response);
    if (response.status === endpoint.success.status) {
      response.body.destroy();
      throw codedFileFailure(coding);
    }
    throw refusalFailure(endpoint, await readErrorBody(response), service.timing.now());
  });

/** Returns the content type of an asset. The contract guarantees no response headers (docs/contract.md, 4.2), so there is a default. */
export const contentTypeOf = ({ headers }: StreamedResponse): string =>
  headers["content-type"] ?? "application/octet-stream";

/** Returns the size of the body in bytes, if the API states it. */
export function contentLengthOf({ headers }: StreamedResponse): number | undefined {
  const stated = headers["content-length"] ?? "";
  return /^\d{1,15}$/.test(stated) ? Number(stated) : undefined;
}
