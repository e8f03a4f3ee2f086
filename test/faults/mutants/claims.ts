// Mutants of claims: one process at a time works on an action, another takes over only from a dead owner, and only the owner
// resolves it.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the code that is replaced contains templates.
import { inProcessTest, type Mutant } from "./mutant.ts";

const journal = inProcessTest("test/actions/journal.test.ts", "SQLite ");
const claims = inProcessTest("test/actions/claims.test.ts");
const clock = inProcessTest("test/actions/journal.test.ts");
const machine = inProcessTest("test/actions/machine.test.ts");
const failover = inProcessTest("test/actions/failover.test.ts");
const lost = inProcessTest("test/actions/lost-answers.test.ts");
const audit = inProcessTest("test/actions/audit.test.ts");

export const claimMutants: readonly Mutant[] = [
  journal("an action is taken over when no process works on it, and only by one process", {
    "an action is taken from an owner that lives": [
      "(state = 'in_progress' AND $6 = 1 AND",
      "(state = 'in_progress' AND $6 >= 0 AND",
    ],
    "two take over from the same dead owner: the claim does not ask who holds it by now": [
      "owner = $7 AND lease_until = $8",
      "$7 <> '' AND lease_until = $8",
    ],
    "an owner that has moved since loses its claim": ["owner = $7 AND lease_until = $8", "owner = $7 AND $8 >= 0"],
    "an action that was taken over is not reported as unknown": [
      "indeterminate = CASE WHEN state = 'rejected' THEN 0 ELSE 1 END",
      "indeterminate = 0",
    ],
    "a heartbeat leaves the leases as they are": [
      "+ $3 WHERE owner = $1 AND state = 'in_progress'`",
      "* 0 + lease_until + $3 * 0 WHERE owner = $1 AND state = 'in_progress'`",
    ],
  }),
  journal("only the owner of an action resolves it, once", {
    "an action is resolved by a process that holds it no more": [
      "AND owner = $8 AND state = 'in_progress' RETURNING",
      "AND $8 <> '' AND state = 'in_progress' RETURNING",
    ],
    "an action is resolved twice": ["AND owner = $8 AND state = 'in_progress' RETURNING", "AND owner = $8 RETURNING"],
  }),
  machine("another process waits while the owner lives, and returns the same outcome", {
    "any owner counts as gone": [
      "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
      "true",
    ],
  }),
  machine("an action is taken over at once from an owner that is dead", {
    "a dead owner is not seen to be dead": [
      "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
      "stored.owner === openedJournal.owner || leases.isExpired(stored)",
    ],
  }),
  machine("an action is taken over from a silent owner when its lease has expired", {
    "an owner that gives no sign of life holds its action for ever": [
      "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
      "stored.owner === openedJournal.owner || isOwnerDead(stored.owner)",
    ],
  }),
  machine("an outcome that could not be written is reported, and the same process resolves the action again at once", {
    "a process does not take up what it could not write down itself": [
      "stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored)",
      "isOwnerDead(stored.owner) || leases.isExpired(stored)",
    ],
  }),
  claims("a lease is expired after 30 s without renewal", {
    "a lease expires too early": ["return monotonicMs() - seen.sinceMs >= LEASE_MS;", "return true;"],
    "a lease expires at the first check": [
      "sinceMs: monotonicMs() });\n      return false;",
      "sinceMs: monotonicMs() });\n      return true;",
    ],
  }),
  claims("a renewed lease is not expired", {
    "a renewed lease expires": ["if (seen?.lease === lease)", "if (seen)"],
  }),
  machine("the lease of an action is renewed while the action is in flight", {
    "a process that works does not renew its leases": [
      "heartbeat().catch(onError)",
      "Promise.resolve().catch(onError)",
    ],
  }),
  claims(
    "an action in flight in one action machine is not taken over by another, and one heartbeat renews all leases",
    {
      "what one action machine of a process works on is not known to the others": ["names.add(name);", ""],
    },
  ),
  lost("an action is inserted, resolved and claimed if this is lost each time: its answer", {
    "a write whose answer was lost is taken for one that was not made": [
      "if (!isResponseLost(error)) throw error;",
      "throw error;",
    ],
  }),
  lost("a new action that another process has taken over meanwhile belongs to that process", {
    "what another process has written is taken for one's own, when an answer was lost": [
      "return stored?.owner === owner && isOwnWrite(stored) ? stored : undefined;",
      "return stored;",
    ],
  }),
  clock("a success of the slow instance is the same action to the fast one", {
    "instances count by clocks of their own": [
      "const { clock } = database;",
      "const { clock } = { clock: undefined };",
    ],
  }),
  failover("a former primary that returns receives no statements", {
    "a primary that was left behind by a failover gets writes": [
      'if (timeline < latestTimeline) throw new NoPrimary("it was the primary before a failover");',
      "",
    ],
  }),
  failover("a call without a primary fails within its time limit", {
    "a standby counts as a primary": ['if (timeline === 0) throw new NoPrimary("it is a standby");', ""],
  }),
  failover("replicas that no commit waits for are refused with any setting", {
    "commits that wait for no replica count as durable": [
      'if (mode === "synchronous")',
      'if (mode !== "synchronous" && mode !== "local")',
    ],
  }),
  audit("has each end of an action, and who brought it about", {
    "an end of an action leaves no row in the audit": [
      "const audited = auditor && buildAuditedResolution(",
      "const audited = undefined && auditor && buildAuditedResolution(",
    ],
  }),
  machine("simultaneous calls with the same explicit key send one request", {
    "a process takes over what it is working on itself": [
      "isClaimable && !openedJournal.inFlight.has(stored)",
      "isClaimable",
    ],
    "two calls at once with one new key forget that one of them works on it": [
      "if (openedJournal.inFlight.has(action))\n      return await waitBeforePoll(",
      'if (call.tool === "") return await waitBeforePoll(',
    ],
  }),
  claims("an owner is dead once its process has ended, except on another boot, machine or process namespace", {
    "a process id of another machine is looked for here": [
      'if (ownerMachine !== MACHINE || typeof pid !== "number") return false;',
      'if (typeof pid !== "number") return false;',
    ],
  }),
  machine("a call that waited for another returns the rejection that the other got", {
    "a call that waited for another sends the rejected action again": [
      '(state === "rejected" && hasWaited)',
      '(state === "rejected" && call.tool === "")',
    ],
  }),
  journal("a journal of a later version is refused, also by a process that has already opened it", {
    "an action is taken over in a journal that a later version has changed": [
      "\n           AND NOT ${IS_CHANGED_BY_LATER_VERSION}\n         RETURNING",
      "\n         RETURNING",
    ],
    "an action is inserted into a journal that a later version has changed": [
      "1, 'in_progress', 0, 0\n     WHERE NOT ${IS_CHANGED_BY_LATER_VERSION}\n       AND NOT EXISTS",
      "1, 'in_progress', 0, 0\n     WHERE NOT EXISTS",
    ],
  }),
].flat();
