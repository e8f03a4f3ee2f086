// Creates links to files for callers on other machines. A link contains an encrypted ticket, which any instance accepts.
import { createHash } from "node:crypto";
import * as z from "zod/v4";
import { contentLengthOf, contentTypeOf, fileWarning, withAssetStream } from "../../api-client/asset-stream.ts";
import type { CallContext } from "../../api-client/attempts.ts";
import type { ApiClient } from "../../api-client/client.ts";
import type { CallRequest } from "../../api-client/encode.ts";
import { decodeTextFile, PREVIEW_BYTES, previewFromStart } from "../../api-client/file-preview.ts";
import { nameFromHeader } from "../../api-client/new-file.ts";
import type { StreamedResponse } from "../../api-client/transport.ts";
import type { Endpoint } from "../../contract/endpoints/endpoint.ts";
import { Failure } from "../../core/failure.ts";
import { say } from "../../core/text.ts";
import type { AssetRequest, FileContent, Link, LinkedFiles } from "../../toolkit/linked-files.ts";
import type { Encryption } from "../encryption.ts";

/** What the caller's membership depends on; it is checked again when the link is opened. `groups`: only the claim value of the team. */
const holder = z.strictObject({ issuer: z.string(), subject: z.string(), groups: z.array(z.string()) });
export type Holder = z.infer<typeof holder>;

const ticketFields = { team: z.string().optional(), holder, client: z.string(), fileName: z.string() };

export const Ticket = z.discriminatedUnion("kind", [
  z.strictObject({ ...ticketFields, kind: z.literal("asset"), assetId: z.string() }),
  /** The same call generates the rows again. */
  z.strictObject({
    ...ticketFields,
    kind: z.literal("rows"),
    tool: z.string(),
    arguments: z.record(z.string(), z.unknown()),
  }),
]);
export type Ticket = z.infer<typeof Ticket>;

export const DOWNLOADS_PATH = "/downloads/";

/** Validity of a link. */
const LINK_SECONDS = 600;
/** Maximum length of a ticket: some proxies refuse longer URLs. */
const MAX_CHARS = 4_000;

interface LinkOptions {
  readonly encryption: Pick<Encryption, "encrypt">;
  /** The URL of this deployment: an origin, with an optional path. */
  readonly publicUrl: string;
  readonly caller: string;
  readonly holder: Holder;
  /** Undefined for a caller in no team. */
  readonly team: string | undefined;
  /** The OAuth client that sent the call. */
  readonly client: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const tooLong = (): Failure =>
  new Failure({
    kind: "invalid_arguments",
    message: say`A download link could not be created: the arguments are too long.`,
    retryable: false,
    sideEffect: "none",
    next: say`Request less in one call, such as fewer states, or use a shorter file name.`,
  });

type WithoutHolder<T> = T extends unknown ? Omit<T, "team" | "holder" | "client"> : never;

/** Throws Failure `invalid_arguments` if the ticket would be too long. */
async function createLink(
  target: WithoutHolder<Ticket>,
  { encryption, publicUrl, caller, holder, team, client, now }: LinkOptions,
): Promise<Link> {
  const ticket = { ...target, holder, client, team };
  const expiresAt = now() + LINK_SECONDS * 1000;
  const ticketText = await encryption.encrypt("download", caller, ticket, LINK_SECONDS);
  if (ticketText.length > MAX_CHARS) throw tooLong();
  return {
    url: `${publicUrl.replace(/\/$/, "")}${DOWNLOADS_PATH}${ticketText}`,
    expiresAt: `${new Date(expiresAt).toISOString().slice(0, 19)}Z`,
  };
}

export interface LinkedFilesOptions extends LinkOptions {
  readonly service: ApiClient;
  /** The result contains texts and images up to this size (default 32 KiB). */
  readonly inlineMaxBytes?: number;
}

const INLINE_MAX_BYTES = 32 * 1024;

export const CSV_TYPE = "text/csv; charset=utf-8";
const IMAGE = /^image\/(?:png|jpeg|gif|webp)$/i;
/** A media type that is valid in a header (RFC 9110, 8.3.1). */
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(?:; ?[\w-]{1,40}=[\w.+-]{1,60})?$/;

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

export const toValidMediaType = (type: string): string => (MEDIA_TYPE.test(type) ? type : "application/octet-stream");

/** Reads the first `max` bytes, and stops when the body exceeds them. */
async function readStart(
  answer: StreamedResponse,
  max: number,
): Promise<{ readonly start: Buffer; readonly isComplete: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer.body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > max) return { start: Buffer.concat(chunks).subarray(0, max), isComplete: false };
  }
  return { start: Buffer.concat(chunks), isComplete: true };
}

/** Undefined if it is neither text nor an image. */
function contentOf(bytes: Buffer, contentType: string): FileContent | undefined {
  if (IMAGE.test(contentType)) return { blob: bytes.toString("base64") };
  const text = decodeTextFile(bytes, contentType);
  return text === undefined ? undefined : { text };
}

export function createLinkedFiles({
  service,
  inlineMaxBytes = INLINE_MAX_BYTES,
  ...linkOptions
}: LinkedFilesOptions): LinkedFiles {
  async function inspectAsset(endpoint: Endpoint, { assetId, fileName, preview }: AssetRequest, context: CallContext) {
    const request: CallRequest = { path: { assetId } };
    return await withAssetStream(service, endpoint, request, context, async (answer) => {
      const contentType = toValidMediaType(contentTypeOf(answer));
      const length = contentLengthOf(answer);
      const name = fileName ?? nameFromHeader(answer.headers["content-disposition"], assetId);
      const isSmall = length === undefined || length <= inlineMaxBytes;
      const { start, isComplete } = await readStart(answer, isSmall ? inlineMaxBytes : preview ? PREVIEW_BYTES : 0);
      const content = isSmall && isComplete ? contentOf(start, contentType) : undefined;
      const warning = fileWarning(answer, name);
      return {
        fileName: name,
        contentType,
        ...(warning !== undefined && { warning }),
        ...(isComplete ? { bytes: start.length } : length !== undefined && { bytes: length }),
        ...(content && { content, sha256: sha256(start) }),
        preview: preview ? previewFromStart(start, isComplete, contentType) : undefined,
      };
    });
  }

  return {
    kind: "links",
    async asset(endpoint, wanted, context) {
      const inspected = await inspectAsset(endpoint, wanted, context);
      return {
        ...inspected,
        ...(await createLink({ kind: "asset", assetId: wanted.assetId, fileName: inspected.fileName }, linkOptions)),
      };
    },
    async rows({ tool, arguments: args, fileName, csv }) {
      const link = await createLink({ kind: "rows", tool, arguments: args, fileName }, linkOptions);
      if (csv.length > inlineMaxBytes) return { fileName, contentType: CSV_TYPE, ...link };
      const inlineContent = { content: { text: csv.toString() }, bytes: csv.length, sha256: sha256(csv) };
      return { fileName, contentType: CSV_TYPE, ...inlineContent, ...link };
    },
  };
}
