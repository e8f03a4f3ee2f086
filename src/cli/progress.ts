// How far a command's work is: a bar on a terminal, plain lines without one; nothing of what is done within a second.
import type { Progress } from "../toolkit/tool-call.ts";
import { isTerminal, type Screen, styled } from "./terminal.ts";

const QUIET_MS = 1_000;
const BAR_WIDTH = 24;
const CLEAR_LINE = "\r\u001b[2K";

export interface ProgressShown {
  report(progress: Progress): void;
  /** Nothing of it stays on a terminal. */
  end(): void;
}

function bar({ progress, total }: Progress): string {
  if (total === undefined || total <= 0) return "";
  const done = Math.round((Math.min(progress, total) / total) * BAR_WIDTH);
  return `[${"#".repeat(done)}${"-".repeat(BAR_WIDTH - done)}] `;
}

export function createProgress(stream: Screen): ProgressShown {
  const draws = isTerminal(stream);
  let latest: Progress | undefined;
  let isDrawn = false;
  let said = "";

  function show(): void {
    if (latest === undefined) return;
    const { message } = latest;
    if (draws) {
      const line = `${bar(latest)}${message}`.slice(0, Math.max(20, (stream.columns || 80) - 1));
      stream.write(`${CLEAR_LINE}${styled("dim", line, stream)}`);
      isDrawn = true;
    } else if (message !== said) stream.write(`${message}\n`);
    said = message;
  }

  // Once a second at most: a line is read by a person, or kept in a file.
  const timer = setInterval(show, QUIET_MS).unref();
  return {
    report(progress) {
      latest = progress;
      if (isDrawn) show();
    },
    end() {
      clearInterval(timer);
      if (isDrawn) stream.write(CLEAR_LINE);
    },
  };
}
