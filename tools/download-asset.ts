import * as z from "zod/v4";
import { getMicPublicAssetContent } from "../src/contract/endpoints/job-processing.ts";
import { InputId } from "../src/contract/inputs.ts";
import { Failure } from "../src/failure.ts";
import { json, word } from "../src/outside.ts";
import type { SavedFile } from "../src/service/download.ts";
import { fileNameSchema } from "../src/service/file-names.ts";
import { previewOf } from "../src/service/file-preview.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { wholeResult } from "../src/toolkit/results.ts";

const NO_PREVIEW = "no preview: not text";

interface PreviewedFile extends SavedFile {
  readonly summary: string;
  readonly preview?: string;
}

/** An asset's id has no form that would tell: what the service does not know may be an input's (doubt 6). */
function told(error: unknown, assetId: string): unknown {
  const isInput = error instanceof Failure && error.facts.kind === "not_found" && InputId.safeParse(assetId).success;
  return isInput
    ? error.with({ next: "This is an input's id: its referenceId is the asset; get_input shows it." })
    : error;
}

export const downloadAsset = defineTool({
  endpoint: getMicPublicAssetContent,
  name: "download_asset",
  title: "Download an original file",
  description: "Saves an asset's original bytes to a new file in the download folder: path, size, sha256.",
  effect: "save",
  input: z.strictObject({
    ...getMicPublicAssetContent.pathParameters.shape,
    fileName: fileNameSchema.describe("No path; default: its own name.").optional(),
    preview: z.boolean().optional(),
  }),
  output: outputs.whole<PreviewedFile>({
    summary: outputs.text,
    path: outputs.text,
    bytes: outputs.integer,
    sha256: outputs.text,
    contentType: outputs.text,
    fileName: outputs.text,
  }),
  async run({ assetId, fileName, preview = false }, { context, report }, { files }) {
    const target = { folder: files.folder, fallbackName: assetId, ...(fileName !== undefined && { fileName }) };
    const saving = files.save(getMicPublicAssetContent, { path: { assetId } }, target, context, (bytes) =>
      report({ progress: bytes, message: `${bytes} bytes` }),
    );
    const file = await saving.catch((error: unknown) => {
      throw told(error, assetId);
    });
    const summary = `Saved ${word(file.fileName)} to the download folder.`;
    const text = `${summary}\n${word(file.path)}: ${file.bytes} bytes, ${word(file.contentType)}, sha256 ${file.sha256}.`;
    const saved = { summary, ...file };
    if (!preview) return wholeResult<PreviewedFile>(saved, { text });
    const lines = await previewOf(file);
    const shown = lines === undefined ? `${NO_PREVIEW}.` : `It begins: ${json(lines)}`;
    return wholeResult<PreviewedFile>({ ...saved, preview: lines ?? NO_PREVIEW }, { text: `${text}\n${shown}` });
  },
});
