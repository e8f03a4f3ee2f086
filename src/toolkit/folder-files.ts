// Saves files in the download folder, the only folder that tools write to.
import { createHash } from "node:crypto";
import type { ApiClient } from "../api-client/client.ts";
import { createDownloads } from "../api-client/downloads.ts";
import { readPreview } from "../api-client/file-preview.ts";
import { assertNameFree, createFile, diskFailure, prepareFolder } from "../api-client/new-file.ts";
import { countPart } from "../core/counts.ts";
import { Failure } from "../core/failure.ts";
import { say } from "../core/text.ts";
import { toCsv } from "./csv.ts";
import type { Files } from "./files.ts";

async function writeNewFile(folder: string, name: string, bytes: Buffer): Promise<string> {
  await prepareFolder(folder);
  await assertNameFree(folder, name);
  try {
    const { path } = await createFile({ folder, name }, (file) => file.writeFile(bytes));
    return path;
  } catch (error) {
    throw error instanceof Failure ? error : diskFailure(folder, error);
  }
}

export function createFolderFiles(folder: string, api: ApiClient): Files {
  const downloads = createDownloads(api);
  return {
    async saveAsset({ assetId, fileName, preview }, context, onBytes) {
      const { warning, ...data } = await downloads.save({ assetId, folder, fileName }, context, onBytes);
      return {
        data,
        sentence: say`Saved ${data.fileName} to the download folder.`,
        lines: [say`${data.path}: ${data.bytes} bytes, ${data.contentType}, sha256 ${data.sha256}.`],
        warning,
        preview: preview ? await readPreview(data) : undefined,
      };
    },

    assertNameFree: (fileName) => assertNameFree(folder, fileName),

    async saveRows(fileName, table) {
      const csv = toCsv(table);
      const path = await writeNewFile(folder, fileName, csv);
      const sha256 = createHash("sha256").update(csv).digest("hex");
      const rows = table.rows.length;
      return {
        data: { path, rows, sha256 },
        sentence: say`Saved ${countPart(rows, "row")} to ${path}.`,
        lines: [say`sha256 ${sha256}`],
      };
    },
  };
}
