// This module defines save_table, which saves all rows of a listing call as a CSV file.

import * as z from "zod/v4";
import { fileNameSchema } from "../src/api-client/new-file.ts";
import { jsonObject } from "../src/contract/json.ts";
import { invalidArguments } from "../src/core/failure.ts";
import { join, say } from "../src/core/text.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import type { SavedRows } from "../src/toolkit/files.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { toolResult } from "../src/toolkit/results.ts";
import { listDistricts } from "./list-districts.ts";
import { listJobs } from "./list-jobs.ts";
import { rankDivisions } from "./rank-divisions.ts";

const SOURCES = { list_jobs: listJobs, list_districts: listDistricts, rank_divisions: rankDivisions } as const;

function continuationFileName(fileName: string): string {
  const name = `more-${fileName}`;
  return fileNameSchema.safeParse(name).success ? name : "more.csv";
}

export const saveTable = defineTool({
  toolsets: ["geography", "jobs"],
  name: "save_table",
  title: "Save a table as CSV (export)",
  description: "Save all rows of a listing call as a CSV file, for export or for a spreadsheet program.",
  searchHint: "export, csv, spreadsheet, excel",
  effect: "save",
  input: z.strictObject({
    source: z.enum(["list_jobs", "list_districts", "rank_divisions"], {
      error: "for list_states use rank_divisions with level state",
    }),
    arguments: jsonObject.describe("Arguments of that call."),
    fileName: fileNameSchema.describe("For example jobs.csv."),
  }),
  output: outputs.answer<SavedRows["data"]>({ rows: outputs.integer }, { nextStep: outputs.object }),
  async run({ source: tool, arguments: given, fileName }, ctx) {
    if (!ctx.isOffered(tool)) throw invalidArguments(say`save_table was not called: ${tool} is not offered here.`);
    await ctx.files.assertNameFree(fileName);
    const listing = SOURCES[tool];
    const isInWorkspace = Object.hasOwn(listing.toExact(given).arguments, "workspaceId");
    const takesDefault = listing.argumentNames.includes("workspaceId") && ctx.workspaceId !== undefined;
    const args = takesDefault && !isInWorkspace ? { ...given, workspaceId: ctx.workspaceId } : given;
    const table = await listing.tabulate?.(args, ctx);
    if (!table) throw new Error(`${tool} lists no table`);
    const { fields, lines, drift, rest } = table;
    const saved = await ctx.files.saveRows(fileName, table, { tool, arguments: args });
    const nextStep = rest && {
      tool: ctx.tool,
      arguments: { source: tool, arguments: rest, fileName: continuationFileName(fileName) },
      why: say`saves the rest to a file of its own`,
    };
    const summary = join([table.summary, saved.sentence]);
    return toolResult(
      { ...saved.data, ...fields },
      { summary, nextStep, lines: [...saved.lines, ...lines], drift, file: saved.file },
    );
  },
});
