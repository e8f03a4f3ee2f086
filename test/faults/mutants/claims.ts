// Who works on an action: one process at a time, another one only when that is certain to be gone, and only that one ends it.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the code that is replaced contains templates.
import { builtServerTest, inProcessTest, type Mutant } from "./mutant.ts";

const journal = inProcessTest("test/actions/journal.test.ts", "SQLite ");
const claims = inProcessTest("test/actions/claims.test.ts");
const machine = inProcessTest("test/actions/machine.test.ts");
const clock = inProcessTest("test/actions/clock.test.ts");
const failover = inProcessTest("test/actions/failover.test.ts");
const lost = inProcessTest("test/actions/lost-answers.test.ts");
const audit = inProcessTest("test/actions/audit.test.ts");
const owner = inProcessTest("test/actions/owner.test.ts");
const window = builtServerTest("test/faults/deduplication-window.test.ts");

export const claimMutants: readonly Mutant[] = [
  {
    what: "an action is taken from an owner that lives",
    code: "(state = 'in_progress' AND $6 = 1 AND",
    replacement: "(state = 'in_progress' AND $6 >= 0 AND",
    killedBy: journal("an action is taken over when no process works on it, and by one process only"),
  },
  {
    what: "two take over from the same dead owner: the claim does not ask who holds it by now",
    code: "owner = $7 AND lease_until = $8",
    replacement: "$7 <> '' AND lease_until = $8",
    killedBy: journal("an action is taken over when no process works on it, and by one process only"),
  },
  {
    what: "an owner that has moved since loses its claim",
    code: "owner = $7 AND lease_until = $8",
    replacement: "owner = $7 AND $8 >= 0",
    killedBy: journal("an action is taken over when no process works on it, and by one process only"),
  },
  {
    what: "an action that was taken over leaves no doubt",
    code: "indeterminate = CASE WHEN state = 'rejected' THEN 0 ELSE 1 END",
    replacement: "indeterminate = 0",
    killedBy: journal("an action is taken over when no process works on it, and by one process only"),
  },
  {
    what: "an action is resolved by a process that holds it no more",
    code: "AND owner = $8 AND state = 'in_progress' RETURNING",
    replacement: "AND $8 <> '' AND state = 'in_progress' RETURNING",
    killedBy: journal("only its owner resolves an action, once"),
  },
  {
    what: "an action is resolved twice",
    code: "AND owner = $8 AND state = 'in_progress' RETURNING",
    replacement: "AND owner = $8 RETURNING",
    killedBy: journal("only its owner resolves an action, once"),
  },
  {
    what: "any owner counts as gone",
    code: "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
    replacement: "true",
    killedBy: machine("while its owner lives, another process waits and hears the same"),
  },
  {
    what: "a dead owner is not seen to be dead",
    code: "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
    replacement: "stored.owner === openedJournal.owner || leases.isExpired(stored)",
    killedBy: machine("an owner that is known to be dead is followed at once"),
  },
  {
    what: "an owner that gives no sign of life holds its action for ever",
    code: "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
    replacement: "stored.owner === openedJournal.owner || isOwnerDead(stored.owner)",
    killedBy: machine("an owner that gives no sign of life is followed when its lease has stood still"),
  },
  {
    what: "a process does not take up what it could not write down itself",
    code: "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
    replacement: "isOwnerDead(stored.owner) || leases.isExpired(stored)",
    killedBy: machine("an end that could not be written is told, and found out again at once"),
  },
  {
    what: "a lease stands still before its time",
    code: "return monotonicMs() - seen.sinceMs >= LEASE_MS;",
    replacement: "return true;",
    killedBy: claims("stands still when it has not moved for 30 seconds"),
  },
  {
    what: "a lease stands still at the first look",
    code: "sinceMs: monotonicMs() });\n      return false;",
    replacement: "sinceMs: monotonicMs() });\n      return true;",
    killedBy: claims("stands still when it has not moved for 30 seconds"),
  },
  {
    what: "a lease that moves stands still",
    code: "if (seen?.lease === lease)",
    replacement: "if (seen)",
    killedBy: claims("that moves does not stand still"),
  },
  {
    what: "a process that works does not renew its leases",
    code: "heartbeat().catch(onError)",
    replacement: "Promise.resolve().catch(onError)",
    killedBy: machine("while an action is under way its lease moves"),
  },
  {
    what: "a heartbeat leaves the leases as they are",
    code: "+ $3 WHERE owner = $1 AND state = 'in_progress'`",
    replacement: "* 0 + lease_until + $3 * 0 WHERE owner = $1 AND state = 'in_progress'`",
    killedBy: journal("an action is taken over when no process works on it, and by one process only"),
  },
  {
    what: "what one action machine of a process works on is not known to the others",
    code: "names.add(name);",
    replacement: "",
    killedBy: claims("an action that one of them works on is not taken up by another, and one heartbeat keeps all"),
  },
  {
    what: "a write whose answer was lost is taken for one that was not made",
    code: "if (!isResponseLost(error)) throw error;",
    replacement: "throw error;",
    killedBy: lost("a new action is written and claimed, whatever was lost: its answer"),
  },
  {
    what: "what another process has written is taken for one's own, when an answer was lost",
    code: "return stored?.owner === owner && isOwnWrite(stored) ? stored : undefined;",
    replacement: "return stored;",
    killedBy: lost("a new action that another process has taken over meanwhile is that one's"),
  },
  {
    what: "instances count by clocks of their own",
    code: "const { clock } = database;",
    replacement: "const { clock } = { clock: undefined };",
    killedBy: clock("a success of the slow instance is the same action to the fast one"),
  },
  {
    what: "a primary that was left behind by a failover gets writes",
    code: 'if (timeline < latestTimeline) throw new NoPrimary("it was the primary before a failover");',
    replacement: "",
    killedBy: failover("a primary that was left behind and comes back gets nothing"),
  },
  {
    what: "a standby counts as a primary",
    code: 'if (timeline === 0) throw new NoPrimary("it is a standby");',
    replacement: "",
    killedBy: failover("without a primary a call hears so within its time"),
  },
  {
    what: "commits that wait for no replica count as durable",
    code: 'if (mode === "synchronous")',
    replacement: 'if (mode !== "synchronous" && mode !== "local")',
    killedBy: failover("replicas that no commit waits for are refused, whatever was meant"),
  },
  {
    what: "an end of an action leaves no row in the audit",
    code: "const audited = auditor && buildAuditedResolution(",
    replacement: "const audited = undefined && auditor && buildAuditedResolution(",
    killedBy: audit("has each end of an action, and who brought it about"),
  },
  {
    what: "a process takes over what it is working on itself",
    code: "isClaimable && !openedJournal.inFlight.has(stored)",
    replacement: "isClaimable",
    killedBy: machine("two calls at once under one key of their own send one request"),
  },
  {
    what: "two calls at once with one new key forget that one of them works on it",
    code: "if (openedJournal.inFlight.has(action))\n      return await waitBeforePoll(",
    replacement: 'if (call.tool === "") return await waitBeforePoll(',
    killedBy: machine("two calls at once under one key of their own send one request"),
  },
  {
    what: "a process id of another machine is looked for here",
    code: 'if (ownerMachine !== MACHINE || typeof pid !== "number") return false;',
    replacement: 'if (typeof pid !== "number") return false;',
    killedBy: owner("of another boot, machine or process namespace nothing is known"),
  },
  {
    what: "a call that waited for another sends the rejected action again",
    code: '(state === "rejected" && hasWaited)',
    replacement: '(state === "rejected" && call.tool === "")',
    killedBy: machine("a call that waited for another returns the rejection that the other got"),
  },
  {
    what: "an action is inserted into a journal that a later version has changed",
    code: "1, 'in_progress', 0, 0\n     WHERE NOT ${IS_CHANGED_BY_LATER_VERSION}\n       AND NOT EXISTS",
    replacement: "1, 'in_progress', 0, 0\n     WHERE NOT EXISTS",
    killedBy: journal("a running process inserts nothing once a later version has changed the tables"),
  },
  {
    what: "an action is taken over in a journal that a later version has changed",
    code: "\n           AND NOT ${IS_CHANGED_BY_LATER_VERSION}\n         RETURNING",
    replacement: "\n         RETURNING",
    killedBy: window("a running server sends no action once a later version has changed the journal"),
  },
];
