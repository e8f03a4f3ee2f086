// Makes links to files for callers on other machines. The content of a small file is in the answer itself.
import { createHash } from "node:crypto";
import type { Endpoint } from "../../contract/endpoints/endpoint.ts";
import type { CallContext } from "../../service/attempts.ts";
import type { Service } from "../../service/call.ts";
import type { CallRequest } from "../../service/encode.ts";
import { nameFromHeader } from "../../service/file-names.ts";
import { PREVIEW_BYTES, previewOfStart, textOf } from "../../service/file-preview.ts";
import { eachTry, lengthOf, openOnce, pieces, typeOf } from "../../service/open-file.ts";
import type { OpenAnswer } from "../../service/transport.ts";
import type { Content, LinkedFiles, WantedAsset } from "../../toolkit/linked-files.ts";
import { type LinkMaker, makeLink } from "./ticket.ts";

export interface LinkedFilesOptions extends LinkMaker {
  readonly service: Service;
  /** Text and images up to so many bytes stand in the answer. */
  readonly inlineBytes: number;
}

export const CSV_TYPE = "text/csv; charset=utf-8";
const IMAGE = /^image\/(?:png|jpeg|gif|webp)$/i;
/** A type as a header may carry it (RFC 9110, 8.3.1); whatever else the service says is no type. */
const TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(?:; ?[\w-]{1,40}=[\w.+-]{1,60})?$/;

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

export const plainType = (type: string): string => (TYPE.test(type) ? type : "application/octet-stream");

/** The first `max` bytes; more is not read. */
async function startOf(
  answer: OpenAnswer,
  max: number,
): Promise<{ readonly start: Buffer; readonly isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of pieces(answer)) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > max) return { start: Buffer.concat(chunks).subarray(0, max), isWhole: false };
  }
  return { start: Buffer.concat(chunks), isWhole: true };
}

/** Undefined where it is neither text nor an image. */
function contentOf(bytes: Buffer, contentType: string): Content | undefined {
  if (IMAGE.test(contentType)) return { blob: bytes.toString("base64") };
  const text = textOf(bytes, contentType);
  return text === undefined ? undefined : { text };
}

export function createLinkedFiles({ service, inlineBytes, ...maker }: LinkedFilesOptions): LinkedFiles {
  async function look(endpoint: Endpoint, { assetId, fileName, preview }: WantedAsset, context: CallContext) {
    const request: CallRequest = { path: { assetId } };
    return await eachTry(service, endpoint, context, async (sends) => {
      const answer = await openOnce(service, endpoint, request, context, sends);
      const contentType = plainType(typeOf(answer));
      const length = lengthOf(answer);
      const name = fileName ?? nameFromHeader(answer.headers["content-disposition"], assetId);
      const isSmall = length === undefined || length <= inlineBytes;
      const { start, isWhole } = await startOf(answer, isSmall ? inlineBytes : preview ? PREVIEW_BYTES : 0);
      const content = isSmall && isWhole ? contentOf(start, contentType) : undefined;
      return {
        fileName: name,
        contentType,
        ...(isWhole ? { bytes: start.length } : length !== undefined && { bytes: length }),
        ...(content && { content, sha256: sha256(start) }),
        preview: preview ? previewOfStart(start, isWhole, contentType) : undefined,
      };
    });
  }

  return {
    kind: "links",
    async asset(endpoint, wanted, context) {
      const seen = await look(endpoint, wanted, context);
      return {
        ...seen,
        ...(await makeLink({ kind: "asset", assetId: wanted.assetId, fileName: seen.fileName }, maker)),
      };
    },
    async rows({ tool, arguments: args, fileName, csv }) {
      const link = await makeLink({ kind: "rows", tool, arguments: args, fileName }, maker);
      if (csv.length > inlineBytes) return { fileName, contentType: CSV_TYPE, ...link };
      const shown = { content: { text: csv.toString() }, bytes: csv.length, sha256: sha256(csv) };
      return { fileName, contentType: CSV_TYPE, ...shown, ...link };
    },
  };
}
