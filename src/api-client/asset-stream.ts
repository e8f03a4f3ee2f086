// This module opens the content of an asset as a stream, for code that saves, shows or forwards it.
import { pipeline, Readable } from "node:stream";
import { getMicPublicAssetContent } from "../contract/endpoints/job-processing.ts";
import { errorMessage } from "../core/failure.ts";
import { say, type Text } from "../core/text.ts";
import type { CallContext } from "./attempts.ts";
import { CHECK_BASE_URL_ADVICE, codedFileFailure, HTML_TYPE, refusalFailure } from "./classify.ts";
import type { ApiClient } from "./client.ts";
import { contentCodingOf, decodedHeaders, decodersOf } from "./content-codings.ts";
import { type StreamedResponse, TransportError, type WireResponse } from "./transport.ts";

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

/** Yields the decoded chunks. Throws TransportError. */
async function* readDecoded(decoded: Readable): AsyncGenerator<Buffer> {
  try {
    yield* decoded;
  } catch (error) {
    if (error instanceof TransportError) throw error;
    throw new TransportError(`the file cannot be decoded: ${errorMessage(error)}`, { sent: true }, { cause: error });
  }
}

/** Decodes a body while it is read. Returns the response unchanged if it has no content coding, or one that is not supported. */
function decodeStream(response: StreamedResponse): StreamedResponse {
  const decoders = decodersOf(response) ?? [];
  if (decoders.length === 0) return response;
  let decoded = response.body;
  // The reader receives an error of any of the streams.
  for (const { createStream } of decoders) decoded = pipeline(decoded, createStream(), () => undefined);
  const body = Readable.from(readDecoded(decoded), { objectMode: false });
  body.once("close", () => response.body.destroy());
  return { ...response, headers: decodedHeaders(response.headers), body };
}

/** Opens a file and runs `work` on the response. Both are retried like any read. Throws Failure. */
export const withAssetStream = <T>(
  service: ApiClient,
  assetId: string,
  context: CallContext,
  work: (response: StreamedResponse) => Promise<T>,
): Promise<T> =>
  service.stream(getMicPublicAssetContent, { path: { assetId } }, context, async (received) => {
    const response = decodeStream(received);
    if (response.status !== getMicPublicAssetContent.success.status)
      throw refusalFailure(getMicPublicAssetContent, await readErrorBody(response), service.timing.now());
    const coding = contentCodingOf(response);
    if (coding === undefined) return await work(response);
    response.body.destroy();
    throw codedFileFailure(coding);
  });

const HTML_NAME = /\.x?html?$/i;

/** Returns a sentence about an answer that may not be the complete file; undefined if nothing indicates that. */
export function fileWarning({ headers, isDelimited }: StreamedResponse, fileName: string): Text | undefined {
  if (HTML_TYPE.test(headers["content-type"] ?? "") && !HTML_NAME.test(fileName))
    return say`The API sent an HTML page, which is probably not this file. ${CHECK_BASE_URL_ADVICE}`;
  return isDelimited ? undefined : say`The API stated no size, so it is not proven that the file is complete.`;
}

/** Returns the content type of an asset. The contract guarantees no response headers (docs/contract.md, 4.2), so there is a default. */
export const contentTypeOf = ({ headers }: StreamedResponse): string =>
  headers["content-type"] ?? "application/octet-stream";

/** Returns the size of the body in bytes, if the API states it. */
export function contentLengthOf({ headers }: StreamedResponse): number | undefined {
  const stated = headers["content-length"] ?? "";
  return /^\d{1,15}$/.test(stated) ? Number(stated) : undefined;
}
