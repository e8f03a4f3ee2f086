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

export const identityMutants: readonly Mutant[] = [
  canonical("the order of keys does not matter at any depth", {
    "arguments in another order make another action": ["Object.keys(value).sort();", "Object.keys(value);"],
  }),
  deduplication("another note: the same action", {
    "a note makes another action": [
      "for (const name of identifyingArguments) {",
      "for (const name of Object.keys(args)) {",
    ],
  }),
  deduplication("bindings in another order: the same action", {
    "bindings in another order make another action": [".sort((one, other) => (one.port < other.port ? -1 : 1))", ""],
  }),
  deduplication("blanks around the purpose: the same action", {
    "whitespace around a text makes another action": ['if (typeof value === "string") return value.trim();', ""],
  }),
  deduplication("blanks in parameterValues: another job", {
    "whitespace in parameterValues does not count": [
      'name === "parameterValues" ? value : normalize(value)',
      "normalize(value)",
    ],
  }),
  deduplication("a job for another input of the same file is the same action", {
    "another input of the same file makes another job": [
      "return { port: String(port), input: reference ?? inputId };",
      "return { port: String(port), input: inputId ?? reference };",
    ],
  }),
  deduplication("an identical call is a replay with the current state, even in a new session", {
    "there is no deduplication window: a repeated call is a new action as soon as the first has succeeded": [
      "ABS(${now} - ${row}.resolved_at) < ${DEDUPLICATION_WINDOW_MS}",
      "ABS(${now} - ${row}.resolved_at) < 0 * ${DEDUPLICATION_WINDOW_MS}",
    ],
  }),
  journal("a success releases its slot after the window, and replays do not extend the window", {
    "the deduplication window does not end": [
      "ABS(${now} - ${row}.resolved_at) < ${DEDUPLICATION_WINDOW_MS}",
      "ABS(${now} - ${row}.resolved_at) < 100 * ${DEDUPLICATION_WINDOW_MS}",
    ],
  }),
  window("an identical call is a replay after 19 h and a new action after 21 h", {
    "the deduplication window is 18 h": [
      "export const DEDUPLICATION_WINDOW_MS = 20 * 3_600_000;",
      "export const DEDUPLICATION_WINDOW_MS = 18 * 3_600_000;",
    ],
    "the deduplication window is a day": [
      "export const DEDUPLICATION_WINDOW_MS = 20 * 3_600_000;",
      "export const DEDUPLICATION_WINDOW_MS = 24 * 3_600_000;",
    ],
  }),
  journal("a call without a key is the same action while that action is in progress, and no second one is inserted", {
    "an action in progress is not live": [
      "(${row}.state = 'in_progress' OR (${row}.state = 'unknown'",
      "((${row}.state = 'unknown'",
    ],
    "the same call to another service is the same action": [
      "WHERE a.service = $1 AND a.tool = $2 AND a.fingerprint = $3",
      "WHERE $1 <> '' AND a.tool = $2 AND a.fingerprint = $3",
    ],
  }),
  journal("a call without a key is the same action while that action is unknown, and no second one is inserted", {
    "an action with an unknown outcome is not live": [
      "OR (${row}.state = 'unknown' AND NOT EXISTS (SELECT 1 ${laterSuccessesSql(row)}))\n     OR",
      "OR",
    ],
  }),
  journal("a later identical success supersedes an action that stayed unknown", {
    "an unknown action stays live after an identical success": [
      "OR (${row}.state = 'unknown' AND NOT EXISTS (SELECT 1 ${laterSuccessesSql(row)}))\n     OR",
      "OR ${row}.state = 'unknown' OR",
    ],
  }),
  journal("a live action with an explicit key prevents an insert without a key", {
    "a live action of another slot does not bar the insert: no NOT EXISTS": [
      "AND a.fingerprint = $6\n         AND ${liveSql(",
      "AND a.fingerprint = $6 AND a.slot = 2\n         AND ${liveSql(",
    ],
  }),
  postgres("one of several identical calls that are inserted at the same moment with a free slot is recorded", {
    "an action without a key takes no slot, so the unique index excludes nothing": [
      ", 1, 'in_progress', 0, 0\n",
      ", 0, 'in_progress', 0, 0\n",
    ],
  }),
  deduplication("a key in mic-mcp's own format with a digit that differs is refused, and nothing is sent", {
    "a mistyped key in mic-mcp's own format begins a new action": [
      "assertNotMistypedKey(call);\n      const findLive",
      "const findLive",
    ],
    "a mistyped key without other arguments is reported as missing arguments": [
      "if (!stored && isGeneratedKey(key)) throw unknownKeyFailure(key);",
      "",
    ],
  }),
  deduplication("a key in mic-mcp's own format with capitals is refused, and nothing is sent", {
    "a key in mic-mcp's own format in capitals begins a new action": [
      "/^\\s*mic-[0-9a-f]{32}\\s*$/i.test(key)",
      "/^mic-[0-9a-f]{32}$/.test(key)",
    ],
  }),
  unknownOutcome("the same key for another call is refused before sending", {
    "a key is accepted for an action with other arguments": [
      "if (stored.fingerprint !== identity.fingerprint && stored.arguments !== identity.canonical)\n    throw otherArgumentsFailure(stored, identity);",
      "",
    ],
  }),
  deduplication("a call with only the key takes the other arguments from the journal", {
    "a call with nothing but a key is refused": ["(await recallArguments(tool, given, runtime)) ?? given", "given"],
  }),
  journal("a new action is recorded unchanged and found by its key", {
    "a key of one service is found by another": [
      "FROM actions WHERE service = $1 AND key = $2`, [service, key]",
      "FROM actions WHERE $1 <> '' AND key = $2`, [service, key]",
    ],
  }),
  machine("an action has the key that the user agreed to", {
    "the key that the user agreed to is not the action's": [
      "call.explicitKey ?? call.proposedKey ?? generateKey()",
      "call.explicitKey ?? generateKey()",
    ],
  }),
  callers("the same key of two callers makes two actions, each with its own upstream idempotency key", {
    "callers who share client credentials share their actions": [
      "    caller === undefined ? serviceName :",
      "    caller !== '' ? serviceName :",
    ],
    "a key that two callers name is one key at the API": [
      "upstreamKey: call.explicitKey === undefined ? undefined : call.hooks?.upstreamKey?.(call.explicitKey),",
      "upstreamKey: undefined,",
    ],
  }),
  callers("a caller whose identity cannot be determined lists nothing, not the whole journal of a single user", {
    "a caller without a name lists the actions of all callers": [
      "const listedServiceName = caller === undefined ?",
      "const listedServiceName = caller !== '' ?",
    ],
  }),
].flat();
