// Serves the views as resources: a host reads one before it draws it. They are in no list, as their hosts want it.
import type { ProtocolEra, ReadResourceResult } from "@modelcontextprotocol/server";
import { APP_HTML, VIEW_NAMES, viewUri } from "../../toolkit/views.ts";
import type { Runtime } from "../runtime.ts";
import { offeredTools } from "../tools/offered-tools.ts";

const HOUR_MS = 3_600_000;

/** The view of this URI; undefined where there is none, or its tool is not offered. */
export async function readView(
  uri: string,
  { tools, config, readView: read }: Runtime,
  protocolEra: ProtocolEra,
): Promise<ReadResourceResult | undefined> {
  const name = VIEW_NAMES.find((each) => viewUri(each) === uri);
  if (name === undefined || !offeredTools(tools, config).some(({ view }) => view === name)) return undefined;
  // It needs no origin but its own frame: no network at all.
  const _meta = { ui: { csp: {}, prefersBorder: true } };
  return {
    contents: [{ uri, mimeType: APP_HTML, text: await read(name), _meta }],
    ...(protocolEra === "modern" && { ttlMs: HOUR_MS, cacheScope: "public" }),
  };
}
