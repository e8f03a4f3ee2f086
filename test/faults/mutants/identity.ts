// Mutants of deduplication: the fingerprint, the keys and the deduplication window.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the code that is replaced contains templates.
import { builtServerTest, inProcessTest, type Mutant } from "./mutant.ts";

const callers = inProcessTest("test/actions/callers.test.ts");
const canonical = inProcessTest("test/actions/canonical-json.test.ts");
const deduplication = inProcessTest("test/actions/deduplication.test.ts");
const journal = inProcessTest("test/actions/journal.test.ts", "SQLite ");
const postgres = inProcessTest("test/actions/journal.test.ts", "PostgreSQL ");
const machine = inProcessTest("test/actions/machine.test.ts");
const unknownOutcome = inProcessTest("test/actions/unknown-outcome.test.ts");
const window = builtServerTest("test/faults/deduplication-window.test.ts");

const IS_RECENT = "ABS(${now} - ${row}.resolved_at) < ${DEDUPLICATION_WINDOW_MS}";

export const identityMutants: readonly Mutant[] = [
  {
    what: "arguments in another order make another action",
    code: "Object.keys(value).sort();",
    replacement: "Object.keys(value);",
    killedBy: canonical("the order of keys does not matter at any depth"),
  },
  {
    what: "a note makes another action",
    code: "for (const name of identifyingArguments) {",
    replacement: "for (const name of Object.keys(args)) {",
    killedBy: deduplication("another note: the same action"),
  },
  {
    what: "bindings in another order make another action",
    code: ".sort((one, other) => (one.port < other.port ? -1 : 1))",
    replacement: "",
    killedBy: deduplication("bindings in another order: the same action"),
  },
  {
    what: "whitespace around a text makes another action",
    code: 'if (typeof value === "string") return value.trim();',
    replacement: "",
    killedBy: deduplication("blanks around the purpose: the same action"),
  },
  {
    what: "whitespace in parameterValues does not count",
    code: 'name === "parameterValues" ? value : normalize(value)',
    replacement: "normalize(value)",
    killedBy: deduplication("blanks in parameterValues: another job"),
  },
  {
    what: "another input of the same file makes another job",
    code: "return { port: String(port), input: reference ?? inputId };",
    replacement: "return { port: String(port), input: inputId ?? reference };",
    killedBy: deduplication("a job for another input of the same file is the same action"),
  },
  {
    what: "there is no deduplication window: a repeated call is a new action as soon as the first has succeeded",
    code: IS_RECENT,
    replacement: "ABS(${now} - ${row}.resolved_at) < 0 * ${DEDUPLICATION_WINDOW_MS}",
    killedBy: deduplication("an identical call is a replay with the current state, even in a new session"),
  },
  {
    what: "the deduplication window does not end",
    code: IS_RECENT,
    replacement: "ABS(${now} - ${row}.resolved_at) < 100 * ${DEDUPLICATION_WINDOW_MS}",
    killedBy: journal("a success releases its slot after the window, and replays do not extend the window"),
  },
  {
    what: "the deduplication window is 18 h",
    code: "export const DEDUPLICATION_WINDOW_MS = 20 * 3_600_000;",
    replacement: "export const DEDUPLICATION_WINDOW_MS = 18 * 3_600_000;",
    killedBy: window("an identical call is a replay after 19 h and a new action after 21 h"),
  },
  {
    what: "the deduplication window is a day",
    code: "export const DEDUPLICATION_WINDOW_MS = 20 * 3_600_000;",
    replacement: "export const DEDUPLICATION_WINDOW_MS = 24 * 3_600_000;",
    killedBy: window("an identical call is a replay after 19 h and a new action after 21 h"),
  },
  {
    what: "an action in progress is not live",
    code: "(${row}.state = 'in_progress' OR (${row}.state = 'unknown'",
    replacement: "((${row}.state = 'unknown'",
    killedBy: journal(
      "a call without a key is the same action while that action is in progress, and no second one is inserted",
    ),
  },
  {
    what: "an action with an unknown outcome is not live",
    code: "OR (${row}.state = 'unknown' AND NOT EXISTS (SELECT 1 ${laterSuccessesSql(row)}))\n     OR",
    replacement: "OR",
    killedBy: journal(
      "a call without a key is the same action while that action is unknown, and no second one is inserted",
    ),
  },
  {
    what: "an unknown action stays live after an identical success",
    code: "OR (${row}.state = 'unknown' AND NOT EXISTS (SELECT 1 ${laterSuccessesSql(row)}))\n     OR",
    replacement: "OR ${row}.state = 'unknown' OR",
    killedBy: journal("a later identical success supersedes an action that stayed unknown"),
  },
  {
    what: "a live action of another slot does not bar the insert: no NOT EXISTS",
    code: "AND a.fingerprint = $6\n         AND ${liveSql(",
    replacement: "AND a.fingerprint = $6 AND a.slot = 2\n         AND ${liveSql(",
    killedBy: journal("a live action with an explicit key prevents an insert without a key"),
  },
  {
    what: "an action without a key takes no slot, so the unique index excludes nothing",
    code: ", 1, 'in_progress', 0, 0\n",
    replacement: ", 0, 'in_progress', 0, 0\n",
    killedBy: postgres(
      "one of several identical calls that are inserted at the same moment with a free slot is recorded",
    ),
  },
  {
    what: "a mistyped key in mic-mcp's own format begins a new action",
    code: "assertNotMistypedKey(call);\n      const findLive",
    replacement: "const findLive",
    killedBy: deduplication("a key in mic-mcp's own format with a digit that differs is refused, and nothing is sent"),
  },
  {
    what: "a key in mic-mcp's own format in capitals begins a new action",
    code: "/^\\s*mic-[0-9a-f]{32}\\s*$/i.test(key)",
    replacement: "/^mic-[0-9a-f]{32}$/.test(key)",
    killedBy: deduplication("a key in mic-mcp's own format with capitals is refused, and nothing is sent"),
  },
  {
    what: "a mistyped key without other arguments is reported as missing arguments",
    code: "if (!stored && isGeneratedKey(key)) throw unknownKeyFailure(key);",
    replacement: "",
    killedBy: deduplication("a key in mic-mcp's own format with a digit that differs is refused, and nothing is sent"),
  },
  {
    what: "a key is accepted for an action with other arguments",
    code: "if (stored.fingerprint !== identity.fingerprint && stored.arguments !== identity.canonical)\n    throw otherArgumentsFailure(stored, identity);",
    replacement: "",
    killedBy: unknownOutcome("the same key for another call is refused before sending"),
  },
  {
    what: "a call with nothing but a key is refused",
    code: "(await recallArguments(tool, given, runtime)) ?? given",
    replacement: "given",
    killedBy: deduplication("a call with only the key takes the other arguments from the journal"),
  },
  {
    what: "a key of one service is found by another",
    code: "FROM actions WHERE service = $1 AND key = $2`, [service, key]",
    replacement: "FROM actions WHERE $1 <> '' AND key = $2`, [service, key]",
    killedBy: journal("a new action is recorded unchanged and found by its key"),
  },
  {
    what: "the same call to another service is the same action",
    code: "WHERE a.service = $1 AND a.tool = $2 AND a.fingerprint = $3",
    replacement: "WHERE $1 <> '' AND a.tool = $2 AND a.fingerprint = $3",
    killedBy: journal(
      "a call without a key is the same action while that action is in progress, and no second one is inserted",
    ),
  },
  {
    what: "the key that the user agreed to is not the action's",
    code: "call.explicitKey ?? call.proposedKey ?? generateKey()",
    replacement: "call.explicitKey ?? generateKey()",
    killedBy: machine("an action has the key that the user agreed to"),
  },
  {
    what: "callers who share client credentials share their actions",
    code: "    caller === undefined ? serviceName :",
    replacement: "    caller !== '' ? serviceName :",
    killedBy: callers("the same key of two callers makes two actions, each with its own upstream idempotency key"),
  },
  {
    what: "a key that two callers name is one key at the API",
    code: "upstreamKey: call.explicitKey === undefined ? undefined : call.hooks?.upstreamKey?.(call.explicitKey),",
    replacement: "upstreamKey: undefined,",
    killedBy: callers("the same key of two callers makes two actions, each with its own upstream idempotency key"),
  },
  {
    what: "a caller without a name lists the actions of all callers",
    code: "const listedServiceName = caller === undefined ?",
    replacement: "const listedServiceName = caller !== '' ?",
    killedBy: callers(
      "a caller whose identity cannot be determined lists nothing, not the whole journal of a single user",
    ),
  },
];
