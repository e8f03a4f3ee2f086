// The demo's last chapter: the answer to a submission is lost, the server dies, and there is one job all the same.
import * as z from "zod/v4";
import { word } from "../outside.ts";
import type { Agent, Told } from "./agent.ts";
import { chapter, dim, expect, say } from "./story.ts";

const OPERATION = "createMicJob";
const POLL_MS = 50;

const Counted = z.array(
  z.looseObject({
    operationId: z.string().nullable(),
    idempotencyKey: z.string().optional(),
    executions: z.number().optional(),
  }),
);

/** The emulated service's own records: of this operation, under each key. */
async function countedBy(baseUrl: string, what: "requests" | "executions") {
  const answer = await fetch(`${baseUrl}/__emulator/${what}`);
  return Counted.parse(await answer.json()).filter(({ operationId }) => operationId === OPERATION);
}

/** The service does what it is asked and then never answers. */
async function loseNextAnswer(baseUrl: string): Promise<void> {
  const body = JSON.stringify({ operationId: OPERATION, fault: { kind: "hang", afterCommit: true } });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${baseUrl}/__emulator/faults`, { method: "POST", headers, body });
  expect(answer.ok, "the service will do the next submission, and not answer it");
}

const Submitted = z.looseObject({
  data: z.looseObject({ id: z.string() }),
  action: z.object({ idempotencyKey: z.string(), replayed: z.boolean() }),
});
const Unsettled = z.looseObject({ actions: z.array(z.looseObject({ tool: z.string(), idempotencyKey: z.string() })) });

interface Scene {
  readonly baseUrl: string;
  /** What is to be submitted. */
  prepare(): Promise<Record<string, unknown>>;
  /** The one that is killed. */
  readonly agent: Agent;
  /** Another server on the same journal. */
  startNext(): Promise<Agent>;
}

export async function answerIsLost({ baseUrl, prepare, agent, startNext }: Scene): Promise<void> {
  chapter("The answer is lost and the server is killed: there is one job all the same");
  const submission = await prepare();
  await loseNextAnswer(baseUrl);
  const before = (await countedBy(baseUrl, "executions")).length;
  const answered: Promise<Told | undefined> = agent.call("submit_job", submission).catch(() => undefined);
  while ((await countedBy(baseUrl, "executions")).length === before)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  say("The service has made the job. Nobody knows: its answer does not come.");
  agent.kill();
  expect((await answered) === undefined, "the server is dead (kill -9); the agent has no answer, no id, no key");

  const next = await startNext();
  try {
    const { actions } = await next.ask(Unsettled, "list_actions", { state: "unknown" });
    const [left] = actions;
    expect(left?.tool === "submit_job", "a new server finds the submission in the journal, its outcome unknown");
    say(dim("the agent asks for the same once more, word for word"));
    const { data, action } = await next.ask(Submitted, "submit_job", submission);
    expect(action.idempotencyKey === left.idempotencyKey && action.replayed, `it is told ${word(data.id)}`);
    const ofKey = ({ idempotencyKey }: { idempotencyKey?: string | undefined }) =>
      idempotencyKey === action.idempotencyKey;
    const received = (await countedBy(baseUrl, "requests")).filter(ofKey).length;
    const executed = (await countedBy(baseUrl, "executions")).filter(ofKey);
    const jobs = executed.reduce((sum, { executions = 0 }) => sum + executions, 0);
    expect(jobs === 1, `the service's own count: ${received} requests under that key, ${jobs} job`);
  } finally {
    await next.close();
  }
}
