// Implements `mic-mcp serve --teams`: runs one instance of a deployment until it receives a signal.
import { CALL_LIMIT_MS } from "../../api-client/attempts.ts";
import type { HttpFlags } from "../../cli/commands.ts";
import { logCrashes } from "../../cli/log.ts";
import { serveUntilSignal } from "../../cli/signals.ts";
import { loadTelemetry } from "../../cli/telemetry.ts";
import { isJsonObject } from "../../contract/json.ts";
import { createRedact } from "../../mcp/messages.ts";
import { loopbackAddress } from "../../transports/http/access.ts";
import { createHttpService } from "../../transports/http/serve.ts";
import { type CallerRuntime, composeTeams } from "../compose.ts";
import { createDownloads } from "../downloads/downloads.ts";
import { type CallerService, startPublicServer } from "../frontend/frontend.ts";
import { createAccessTokens } from "../oauth/access-tokens.ts";
import { readTeamsSettings } from "../settings.ts";

/** Calls in flight can end. */
const DRAIN_MS = CALL_LIMIT_MS;
const CLOSE_MS = 2_000;

/** Adds the required rights to the HTTP service of a runtime: tools that write and `tasks/cancel` need `write`, all else needs `read`. */
export function createCallerService(runtime: CallerRuntime): CallerService {
  const actions = new Set<unknown>(runtime.tools.flatMap(({ name, isWrite }) => (isWrite ? [name] : [])));
  return {
    ...createHttpService(runtime),
    team: runtime.team,
    rightFor({ method, params }) {
      const isAction = method === "tools/call" && isJsonObject(params) && actions.has(params["name"]);
      return isAction || method === "tasks/cancel" ? "write" : "read";
    },
  };
}

/** Drains after a signal, closes the database, and exits with code 0. Throws UsageError, and the error if it cannot start. */
export async function serveTeams(
  environment: NodeJS.ProcessEnv,
  { host = "127.0.0.1", port = 0 }: HttpFlags,
): Promise<number> {
  const settings = readTeamsSettings(environment, host);
  const startTelemetry = await loadTelemetry(environment, true);
  const composed = composeTeams({ ...settings, startTelemetry });
  const { log, audit, telemetry, traceId } = composed;
  const monotonicMs = () => performance.now();
  for (const warning of settings.config.warnings) log.warn({}, warning);
  logCrashes(log, composed.redactAll);

  const services = new WeakMap<CallerRuntime, CallerService>();
  function serviceOf(runtime: CallerRuntime): CallerService {
    const service = services.get(runtime) ?? createCallerService(runtime);
    services.set(runtime, service);
    return service;
  }

  try {
    const server = await startPublicServer({
      ...settings,
      ...settings.signIn,
      address: settings.isTrustedProxy ? host : await loopbackAddress(host),
      port,
      async serviceOf(caller, team) {
        const runtime = await composed.runtimeOf(caller, team);
        return runtime && serviceOf(runtime);
      },
      onRetired: (listener) =>
        composed.onRetired((runtime) => {
          const service = services.get(runtime);
          if (service) listener(service);
        }),
      serveDownload: createDownloads({
        encryption: composed.encryption,
        runtimeOf: composed.runtimeForLink,
        log,
        record: audit.write,
        traceId,
      }),
      tokens: createAccessTokens({ ...settings.signIn, transport: composed.transport, now: Date.now, monotonicMs }),
      callerLimits: { rate: settings.callerRateLimit },
      recordRefusal: composed.recordRefusal,
      databaseCheck: composed.databaseCheck,
      telemetry,
      trace: composed.trace,
      onMissingScope: ({ id: caller, clientId: client }, team = "", tool) =>
        audit.write({ caller, team, client, traceId }, { event: "refusal", outcome: "insufficient_scope", tool }),
      redact: createRedact(composed.redactor),
      log,
      monotonicMs,
    });
    const delayMs = settings.drainDelaySeconds * 1000;
    await serveUntilSignal(server, { delayMs, drainMs: DRAIN_MS, closeMs: CLOSE_MS });
  } finally {
    await composed.close();
    await telemetry?.close();
  }
  process.exit(0);
}
