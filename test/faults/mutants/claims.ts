// Who works on an action: one process at a time, another one only when that is certain to be gone, and only that one ends it.
import { inside, type Mutant } from "./mutant.ts";

const journal = inside("test/actions/journal.test.ts", "SQLite ");
const leases = inside("test/actions/leases.test.ts");
const machine = inside("test/actions/machine.test.ts");
const clock = inside("test/actions/clock.test.ts");
const failover = inside("test/actions/failover.test.ts");
const lost = inside("test/actions/lost-answers.test.ts");
const audit = inside("test/actions/audit.test.ts");
const owner = inside("test/actions/owner.test.ts");
const underway = inside("test/actions/underway.test.ts");
const repeat = inside("test/actions/repeat.test.ts");

export const claimMutants: readonly Mutant[] = [
  {
    what: "a refusal that decided is taken up again",
    code: "(state = 'rejected' AND repeatable = 1)",
    instead: "(state = 'rejected')",
    seenBy: journal("what is unknown or put off is taken up again; what is decided is not"),
  },
  {
    what: "an action is taken from an owner that lives",
    code: "(state = 'open' AND $6 = 1 AND",
    instead: "(state = 'open' AND $6 >= 0 AND",
    seenBy: journal("an action is taken over when nobody works on it, and by one alone"),
  },
  {
    what: "two take over from the same dead owner: the claim does not ask who holds it by now",
    code: "owner = $7 AND lease_until = $8",
    instead: "$7 <> '' AND lease_until = $8",
    seenBy: journal("an action is taken over when nobody works on it, and by one alone"),
  },
  {
    what: "an owner that has moved since loses its claim",
    code: "owner = $7 AND lease_until = $8",
    instead: "owner = $7 AND $8 >= 0",
    seenBy: journal("an action is taken over when nobody works on it, and by one alone"),
  },
  {
    what: "an action that was taken over leaves no doubt",
    code: "in_doubt = CASE WHEN state = 'rejected' THEN 0 ELSE 1 END",
    instead: "in_doubt = 0",
    seenBy: journal("an action is taken over when nobody works on it, and by one alone"),
  },
  {
    what: "an action that is taken up again stays delivered",
    code: "ELSE 1 END, delivered_at = NULL",
    instead: "ELSE 1 END",
    seenBy: journal("told is what was told, not what has been taken up again since"),
  },
  {
    what: "an action is settled by a process that holds it no more",
    code: "AND owner = $9 AND state = 'open' RETURNING",
    instead: "AND $9 <> '' AND state = 'open' RETURNING",
    seenBy: journal("only its owner settles an action, once"),
  },
  {
    what: "an action is settled twice",
    code: "AND owner = $9 AND state = 'open' RETURNING",
    instead: "AND owner = $9 RETURNING",
    seenBy: journal("only its owner settles an action, once"),
  },
  {
    what: "any owner counts as gone",
    code: "stored.owner === open.owner || isGone(stored.owner) || leases.standsStill(stored)",
    instead: "true",
    seenBy: machine("while its owner lives, another process waits and hears the same"),
  },
  {
    what: "a dead owner is not seen to be dead",
    code: "stored.owner === open.owner || isGone(stored.owner) || leases.standsStill(stored)",
    instead: "stored.owner === open.owner || leases.standsStill(stored)",
    seenBy: machine("an owner that is known to be dead is followed at once"),
  },
  {
    what: "an owner that gives no sign of life holds its action for ever",
    code: "stored.owner === open.owner || isGone(stored.owner) || leases.standsStill(stored)",
    instead: "stored.owner === open.owner || isGone(stored.owner)",
    seenBy: machine("an owner that gives no sign of life is followed when its lease has stood still"),
  },
  {
    what: "a process does not take up what it could not write down itself",
    code: "stored.owner === open.owner || isGone(stored.owner) || leases.standsStill(stored)",
    instead: "isGone(stored.owner) || leases.standsStill(stored)",
    seenBy: machine("an end that could not be written is told, and found out again at once"),
  },
  {
    what: "a lease stands still before its time",
    code: "return monotonicMs() - seen.sinceMs >= LEASE_MS;",
    instead: "return true;",
    seenBy: leases("stands still when it has not moved for 30 seconds"),
  },
  {
    what: "a lease stands still at the first look",
    code: "sinceMs: monotonicMs() });\n      return false;",
    instead: "sinceMs: monotonicMs() });\n      return true;",
    seenBy: leases("stands still when it has not moved for 30 seconds"),
  },
  {
    what: "a lease that moves stands still",
    code: "if (seen?.lease === lease)",
    instead: "if (seen)",
    seenBy: leases("that moves does not stand still"),
  },
  {
    what: "a process that works does not renew its leases",
    code: "heartbeat().catch(onTrouble)",
    instead: "Promise.resolve().catch(onTrouble)",
    seenBy: machine("while an action is under way its lease moves"),
  },
  {
    what: "a heartbeat leaves the leases as they are",
    code: "+ $3 WHERE owner = $1 AND state = 'open'`",
    instead: "* 0 + lease_until + $3 * 0 WHERE owner = $1 AND state = 'open'`",
    seenBy: journal("an action is taken over when nobody works on it, and by one alone"),
  },
  {
    what: "what one action machine of a process works on is not known to the others",
    code: "const { underway } = open;",
    instead: "const underway = { ...open.underway, add: () => undefined };",
    seenBy: underway("an action that one of them works on is not taken up by another, and one heartbeat keeps all"),
  },
  {
    what: "a write whose answer was lost is taken for one that was not made",
    code: "if (!isAnswerLost(error)) throw error;",
    instead: "throw error;",
    seenBy: lost("a new action is written and claimed, whatever was lost: its answer"),
  },
  {
    what: "what another process has written is taken for one's own, when an answer was lost",
    code: "return stored?.owner === owner && isOurs(stored) ? stored : undefined;",
    instead: "return stored;",
    seenBy: lost("a new action that another process has taken over meanwhile is that one's"),
  },
  {
    what: "instances count by clocks of their own",
    code: "const { clock } = database;",
    instead: "const { clock } = { clock: undefined };",
    seenBy: clock("a success that the slow one has told is still the same action to the fast one"),
  },
  {
    what: "a primary that was left behind by a failover gets writes",
    code: 'if (timeline < youngest) throw new NoPrimary("it was the primary before a failover");',
    instead: "",
    seenBy: failover("a primary that was left behind and comes back gets nothing"),
  },
  {
    what: "a standby counts as a primary",
    code: 'if (timeline === 0) throw new NoPrimary("it is a standby");',
    instead: "",
    seenBy: failover("without a primary a call hears so within its time"),
  },
  {
    what: "commits that wait for no replica count as durable",
    code: 'if (meant === "synchronous")',
    instead: 'if (meant !== "synchronous" && meant !== "local")',
    seenBy: failover("replicas that no commit waits for are refused, whatever was meant"),
  },
  {
    what: "an end of an action leaves no row in the audit",
    code: "const audited = auditor && auditedSettling(",
    instead: "const audited = undefined && auditor && auditedSettling(",
    seenBy: audit("has each end of an action, and who brought it about"),
  },
  {
    what: "a process takes over what it is working on itself",
    code: "isFree && !open.underway.has(name)",
    instead: "isFree",
    seenBy: repeat("two identical calls at once are one, and the second is told so"),
  },
  {
    what: "two calls at once with one new key forget that one of them works on it",
    code: "if (open.underway.has(name)) return await waitForOther(",
    instead: 'if (call.tool === "") return await waitForOther(',
    seenBy: machine("two calls at once under one key of their own send one request"),
  },
  {
    what: "a process id of another machine is looked for here",
    code: 'if (where !== HERE || typeof pid !== "number") return false;',
    instead: 'if (typeof pid !== "number") return false;',
    seenBy: owner("of another boot, machine or process namespace nothing is known"),
  },
];
