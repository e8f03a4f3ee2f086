// Mutants of claims: one process at a time works on an action, another takes over only from a dead owner, and only the owner
// resolves it.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the code that is replaced contains templates.
import { builtServerTest, inProcessTest, type Mutant } from "./mutant.ts";

const journal = inProcessTest("test/actions/journal.test.ts", "SQLite ");
const claims = inProcessTest("test/actions/claims.test.ts");
const clock = inProcessTest("test/actions/journal.test.ts");
const machine = inProcessTest("test/actions/machine.test.ts");
const failover = inProcessTest("test/actions/failover.test.ts");
const lost = inProcessTest("test/actions/lost-answers.test.ts");
const audit = inProcessTest("test/actions/audit.test.ts");
const window = builtServerTest("test/faults/deduplication-window.test.ts");

export const claimMutants: readonly Mutant[] = [
  {
    what: "an action is taken from an owner that lives",
    code: "(state = 'in_progress' AND $6 = 1 AND",
    replacement: "(state = 'in_progress' AND $6 >= 0 AND",
    killedBy: journal("an action is taken over when no process works on it, and only by one process"),
  },
  {
    what: "two take over from the same dead owner: the claim does not ask who holds it by now",
    code: "owner = $7 AND lease_until = $8",
    replacement: "$7 <> '' AND lease_until = $8",
    killedBy: journal("an action is taken over when no process works on it, and only by one process"),
  },
  {
    what: "an owner that has moved since loses its claim",
    code: "owner = $7 AND lease_until = $8",
    replacement: "owner = $7 AND $8 >= 0",
    killedBy: journal("an action is taken over when no process works on it, and only by one process"),
  },
  {
    what: "an action that was taken over is not reported as unknown",
    code: "indeterminate = CASE WHEN state = 'rejected' THEN 0 ELSE 1 END",
    replacement: "indeterminate = 0",
    killedBy: journal("an action is taken over when no process works on it, and only by one process"),
  },
  {
    what: "an action is resolved by a process that holds it no more",
    code: "AND owner = $8 AND state = 'in_progress' RETURNING",
    replacement: "AND $8 <> '' AND state = 'in_progress' RETURNING",
    killedBy: journal("only the owner of an action resolves it, once"),
  },
  {
    what: "an action is resolved twice",
    code: "AND owner = $8 AND state = 'in_progress' RETURNING",
    replacement: "AND owner = $8 RETURNING",
    killedBy: journal("only the owner of an action resolves it, once"),
  },
  {
    what: "any owner counts as gone",
    code: "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
    replacement: "true",
    killedBy: machine("another process waits while the owner lives, and returns the same outcome"),
  },
  {
    what: "a dead owner is not seen to be dead",
    code: "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
    replacement: "stored.owner === openedJournal.owner || leases.isExpired(stored)",
    killedBy: machine("an action is taken over at once from an owner that is dead"),
  },
  {
    what: "an owner that gives no sign of life holds its action for ever",
    code: "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
    replacement: "stored.owner === openedJournal.owner || isOwnerDead(stored.owner)",
    killedBy: machine("an action is taken over from a silent owner when its lease has expired"),
  },
  {
    what: "a process does not take up what it could not write down itself",
    code: "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
    replacement: "isOwnerDead(stored.owner) || leases.isExpired(stored)",
    killedBy: machine(
      "an outcome that could not be written is reported, and the same process resolves the action again at once",
    ),
  },
  {
    what: "a lease expires too early",
    code: "return monotonicMs() - seen.sinceMs >= LEASE_MS;",
    replacement: "return true;",
    killedBy: claims("a lease is expired after 30 s without renewal"),
  },
  {
    what: "a lease expires at the first check",
    code: "sinceMs: monotonicMs() });\n      return false;",
    replacement: "sinceMs: monotonicMs() });\n      return true;",
    killedBy: claims("a lease is expired after 30 s without renewal"),
  },
  {
    what: "a renewed lease expires",
    code: "if (seen?.lease === lease)",
    replacement: "if (seen)",
    killedBy: claims("a renewed lease is not expired"),
  },
  {
    what: "a process that works does not renew its leases",
    code: "heartbeat().catch(onError)",
    replacement: "Promise.resolve().catch(onError)",
    killedBy: machine("the lease of an action is renewed while the action is in flight"),
  },
  {
    what: "a heartbeat leaves the leases as they are",
    code: "+ $3 WHERE owner = $1 AND state = 'in_progress'`",
    replacement: "* 0 + lease_until + $3 * 0 WHERE owner = $1 AND state = 'in_progress'`",
    killedBy: journal("an action is taken over when no process works on it, and only by one process"),
  },
  {
    what: "what one action machine of a process works on is not known to the others",
    code: "names.add(name);",
    replacement: "",
    killedBy: claims(
      "an action in flight in one action machine is not taken over by another, and one heartbeat renews all leases",
    ),
  },
  {
    what: "a write whose answer was lost is taken for one that was not made",
    code: "if (!isResponseLost(error)) throw error;",
    replacement: "throw error;",
    killedBy: lost("a new action is written and claimed if this is lost: its answer"),
  },
  {
    what: "what another process has written is taken for one's own, when an answer was lost",
    code: "return stored?.owner === owner && isOwnWrite(stored) ? stored : undefined;",
    replacement: "return stored;",
    killedBy: lost("a new action that another process has taken over meanwhile belongs to that process"),
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
    killedBy: failover("a former primary that returns receives no statements"),
  },
  {
    what: "a standby counts as a primary",
    code: 'if (timeline === 0) throw new NoPrimary("it is a standby");',
    replacement: "",
    killedBy: failover("a call without a primary fails within its time limit"),
  },
  {
    what: "commits that wait for no replica count as durable",
    code: 'if (mode === "synchronous")',
    replacement: 'if (mode !== "synchronous" && mode !== "local")',
    killedBy: failover("replicas that no commit waits for are refused with any durability setting"),
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
    killedBy: machine("simultaneous calls with the same explicit key send one request"),
  },
  {
    what: "two calls at once with one new key forget that one of them works on it",
    code: "if (openedJournal.inFlight.has(action))\n      return await waitBeforePoll(",
    replacement: 'if (call.tool === "") return await waitBeforePoll(',
    killedBy: machine("simultaneous calls with the same explicit key send one request"),
  },
  {
    what: "a process id of another machine is looked for here",
    code: 'if (ownerMachine !== MACHINE || typeof pid !== "number") return false;',
    replacement: 'if (typeof pid !== "number") return false;',
    killedBy: claims("an owner of another boot, machine or process namespace does not count as dead"),
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
