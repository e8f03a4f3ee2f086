// Creates links to files for callers on other machines. A link contains an encrypted ticket, which any instance accepts.
import { createHash } from "node:crypto";
import * as z from "zod/v4";
import { contentLengthOf, contentTypeOf, fileWarning, withAssetStream } from "../../api-client/asset-stream.ts";
import type { CallContext } from "../../api-client/attempts.ts";
import type { ApiClient } from "../../api-client/client.ts";
import { decodeTextFile, PREVIEW_BYTES, previewFromStart } from "../../api-client/file-preview.ts";
import { nameFromHeader } from "../../api-client/new-file.ts";
import type { StreamedResponse } from "../../api-client/transport.ts";
import { countPart } from "../../core/counts.ts";
import { Failure } from "../../core/failure.ts";
import { say } from "../../core/text.ts";
import { toCsv } from "../../toolkit/csv.ts";
import type { Tool } from "../../toolkit/define-tool.ts";
import type { AssetRequest, AttachedFile, Files, SavedAsset } from "../../toolkit/files.ts";
import { outputs } from "../../toolkit/outputs.ts";
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

interface Link {
  readonly url: string;
  /** An instant with a precision of one second. */
  readonly expiresAt: string;
}

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
function contentOf(bytes: Buffer, contentType: string): AttachedFile["content"] {
  if (IMAGE.test(contentType)) return { blob: bytes.toString("base64") };
  const text = decodeTextFile(bytes, contentType);
  return text === undefined ? undefined : { text };
}

/** What download_asset returns to a caller on another machine, and how it is listed. */
const DOWNLOAD_ASSET = {
  description:
    "Get a source file's original bytes: a short-lived link, and a small text or image in the answer. Not for job output.",
  outputSchema: outputs.answer<SavedAsset["data"] & Link>({
    bytes: outputs.integer,
    sha256: outputs.text,
    contentType: outputs.text,
    fileName: outputs.text,
    url: outputs.text,
    expiresAt: outputs.text,
  }).schema,
};

/** Returns the tools as they are listed for callers whose files are links. */
export const withLinkedFiles = (tools: readonly Tool[]): readonly Tool[] =>
  tools.map((tool) => (tool.name === "download_asset" ? { ...tool, ...DOWNLOAD_ASSET } : tool));

export function createLinkedFiles({
  service,
  inlineMaxBytes = INLINE_MAX_BYTES,
  ...linkOptions
}: LinkedFilesOptions): Files {
  /** Requests the asset from the API, which is the only source of its type and size. */
  async function inspectAsset({ assetId, fileName, preview }: AssetRequest, context: CallContext) {
    return await withAssetStream(service, assetId, context, async (answer) => {
      const contentType = toValidMediaType(contentTypeOf(answer));
      const length = contentLengthOf(answer);
      const name = fileName ?? nameFromHeader(answer.headers["content-disposition"], assetId);
      const isSmall = length === undefined || length <= inlineMaxBytes;
      const { start, isComplete } = await readStart(answer, isSmall ? inlineMaxBytes : preview ? PREVIEW_BYTES : 0);
      const content = isSmall && isComplete ? contentOf(start, contentType) : undefined;
      return {
        facts: {
          fileName: name,
          contentType,
          ...(isComplete ? { bytes: start.length } : length !== undefined && { bytes: length }),
          ...(content && { sha256: sha256(start) }),
        },
        content,
        warning: fileWarning(answer, name),
        preview: preview ? previewFromStart(start, isComplete, contentType) : undefined,
      };
    });
  }

  return {
    async saveAsset(wanted, context) {
      const { facts: found, content, warning, preview } = await inspectAsset(wanted, context);
      const { assetId } = wanted;
      const link = await createLink({ kind: "asset", assetId, fileName: found.fileName }, linkOptions);
      const data = { ...found, ...link };
      const where = content ? say`is in this answer.` : say`can be downloaded by its link until ${data.expiresAt}.`;
      const size = data.bytes !== undefined && say`${data.bytes} bytes, `;
      const line = say`${size}${data.contentType}${data.sha256 !== undefined && say`, sha256 ${data.sha256}`}.`;
      return {
        data,
        sentence: say`${data.fileName} ${where}`,
        lines: content ? [line] : [data.url, line],
        file: { ...data, ...(content && { content }) },
        warning,
        preview,
      };
    },

    assertNameFree: async () => undefined,

    async saveRows(fileName, table, source) {
      const csv = toCsv(table);
      const link = await createLink({ kind: "rows", ...source, fileName }, linkOptions);
      const rows = table.rows.length;
      const what = say`${countPart(rows, "row")} as ${fileName}:`;
      const contentType = CSV_TYPE;
      if (csv.length > inlineMaxBytes)
        return {
          data: { fileName, ...link, rows },
          sentence: say`${what} the link creates them again each time it is opened, until ${link.expiresAt}.`,
          lines: [link.url],
          file: { fileName, contentType, ...link },
        };
      const facts = { bytes: csv.length, sha256: sha256(csv) };
      return {
        data: { fileName, ...facts, ...link, rows },
        sentence: say`${what} ${facts.bytes} bytes in this answer.`,
        lines: [say`sha256 ${facts.sha256}`],
        file: { fileName, contentType, content: { text: csv.toString() }, ...facts, ...link },
      };
    },
  };
}
