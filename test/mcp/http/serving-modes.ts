// Each way in which a client is served over HTTP: what is promised of one holds of all.
import { serveHttpInProcess } from "../../support/in-process.ts";
import { serveStatelessInProcess } from "../../support/stateless.ts";
import { clientFactories, type McpTestClient } from "./raw-client.ts";

export interface ServingMode {
  readonly revision: "legacy" | "modern";
  /** Whether the end of a connection cancels its call. */
  readonly endCancels: boolean;
  /** The product inside this process: its URL. */
  serve(env: Readonly<Record<string, string>>): Promise<string>;
  connect(url: string): Promise<McpTestClient>;
}

export const servingModes: readonly (readonly [string, ServingMode])[] = [
  [
    "in a session",
    { revision: "legacy", endCancels: false, serve: serveHttpInProcess, connect: clientFactories.legacy },
  ],
  [
    "without a session",
    { revision: "legacy", endCancels: true, serve: serveStatelessInProcess, connect: clientFactories.legacy },
  ],
  [
    "in 2026-07-28",
    { revision: "modern", endCancels: true, serve: serveHttpInProcess, connect: clientFactories.modern },
  ],
];
