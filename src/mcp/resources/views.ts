// Serves the views as resources, which a host reads before it shows them. Hosts expect that resources/list does not contain them.
import type { ProtocolEra, ReadResourceResult } from "@modelcontextprotocol/server";
import { APP_HTML, VIEW_NAMES, viewUri } from "../../toolkit/views.ts";
import type { Runtime } from "../runtime.ts";

const HOUR_MS = 3_600_000;

/** Returns the view with this URI; undefined if there is none, or its tool is not offered. */
export async function readView(
  uri: string,
  { offered, readView: read }: Runtime,
  protocolEra: ProtocolEra,
): Promise<ReadResourceResult | undefined> {
  const name = VIEW_NAMES.find((each) => viewUri(each) === uri);
  if (name === undefined || ![...offered.values()].some(({ view }) => view === name)) return undefined;
  // The empty CSP denies all network access: a view needs no origin except its own frame.
  const _meta = { ui: { csp: {}, prefersBorder: true } };
  return {
    contents: [{ uri, mimeType: APP_HTML, text: await read(name), _meta }],
    ...(protocolEra === "modern" && { ttlMs: HOUR_MS, cacheScope: "public" }),
  };
}
