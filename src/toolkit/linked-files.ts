// The files of a caller on another machine, for whom a path on this machine is useless: a short-lived link, and the content of small files.

import type { CallContext } from "../api-client/attempts.ts";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";

export interface Link {
  readonly url: string;
  /** To the second. */
  readonly expiresAt: string;
}

/** What a file holds, in the answer itself: text, or an image's bytes in base64. */
export type FileContent = { readonly text: string } | { readonly blob: string };

/** A file under its link. */
export interface LinkedFile extends Link {
  readonly fileName: string;
  readonly contentType: string;
  /** Where it is known; of rows only with `content`, since its link makes them again. */
  readonly bytes?: number;
  /** Of `content`. */
  readonly sha256?: string;
  readonly content?: FileContent;
}

export interface LinkedAsset extends LinkedFile {
  /** The first lines, where they were asked for; undefined where it is no text. */
  readonly preview: string | undefined;
}

export interface AssetRequest {
  readonly assetId: string;
  readonly fileName?: string | undefined;
  readonly preview: boolean;
}

/** Rows, and the call that makes them again. */
export interface GeneratedRows {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly fileName: string;
  readonly csv: Buffer;
}

export interface LinkedFiles {
  readonly kind: "links";
  /** Looks at the asset, since its type and size are known to the service alone. Throws Failure. */
  asset(endpoint: Endpoint, request: AssetRequest, context: CallContext): Promise<LinkedAsset>;
  /** Throws Failure. */
  rows(generated: GeneratedRows): Promise<LinkedFile>;
}
