// The composition root: from a configuration to everything a connection needs.
import { tools } from "../../tools/index.ts";
import { createRedactor } from "../auth/redaction.ts";
import { createTokens } from "../auth/tokens.ts";
import type { Config } from "../config.ts";
import { notConfigured } from "../failure.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { systemTiming } from "../service/attempts.ts";
import { createService } from "../service/call.ts";
import { createDownloads } from "../service/downloads.ts";
import { createOffers } from "../service/offers.ts";
import { createTransport } from "../service/transport.ts";
import { createLog } from "./log.ts";
import { version } from "./version.ts";

export interface Composed {
  readonly runtime: Runtime;
  /** Ends what is under way; nothing partial stays behind. */
  close(): Promise<void>;
}

export interface ComposeOptions {
  /** Sentences for the server instructions. */
  readonly notes: readonly string[];
  /** The service is in this process: proxies are not for it. */
  readonly inProcess: boolean;
}

export function compose(config: Config, { notes, inProcess }: ComposeOptions): Composed {
  const redactor = createRedactor();
  if (config.credentials) redactor.add(config.credentials.clientSecret);
  const log = createLog(config.logLevel, redactor);
  const transport = createTransport({ proxies: !inProcess });
  const timing = systemTiming;
  const { baseUrl, credentials } = config;
  const tokens = createTokens({ baseUrl: baseUrl ?? "", credentials, transport, timing, redactor });
  const service = createService({
    baseUrl: () => {
      if (baseUrl !== undefined) return baseUrl;
      throw notConfigured(
        "No service is configured: MIC_BASE_URL is not set.",
        "Set MIC_BASE_URL to the service's base URL, or start the server with --emulator.",
      );
    },
    tokens,
    transport,
    timing,
  });
  const downloads = createDownloads(service);
  return {
    runtime: { version, config, catalogue: tools, service, downloads, offers: createOffers(), redactor, log, notes },
    async close() {
      await downloads.close();
      await transport.close();
    },
  };
}
