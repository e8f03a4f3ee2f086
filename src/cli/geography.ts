// Implements `mic-mcp geography warm`, which loads all districts lists into the cache that the servers of this machine share.
import { CALL_LIMIT_MS } from "../api-client/attempts.ts";
import { UsageError } from "../core/config.ts";
import { computeCoverage, summarizeVintage } from "../geography/country.ts";
import { answerForAllStates } from "../geography/districts.ts";
import { formatCoverage, formatListCount } from "../geography/format.ts";
import { type CommandContext, withRuntime, writeJson } from "./backend.ts";
import type { RunCommand } from "./commands.ts";
import { createProgressDisplay } from "./terminal.ts";

async function warm(context: CommandContext): Promise<number> {
  const { runtime, signal, isJson } = context;
  const { geography, api } = runtime.ports;
  const { redact } = runtime.redactor;
  const display = createProgressDisplay(process.stderr);
  try {
    // The states list must arrive within a call's time. The other lists may take minutes, because the API limits the rate.
    await geography.states({ signal, deadlineAt: api.timing.clockMs() + CALL_LIMIT_MS });
    const result = await geography.gather(
      {
        answer: answerForAllStates,
        waitMs: Number.POSITIVE_INFINITY,
        onProgress: display.report,
      },
      { signal, deadlineAt: Number.POSITIVE_INFINITY },
    );
    display.end();
    const coverage = computeCoverage(result);
    const codes = result.answer.states.map(({ code }) => code);
    const vintage = summarizeVintage(result.country, codes);
    const loaded = `${formatListCount(coverage.statesRead, coverage)} loaded.`;
    if (isJson) await writeJson({ coverage, vintage }, context);
    else process.stdout.write(`${redact(`${loaded} ${formatCoverage(coverage, vintage)}`)}\n`);
    return coverage.complete ? 0 : 1;
  } catch (error) {
    display.end();
    if (!signal.aborted) throw error;
    process.stderr.write("Stopped. The lists that were loaded stay in the cache.\n");
    return 1;
  }
}

export const geography: RunCommand<"geography"> = async ({ values, positionals }, environment) => {
  if (positionals.join(" ") !== "warm") throw new UsageError("Run mic-mcp geography warm.");
  return await withRuntime("geography warm", environment, values, warm);
};
