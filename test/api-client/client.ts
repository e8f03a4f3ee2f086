// Creates the API client without MCP, on the real transport: for property tests that need many runs or a simulated clock.
import { expect, onTestFinished } from "vitest";
import { type CallContext, systemTiming, type Timing } from "../../src/api-client/attempts.ts";
import { type ApiClient, createApiClient } from "../../src/api-client/client.ts";
import { createDownloads } from "../../src/api-client/downloads.ts";
import { encodeRequest } from "../../src/api-client/encode.ts";
import { createTransport, type Transport } from "../../src/api-client/transport.ts";
import {
  createMicJob,
  getMicJob,
  listMicJobs,
  requestMicSharedFileProcessing,
} from "../../src/contract/endpoints/job-processing.ts";
import { Failure, type FailureReport, toReport } from "../../src/core/failure.ts";
import { createIdentity } from "../../src/credentials/identity.ts";
import type { ClientCredentials } from "../../src/credentials/oauth.ts";
import { createRedactor } from "../../src/credentials/redaction.ts";
import { createTokens } from "../../src/credentials/tokens.ts";
import { createJob, createProcessingRequest } from "../contract/samples.ts";
import { emulatorEnv } from "../support/mcp.ts";

/** The system clock, and a backoff of 0 ms. */
export const eagerTiming: Timing = { ...systemTiming, random: () => 0 };

/** The same, and records each requested sleep in ms in `slept`. */
export const recordedTiming = (slept: number[]): Timing => ({
  ...eagerTiming,
  sleep(ms, signal) {
    slept.push(ms);
    return eagerTiming.sleep(ms, signal);
  },
});

export const credentials = { clientId: "stub-client", clientSecret: "stub-secret-0123456789" } as const;

export const stubEnv = ({ baseUrl }: { readonly baseUrl: string }) => emulatorEnv({ baseUrl, ...credentials });

interface ClientOptions {
  readonly credentials?: ClientCredentials;
  readonly timing?: Timing;
  readonly wrap?: (transport: Transport) => Transport;
  /** Maximum number of connections (default: that of a server). */
  readonly connections?: number;
}

/** Creates the tokens of a client without a keychain. */
export function createTestTokens(
  { baseUrl, clientId, clientSecret }: ClientCredentials & { readonly baseUrl: string },
  transport: Transport,
  timing: Timing,
) {
  const redactor = createRedactor();
  const settings = { baseUrl, credentials: { clientId, clientSecret }, workspaceId: undefined };
  const identity = createIdentity({ settings, keychain: undefined, required: false, redactor, now: timing.now });
  return { baseUrl: identity.baseUrl, tokens: createTokens({ identity, transport, timing, redactor }), redactor };
}

export function clientForTest(baseUrl: string, options: ClientOptions = {}) {
  const { timing = eagerTiming, wrap = (real) => real } = options;
  const real = createTransport({ proxies: true, connections: options.connections });
  onTestFinished(() => real.close());
  const transport = wrap(real);
  const own = createTestTokens({ baseUrl, ...(options.credentials ?? credentials) }, transport, timing);
  const service = createApiClient({ ...own, transport, timing });
  return { ...own, service, downloads: createDownloads(service) };
}

export const createCallContext = (ms: number, signal: AbortSignal = new AbortController().signal): CallContext => ({
  signal,
  deadlineAt: systemTiming.clockMs() + ms,
});

export const KEY = "test-key-0001";

export const readJob = (service: ApiClient, context = createCallContext(10_000), jobId = "job-1") =>
  service.call(getMicJob, { path: { jobId } }, context);

export const readJobs = (service: ApiClient, context = createCallContext(10_000)) =>
  service.call(listMicJobs, { query: { workspaceId: "micws_1" } }, context);

export const submitJob = (service: ApiClient, context = createCallContext(10_000)) =>
  service.send(createMicJob, encodeRequest(createMicJob, { body: createJob }), KEY, context);

export const requestProcessing = (service: ApiClient, context = createCallContext(10_000)) =>
  service.send(
    requestMicSharedFileProcessing,
    encodeRequest(requestMicSharedFileProcessing, { body: createProcessingRequest }),
    KEY,
    context,
  );

export async function expectFailure(call: Promise<unknown>): Promise<FailureReport> {
  const ended = await call.then(
    (value) => ({ value }),
    (error: unknown) => error,
  );
  expect(ended).toBeInstanceOf(Failure);
  if (!(ended instanceof Failure)) throw new Error("unreachable");
  return toReport(ended.facts);
}
