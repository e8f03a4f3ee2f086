// `mic-mcp serve --teams`: one instance of a deployment for an organisation, until a signal ends it.
import { tools } from "../../../tools/index.ts";
import { crashReason } from "../../cli/crash.ts";
import type { HttpFlags } from "../../cli/serve-flags.ts";
import { onSignal } from "../../cli/signals.ts";
import { telemetryFor } from "../../cli/telemetry.ts";
import { loopbackAddress } from "../../mcp/http/loopback.ts";
import type { HttpService } from "../../mcp/http/port.ts";
import { httpServiceOf } from "../../mcp/http/serve.ts";
import { createRedact } from "../../mcp/messages/redact.ts";
import type { Runtime } from "../../mcp/runtime.ts";
import { downloadRow, refusalsInto } from "../audit.ts";
import { type ComposedTeams, composeTeams } from "../compose.ts";
import { createDownloadDoor } from "../downloads/downloads.ts";
import { openEngine } from "../engine.ts";
import { startPublicServer } from "../frontend/serve.ts";
import { createAccessTokens } from "../oauth/access-tokens.ts";
import { readTeamsSettings } from "../settings.ts";

/** What a call under way has to end by itself, before it is aborted. Its action stays in the journal either way. */
const DRAIN_MS = 45_000;
/** What hangs after that must not keep the process. */
const BACKSTOP_MS = 2_000;

/** Resolves with the exit code once a signal has come and all is in the journal. Throws UsageError. */
export async function serveTeams(
  environment: NodeJS.ProcessEnv,
  { host = "127.0.0.1", port = 0 }: HttpFlags,
): Promise<number> {
  const settings = readTeamsSettings(environment, host);
  const telemetry = await telemetryFor(environment, { hasPort: true });
  // The engine has trouble to tell before there is a log, which is made with what the engine shares.
  const engine = openEngine(settings, { warn: (facts, message) => composed.log.warn(facts, message) });
  const composed: ComposedTeams = composeTeams({ ...settings, telemetry }, engine);
  const { log, redactor, transport, timing, seals, audit } = composed;
  const monotonicMs = () => performance.now();
  for (const warning of settings.config.warnings) log.warn({}, warning);
  process.removeAllListeners("uncaughtException").on("uncaughtException", (error: unknown) => {
    log.error({ reason: composed.redactAll(crashReason(error)) }, "crash");
    process.exit(1);
  });

  const services = new WeakMap<Runtime, HttpService>();
  function serviceOf(runtime: Runtime): HttpService {
    const service = services.get(runtime) ?? httpServiceOf(runtime);
    services.set(runtime, service);
    return service;
  }

  try {
    const { url, drain } = await startPublicServer({
      address: settings.trustedProxies ? host : await loopbackAddress(host),
      port,
      guests: {
        async enter(caller, team) {
          const runtime = await composed.runtimeOf(caller, team);
          return runtime && serviceOf(runtime);
        },
        onRetired: (hear) =>
          composed.onRetired((runtime) => {
            const service = services.get(runtime);
            if (service) hear(service);
          }),
      },
      annex: createDownloadDoor({
        seals,
        tools,
        runtimeOf: composed.linkedTo,
        links: settings.downloadLinks,
        log,
        onEnd: (download) => audit.write(...downloadRow(download)),
        traceId: composed.traceId,
      }),
      tokens: createAccessTokens({ ...settings.signIn, transport, now: timing.now, monotonicMs }),
      audience: settings.signIn.audience,
      scopes: settings.signIn.scopes,
      callerLimits: { rate: settings.callerRate, calls: settings.callerCalls },
      readiness: composed.readiness,
      telemetry: composed.telemetry,
      trace: composed.trace,
      refused: ({ id: caller, clientId: client }, team = "", refusal) =>
        refusalsInto(audit, { caller, team, client, traceId: composed.traceId })(refusal),
      publicOrigin: settings.publicOrigin,
      allowedOrigins: settings.allowedOrigins,
      trustedProxies: settings.trustedProxies,
      redact: createRedact(redactor),
      log,
      monotonicMs,
    });
    // Nobody has to read it.
    process.stdout.on("error", () => undefined);
    process.stdout.write(`${JSON.stringify({ url })}\n`);
    const now = new AbortController();
    const delayMs = settings.drainDelaySeconds * 1000;
    await new Promise<void>((resolve) => {
      let signals = 0;
      onSignal(() => {
        signals += 1;
        if (signals > 1) now.abort();
        setTimeout(() => process.exit(0), BACKSTOP_MS + (signals > 1 ? 0 : delayMs + DRAIN_MS)).unref();
        resolve();
      });
    });
    await drain(DRAIN_MS, now.signal, delayMs);
  } finally {
    await composed.close();
    await engine.close();
    await composed.telemetry?.close();
  }
  process.exit(0);
}
