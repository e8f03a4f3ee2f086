// Implements `mic-mcp doctor`, which prints the settings, checks everything that a call depends on, and prints how to fix each problem.
import { systemTiming } from "../api-client/attempts.ts";
import { type Config, checkPath, readConfig, UsageError } from "../core/config.ts";
import { pickMicVariables } from "../core/environment-variables.ts";
import { escapeJson, escapeText } from "../core/untrusted-text.ts";
import { COMMAND_LIMIT_MS } from "../credentials/keychain/keychain.ts";
import { createTokens } from "../credentials/tokens.ts";
import { offeredTools } from "../mcp/tools/offered-tools.ts";
import { openBackend } from "./backend.ts";
import { checkClients, checkOtherJournals } from "./check-clients.ts";
import {
  type Check,
  checkBaseUrl,
  checkClock,
  checkFolder,
  checkHttpToken,
  checkJobApi,
  checkJournal,
  checkKeychain,
  checkNode,
  checkPlayground,
  checkProxy,
  checkToken,
  checkWarnings,
  failedCheck,
} from "./checks.ts";
import type { RunCommand } from "./commands.ts";
import { compose } from "./compose.ts";
import { checkScopes } from "./scopes.ts";
import { collectSettings, formatSettings, type SettingsReport } from "./settings-report.ts";
import { wrapLines } from "./tables.ts";
import { applyStyle } from "./terminal.ts";

function formatCheck({ name, ok, detail, fix }: Check): string {
  const mark = ok ? applyStyle("green", "ok  ", process.stdout) : applyStyle("red", "FAIL", process.stdout);
  return `${mark} ${name.padEnd(15)} ${detail}${fix === undefined ? "" : `\n${" ".repeat(22)}-> ${fix}`}`;
}

interface Options {
  readonly emulator?: boolean;
  readonly scopes?: boolean;
  readonly offline?: boolean;
}

interface Report {
  /** Absent if a variable is wrong, and for a deployment. */
  readonly settings?: SettingsReport;
  readonly checks: readonly Check[];
}

/** Wrong variables count as one failed check, and later checks are skipped. */
async function examine(environment: NodeJS.ProcessEnv, options: Options): Promise<Report> {
  let config: Config;
  try {
    config = readConfig(options.emulator ? { ...environment, MIC_EMULATOR: "1" } : environment);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const wrong = error.message.replaceAll("\n", " ");
    return { checks: [checkNode(), failedCheck("configuration", wrong, "Correct or unset these variables.")] };
  }
  return await runChecks(environment, config, options);
}

async function runChecks(environment: NodeJS.ProcessEnv, given: Config, options: Options): Promise<Report> {
  const backend = await openBackend(given);
  const { config } = backend;
  const composed = compose(backend, COMMAND_LIMIT_MS);
  const { identity, keychain, runtime, transport, close } = composed;
  const { redactor } = runtime;
  // A stored token would not show that the credentials are still valid.
  const freshTokens = createTokens({ identity, transport, timing: systemTiming, redactor });
  const { httpTokenFile } = await import("../transports/http/token.ts");
  try {
    const settings = await collectSettings(
      given,
      Object.keys(pickMicVariables(environment)),
      keychain,
      composed.journal,
    );
    const basicChecks = [
      checkNode(),
      checkWarnings(config),
      await checkKeychain(keychain, config),
      await checkBaseUrl(identity),
    ];
    const stateFolder = await checkFolder("state folder", config.stateDir, "MIC_STATE_DIR", true);
    // A journal in a folder that cannot be used is not checked.
    const canCheckJournal = stateFolder.ok || config.journalUrl !== undefined;
    const folders = [
      stateFolder,
      ...(canCheckJournal
        ? [await checkJournal(config, composed.journal, composed.containerNotice !== undefined)]
        : []),
      ...(await checkOtherJournals(environment, config)),
      await checkFolder("download folder", config.downloadDir, "MIC_DOWNLOAD_DIR", false),
      await checkHttpToken(config),
    ];
    const hasBaseUrl = basicChecks.at(-1)?.ok === true;
    const reachable = hasBaseUrl && !options.offline;
    const network = reachable
      ? await Promise.all([
          checkPlayground(runtime.ports.api),
          checkClock(runtime.ports.api),
          checkToken(identity, freshTokens),
          checkJobApi(runtime.ports.api, identity),
          ...(options.scopes ? [checkScopes(identity, freshTokens, offeredTools(runtime.tools, config))] : []),
        ])
      : [];
    const checks = [
      ...basicChecks,
      ...network,
      ...folders,
      checkProxy(environment),
      ...(await checkClients({
        environment,
        tokenFile: httpTokenFile(config.stateDir),
        transport: options.offline ? undefined : transport,
        usesEmulator: given.emulator || !hasBaseUrl,
      })),
    ];
    return {
      settings: JSON.parse(redactor.redact(JSON.stringify(settings))),
      checks: checks.map((check) => ({ ...check, detail: redactor.redact(escapeText(check.detail)) })),
    };
  } finally {
    await close();
    await backend.close();
  }
}

export const doctor: RunCommand<"doctor"> = async ({ values }, environment) => {
  for (const flag of ["emulator", "scopes", "offline"] as const)
    if (values.teams && values[flag]) throw new UsageError(`--teams and --${flag} cannot be combined.`);
  if (values.token !== undefined && !values.teams) throw new UsageError("--token requires --teams.");
  const tokenFile = values.token === undefined ? undefined : checkPath("--token", values.token, environment);
  const { settings, checks }: Report = values.teams
    ? { checks: await (await import("../teams/program.ts")).examineTeams(environment, tokenFile) }
    : await examine(environment, values);
  const ok = checks.every((check) => check.ok);
  const verdict = ok ? "All checks passed." : "Some checks failed; see the lines marked FAIL.";
  const lines = [...(settings ? [...formatSettings(settings), ""] : []), ...checks.map(formatCheck), verdict];
  process.stdout.write(
    `${values.json ? escapeJson(JSON.stringify({ ok, settings, checks })) : wrapLines(lines.join("\n"), process.stdout)}\n`,
  );
  return ok ? 0 : 1;
};
