// Files for callers elsewhere, to whom a path on this machine is of no use: a short-lived link, and what is small in the answer itself.
import { createHash } from "node:crypto";
import type { Endpoint } from "../../contract/endpoints/endpoint.ts";
import type { CallContext } from "../../service/attempts.ts";
import type { Service } from "../../service/call.ts";
import type { CallRequest } from "../../service/encode.ts";
import { nameFromHeader } from "../../service/file-names.ts";
import { PREVIEW_BYTES, previewOfStart, textOf } from "../../service/file-preview.ts";
import { lengthOf, typeOf, withOpenFile } from "../../service/open-file.ts";
import type { OpenAnswer } from "../../service/transport.ts";
import { type Link, type LinkMaker, makeLink } from "./ticket.ts";

/** What a file holds, in the answer itself: text, or an image's bytes in base64. */
export type Content = { readonly text: string } | { readonly blob: string };

/** A file under its link. */
export interface LinkedFile extends Link {
  readonly fileName: string;
  readonly contentType: string;
  /** Where it is known; of rows only with `content`, since its link makes them anew. */
  readonly bytes?: number;
  /** Of `content`. */
  readonly sha256?: string;
  readonly content?: Content;
}

export interface LinkedAsset extends LinkedFile {
  /** The first lines, where they were asked for; undefined where it is no text. */
  readonly preview: string | undefined;
}

export interface WantedAsset {
  readonly assetId: string;
  readonly fileName?: string | undefined;
  readonly preview: boolean;
}

/** Rows, and the call that makes them again. */
export interface MadeRows {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly fileName: string;
  readonly csv: Buffer;
}

export interface LinkedFiles {
  readonly kind: "links";
  /** Looks at the asset, since its type and size are known to the service alone. Throws Failure. */
  asset(endpoint: Endpoint, wanted: WantedAsset, context: CallContext): Promise<LinkedAsset>;
  /** Throws Failure. */
  rows(made: MadeRows): Promise<LinkedFile>;
}

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
  for await (const chunk of answer.body) {
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
    return await withOpenFile(service, endpoint, request, context, async (answer) => {
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
