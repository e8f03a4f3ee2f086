// Mutants of sending: journal first, one key, the same bytes, and an indeterminate outcome whenever it is not certain.
import { builtServerTest, inProcessTest, type Mutant } from "./mutant.ts";

const deduplication = inProcessTest("test/actions/deduplication.test.ts");
const sqlite = inProcessTest("test/actions/sqlite.test.ts");
const journal = inProcessTest("test/actions/journal.test.ts", "SQLite ");
const machine = inProcessTest("test/actions/machine.test.ts");
const outcomes = inProcessTest("test/api-client/outcomes.test.ts");
const tokens = inProcessTest("test/credentials/tokens.test.ts");
const postgres = builtServerTest("test/actions/postgres.test.ts");
const unavailable = inProcessTest("test/actions/unavailable.test.ts");
const unknownOutcome = inProcessTest("test/actions/unknown-outcome.test.ts");

export const sendingMutants: readonly Mutant[] = [
  {
    what: "the request leaves before the journal has it",
    code: "const sent = await claimAndSend(openedJournal, action, call, () =>\n      openedJournal.insert(action)",
    replacement:
      "await call.send(request, action.key, {}); const sent = await claimAndSend(openedJournal, action, call, () =>\n      openedJournal.insert(action)",
    killedBy: machine("an action is in the journal before it is sent, and is not sent if it cannot be recorded"),
  },
  {
    what: "SQLite does not sync what it commits",
    code: 'engine.exec("PRAGMA synchronous = FULL");',
    replacement: 'engine.exec("PRAGMA synchronous = NORMAL");',
    killedBy: sqlite("SQLite syncs each commit"),
  },
  {
    what: "PostgreSQL does not sync what it commits, where its role says so",
    code: "SET synchronous_commit = on",
    replacement: "SET synchronous_commit = off",
    killedBy: postgres(
      "an action is not lost when PostgreSQL, with a role that commits asynchronously, is killed together with the server",
    ),
  },
  {
    what: "a journal that was moved under a running server is written to all the same",
    code: "if (!isSelect(sql)) assertInPlace();",
    replacement: "",
    killedBy: sqlite("a journal with its folder moved while it is open refuses every write"),
  },
  {
    what: "a journal whose WAL was removed under a running server is written to all the same",
    code: "(fileIdentity(path) === identity && fileIdentity(wal) === walIdentity)",
    replacement: "fileIdentity(path) === identity",
    killedBy: sqlite("a journal with its WAL removed while it is open refuses every write"),
  },
  {
    what: "an unreadable journal is reported as if nothing had been sent",
    code: 'sideEffect: "unknown" };\n  return failure.with(key === undefined',
    replacement: 'sideEffect: "none" };\n  return failure.with(key === undefined',
    killedBy: unavailable(
      "actions are refused while another process locks the journal, and accepted once it is unlocked",
    ),
  },
  {
    what: "an action that could not be written counts as absent, whatever the journal holds",
    code: "throw isAbsent ? new Failure(",
    replacement: "throw !isAbsent || isAbsent ? new Failure(",
    killedBy: machine("an action that may have been recorded is not reported as having no effect"),
  },
  {
    what: "a resent action is built from the new call",
    code: "const request = { path: stored.path, ifMatch: stored.if_match, body: stored.body };",
    replacement: "const request = await call.prepare();",
    killedBy: unknownOutcome("a repeated action sends the version and the texts of the first request"),
  },
  {
    what: "an action that is sent again has a new key",
    code: 'const upstreamKey = stored.upstream_key === "" ? stored.key : stored.upstream_key;',
    replacement: "const upstreamKey = stored.attempts === 0 ? stored.key : makeKey();",
    killedBy: unknownOutcome(
      "an unknown outcome names the call that resolves it, under the same key and with the same bytes",
    ),
  },
  {
    what: "an action is sent under another key than the journal's",
    code: "await call.send(request, upstreamKey, {",
    replacement: "await call.send(request, makeKey(), {",
    killedBy: machine("an action is in the journal before it is sent, and is not sent if it cannot be recorded"),
  },
  {
    what: "a refused token is not renewed",
    code: "tokens.discard(scopes, token);\n    const renewed",
    replacement: "if (scopes.length > 0) return answer;\n    const renewed",
    killedBy: tokens("a refused token is replaced once, and the same bytes are sent under the same key"),
  },
  {
    what: "with a new token other bytes are sent",
    code: "send(withToken(renewed))",
    replacement: 'send({ ...withToken(renewed), body: Buffer.from("{}") })',
    killedBy: tokens("a refused token is replaced once, and the same bytes are sent under the same key"),
  },
  {
    what: "with a token there is no key",
    code: "headers: { ...wire.headers, authorization:",
    replacement: 'headers: { "content-type": "application/json", authorization:',
    killedBy: tokens("a refused token is replaced once, and the same bytes are sent under the same key"),
  },
  {
    what: "a success is sent again",
    code: 'if (state === "succeeded" ||',
    replacement: 'if (state === "succeeded") return await sendClaimed(open, stored, call);\n    if (',
    killedBy: deduplication("an identical call is a replay with the current state, even in a new session"),
  },
  {
    what: "what took effect with an unreadable answer may be done again",
    code: 'return facts.sideEffect === "done" ? "succeeded" : "rejected";',
    replacement: 'return "rejected";',
    killedBy: machine("an action that took effect with an unreadable answer does not run again"),
  },
  {
    what: "what is unknown is written down as refused",
    code: 'if (facts.sideEffect === "unknown") return "unknown";\n  // "done":',
    replacement: '// "done":',
    killedBy: machine("an internal error while sending leaves the outcome unknown"),
  },
  {
    what: "a fault of our own while sending counts as nothing sent",
    code: "error instanceof Failure\n          ? withCallerKey(error, upstreamKey, idempotencyKey)\n          : unknownOutcomeFailure(errorMessage(error))",
    replacement:
      'error instanceof Failure ? withCallerKey(error, upstreamKey, idempotencyKey) : unknownOutcomeFailure(errorMessage(error)).with({ sideEffect: "none" })',
    killedBy: machine("an internal error while sending leaves the outcome unknown"),
  },
  {
    what: "a lost answer is not reported as unknown",
    code: "mayHaveTakenEffect ||= error.sent;",
    replacement: "",
    killedBy: outcomes("may have taken effect: a conflict"),
  },
  {
    what: "a server error is not reported as unknown",
    code: "mayHaveTakenEffect ||= response.status >= 500;",
    replacement: "",
    killedBy: outcomes("has an unknown outcome: HTTP 503"),
  },
  {
    what: "a page with the contract's status proves that it took effect",
    code: "if (jsonError !== undefined) return unverifiedResponseFailure(endpoint, response.status, jsonError);",
    replacement: 'if (jsonError !== undefined) return violated(endpoint, jsonError).with({ sideEffect: "done" });',
    killedBy: outcomes("and is unknown if no other answer comes: a page with the contract's status"),
  },
  {
    what: "a JSON without the contract's envelope proves that it took effect",
    code: "if (!isEnvelope(response))\n    return unverifiedResponseFailure(",
    replacement: "if (response.status === 0)\n    return unverifiedResponseFailure(",
    killedBy: outcomes("and is unknown if no other answer comes: no requestId"),
  },
  {
    what: "another success than the contract's changed nothing",
    code: 'jsonErrorOf(response) ?? (isAction(endpoint) ? "the contract has no such answer" : undefined)',
    replacement: "jsonErrorOf(response)",
    killedBy: outcomes("and is unknown if no other answer comes: the envelope with another status"),
  },
  {
    what: "an indeterminate answer is not reported as unknown",
    code: 'mayHaveTakenEffect ||= failure instanceof Failure && failure.facts.sideEffect === "unknown";',
    replacement: "",
    killedBy: outcomes("counts as refused only after a Problem"),
  },
  {
    what: "a page that refuses decides about what was lost before",
    code: "CONCLUSIVE_KINDS.has(failure.facts.kind) && failure.facts.code !== undefined",
    replacement: "CONCLUSIVE_KINDS.has(failure.facts.kind)",
    killedBy: outcomes("counts as refused only after a Problem"),
  },
  {
    what: "a connection that breaks counts as never made",
    code: "return !UNSENT.has(code) && !isTlsRefusal(code) && !isProxyRefusal(error);",
    replacement: "return false;",
    killedBy: outcomes("has an unknown outcome: reset after reading"),
  },
  {
    what: "a request without an answer in its time counts as not sent",
    code: "new TransportError(message, { sent: controller !== undefined, timedOut, proxy })",
    replacement: "new TransportError(message, { sent: false, timedOut, proxy })",
    killedBy: outcomes("a request that times out may have taken effect"),
  },
  {
    what: "doubt is forgotten at the end of a call",
    code: 'if (!isAction(endpoint) || !mayHaveTakenEffect || failure.facts.sideEffect !== "none") return keyed;',
    replacement: "if (endpoint) return keyed;",
    killedBy: outcomes("has an unknown outcome: HTTP 503"),
  },
  {
    what: "a conflict decides about what was lost before",
    code: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
    replacement: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found", "conflict"]',
    killedBy: outcomes("may have taken effect: a conflict"),
  },
  {
    what: "a refused token decides about what was lost before",
    code: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
    replacement: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found", "unauthorized"]',
    killedBy: outcomes("may have taken effect: unauthorized, by a Problem"),
  },
  {
    what: "a stale version decides about what was lost before",
    code: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
    replacement:
      'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found", "precondition_failed"]',
    killedBy: outcomes("may have taken effect: a version that has moved on"),
  },
  {
    what: "nothing decides after a lost answer, not even the service's judgement of these bytes",
    code: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
    replacement: "CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set<FailureKind>([]",
    killedBy: outcomes("changed nothing when its own bytes are refused"),
  },
  {
    what: "a call that is cancelled while its request is out has sent nothing",
    code: "sent = true;",
    replacement: "sent = lostBefore;",
    killedBy: outcomes("a call that is cancelled while its request is out may have taken effect"),
  },
  {
    what: "a call that is cancelled before it sends knows nothing of earlier ones",
    code: "let sent = mayHaveTakenEffectBefore;",
    replacement: "let sent = false;",
    killedBy: outcomes("a call that is canceled before it sends may have taken effect only if an earlier one did"),
  },
  {
    what: "an action is sent again without the doubt it is in",
    code: "mayHaveTakenEffect: isResumed,",
    replacement: "mayHaveTakenEffect: false,",
    killedBy: unknownOutcome("a postponed call is reported as rate-limited while no outcome is unknown"),
  },
  {
    what: "a call knows nothing of what earlier ones have lost",
    code: "let mayHaveTakenEffect = mayHaveTakenEffectBefore;",
    replacement: "let mayHaveTakenEffect = false;",
    killedBy: unknownOutcome("a postponed call is reported as rate-limited while no outcome is unknown"),
  },
  {
    what: "an action is sent again however old its key",
    code: 'if (state !== "rejected" && isTooOldToResend(stored, stored.read_at))\n        throw',
    replacement: 'if (state === "succeeded")\n        throw',
    killedBy: unknownOutcome("an action that was first sent more than 20 h ago is not sent again"),
  },
  {
    what: "an action that was rejected a day ago is too old",
    code: 'if (state !== "rejected" && isTooOldToResend(stored, stored.read_at))\n        throw',
    replacement: "if (isTooOldToResend(stored, stored.read_at))\n        throw",
    killedBy: machine("the same bytes are sent again under the same key after a rejection, even a day later"),
  },
  {
    what: "the age of an unknown outcome counts from an earlier rejection",
    code: "first_sent_at = CASE WHEN state = 'rejected' THEN",
    replacement: "first_sent_at = CASE WHEN state = '' THEN",
    killedBy: journal(
      "the age of an unknown outcome counts from the time when the API may first have received the key",
    ),
  },
];
