// What a link to a file leads to: an asset's bytes as the service sends them, or rows that are made anew.
import { getMicPublicAssetContent } from "../../contract/endpoints/job-processing.ts";
import { CALL_LIMIT_MS } from "../../service/attempts.ts";
import { lengthOf, typeOf, withOpenFile } from "../../service/open-file.ts";
import type { DefinedTool } from "../../toolkit/define-tool.ts";
import { CSV_TYPE, type LinkedFiles, plainType } from "../../toolkit/links/linked-files.ts";
import type { Runtime } from "../runtime.ts";
import { toolCall } from "../tools/tool-call.ts";

export interface OpenedFile {
  readonly contentType: string;
  /** Undefined where the service does not say. */
  readonly length: number | undefined;
  readonly pieces: AsyncIterable<Buffer>;
}

/** Holds the answer to the length that was promised with it. */
async function* asLongAs(length: number | undefined, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (length !== undefined && bytes > length) break;
    yield piece;
  }
  if (length !== undefined && bytes !== length) throw new Error("the file is not as long as it was said to be");
}

export async function openAsset(assetId: string, { ports }: Runtime, signal: AbortSignal): Promise<OpenedFile> {
  const { service } = ports;
  const context = { signal, deadlineAt: service.timing.now() + CALL_LIMIT_MS };
  const request = { path: { assetId } };
  return await withOpenFile(service, getMicPublicAssetContent, request, context, async (answer) => {
    const length = lengthOf(answer);
    return { contentType: plainType(typeOf(answer)), length, pieces: asLongAs(length, answer.body) };
  });
}

/** The same call once more, with its file taken from it. */
export async function makeRows(
  tool: DefinedTool,
  args: Readonly<Record<string, unknown>>,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<OpenedFile> {
  const { ports } = runtime;
  const { files, service } = ports;
  if (files.kind !== "links") throw new Error("only what makes links redeems them");
  let made: Buffer | undefined;
  const taking: LinkedFiles = {
    ...files,
    async rows(rows) {
      made = rows.csv;
      return await files.rows(rows);
    },
  };
  const call = toolCall(runtime, tool.name, { signal, deadlineAt: service.timing.now() + CALL_LIMIT_MS });
  await tool.create({ ...ports, files: taking }).invoke(args, call);
  if (made === undefined) throw new Error("the call made no rows");
  const csv = made;
  return {
    contentType: CSV_TYPE,
    length: csv.length,
    pieces: (async function* () {
      yield csv;
    })(),
  };
}
