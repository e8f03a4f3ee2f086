// This module defines download_asset, which saves the original bytes of an asset where the caller can read them.
import * as z from "zod/v4";
import { fileNameSchema } from "../src/api-client/new-file.ts";
import { getMicPublicAssetContent } from "../src/contract/endpoints/job-processing.ts";
import { AGENT, join, json, render, say } from "../src/core/text.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import type { SavedAsset } from "../src/toolkit/files.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { toolResult } from "../src/toolkit/results.ts";

// A deployment lists another description and output schema (src/teams/downloads/links.ts).
export const downloadAsset = defineTool({
  endpoint: getMicPublicAssetContent,
  name: "download_asset",
  title: "Download an original file",
  description: "Save a source file's original bytes as a new file in the download folder. Not for job output.",
  effect: "save",
  input: z.strictObject({
    assetId: getMicPublicAssetContent.pathParameters.shape.assetId.describe(
      "referenceId of an input, such as devfile_…",
    ),
    fileName: fileNameSchema.describe("Default: the asset's own name.").optional(),
    preview: z.boolean().describe("Also return the first lines of text.").optional(),
  }),
  output: outputs.answer<SavedAsset["data"]>({
    path: outputs.text,
    bytes: outputs.integer,
    sha256: outputs.text,
    contentType: outputs.text,
    fileName: outputs.text,
  }),
  async run({ assetId, fileName, preview: wantsPreview = false }, ctx) {
    const request = { assetId, fileName, preview: wantsPreview };
    const saved = await ctx.files.saveAsset(request, ctx, (bytes, total) =>
      ctx.report({ progress: bytes, total, message: `${bytes}${total === undefined ? "" : ` of ${total}`} bytes` }),
    );
    const { sentence, lines, warning, preview, file } = saved;
    const hasContent = file?.content !== undefined;
    const noPreview =
      wantsPreview && preview === undefined && !hasContent && say`It is not text, so there is no preview.`;
    const start = preview === undefined || hasContent ? undefined : say`It begins: ${json(preview)}`;
    const data = {
      ...saved.data,
      ...(warning && { warning: render(warning, AGENT) }),
      ...(preview !== undefined && { preview }),
    };
    return toolResult(data, { summary: join([warning, sentence, noPreview]), lines: [...lines, start], file });
  },
});
