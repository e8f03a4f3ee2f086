// Builds each view of apps/ as one HTML file with inline script and style, so that a host loads nothing else.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { VIEW_NAMES, type ViewName } from "../src/toolkit/views.ts";

/** Maximum size of a view, in KiB after gzip. Hosts also have limits; the lowest known one is 1 MiB without compression. */
export const MAX_VIEW_KIB = 16;

interface BuiltView {
  readonly name: ViewName;
  readonly html: string;
  readonly gzipBytes: number;
  readonly inputs: readonly string[];
}

/** HTML ends a script or a style at the first of these sequences, in any position. */
const escapeForInlining = (text: string): string => text.replace(/<(?=\/(?:script|style)|!--)/gi, "\\x3c").trim();

async function buildView(name: ViewName): Promise<BuiltView> {
  const { outputFiles, metafile } = await build({
    entryPoints: [`apps/${name}.tsx`],
    outdir: "apps",
    write: false,
    bundle: true,
    format: "iife",
    platform: "browser",
    target: ["es2022", "safari17.5", "chrome123", "firefox120"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    legalComments: "none",
    charset: "utf8",
    metafile: true,
    logLevel: "warning",
  });
  const findOutput = (extension: string): string =>
    escapeForInlining(outputFiles.find(({ path }) => path.endsWith(extension))?.text ?? "");
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>mic-mcp</title><style>${findOutput(".css")}</style></head><body><main id="app"></main><script>${findOutput(".js")}</script></body></html>\n`;
  return { name, html, gzipBytes: gzipSync(html).length, inputs: Object.keys(metafile.inputs) };
}

export const buildViews = (): Promise<readonly BuiltView[]> => Promise.all(VIEW_NAMES.map(buildView));
