// Meets the client before the server is loaded: gives the first answers, and hands over at the first line that asks for more.
import type { Readable, Writable } from "node:stream";
import type { Config } from "../../config.ts";
import { type Answered, createFirstAnswers, isSettled } from "../../mcp/first-answers.ts";
import type { Listing } from "../../mcp/tools/offered-tools.ts";
import { crashBeforeLog } from "../crash.ts";
import { version } from "../version.ts";

/** The listings as JSON text, put here by the build; there is none when the sources run. */
declare const BUILT_LISTINGS: string | undefined;
const built = typeof BUILT_LISTINGS === "undefined" ? undefined : BUILT_LISTINGS;

const isListings = (value: unknown): value is readonly Listing[] => Array.isArray(value);

/** Of our own build. */
function readListings(text: string): readonly Listing[] {
  const listings: unknown = JSON.parse(text);
  return isListings(listings) ? listings : [];
}

/** No first request is longer than this. */
const MAX_BYTES = 64 * 1024;
const NEWLINE = 10;

/**
 * Resolves when the client asks for more than the first answers; all that it has said can then be read from `stdin` again.
 * A client that leaves before that has had all it wanted: `end` is called.
 */
export function receive(config: Config, stdin: Readable, stdout: Writable, end: () => void): Promise<Answered> {
  const answered: Answered = new Map();
  if (built === undefined || !isSettled(config)) return Promise.resolve(answered);
  const listings = () => readListings(built);
  const answer = createFirstAnswers({ version, config, listings });
  let heard = Buffer.alloc(0);
  let taken = 0;

  /** False at the first line that cannot be answered. */
  function answerLines(): boolean {
    for (let stop = heard.indexOf(NEWLINE, taken); stop !== -1; stop = heard.indexOf(NEWLINE, taken)) {
      const said = answer(heard.toString("utf8", taken, stop));
      if (said === undefined) return false;
      taken = stop + 1;
      if (said === "nothing to say") continue;
      const { id, field, result } = said;
      answered.set(id, field);
      stdout.write(`${JSON.stringify({ result, jsonrpc: "2.0", id })}\n`);
    }
    return heard.length < MAX_BYTES;
  }

  const crash = crashBeforeLog(config);
  return new Promise((resolve) => {
    const take = (chunk: Buffer) => {
      heard = Buffer.concat([heard, chunk]);
      if (answerLines()) return;
      stdin.off("data", take).off("end", end).pause();
      // A crash stays ours until the server takes it over: loading it takes a moment.
      stdin.unshift(heard);
      resolve(answered);
    };
    stdin.on("data", take).once("end", end);
    process.on("uncaughtException", crash);
  });
}
