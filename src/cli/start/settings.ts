// The little of a configuration that the first answers depend on. src/config.ts reads the whole; whatever is unusual here is
// left to it (test/cli/start/settings.test.ts holds this to what that accepts).

export interface Settings {
  readonly geography: boolean;
  readonly jobs: boolean;
  readonly readOnly: boolean;
  readonly apps: "auto" | "always";
  readonly workspaceId: string | undefined;
  /** Not to be shown, whatever happens. */
  readonly secrets: readonly string[];
}

const like =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text);
const wholeNumber =
  (min: number, max: number) =>
  (text: string): boolean =>
    /^\d{1,6}$/.test(text) && Number(text) >= min && Number(text) <= max;
const url =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text) && URL.canParse(text);

const USUAL: Readonly<Record<string, (text: string) => boolean>> = {
  MIC_EMULATOR: like(/^(0|false)$/),
  MIC_BASE_URL: url(/^https?:\/\/[\w.-]+(:\d+)?(\/[\w.~-]*)*$/),
  MIC_CLIENT_ID: like(/^[\x20-\x7e]+$/),
  MIC_CLIENT_SECRET: like(/^[\x20-\x7e]+$/),
  MIC_WORKSPACE_ID: like(/^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/),
  MIC_STATE_DIR: () => true,
  MIC_DOWNLOAD_DIR: () => true,
  MIC_KEYCHAIN: like(/^(auto|require|off)$/),
  MIC_JOURNAL_URL: url(/^postgres(ql)?:\/\/[^%]*$/),
  MIC_ACTION_RETENTION_DAYS: wholeNumber(1, 3650),
  MIC_GEOGRAPHY_RATE: wholeNumber(1, 600),
  MIC_CONFIRM: like(/^(auto|never)$/),
  MIC_APPS: like(/^(auto|always)$/),
  MIC_READ_ONLY: like(/^[01]$/),
  MIC_TOOLSETS: like(/^(geography|jobs|geography, ?jobs|jobs, ?geography)$/),
  MIC_LOG_LEVEL: like(/^(debug|info|warn|error|silent)$/),
};

/** As src/config.ts has it: a host leaves the placeholder of a question that was not answered. */
const isUnset = (value: string): boolean => value === "" || /^\$(?:\{user_config\.\w+\}|MIC_\w+)$/.test(value);

/** Undefined where a login, a warning or a usage error may have a say: then the program answers, and this does not. */
export function usualSettings(environment: NodeJS.ProcessEnv): Settings | undefined {
  const given = new Map<string, string>();
  for (const [name, value = ""] of Object.entries(environment)) {
    if (!name.startsWith("MIC_") || isUnset(value)) continue;
    if (!Object.hasOwn(USUAL, name) || USUAL[name]?.(value) !== true) return undefined;
    given.set(name, value);
  }
  const hasId = given.has("MIC_CLIENT_ID");
  if (hasId !== given.has("MIC_CLIENT_SECRET")) return undefined;
  const workspaceId = given.get("MIC_WORKSPACE_ID");
  const needsLogin = !(given.has("MIC_BASE_URL") && hasId) && given.get("MIC_KEYCHAIN") !== "off";
  if (workspaceId === undefined && needsLogin) return undefined;
  const journal = given.get("MIC_JOURNAL_URL");
  const toolsets = given.get("MIC_TOOLSETS") ?? "geography,jobs";
  return {
    geography: toolsets.includes("geography"),
    jobs: toolsets.includes("jobs"),
    readOnly: given.get("MIC_READ_ONLY") === "1",
    apps: given.get("MIC_APPS") === "always" ? "always" : "auto",
    workspaceId,
    secrets: [given.get("MIC_CLIENT_SECRET") ?? "", journal === undefined ? "" : new URL(journal).password],
  };
}
