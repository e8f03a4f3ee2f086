// Runs `mic-mcp demo` and draws its chapter about a lost response for docs/pictures/ as an animated SVG, in two
// themes. The lines are those of the demo; ids and long lines are shortened, and pauses are at most MAX_PAUSE_MS.
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
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
  /^\s*(?:\.\.\. |\{|-+$|$|steps:|tool\t|submit_job\t|register_input\t|Next: |idempotencyKey |> list_actions|\d+ actions?:|\[ok\] A(?:n| new) )/.test(
    line,
  );

/** Returns the sentences of a result that fit; a call is shortened. */
function shortenResult(line: string): string {
  const shortened = shortenLine(line, COLUMNS);
  const end = shortened.endsWith("…") && !line.startsWith("  >") ? shortened.lastIndexOf(". ") : -1;
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

function colorOf(text: string): Color {
  if (/^\S/.test(text)) return "muted";
  if (text.startsWith("  >")) return "call";
  return text.startsWith("  [ok]") ? "good" : "text";
}

const escapeXml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function drawSvg(lines: readonly Line[], theme: keyof typeof THEMES): string {
  const { background, ...colors } = THEMES[theme];
  const width = Math.ceil(COLUMNS * FONT_SIZE * 0.6) + 2 * PADDING;
  const height = lines.length * LINE_HEIGHT + 2 * PADDING;
  const totalMs = (lines.at(-1)?.atMs ?? 0) + END_PAUSE_MS;
  const percent = (ms: number) => ((100 * ms) / totalMs).toFixed(2);
  const keyframes = lines.map(
    ({ atMs }, at) =>
      `@keyframes l${at}{0%,${percent(atMs)}%{opacity:0}${percent(atMs + 1)}%,100%{opacity:1}}.l${at}{animation-name:l${at}}`,
  );
  const rows = lines.map(
    ({ text }, at) =>
      `<text class="l${at}" x="${PADDING}" y="${PADDING + at * LINE_HEIGHT + FONT_SIZE}" fill="${colors[colorOf(text)]}">${escapeXml(text)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>A lost response: the repeated call returns the result, and the job ran once</title>
<style>
text{font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;animation:${totalMs}ms step-end infinite}
${keyframes.join("\n")}
@media (prefers-reduced-motion:reduce){text{animation:none}}
</style>
<rect width="100%" height="100%" rx="6" fill="${background}"/>
${rows.join("\n")}
</svg>
`;
}

/** Writes the recording in both themes into a folder. */
export async function drawDemo(folder: string): Promise<void> {
  const lines = await recordDemo();
  for (const theme of ["light", "dark"] as const)
    await writeFile(join(folder, `demo-${theme}.svg`), drawSvg(lines, theme));
}
