// Formats output that only a terminal can show: colors, redrawn lines, aligned columns and a progress bar.
import { styleText } from "node:util";
import { formatDuration } from "../actions/deduplication-window.ts";
import { escapeJson } from "../core/untrusted-text.ts";
import type { Progress } from "../toolkit/tool-context.ts";

export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export const isTerminal = (stream: Pick<Screen, "isTTY">): boolean =>
  stream.isTTY === true && process.env["TERM"] !== "dumb";

type Style = Parameters<typeof styleText>[0];

export function applyStyle(style: Style, text: string, stream: Pick<Screen, "isTTY">): string {
  const { NO_COLOR: noColor, NODE_DISABLE_COLORS: noColors } = process.env;
  return isTerminal(stream) && !noColor && !noColors ? styleText(style, text, { validateStream: false }) : text;
}

export const printOutcome = (isJson: boolean | undefined, sentence: string, outcome: object): void =>
  void process.stdout.write(`${isJson ? escapeJson(JSON.stringify(outcome)) : sentence}\n`);

const UPDATE_INTERVAL_MS = 1_000;
const BAR_WIDTH = 24;
export const CLEAR_LINE = "\r\u001b[2K";

function formatBar({ progress, total }: Progress): string {
  if (total === undefined || total <= 0) return "";
  const done = Math.round((Math.min(progress, total) / total) * BAR_WIDTH);
  return `[${"#".repeat(done)}${"-".repeat(BAR_WIDTH - done)}] `;
}

/**
 * Returns a function that formats the time since the start, and an estimate of the rest if there was progress: "12 s, about 20 s left". The
 * estimate assumes that the rest continues at the speed up to the latest progress.
 */
export function createStopwatch(now: () => number = () => performance.now()) {
  const startedAt = now();
  let first: Mark | undefined;
  let latest: Mark | undefined;
  return ({ progress, total }: Pick<Progress, "progress" | "total">): string => {
    const at = now();
    const elapsed = formatDuration(at - startedAt);
    first ??= { progress, at };
    if (latest?.progress !== progress) latest = { progress, at };
    const done = progress - first.progress;
    if (total === undefined || done <= 0) return elapsed;
    const leftMs = ((total - progress) / done) * (latest.at - first.at) - (at - latest.at);
    return leftMs < 1_000 ? elapsed : `${elapsed}, about ${formatDuration(leftMs)} left`;
  };
}
interface Mark {
  readonly progress: number;
  readonly at: number;
}

/** Shows a bar on a terminal, else plain lines. Shows nothing for work that takes less than 1 s. */
export function createProgressDisplay(stream: Screen) {
  const isOnTerminal = isTerminal(stream);
  const formatTime = createStopwatch();
  let latest: Progress | undefined;
  let isDrawn = false;
  let lastMessage = "";

  function show(): void {
    if (latest === undefined) return;
    const { message } = latest;
    if (isOnTerminal) {
      const line = `${formatBar(latest)}${message} (${formatTime(latest)})`.slice(
        0,
        Math.max(20, (stream.columns || 80) - 1),
      );
      stream.write(`${CLEAR_LINE}${applyStyle("dim", line, stream)}`);
      isDrawn = true;
    } else if (message !== lastMessage) stream.write(`${message}\n`);
    lastMessage = message;
  }

  // Plain lines are written at most once per second, because a user reads them or a file stores them.
  const timer = setInterval(show, UPDATE_INTERVAL_MS).unref();
  return {
    report(progress: Progress): void {
      latest = progress;
      if (isDrawn) show();
    },
    note(line: string): void {
      stream.write(`${isDrawn ? CLEAR_LINE : ""}${line}\n`);
      if (isDrawn) show();
    },
    end(): void {
      clearInterval(timer);
      if (isDrawn) stream.write(CLEAR_LINE);
    },
  };
}
