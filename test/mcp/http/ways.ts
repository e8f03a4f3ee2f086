// Each way in which a client is served over HTTP: what is promised of one holds of all.
import { serveHttpInside } from "../../support/inside.ts";
import { serveStatelessInside } from "../../support/stateless.ts";
import { clientFactories, type McpTestClient } from "./raw-client.ts";

export interface Way {
  readonly revision: "legacy" | "modern";
  /** Whether the end of a connection cancels its call. */
  readonly endCancels: boolean;
  /** The product inside this process: its URL. */
  serve(env: Readonly<Record<string, string>>): Promise<string>;
  connect(url: string): Promise<McpTestClient>;
}

export const ways: readonly (readonly [string, Way])[] = [
  ["in a session", { revision: "legacy", endCancels: false, serve: serveHttpInside, connect: clientFactories.legacy }],
  [
    "without a session",
    { revision: "legacy", endCancels: true, serve: serveStatelessInside, connect: clientFactories.legacy },
  ],
  ["in 2026-07-28", { revision: "modern", endCancels: true, serve: serveHttpInside, connect: clientFactories.modern }],
];
