import * as z from "zod/v4";
import type { SavedFile } from "../src/api-client/downloads.ts";
import { fileNameSchema } from "../src/api-client/file-names.ts";
import { previewOf } from "../src/api-client/file-preview.ts";
import { getMicPublicAssetContent } from "../src/contract/endpoints/job-processing.ts";
import { InputId } from "../src/contract/inputs.ts";
import { Failure } from "../src/failure.ts";
import { json, word } from "../src/outside.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import type { Link, LinkedFile, LinkedFiles, WantedAsset } from "../src/toolkit/linked-files.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import type { FolderFiles } from "../src/toolkit/ports.ts";
import { type ToolResult, wholeResult } from "../src/toolkit/results.ts";
import type { ToolCall } from "../src/toolkit/tool-call.ts";

const NO_PREVIEW = "no preview: not text";

interface AnyFile {
  readonly summary: string;
  readonly fileName: string;
  readonly contentType: string;
  readonly preview?: string;
}

type AnswerHere = AnyFile & SavedFile;

type AnswerElsewhere = AnyFile & Link & Pick<LinkedFile, "bytes" | "sha256">;

const previewText = (preview: string | undefined): string =>
  preview === undefined ? `${NO_PREVIEW}.` : `It begins: ${json(preview)}`;

/** An asset's id has no form that would tell: what the service does not know may be an input's (doubt 6). */
function told(error: unknown, assetId: string): unknown {
  const isInput = error instanceof Failure && error.facts.kind === "not_found" && InputId.safeParse(assetId).success;
  return isInput
    ? error.with({ next: "This is an input's id: its referenceId is the asset; get_input shows it." })
    : error;
}

async function saved(
  { assetId, fileName, preview }: WantedAsset,
  { context, report }: ToolCall,
  files: FolderFiles,
): Promise<ToolResult<AnswerHere>> {
  const target = { folder: files.folder, fallbackName: assetId, ...(fileName !== undefined && { fileName }) };
  const file = await files.save(getMicPublicAssetContent, { path: { assetId } }, target, context, (bytes) =>
    report({ progress: bytes, message: `${bytes} bytes` }),
  );
  const summary = `Saved ${word(file.fileName)} to the download folder.`;
  const text = `${summary}\n${word(file.path)}: ${file.bytes} bytes, ${word(file.contentType)}, sha256 ${file.sha256}.`;
  if (!preview) return wholeResult({ summary, ...file }, { text });
  const lines = await previewOf(file);
  return wholeResult({ summary, ...file, preview: lines ?? NO_PREVIEW }, { text: `${text}\n${previewText(lines)}` });
}

async function offered(
  wanted: WantedAsset,
  { context }: ToolCall,
  files: LinkedFiles,
): Promise<ToolResult<AnswerElsewhere>> {
  const { preview, ...file } = await files.asset(getMicPublicAssetContent, wanted, context);
  const { content, ...said } = file;
  const summary = content
    ? `${word(file.fileName)} is in this answer.`
    : `${word(file.fileName)} can be downloaded by its link until ${file.expiresAt}.`;
  const size = file.bytes === undefined ? "" : `${file.bytes} bytes, `;
  const facts = `${size}${word(file.contentType)}${file.sha256 === undefined ? "" : `, sha256 ${file.sha256}`}.`;
  const shown = wanted.preview && !content ? [previewText(preview)] : [];
  const text = [summary, ...(content ? [] : [file.url]), facts, ...shown].join("\n");
  const begins = wanted.preview ? { preview: preview ?? NO_PREVIEW } : {};
  return wholeResult({ summary, ...said, ...begins }, { text, file });
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
  output: outputs.whole<AnswerHere | AnswerElsewhere>({
    summary: outputs.text,
    path: outputs.text,
    bytes: outputs.integer,
    sha256: outputs.text,
    contentType: outputs.text,
    fileName: outputs.text,
  }),
  withLinks: {
    description: "An asset's original bytes: small text or image in the answer, and a short-lived link.",
    output: outputs.whole<AnswerHere | AnswerElsewhere>({
      summary: outputs.text,
      bytes: outputs.integer,
      sha256: outputs.text,
      contentType: outputs.text,
      fileName: outputs.text,
      url: outputs.text,
      expiresAt: outputs.text,
    }),
  },
  async run({ assetId, fileName, preview = false }, call, { files }) {
    const getting =
      files.kind === "links"
        ? offered({ assetId, fileName, preview }, call, files)
        : saved({ assetId, fileName, preview }, call, files);
    return await getting.catch((error: unknown) => {
      throw told(error, assetId);
    });
  },
});
