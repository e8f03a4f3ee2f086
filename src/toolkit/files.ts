// Defines the port for files: it stores what a tool saves where the caller can read it. A server for one user has a folder, and a deployment links.
import type { CallContext } from "../api-client/attempts.ts";
import type { OnBytes } from "../api-client/downloads.ts";
import type { Text } from "../core/text.ts";

/** A file that the client gets with the result: its content if it is small, otherwise its URL. */
export interface AttachedFile {
  readonly url: string;
  readonly fileName: string;
  readonly contentType: string;
  readonly bytes?: number;
  /** Text, or the bytes of an image in base64. */
  readonly content?: { readonly text: string } | { readonly blob: string };
}

export interface AssetRequest {
  readonly assetId: string;
  readonly fileName?: string | undefined;
  readonly preview: boolean;
}

/** `data`: the fields of the result. `sentence` and `lines` say where the file is. `file`: present if the client gets it with the result. */
interface Saved<T> {
  readonly data: T;
  readonly sentence: Text;
  readonly lines: readonly (Text | string)[];
  readonly file?: AttachedFile;
}

export interface SavedAsset extends Saved<Pick<AttachedFile, "fileName" | "contentType">> {
  /** A sentence, if the answer may not be the complete file. */
  readonly warning: Text | undefined;
  /** The first lines, if requested; undefined if the file is not text. */
  readonly preview: string | undefined;
}

/** `rows` does not count the header. */
export type SavedRows = Saved<{ readonly rows: number }>;

export interface Rows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** The functions throw Failure; then no partial file remains. */
export interface Files {
  /** `onBytes` may receive the bytes so far. */
  saveAsset(request: AssetRequest, context: CallContext, onBytes: OnBytes): Promise<SavedAsset>;
  /** Throws if the name is taken. Tools call it before they read the rows. */
  assertNameFree(fileName: string): Promise<void>;
  /** Saves rows as CSV. `source`: the call that lists the rows. */
  saveRows(
    fileName: string,
    rows: Rows,
    source: { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> },
  ): Promise<SavedRows>;
}
