// What is sent, and what is known of it then: journal first, one key, the same bytes, and doubt wherever there is any.
import { builtServerTest, inProcessTest, type Mutant } from "./mutant.ts";

const deduplication = inProcessTest("test/actions/deduplication.test.ts");
const sqlite = inProcessTest("test/actions/sqlite.test.ts");
const journal = inProcessTest("test/actions/journal.test.ts", "SQLite ");
const machine = inProcessTest("test/actions/machine.test.ts");
const outcomes = inProcessTest("test/api-client/outcomes.test.ts");
const tokens = inProcessTest("test/credentials/tokens.test.ts");
const resend = inProcessTest("test/actions/resend.test.ts");
const postgres = builtServerTest("test/actions/postgres.test.ts");
const unavailable = inProcessTest("test/actions/unavailable.test.ts");
const unknownOutcome = inProcessTest("test/actions/unknown-outcome.test.ts");

export const sendingMutants: readonly Mutant[] = [
  {
    what: "the request leaves before the journal has it",
    code: "const sent = await claimAndSend(openedJournal, action, call, () =>\n      openedJournal.insert(action)",
    instead:
      "await call.send(request, action.key, {}); const sent = await claimAndSend(openedJournal, action, call, () =>\n      openedJournal.insert(action)",
    seenBy: machine("an action is in the journal when it is sent, and what is not there is not sent"),
  },
  {
    what: "SQLite does not sync what it commits",
    code: 'engine.exec("PRAGMA synchronous = FULL");',
    instead: 'engine.exec("PRAGMA synchronous = NORMAL");',
    seenBy: sqlite("SQLite syncs each commit"),
  },
  {
    what: "PostgreSQL does not sync what it commits, where its role says so",
    code: "SET synchronous_commit = on",
    instead: "SET synchronous_commit = off",
    seenBy: postgres("killed together with the server, its role careless of what is on disk"),
  },
  {
    what: "a journal that was moved under a running server is written to all the same",
    code: "assertInPlace();\n",
    instead: "\n",
    seenBy: sqlite("a journal with its folder moved while it is open refuses every statement"),
  },
  {
    what: "a journal whose WAL was removed under a running server is written to all the same",
    code: "(fileIdentity(path) === identity && fileIdentity(wal) === walIdentity)",
    instead: "fileIdentity(path) === identity",
    seenBy: sqlite("a journal with its WAL removed while it is open refuses every statement"),
  },
  {
    what: "a journal that cannot be read is told as if nothing had ever been sent",
    code: 'sideEffect: "unknown" };\n  return failure.with(key === undefined',
    instead: 'sideEffect: "none" };\n  return failure.with(key === undefined',
    seenBy: unavailable("a journal that another process holds locked, and then does not"),
  },
  {
    what: "an action that could not be written counts as absent, whatever the journal holds",
    code: "throw isAbsent ? new Failure(",
    instead: "throw !isAbsent || isAbsent ? new Failure(",
    seenBy: machine("what may have been written is not said to be nothing"),
  },
  {
    what: "an action that is sent again is made anew",
    code: "const request = { path: stored.path, ifMatch: stored.if_match, body: stored.body };",
    instead: "const request = await call.prepare();",
    seenBy: resend("sent again, an action has the version and the words of the first time"),
  },
  {
    what: "an action that is sent again has a new key",
    code: 'const upstreamKey = stored.upstream_key === "" ? stored.key : stored.upstream_key;',
    instead: "const upstreamKey = stored.attempts === 0 ? stored.key : makeKey();",
    seenBy: unknownOutcome(
      "an unknown outcome names the call that resolves it, under the same key and with the same bytes",
    ),
  },
  {
    what: "an action is sent under another key than the journal's",
    code: "await call.send(request, upstreamKey, {",
    instead: "await call.send(request, makeKey(), {",
    seenBy: machine("an action is in the journal when it is sent, and what is not there is not sent"),
  },
  {
    what: "a refused token is not renewed",
    code: "tokens.discard(scopes, token);\n    const renewed",
    instead: "if (scopes.length > 0) return answer;\n    const renewed",
    seenBy: tokens("is replaced once, and the same bytes go out under the same key"),
  },
  {
    what: "with a new token other bytes are sent",
    code: "send(withToken(renewed))",
    instead: 'send({ ...withToken(renewed), body: Buffer.from("{}") })',
    seenBy: tokens("is replaced once, and the same bytes go out under the same key"),
  },
  {
    what: "with a token there is no key",
    code: "headers: { ...wire.headers, authorization:",
    instead: 'headers: { "content-type": "application/json", authorization:',
    seenBy: tokens("is replaced once, and the same bytes go out under the same key"),
  },
  {
    what: "a success is sent again",
    code: 'if (state === "succeeded" ||',
    instead: 'if (state === "succeeded") return await sendClaimed(open, stored, call);\n    if (',
    seenBy: deduplication("an identical call is a replay with the current state, in a new session too"),
  },
  {
    what: "what took effect with an unreadable answer may be done again",
    code: 'return facts.sideEffect === "done" ? "succeeded" : "rejected";',
    instead: 'return "rejected";',
    seenBy: machine("what took effect, with an answer that cannot be read, is not done again"),
  },
  {
    what: "what is unknown is written down as refused",
    code: 'if (facts.sideEffect === "unknown") return "unknown";\n  // If it is',
    instead: "// If it is",
    seenBy: machine("a fault of our own while sending leaves the outcome unknown"),
  },
  {
    what: "a fault of our own while sending counts as nothing sent",
    code: "error instanceof Failure\n          ? withCallerKey(error, upstreamKey, idempotencyKey)\n          : unknownOutcomeFailure(errorMessage(error))",
    instead:
      'error instanceof Failure ? withCallerKey(error, upstreamKey, idempotencyKey) : unknownOutcomeFailure(errorMessage(error)).with({ sideEffect: "none" })',
    seenBy: machine("a fault of our own while sending leaves the outcome unknown"),
  },
  {
    what: "a lost answer leaves no doubt",
    code: "mayHaveTakenEffect ||= error.sent;",
    instead: "",
    seenBy: outcomes("may have taken effect: a conflict"),
  },
  {
    what: "a server error leaves no doubt",
    code: "mayHaveTakenEffect ||= response.status >= 500;",
    instead: "",
    seenBy: outcomes("has an unknown outcome: HTTP 503"),
  },
  {
    what: "a page with the contract's status proves that it took effect",
    code: "if (jsonError !== undefined) return unverifiedResponseFailure(endpoint, response.status, jsonError);",
    instead: 'if (jsonError !== undefined) return violated(endpoint, jsonError).with({ sideEffect: "done" });',
    seenBy: outcomes("and has an unknown outcome when nothing else comes: a page with the contract's status"),
  },
  {
    what: "a JSON without the contract's envelope proves that it took effect",
    code: "if (!isEnvelope(response))\n    return unverifiedResponseFailure(",
    instead: "if (response.status === 0)\n    return unverifiedResponseFailure(",
    seenBy: outcomes("and has an unknown outcome when nothing else comes: no requestId"),
  },
  {
    what: "another success than the contract's changed nothing",
    code: 'jsonErrorOf(response) ?? (isAction(endpoint) ? "the contract has no such answer" : undefined)',
    instead: "jsonErrorOf(response)",
    seenBy: outcomes("and has an unknown outcome when nothing else comes: the envelope with another status"),
  },
  {
    what: "an answer that proves nothing leaves no doubt",
    code: 'mayHaveTakenEffect ||= error instanceof Failure && error.facts.sideEffect === "unknown";',
    instead: "",
    seenBy: outcomes("is refused for certain by a Problem alone"),
  },
  {
    what: "a page that refuses decides about what was lost before",
    code: "CONCLUSIVE_KINDS.has(failure.facts.kind) && failure.facts.code !== undefined",
    instead: "CONCLUSIVE_KINDS.has(failure.facts.kind)",
    seenBy: outcomes("is refused for certain by a Problem alone"),
  },
  {
    what: "a connection that breaks counts as never made",
    code: "return !UNSENT.has(code) && !isTlsRefusal(code) && !refusedByProxy;",
    instead: "return false;",
    seenBy: outcomes("has an unknown outcome: reset after reading"),
  },
  {
    what: "a request without an answer in its time counts as not sent",
    code: "new TransportError(message, { sent: controller !== undefined, timedOut })",
    instead: "new TransportError(message, { sent: false, timedOut })",
    seenBy: outcomes("a request that is not answered in time may have taken effect"),
  },
  {
    what: "doubt is forgotten at the end of a call",
    code: 'if (!isAction(endpoint) || !mayHaveTakenEffect || failure.facts.sideEffect !== "none") return keyed;',
    instead: "if (endpoint) return keyed;",
    seenBy: outcomes("has an unknown outcome: HTTP 503"),
  },
  {
    what: "a conflict decides about what was lost before",
    code: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
    instead: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found", "conflict"]',
    seenBy: outcomes("may have taken effect: a conflict"),
  },
  {
    what: "a refused token decides about what was lost before",
    code: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
    instead: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found", "unauthorized"]',
    seenBy: outcomes("may have taken effect: unauthorized, by a Problem"),
  },
  {
    what: "a stale version decides about what was lost before",
    code: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
    instead: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found", "precondition_failed"]',
    seenBy: outcomes("may have taken effect: a version that has moved on"),
  },
  {
    what: "nothing decides after a lost answer, not even the service's judgement of these bytes",
    code: 'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
    instead: "CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set<FailureKind>([]",
    seenBy: outcomes("changed nothing when its own bytes are refused"),
  },
  {
    what: "a call that is cancelled while its request is out has sent nothing",
    code: "sent = true;",
    instead: "sent = lostBefore;",
    seenBy: outcomes("a call that is cancelled while its request is out may have taken effect"),
  },
  {
    what: "a call that is cancelled before it sends knows nothing of earlier ones",
    code: "let sent = mayHaveTakenEffectBefore;",
    instead: "let sent = false;",
    seenBy: outcomes("a call that is cancelled before it sends may have taken effect by an earlier one"),
  },
  {
    what: "an action is sent again without the doubt it is in",
    code: "mayHaveTakenEffect: isResumed,",
    instead: "mayHaveTakenEffect: false,",
    seenBy: unknownOutcome("a call that was put off is told as such while nothing is in doubt"),
  },
  {
    what: "a call knows nothing of what earlier ones have lost",
    code: "let mayHaveTakenEffect = mayHaveTakenEffectBefore;",
    instead: "let mayHaveTakenEffect = false;",
    seenBy: unknownOutcome("a call that was put off is told as such while nothing is in doubt"),
  },
  {
    what: "an action is sent again however old its key",
    code: 'if (state !== "rejected" && isTooOldToResend(stored, stored.looked_at))\n        throw',
    instead: 'if (state === "succeeded")\n        throw',
    seenBy: unknownOutcome("an action that was first sent more than 20 h ago is not sent again"),
  },
  {
    what: "an action that was rejected a day ago is too old",
    code: 'if (state !== "rejected" && isTooOldToResend(stored, stored.looked_at))\n        throw',
    instead: "if (isTooOldToResend(stored, stored.looked_at))\n        throw",
    seenBy: machine("under its key, the same bytes are sent again after a rejection, also a day later"),
  },
  {
    what: "the age of an unknown outcome counts from an earlier rejection",
    code: "first_sent_at = CASE WHEN state = 'rejected' THEN",
    instead: "first_sent_at = CASE WHEN state = '' THEN",
    seenBy: journal("the age of an unknown outcome counts from when the API may have received the key"),
  },
];
