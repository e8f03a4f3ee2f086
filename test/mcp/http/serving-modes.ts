// Defines the serving modes over HTTP, for tests of behavior that is common to all of them.
import { serveHttpInProcess } from "../../support/in-process.ts";
import { serveStatelessInProcess } from "../../support/stateless.ts";
import { clientFactories, type McpTestClient } from "./raw-client.ts";

export interface ServingMode {
  /** Whether a call is canceled when its connection ends. */
  readonly endCancels: boolean;
  /** Serves the product inside this process; resolves to its URL. */
  serve(env: Readonly<Record<string, string>>): Promise<string>;
  connect(url: string): Promise<McpTestClient>;
}

const { legacy, modern } = clientFactories;

export const servingModes: readonly (readonly [string, ServingMode])[] = [
  ["in a session", { endCancels: false, serve: serveHttpInProcess, connect: legacy }],
  ["without a session", { endCancels: true, serve: serveStatelessInProcess, connect: legacy }],
  ["in 2026-07-28", { endCancels: true, serve: serveHttpInProcess, connect: modern }],
];
