// Defines files for callers on other machines: a short-lived link, and the content of small files.

import type { CallContext } from "../api-client/attempts.ts";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import type { Text } from "../core/text.ts";

export interface Link {
  readonly url: string;
  /** An instant with a precision of one second. */
  readonly expiresAt: string;
}

/** The content of a file in the result itself: text, or the bytes of an image in base64. */
export type FileContent = { readonly text: string } | { readonly blob: string };

export interface LinkedFile extends Link {
  readonly fileName: string;
  readonly contentType: string;
  /** Present if known. For rows it is present only with `content`, since the link generates the rows again. */
  readonly bytes?: number;
  /** The SHA-256 of `content`. */
  readonly sha256?: string;
  readonly content?: FileContent;
}

export interface LinkedAsset extends LinkedFile {
  /** The first lines, if requested; undefined if the file is not text. */
  readonly preview: string | undefined;
  /** A sentence, if the answer may not be the complete file. */
  readonly warning?: Text;
}

export interface AssetRequest {
  readonly assetId: string;
  readonly fileName?: string;
  readonly preview: boolean;
}

/** Rows, and the call that generates them again. */
export interface GeneratedRows {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly fileName: string;
  readonly csv: Buffer;
}

export interface LinkedFiles {
  readonly kind: "links";
  /** Requests the asset from the API, which is the only source of its type and size. Throws Failure. */
  asset(endpoint: Endpoint, request: AssetRequest, context: CallContext): Promise<LinkedAsset>;
  rows(generated: GeneratedRows): Promise<LinkedFile>;
}
