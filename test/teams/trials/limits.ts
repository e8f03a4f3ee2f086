// Trial 7: instances that share one address and one database, cold, asked about the whole country at once; one is killed with a permit
// in hand; then one of them is told to rest. The emulator's records and its clock are the oracle.
import * as z from "zod/v4";
import { openPostgres } from "../../../src/actions/store/postgres.ts";
import { startEmulator } from "../../../src/emulator/index.ts";
import { startPostgres } from "../../support/postgres.ts";
import { startProgram } from "./program.ts";

export interface LimitsCounts {
  readonly instances: number;
  readonly questions: number;
  /** How many times as fast as the machine's the service's clock goes: 1 is the real minute. */
  readonly speed: number;
}

export const SMALL: LimitsCounts = { instances: 3, questions: 30, speed: 10 };
export const WHOLE: LimitsCounts = { instances: 4, questions: 200, speed: 1 };

const MINUTE_MS = 60_000;
const PER_MINUTE = 30;
/** Of districts: one for each state. */
const LISTS = 36;
const REST_SECONDS = 2;

const Logged = z.array(z.looseObject({ path: z.string(), status: z.number().nullable(), at: z.string() }));
const Lists = z.array(z.int());

/** What was counted, and what is wrong, a sentence each. */
export async function limitsTrial({ instances, questions, speed }: LimitsCounts) {
  const startedAt = Date.now();
  const clock = { now: () => startedAt + (Date.now() - startedAt) * speed };
  const emulator = await startEmulator({ clock, requestsPerPeer: PER_MINUTE });
  const postgres = await startPostgres();
  const { baseUrl } = emulator;
  const admin = (path: string, init?: RequestInit) => fetch(`${baseUrl}/__emulator/${path}`, init);
  const asked = async () =>
    Logged.parse(await (await admin("requests")).json()).filter(({ path }) => path.startsWith("/api/"));
  const databaseUrl = await postgres.database();
  const database = await openPostgres(databaseUrl);
  const task = { databaseUrl, baseUrl, windowMs: MINUTE_MS / speed };
  const running = Array.from({ length: instances }, (_, at) =>
    startProgram("geography-instance.ts", { ...task, isMortal: at === 0 }),
  );
  try {
    await Promise.all(running.map(({ heard }) => heard()));
    const share = (at: number): number => Math.floor(questions / instances) + (at < questions % instances ? 1 : 0);
    const [mortal, ...living] = running;
    mortal?.say({ ask: "country", questions: share(0) });
    await mortal?.heard();
    for (const [at, { say }] of living.entries()) say({ ask: "country", questions: share(at + 1) });
    await mortal?.kill();
    const answers = (await Promise.all(living.map((each) => each.heard()))).flatMap((answer) => Lists.parse(answer));
    const read = await asked();
    const paths = read.map(({ path }) => path);
    const times = read.map(({ at }) => Date.parse(at));
    const within = times.map((from) => times.filter((at) => at >= from && at < from + MINUTE_MS).length);

    const fault = { kind: "status", status: 429, retryAfterSeconds: REST_SECONDS };
    const order = { operationId: "getPlaygroundOpenApi", fault };
    const headers = { "content-type": "application/json" };
    await admin("faults", { method: "POST", headers, body: JSON.stringify(order) });
    const [one, other] = living;
    one?.say({ ask: "document", withinMs: MINUTE_MS });
    // It is written down before the other is asked: what that does then, it does since it can know.
    while ((await database.query("SELECT 1 FROM geography_rest")).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 20));
    other?.say({ ask: "document", withinMs: MINUTE_MS });
    await Promise.all([one?.heard(), other?.heard()]);
    const documents = (await asked()).slice(read.length).map(({ at }) => Date.parse(at));
    const [refusedAt = 0, nextAt = 0] = documents;
    const counts = {
      requests: read.length,
      refused: read.filter(({ status }) => status === 429).length,
      mostInAMinute: Math.max(...within),
      readTwice: paths.filter((path, at) => paths.indexOf(path) !== at).length,
      answers: answers.length,
      incomplete: answers.filter((lists) => lists !== LISTS).length,
      restedSeconds: (nextAt - refusedAt) / 1000,
      // Instances wait by the machine's clock, which the service's outruns.
      askedSeconds: REST_SECONDS * speed,
    };
    const died = share(0);
    const wrong = [
      counts.refused > 0 && `${counts.refused} requests were refused`,
      counts.mostInAMinute > PER_MINUTE && `${counts.mostInAMinute} requests in a minute`,
      counts.readTwice > 0 && `${counts.readTwice} lists were read twice`,
      counts.requests !== LISTS + 1 && `${counts.requests} requests for ${LISTS + 1} lists`,
      counts.answers !== questions - died && `${counts.answers} answers to ${questions - died} questions of the living`,
      counts.incomplete > 0 && `${counts.incomplete} answers stand on fewer than ${LISTS} lists`,
      counts.restedSeconds < counts.askedSeconds && `a request after ${counts.restedSeconds} s of rest`,
    ];
    return { counts, wrong: wrong.filter((each) => each !== false) };
  } finally {
    await Promise.all(running.map((each) => each.kill()));
    await database.close();
    await emulator.close();
    await postgres.stop();
  }
}
