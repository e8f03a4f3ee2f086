// Which call is which action: what tells two of them apart, what a key stands for, for how long a repeat is the same.
import { inside, type Mutant, outside } from "./mutant.ts";

const callers = inside("test/actions/callers.test.ts");
const canonical = inside("test/actions/canonical.test.ts");
const journal = inside("test/actions/journal.test.ts", "SQLite ");
const postgres = inside("test/actions/journal.test.ts", "PostgreSQL ");
const machine = inside("test/actions/machine.test.ts");
const repeat = inside("test/actions/repeat.test.ts");
const http = inside("test/mcp/http/exactly-once.test.ts", "in a session ");
const unread = outside("test/faults/unread.test.ts");
const telling = inside("test/actions/unknown-outcome.test.ts");

export const identityMutants: readonly Mutant[] = [
  {
    what: "a reason worded otherwise makes another action",
    code: "canonicalArguments(without(args, wording))",
    instead: "canonicalArguments(args)",
    seenBy: repeat("the reason tells no actions apart"),
  },
  {
    what: "arguments in another order make another action",
    code: "      .sort()\n      .map((name) => [name, sorted(value[name])])",
    instead: "      .map((name) => [name, sorted(value[name])])",
    seenBy: canonical("the order of keys, at any depth, does not matter"),
  },
  {
    what: "another note makes another action while the first is unknown: notes count as work",
    code: "without(args, [...wording, ...notes])",
    instead: "without(args, wording)",
    seenBy: repeat("submit_job: another note while the first is of unknown outcome is refused"),
  },
  {
    what: "an unsettled action with another note is not looked for",
    code: "return reworded && settleFirst(",
    instead: "return undefined && settleFirst(",
    seenBy: repeat("register_input: another note while the first is of unknown outcome is refused"),
  },
  {
    what: "the very same action, begun by another process just now, is taken for another one",
    code: "AND subject_hash <> $4 AND",
    instead: "AND $4 <> '' AND",
    seenBy: machine("what another process begins between two looks is the same action, not one worded otherwise"),
  },
  {
    what: "an unsettled action with another note does not bar the insert",
    code: "AND work_hash = $6 AND",
    instead: "AND work_hash = '' AND",
    seenBy: journal("work that is not settled bars the same with other notes"),
  },
  {
    what: "what was sent does not bar the insert of the same",
    code: "AND subject_hash = $5\n",
    instead: "AND subject_hash = ''\n",
    seenBy: journal("a success is what the same call is about for a while after it was last sent"),
  },
  {
    what: "the database lets two undelivered actions have one subject",
    code: "CREATE UNIQUE INDEX actions_undelivered",
    instead: "CREATE INDEX actions_undelivered",
    seenBy: postgres("of twins that are written at once, neither seeing the other, one is there"),
  },
  {
    what: "a journal that is brought forward does not know the subjects of its actions",
    code: "[service, key, identity.subjectHash, identity.workHash, identity.about, isLater]",
    instead: '[service, key, "", identity.workHash, identity.about, isLater]',
    seenBy: journal("of an earlier version is brought forward with all it holds"),
  },
  {
    what: "a mistyped key of the server's own form begins a new action",
    code: "isOwnKey(explicitKey) ? unknownKey(explicitKey) : undefined",
    instead: "undefined",
    seenBy: repeat("a key of the server's own form that the journal does not hold was mistyped"),
  },
  {
    what: "a mistyped key alone is told as missing arguments",
    code: "if (!stored && isOwnKey(key)) throw unknownKey(key);",
    instead: "",
    seenBy: repeat("a key of the server's own form that the journal does not hold was mistyped"),
  },
  {
    what: "a key does another command than its own",
    code: "throw belongs(`with other arguments",
    instead: "belongs(`with other arguments",
    seenBy: telling("the same key for another call is refused here"),
  },
  {
    what: "a key alone is no call",
    code: "(await recalled(tool, given, runtime)) ?? given",
    instead: "given",
    seenBy: repeat("a call with nothing but the key takes the rest from the journal"),
  },
  {
    what: "a key of one service is found by another",
    code: "FROM actions WHERE service = $1 AND key = $2`, [service, key]",
    instead: "FROM actions WHERE $1 <> '' AND key = $2`, [service, key]",
    seenBy: journal("a new action is written as it is and found by its key"),
  },
  {
    what: "the same call to another service is the same action",
    code: "WHERE service = $1 AND tool = $2 AND subject_hash = $3",
    instead: "WHERE $1 <> '' AND tool = $2 AND subject_hash = $3",
    seenBy: journal("until it is delivered, the same call without a key has no twin"),
  },
  {
    what: "the key that the person has agreed to is not the action's",
    code: "call.explicitKey ?? call.proposedKey ?? makeKey()",
    instead: "call.explicitKey ?? makeKey()",
    seenBy: machine("an action has the key that was agreed to"),
  },
  {
    what: "a repeat is a new action as soon as the first was sent: no window",
    code: "heard_at IS NULL AND delivered_at >",
    instead: "heard_at IS NULL AND delivered_at - 1e15 >",
    seenBy: journal("a success is what the same call is about for a while after it was last sent"),
  },
  {
    what: "a repeat is the same action for ever: the window does not end",
    code: "heard_at IS NULL AND delivered_at >",
    instead: "heard_at IS NULL AND delivered_at + 1e15 >",
    seenBy: journal("a success is what the same call is about for a while after it was last sent"),
  },
  {
    what: "what the agent has heard is the same action all the same",
    code: "state = 'succeeded' AND heard_at IS NULL AND delivered_at > ",
    instead: "state = 'succeeded' AND delivered_at > ",
    seenBy: journal("an agent that names the key of an action or what it made has heard of it"),
  },
  {
    what: "a call that was held up does again what the same call has done meanwhile",
    code: "key === undefined ? await open.time() : undefined;",
    instead: "undefined;",
    seenBy: repeat("a call that stands still before its action is written down"),
  },
  {
    what: "an action is begun for a client that has gone",
    code: "house.acts(body) && !(await isStillThere(incoming))",
    instead: "house.acts(body) && (await isStillThere(incoming)) === undefined",
    seenBy: http("for a client that has gone when its call is read nothing is begun"),
  },
  {
    what: "what calls name is not taken for heard",
    code: 'if (tool.toolset === "jobs" && tool.view === undefined) runtime.ports.actions.hear(',
    instead: 'if (tool.toolset === "nothing") runtime.ports.actions.hear(',
    seenBy: repeat("an agent that names what was made has heard"),
  },
  {
    what: "what a view asks about counts as heard",
    code: 'tool.toolset === "jobs" && tool.view === undefined',
    instead: 'tool.toolset === "jobs"',
    seenBy: repeat("a view that names what was made is no sign of the agent"),
  },
  {
    what: "a refusal that was sent is what the same call is about",
    code: "(state = 'succeeded' AND heard_at IS NULL AND",
    instead: "(heard_at IS NULL AND",
    seenBy: repeat("after a refusal that was sent, the same call is a new action"),
  },
  {
    what: "a key that was named before the outcome was sent counts as heard",
    code: "heard_at IS NULL AND delivered_at IS NOT NULL`;",
    instead: "heard_at IS NULL`;",
    seenBy: unread("a key that is named before its outcome was sent"),
  },
  {
    what: "callers who share client credentials share their actions",
    code: "    caller === undefined\n      ? serviceName",
    instead: "    caller !== ''\n      ? serviceName",
    seenBy: callers("one key of two callers is two actions, each under a key of its own at the service"),
  },
  {
    what: "a key that two callers name is one key at the service",
    code: "wireKey: call.explicitKey === undefined ? undefined : call.wireKey?.(call.explicitKey),",
    instead: "wireKey: undefined,",
    seenBy: callers("one key of two callers is two actions, each under a key of its own at the service"),
  },
  {
    what: "a caller who cannot be named lists everybody's actions",
    code: "const listedName = caller === undefined ?",
    instead: "const listedName = caller !== '' ?",
    seenBy: callers("a caller who cannot be named lists nothing, where one person alone would see the whole journal"),
  },
];
