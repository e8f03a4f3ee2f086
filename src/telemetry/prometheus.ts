// Metrics to be scraped, on an address and port of their own: GET /metrics. Where nothing can listen there, the server serves all
// the same.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import type { IMetricReader } from "@opentelemetry/sdk-metrics";
import { inUrl, LOOPBACK_NAMES } from "../loopback.ts";

interface ScrapedOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly onTrouble: (reason: string) => void;
  readonly onListening: (url: string) => void;
}

export interface Scraped {
  readonly reader: IMetricReader;
  close(): void;
}

const PATH = "/metrics";
const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
const names: ReadonlySet<string> = new Set(LOOPBACK_NAMES);

/** The name in a Host header, without its port. */
const nameIn = (host: string): string => host.replace(/:\d+$/, "").toLowerCase();

export function createScraped({ host, port, onTrouble, onListening }: ScrapedOptions): Scraped {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer();
  const isOfThisMachine = names.has(inUrl(host));

  async function serve({ method, url = "", headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = (status: number) => void response.writeHead(status).end();
    // A web page can have a browser ask here under a name of its own.
    if (isOfThisMachine && !names.has(nameIn(headers.host ?? ""))) return refuse(403);
    if (url.split("?")[0] !== PATH) return refuse(404);
    if (method !== "GET" && method !== "HEAD") return refuse(405);
    const { resourceMetrics } = await exporter.collect();
    response.writeHead(200, { "content-type": CONTENT_TYPE }).end(serializer.serialize(resourceMetrics));
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.on("error", ({ message }) => onTrouble(`no metrics at ${inUrl(host)} port ${port}: ${message}`));
  server.listen(port, host, () => {
    const bound = server.address();
    if (typeof bound === "object" && bound !== null) onListening(`http://${inUrl(host)}:${bound.port}${PATH}`);
  });
  server.unref();
  return {
    reader: exporter,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
