// Implements `mic-mcp serve --teams`: runs one instance of a deployment until it receives a signal.
import type { HttpFlags } from "../../cli/commands.ts";
import { crashReason } from "../../cli/log.ts";
import { onSignal } from "../../cli/signals.ts";
import { loadTelemetry } from "../../cli/telemetry.ts";
import { isJsonObject } from "../../contract/json.ts";
import { createRedact } from "../../mcp/messages/redact.ts";
import type { Runtime } from "../../mcp/runtime.ts";
import { loopbackAddress } from "../../transports/http/loopback.ts";
import { createHttpService } from "../../transports/http/serve.ts";
import { createRefusalRecorder } from "../audit.ts";
import { composeTeams } from "../compose.ts";
import { createDownloads } from "../downloads/downloads.ts";
import { type CallerService, startPublicServer } from "../frontend/frontend.ts";
import { createAccessTokens } from "../oauth/access-tokens.ts";
import { readTeamsSettings } from "../settings.ts";

/** Calls in flight that do not end within this time are aborted. Their actions stay in the journal in both cases. */
const DRAIN_MS = 45_000;
/** The process exits at most this long after the drain, even if a part hangs. */
const FORCED_EXIT_MS = 2_000;

/** Adds the required rights to the HTTP service of a runtime: tools that write and `tasks/cancel` need `act`, all else needs `read`. */
export function createCallerService(runtime: Runtime): CallerService {
  const actions = new Set<unknown>(runtime.tools.flatMap(({ name, isWrite }) => (isWrite ? [name] : [])));
  return {
    ...createHttpService(runtime),
    hasTeam: runtime.hooks?.auditor?.team !== "",
    rightFor({ method, params }) {
      const isAction = method === "tools/call" && isJsonObject(params) && actions.has(params["name"]);
      return isAction || method === "tasks/cancel" ? "act" : "read";
    },
    onRefusal: (refusal) => runtime.hooks?.onRefusal?.(refusal),
  };
}

/**
 * Serves until a signal, drains, closes the database, and then exits the process with code 0 instead of returning. Throws UsageError, and
 * the error if it cannot start.
 */
export async function serveTeams(
  environment: NodeJS.ProcessEnv,
  { host = "127.0.0.1", port = 0 }: HttpFlags,
): Promise<number> {
  const settings = readTeamsSettings(environment, host);
  const startTelemetry = await loadTelemetry(environment, { hasPort: true });
  const composed = composeTeams({ ...settings, startTelemetry });
  const { log, audit, telemetry, traceId } = composed;
  const monotonicMs = () => performance.now();
  for (const warning of settings.config.warnings) log.warn({}, warning);
  process.removeAllListeners("uncaughtException").on("uncaughtException", (error: unknown) => {
    log.error({ reason: composed.redactAll(crashReason(error)) }, "crash");
    process.exit(1);
  });

  const services = new WeakMap<Runtime, CallerService>();
  function serviceOf(runtime: Runtime): CallerService {
    const service = services.get(runtime) ?? createCallerService(runtime);
    services.set(runtime, service);
    return service;
  }

  try {
    const { url, drain } = await startPublicServer({
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
        links: settings.downloadLinks,
        log,
        record: audit.write,
        traceId,
      }),
      tokens: createAccessTokens({ ...settings.signIn, transport: composed.transport, now: Date.now, monotonicMs }),
      callerLimits: { rate: settings.callerRate, calls: settings.callerCalls },
      databaseCheck: composed.databaseCheck,
      telemetry,
      trace: composed.trace,
      onRefusal: ({ id: caller, clientId: client }, team = "", refusal) =>
        createRefusalRecorder(audit, { caller, team, client, traceId })(refusal),
      redact: createRedact(composed.redactor),
      log,
      monotonicMs,
    });
    // A closed stdout must not end the server.
    process.stdout.on("error", () => undefined);
    process.stdout.write(`${JSON.stringify({ url })}\n`);
    const abortDrain = new AbortController();
    const delayMs = settings.drainDelaySeconds * 1000;
    await new Promise<void>((resolve) => {
      let signals = 0;
      onSignal(() => {
        signals += 1;
        if (signals > 1) abortDrain.abort();
        setTimeout(() => process.exit(0), FORCED_EXIT_MS + (signals > 1 ? 0 : delayMs + DRAIN_MS)).unref();
        resolve();
      });
    });
    await drain(DRAIN_MS, abortDrain.signal, delayMs);
  } finally {
    await composed.close();
    await telemetry?.close();
  }
  process.exit(0);
}
