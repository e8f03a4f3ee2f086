// Reads the results of tools for many jobs, in which jobs with equal outcomes have one row.
import * as z from "zod/v4";

const Rows = z.array(z.looseObject({ jobIds: z.array(z.string()).optional() }));

/** Returns a row for each job. */
export const rowOfEachJob = (results: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Rows.parse(results).flatMap(({ jobIds, count: _, ...row }) => jobIds?.map((jobId) => ({ jobId, ...row })) ?? [row]);
