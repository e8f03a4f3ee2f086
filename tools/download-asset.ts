// This module defines download_asset, which saves the original bytes of an asset in the download folder, or returns a link to them.
import * as z from "zod/v4";
import type { SavedFile } from "../src/api-client/downloads.ts";
import { readPreview } from "../src/api-client/file-preview.ts";
import { fileNameSchema } from "../src/api-client/new-file.ts";
import { getMicPublicAssetContent } from "../src/contract/endpoints/job-processing.ts";
import { AGENT, join, json, render, say, type Text } from "../src/core/text.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import type { AssetRequest, Link, LinkedFile, LinkedFiles } from "../src/toolkit/linked-files.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { type ToolResult, toolResult } from "../src/toolkit/results.ts";
import type { FolderFiles, ToolContext } from "../src/toolkit/tool-context.ts";

interface FileDetails {
  readonly fileName: string;
  readonly contentType: string;
  readonly warning?: string;
  readonly preview?: string;
}

type SavedFileResult = FileDetails & Omit<SavedFile, "warning">;

type LinkedFileResult = FileDetails & Link & Pick<LinkedFile, "bytes" | "sha256">;

const warningField = (warning: Text | undefined) => warning && { warning: render(warning, AGENT) };

const NO_PREVIEW = say`It is not text, so there is no preview.`;

const previewText = (preview: string | undefined): Text | undefined =>
  preview === undefined ? undefined : say`It begins: ${json(preview)}`;

async function saveToFolder(
  { assetId, fileName, preview }: AssetRequest,
  ctx: ToolContext,
  files: FolderFiles,
): Promise<ToolResult<SavedFileResult>> {
  const target = { folder: files.folder, fallbackName: assetId, fileName };
  const { warning, ...file } = await files.save(getMicPublicAssetContent, { path: { assetId } }, target, ctx, (bytes) =>
    ctx.report({ progress: bytes, message: `${bytes} bytes` }),
  );
  const start = preview ? await readPreview(file) : undefined;
  const summary = join([
    warning,
    say`Saved ${file.fileName} to the download folder.`,
    preview && start === undefined && NO_PREVIEW,
  ]);
  const saved = say`${file.path}: ${file.bytes} bytes, ${file.contentType}, sha256 ${file.sha256}.`;
  const data = { ...file, ...warningField(warning), ...(start !== undefined && { preview: start }) };
  return toolResult(data, { summary, lines: [saved, previewText(start)] });
}

async function createLink(
  request: AssetRequest,
  ctx: ToolContext,
  files: LinkedFiles,
): Promise<ToolResult<LinkedFileResult>> {
  const { preview, ...file } = await files.asset(getMicPublicAssetContent, request, ctx);
  const { content, warning, ...facts } = file;
  const where = content ? say`is in this answer.` : say`can be downloaded by its link until ${file.expiresAt}.`;
  const summary = join([
    warning,
    say`${file.fileName} ${where}`,
    request.preview && preview === undefined && !content && NO_PREVIEW,
  ]);
  const size = file.bytes !== undefined && say`${file.bytes} bytes, `;
  const lines = [
    content ? undefined : file.url,
    say`${size}${file.contentType}${file.sha256 !== undefined && say`, sha256 ${file.sha256}`}.`,
    content ? undefined : previewText(preview),
  ];
  const data = { ...facts, ...warningField(warning), ...(preview !== undefined && { preview }) };
  return toolResult(data, { summary, lines, file });
}

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
  output: outputs.answer<SavedFileResult | LinkedFileResult>({
    path: outputs.text,
    bytes: outputs.integer,
    sha256: outputs.text,
    contentType: outputs.text,
    fileName: outputs.text,
  }),
  withLinks: {
    description:
      "Get a source file's original bytes: a short-lived link, and a small text or image in the answer. Not for job output.",
    output: outputs.answer<SavedFileResult | LinkedFileResult>({
      bytes: outputs.integer,
      sha256: outputs.text,
      contentType: outputs.text,
      fileName: outputs.text,
      url: outputs.text,
      expiresAt: outputs.text,
    }),
  },
  async run({ assetId, fileName, preview = false }, ctx) {
    const { files } = ctx;
    const request = { assetId, fileName, preview };
    return files.kind === "links" ? await createLink(request, ctx, files) : await saveToFolder(request, ctx, files);
  },
});
