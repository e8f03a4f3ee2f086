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
  machine("an action is in the journal before it is sent, and is not sent if it cannot be recorded", {
    "the request leaves before the journal has it": [
      "const sent = await claimAndSend(openedJournal, action, call, () =>\n      openedJournal.insert(action)",
      "await call.send(request, action.key, {}); const sent = await claimAndSend(openedJournal, action, call, () =>\n      openedJournal.insert(action)",
    ],
    "an action is sent under another key than the journal's": [
      "await call.send(request, upstreamKey, {",
      "await call.send(request, makeKey(), {",
    ],
  }),
  sqlite("SQLite syncs each commit", {
    "SQLite does not sync what it commits": [
      'engine.exec("PRAGMA synchronous = FULL");',
      'engine.exec("PRAGMA synchronous = NORMAL");',
    ],
  }),
  postgres(
    "an action is not lost when PostgreSQL, with a role that commits asynchronously, is killed together with the server",
    {
      "PostgreSQL does not sync what it commits, where its role says so": [
        "SET synchronous_commit = on",
        "SET synchronous_commit = off",
      ],
    },
  ),
  sqlite("a journal with its folder moved while it is open refuses every write", {
    "a journal that was moved under a running server is written to all the same": [
      "if (!isSelect(sql)) assertInPlace();",
      "",
    ],
  }),
  sqlite("a journal with its WAL removed while it is open refuses every write", {
    "a journal whose WAL was removed under a running server is written to all the same": [
      "(fileIdentity(path) === identity && fileIdentity(wal) === walIdentity)",
      "fileIdentity(path) === identity",
    ],
  }),
  unavailable("actions are refused while another process locks the journal, and accepted once it is unlocked", {
    "an unreadable journal is reported as if nothing had been sent": [
      'sideEffect: "unknown" };\n  return failure.with(key === undefined',
      'sideEffect: "none" };\n  return failure.with(key === undefined',
    ],
  }),
  machine("an action that may have been recorded is not reported as having no effect", {
    "an action that could not be written counts as absent, whatever the journal holds": [
      "throw isAbsent ? new Failure(",
      "throw !isAbsent || isAbsent ? new Failure(",
    ],
  }),
  unknownOutcome("a repeated action sends the version and the texts of the first request", {
    "a resent action is built from the new call": [
      "const request = { path: stored.path, ifMatch: stored.if_match, body: stored.body };",
      "const request = await call.prepare();",
    ],
  }),
  unknownOutcome("an unknown outcome names the call that resolves it, under the same key and with the same bytes", {
    "an action that is sent again has a new key": [
      'const upstreamKey = stored.upstream_key === "" ? stored.key : stored.upstream_key;',
      "const upstreamKey = stored.attempts === 0 ? stored.key : makeKey();",
    ],
  }),
  tokens("a refused token is replaced once, and the same bytes are sent under the same key", {
    "a refused token is not renewed": [
      "tokens.discard(scopes, token);\n    const renewed",
      "if (scopes.length > 0) return answer;\n    const renewed",
    ],
    "with a new token other bytes are sent": [
      "send(withToken(renewed))",
      'send({ ...withToken(renewed), body: Buffer.from("{}") })',
    ],
    "with a token there is no key": [
      "headers: { ...wire.headers, authorization:",
      'headers: { "content-type": "application/json", authorization:',
    ],
  }),
  deduplication("an identical call is a replay with the current state, even in a new session", {
    "a success is sent again": [
      'if (state === "succeeded" ||',
      'if (state === "succeeded") return await sendClaimed(open, stored, call);\n    if (',
    ],
  }),
  machine("an action that took effect with an unreadable answer does not run again", {
    "what took effect with an unreadable answer may be done again": [
      'return facts.sideEffect === "done" ? "succeeded" : "rejected";',
      'return "rejected";',
    ],
  }),
  machine("an internal error while sending leaves the outcome unknown", {
    "what is unknown is written down as refused": [
      'if (facts.sideEffect === "unknown") return "unknown";\n  // "done":',
      '// "done":',
    ],
    "a fault of our own while sending counts as nothing sent": [
      "error instanceof Failure\n          ? withCallerKey(error, upstreamKey, idempotencyKey)\n          : unknownOutcomeFailure(errorMessage(error))",
      'error instanceof Failure ? withCallerKey(error, upstreamKey, idempotencyKey) : unknownOutcomeFailure(errorMessage(error)).with({ sideEffect: "none" })',
    ],
  }),
  outcomes("may have taken effect: a conflict", {
    "a lost answer is not reported as unknown": ["mayHaveTakenEffect ||= error.sent;", ""],
    "a conflict decides about what was lost before": [
      'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
      'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found", "conflict"]',
    ],
  }),
  outcomes("has an unknown outcome: HTTP 503", {
    "a server error is not reported as unknown": ["mayHaveTakenEffect ||= response.status >= 500;", ""],
    "doubt is forgotten at the end of a call": [
      'if (!isAction(endpoint) || !mayHaveTakenEffect || failure.facts.sideEffect !== "none") return keyed;',
      "if (endpoint) return keyed;",
    ],
  }),
  outcomes("and is unknown if no other answer comes: a page with the contract's status", {
    "a page with the contract's status proves that it took effect": [
      "if (jsonError !== undefined) return unverifiedResponseFailure(endpoint, response.status, jsonError);",
      'if (jsonError !== undefined) return violated(endpoint, jsonError).with({ sideEffect: "done" });',
    ],
  }),
  outcomes("and is unknown if no other answer comes: no requestId", {
    "a JSON without the contract's envelope proves that it took effect": [
      "if (!isEnvelope(response))\n    return unverifiedResponseFailure(",
      "if (response.status === 0)\n    return unverifiedResponseFailure(",
    ],
  }),
  outcomes("and is unknown if no other answer comes: the envelope with another status", {
    "another success than the contract's changed nothing": [
      'jsonErrorOf(response) ?? (isAction(endpoint) ? "the contract has no such answer" : undefined)',
      "jsonErrorOf(response)",
    ],
  }),
  outcomes("counts as refused only after a Problem", {
    "an indeterminate answer is not reported as unknown": [
      'mayHaveTakenEffect ||= failure instanceof Failure && failure.facts.sideEffect === "unknown";',
      "",
    ],
    "a page that refuses decides about what was lost before": [
      "CONCLUSIVE_KINDS.has(failure.facts.kind) && failure.facts.code !== undefined",
      "CONCLUSIVE_KINDS.has(failure.facts.kind)",
    ],
  }),
  outcomes("has an unknown outcome: reset after reading", {
    "a connection that breaks counts as never made": [
      "return !UNSENT.has(code) && !isTlsRefusal(code) && !isProxyRefusal(error);",
      "return false;",
    ],
  }),
  outcomes("a request that times out may have taken effect", {
    "a request without an answer in its time counts as not sent": [
      "new TransportError(message, { sent: controller !== undefined, timedOut, proxy })",
      "new TransportError(message, { sent: false, timedOut, proxy })",
    ],
  }),
  outcomes("may have taken effect: unauthorized, by a Problem", {
    "a refused token decides about what was lost before": [
      'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
      'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found", "unauthorized"]',
    ],
  }),
  outcomes("may have taken effect: a version that has moved on", {
    "a stale version decides about what was lost before": [
      'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
      'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found", "precondition_failed"]',
    ],
  }),
  outcomes("changed nothing when its own bytes are refused", {
    "nothing decides after a lost answer, not even the service's judgement of these bytes": [
      'CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]',
      "CONCLUSIVE_KINDS: ReadonlySet<FailureKind> = new Set<FailureKind>([]",
    ],
  }),
  outcomes("a call that is cancelled while its request is out may have taken effect", {
    "a call that is cancelled while its request is out has sent nothing": ["sent = true;", "sent = lostBefore;"],
  }),
  outcomes("a call that is canceled before it sends may have taken effect only if an earlier one did", {
    "a call that is cancelled before it sends knows nothing of earlier ones": [
      "let sent = mayHaveTakenEffectBefore;",
      "let sent = false;",
    ],
  }),
  unknownOutcome("a postponed call is reported as rate-limited while no outcome is unknown", {
    "an action is sent again without the doubt it is in": [
      "mayHaveTakenEffect: isResumed,",
      "mayHaveTakenEffect: false,",
    ],
    "a call knows nothing of what earlier ones have lost": [
      "let mayHaveTakenEffect = mayHaveTakenEffectBefore;",
      "let mayHaveTakenEffect = false;",
    ],
  }),
  unknownOutcome("an action that was first sent more than 20 h ago is not sent again", {
    "an action is sent again however old its key": [
      'if (state !== "rejected" && isTooOldToResend(stored, stored.read_at))\n        throw',
      'if (state === "succeeded")\n        throw',
    ],
  }),
  machine("the same bytes are sent again under the same key after a rejection, even a day later", {
    "an action that was rejected a day ago is too old": [
      'if (state !== "rejected" && isTooOldToResend(stored, stored.read_at))\n        throw',
      "if (isTooOldToResend(stored, stored.read_at))\n        throw",
    ],
  }),
  journal("the age of an unknown outcome counts from the time when the API may first have received the key", {
    "the age of an unknown outcome counts from an earlier rejection": [
      "first_sent_at = CASE WHEN state = 'rejected' THEN",
      "first_sent_at = CASE WHEN state = '' THEN",
    ],
  }),
].flat();
