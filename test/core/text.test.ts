// Tests texts (src/core/text.ts): data appears as it is for every reader, and only own words and calls depend on the reader.
import fc from "fast-check";
import { expect, test } from "vitest";
import { PERSON, terminalReader } from "../../src/cli/terminal-reader.ts";
import {
  AGENT,
  ask,
  call,
  fixed,
  forReader,
  join,
  json,
  own,
  quoted,
  raw,
  render,
  say,
  type Text,
  withKey,
} from "../../src/core/text.ts";
import { TOOL_NAMES } from "../../src/core/tool-names.ts";
import { agentReader } from "../../src/toolkit/results.ts";

/** Fragments that look like the program's own words, calls, sentences and quotation marks. */
const FRAGMENTS = [
  ...[
    "ask the user to sign",
    "Tell the user.",
    "cancel_job {}",
    'get_job {"jobId":"job-1"}',
    "retry_jobs",
    ". ",
    "Q3. ",
    '"',
    "\\",
  ],
  ...["\n", "\u202e", "ü", "{", "}", "pass idempotencyKey k."],
];
const hostile = fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 6 }).map((parts) => parts.join(""));

const readOnly = agentReader({ isOffered: (tool) => !/^(run|retry|submit|cancel)_/.test(tool) });
const READERS = [AGENT, readOnly, PERSON, terminalReader({ offered: new Map() }, ["--emulator"])];

test("untrusted text is in each reader's text, as it is or as its JSON string", () => {
  fc.assert(
    fc.property(hostile, hostile, (name, id) => {
      const text = say`Recipe ${quoted(name)}: bind one input. ${call("retry_jobs", { jobIds: [id] })} retries it. It is ${id}.`;
      for (const reader of READERS) {
        const shown = render(text, reader);
        const asJson = render(say`${json(name)}`, reader);
        expect(shown.includes(asJson)).toBe(true);
        expect(shown.endsWith(`It is ${render(say`${id}`, reader)}.`)).toBe(true);
      }
    }),
    { numRuns: 5_000 },
  );
});

test.each<[name: string, text: Text, agent: string, terminal: string]>([
  ["an id", say`Job ${"job-1"} is ${"RUNNING"}.`, "Job job-1 is RUNNING.", "Job job-1 is RUNNING."],
  ["a name with own words", say`It is ${"a job. Next"}.`, 'It is "a job. Next".', 'It is "a job. Next".'],
  [
    "a wait for a job",
    say`${call("get_job", { jobId: "job-1", waitSeconds: 45 })} waits.`,
    'get_job {"jobId":"job-1","waitSeconds":45} waits.',
    "mic-mcp watch job-1 waits.",
  ],
  [
    "a resolution",
    say`${call("resolve_actions", { idempotencyKey: "a b" })}.`,
    'resolve_actions {"idempotencyKey":"a b"}.',
    "mic-mcp resolve 'a b'.",
  ],
  [
    "a page",
    say`Next page: ${call("list_jobs", { cursor: "}{", states: ["FAILED", "PAUSED"] })}`,
    'Next page: list_jobs {"cursor":"}{","states":["FAILED","PAUSED"]}',
    "Next page: mic-mcp call list_jobs 'cursor=}{' states=FAILED,PAUSED",
  ],
  [
    "a tool",
    say`list_jobs shows ${"list_jobs"}.`,
    "list_jobs shows list_jobs.",
    "mic-mcp call list_jobs shows list_jobs.",
  ],
  ["a request", say`${ask("Check")} MIC_PROXY.`, "Ask the user to check MIC_PROXY.", "Check MIC_PROXY."],
  [
    "words for each reader",
    say`A review can take days${forReader(": tell the user", "")}.`,
    "A review can take days: tell the user.",
    "A review can take days.",
  ],
  [
    "a key",
    say`To run it again, ${withKey("again-1")}.`,
    "To run it again, pass idempotencyKey again-1.",
    "To run it again, add idempotencyKey=again-1.",
  ],
  [
    "an error of the system",
    say`It failed: ${raw("EACCES: denied, open '/a'")}.`,
    "It failed: EACCES: denied, open '/a'.",
    "It failed: EACCES: denied, open '/a'.",
  ],
  ["texts that are joined", join([say`One.`, undefined, false, own("Two.")]), "One. Two.", "One. Two."],
])("%s is written for an agent and for a person", (_, text, agent, terminal) => {
  expect(render(text, AGENT)).toBe(agent);
  expect(render(text, PERSON)).toBe(terminal);
});

test.each<[name: string, text: Text, shown: string]>([
  ["a call", say`It FAILED. ${call("retry_job", { jobId: "job-1" })} retries it. It is old.`, "It FAILED. It is old."],
  ["a name in own words", fixed("It FAILED. retry_job retries it. It is old."), "It FAILED. It is old."],
  ["the only sentence", fixed("retry_job retries it."), ""],
  [
    "a name in data",
    say`Recipe ${"Q3. retry_job (manual). Final"} is old. ${call("retry_job", {})}.`,
    'Recipe "Q3. retry_job (manual). Final" is old.',
  ],
])("a sentence is omitted if its tool is not offered: %s", (_, text, shown) => {
  expect(render(text, readOnly)).toBe(shown);
  expect(TOOL_NAMES).toContain("retry_job");
});
