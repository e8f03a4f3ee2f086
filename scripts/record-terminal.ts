// Draws recordings of a terminal for docs/pictures/ as SVG, in two themes: the chapter of `mic-mcp demo` about a lost response (animated),
// and a chat about geography. The lines are real answers; ids and long lines are shortened, and pauses are at most MAX_PAUSE_MS.
import { execFile, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { shortenLine } from "./shorten-line.ts";

const CHAPTER = "Lose a response";
const MAX_LINES = 10;
const MAX_PAUSE_MS = 900;
const END_PAUSE_MS = 6_000;
const COLUMNS = 96;
const FONT_SIZE = 13;
const LINE_HEIGHT = 20;
const PADDING = 16;

const THEMES = {
  light: { background: "#f6f4ef", text: "#1c1b1a", muted: "#56534e", good: "#1b6b34", call: "#1c5aa8" },
  dark: { background: "#1f1e1d", text: "#f4f2ec", muted: "#b8b3a9", good: "#86cf9d", call: "#8fbcf3" },
} as const;
type Color = Exclude<keyof (typeof THEMES)["light"], "background">;

interface Line {
  readonly text: string;
  /** Milliseconds from the start of the recording. */
  readonly atMs: number;
}

/** Progress, data, keys and the look into the journal, which a reader of a short recording does not need. */
const isLeftOut = (line: string): boolean =>
  /^\s*(?:[A-Z]{6,} |\{|-+$|$|tool\t|submit_job\t|Next: |idempotencyKey |\$ mic-mcp call list_actions|\d+ actions?:|\[ok\] (?:An|The journal) )/.test(
    line,
  );

/** Returns the sentences of a result that fit; a call is shortened. */
function shortenResult(line: string): string {
  const shortened = shortenLine(line, COLUMNS);
  const end = shortened.endsWith("…") && !line.startsWith("  $") ? shortened.lastIndexOf(". ") : -1;
  return end < 0 ? shortened : shortened.slice(0, end + 1);
}

/** Runs the demo. Returns the lines of the chapter, with pauses in proportion to the real ones. */
async function recordDemo(): Promise<readonly Line[]> {
  const demo = spawn(process.execPath, ["dist/cli.js", "demo"], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: Line[] = [];
  let isInChapter = false;
  let lastAt = Date.now();
  for await (const line of createInterface({ input: demo.stdout })) {
    if (/^[A-Z]/.test(line)) isInChapter = line.startsWith(CHAPTER);
    if (!isInChapter || isLeftOut(line)) continue;
    const pauseMs = Math.min(MAX_PAUSE_MS, Math.max(250, Date.now() - lastAt));
    lastAt = Date.now();
    const { atMs = -pauseMs } = lines.at(-1) ?? {};
    lines.push({ text: shortenResult(line.trimEnd()), atMs: atMs + pauseMs });
  }
  if (lines.length < 8 || lines.length > MAX_LINES) throw new Error(`The chapter has ${lines.length} lines.`);
  return lines;
}

/** Asks a question with a real call. The rows are aligned, as clients do, and the reply of the assistant is made from them. */
async function recordChat(): Promise<readonly Line[]> {
  const call = ["rank_divisions", "level=district", "by=mandalCount", "limit=3"];
  const { stdout } = await promisify(execFile)(process.execPath, ["dist/cli.js", "call", ...call, "--emulator"]);
  const lines = stdout.trimEnd().split("\n");
  const rows = lines.filter((line) => line.includes("\t")).map((line) => line.split("\t"));
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const table = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  const [most, second] = rows.slice(1).map(([, name, , state, count]) => `${name} (${state}) with ${count}`);
  const summary = `${lines[0]?.split(". ").slice(0, 2).join(". ")}.`;
  return [
    "> Which districts have the most mandals?",
    '  > mic: rank_divisions {"level":"district","by":"mandalCount","limit":3}',
    ...[summary, ...table, lines.at(-1) ?? ""].map((line) => `    ${line}`),
    `  ${most}, followed by ${second}.`,
  ].map((text) => ({ text: shortenLine(text, COLUMNS), atMs: 0 }));
}

function colorOf(text: string): Color {
  if (/^\S/.test(text)) return "muted";
  if (/^ {2}[>$]/.test(text)) return "call";
  return text.startsWith("  [ok]") ? "good" : "text";
}

const escapeXml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function drawSvg(title: string, lines: readonly Line[], theme: keyof typeof THEMES): string {
  const { background, ...colors } = THEMES[theme];
  const width = Math.ceil(COLUMNS * FONT_SIZE * 0.6) + 2 * PADDING;
  const height = lines.length * LINE_HEIGHT + 2 * PADDING;
  const totalMs = (lines.at(-1)?.atMs ?? 0) + END_PAUSE_MS;
  const percent = (ms: number) => ((100 * ms) / totalMs).toFixed(2);
  const isAnimated = totalMs > END_PAUSE_MS;
  const animation = isAnimated ? `;animation:${totalMs}ms step-end infinite` : "";
  const keyframes = (isAnimated ? lines : []).map(
    ({ atMs }, at) =>
      `@keyframes l${at}{0%,${percent(atMs)}%{opacity:0}${percent(atMs + 1)}%,100%{opacity:1}}.l${at}{animation-name:l${at}}`,
  );
  const rows = lines.map(
    ({ text }, at) =>
      `<text class="l${at}" x="${PADDING}" y="${PADDING + at * LINE_HEIGHT + FONT_SIZE}" fill="${colors[colorOf(text)]}">${escapeXml(text)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>${title}</title>
<style>
text{font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre${animation}}
${keyframes.join("\n")}
@media (prefers-reduced-motion:reduce){text{animation:none}}
</style>
<rect width="100%" height="100%" rx="6" fill="${background}"/>
${rows.join("\n")}
</svg>
`;
}

const RECORDINGS = {
  demo: ["A lost response: the repeated call returns the result, and the job ran once", recordDemo],
  chat: ["A chat in a terminal: which districts have the most mandals?", recordChat],
} as const;

/** Writes the recordings in both themes into a folder. */
export async function drawRecordings(folder: string): Promise<void> {
  for (const [name, [title, record]] of Object.entries(RECORDINGS)) {
    const lines = await record();
    for (const theme of ["light", "dark"] as const)
      await writeFile(join(folder, `${name}-${theme}.svg`), drawSvg(title, lines, theme));
  }
}
