import * as z from "zod/v4";
import { getMicPublicAssetContent } from "../src/contract/endpoints/job-processing.ts";
import { word } from "../src/outside.ts";
import type { SavedFile } from "../src/service/download.ts";
import { fileNameSchema } from "../src/service/file-names.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { wholeResult } from "../src/toolkit/results.ts";

export const downloadAsset = defineTool({
  endpoint: getMicPublicAssetContent,
  name: "download_asset",
  title: "Download an original file",
  description: "Saves an asset's original bytes to a new file in the download folder: path, size, sha256.",
  effect: "save",
  input: z.strictObject({
    ...getMicPublicAssetContent.pathParameters.shape,
    fileName: fileNameSchema.describe("No path; default: its own name.").optional(),
  }),
  output: outputs.whole<SavedFile>({
    path: outputs.text,
    bytes: outputs.integer,
    sha256: outputs.text,
    contentType: outputs.text,
    fileName: outputs.text,
  }),
  async run({ assetId, fileName }, { context, report }, { files }) {
    const target = { folder: files.folder, fallbackName: assetId, ...(fileName !== undefined && { fileName }) };
    const file = await files.save(getMicPublicAssetContent, { path: { assetId } }, target, context, (bytes) =>
      report({ progress: bytes, message: `${bytes} bytes` }),
    );
    const text = `Saved ${word(file.path)}: ${file.bytes} bytes, ${word(file.contentType)}, sha256 ${file.sha256}.`;
    return wholeResult(file, { text });
  },
});
