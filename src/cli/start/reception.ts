// Meets the client before the program is loaded: gives the first answers, and leaves at the first line that asks for more.
// The program finds stdin and stdout as if it had been there from the beginning.
import type { Readable, Writable } from "node:stream";
import type { Answered } from "../../telemetry/port.ts";
import { createFirstAnswers } from "./first-answers.ts";
import type { Recording } from "./recording.ts";
import type { Settings } from "./settings.ts";
import { idOfOurs, withhold } from "./withhold.ts";

/** Put here by the build; there is none when the sources run. */
declare const BUILT_RECORDING: Recording | undefined;
const recording = typeof BUILT_RECORDING === "undefined" ? undefined : BUILT_RECORDING;

/** No first request is longer than this. */
const MAX_BYTES = 64 * 1024;
const NEWLINE = 10;

/** As an instant finer than Date.now. */
const now = (): number => performance.timeOrigin + performance.now();

/**
 * Resolves when the client asks for more than the first answers, with what was answered.
 * A client that leaves before that has had all it wanted: `end` is called.
 */
export function receive(
  settings: Settings,
  stdin: Readable,
  stdout: Writable,
  end: () => void,
): Promise<readonly Answered[]> {
  if (recording === undefined) return Promise.resolve([]);
  const answer = createFirstAnswers(settings, recording);
  /** Not answered yet. */
  let heard = Buffer.alloc(0);
  let heardBytes = 0;
  /** What the server is to hear of all before: each line that makes a difference to it, an answered one under an id of ours. */
  const lines: string[] = [];
  const ids: string[] = [];
  const answered: Answered[] = [];

  /** False at the first line that cannot be answered. */
  function answerLines(): boolean {
    for (let stop = heard.indexOf(NEWLINE); stop !== -1; stop = heard.indexOf(NEWLINE)) {
      const line = heard.toString("utf8", 0, stop);
      const startedAt = now();
      const said = answer(line);
      if (said === undefined) return false;
      heard = heard.subarray(stop + 1);
      if (said === "nothing to say") {
        lines.push(`${line}\n`);
        continue;
      }
      // Making a list that nobody reads takes a twentieth of a start.
      if (said.request["method"] !== "tools/list") {
        const id = idOfOurs(ids.length);
        ids.push(id);
        lines.push(`${JSON.stringify({ ...said.request, id })}\n`);
      }
      stdout.write(`{"result":${said.result},"jsonrpc":"2.0","id":${JSON.stringify(said.id)}}\n`);
      answered.push({ method: String(said.request["method"]), startedAt, endedAt: now() });
    }
    return heardBytes < MAX_BYTES;
  }

  return new Promise((resolve) => {
    // Not by "data": a stream that was paused would not flow by itself when the server listens.
    const take = () => {
      for (let chunk: unknown = stdin.read(); chunk !== null; chunk = stdin.read()) {
        if (!Buffer.isBuffer(chunk)) continue;
        heard = Buffer.concat([heard, chunk]);
        heardBytes += chunk.length;
        if (answerLines()) continue;
        stdin.off("readable", take).off("end", end);
        stdin.unshift(Buffer.concat([Buffer.from(lines.join("")), heard]));
        withhold(stdout, ids);
        resolve(answered);
        return;
      }
    };
    stdin.on("readable", take).once("end", end);
  });
}
