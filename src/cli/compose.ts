// Composes a server for one user: creates everything that a connection needs from a configuration.
import { createActions } from "../actions/actions.ts";
import { createTransport } from "../api-client/transport.ts";
import type { Config } from "../core/config.ts";
import { createIdentity } from "../credentials/identity.ts";
import { openKeychain } from "../credentials/keychain/keychain.ts";
import { createSignedIdCodec } from "../credentials/signed-ids.ts";
import { createKeychainTokenStore } from "../credentials/token-store.ts";
import { createGeography } from "../geography/geography.ts";
import type { Note } from "../mcp/instructions.ts";
import type { CompletionValue } from "../toolkit/define-tool.ts";
import { createFolderFiles } from "../toolkit/folder-files.ts";
import { StartedJob } from "../toolkit/jobs/job-task.ts";
import { createApiConnection, createLogging, createProcessContext, createRuntime } from "./components.ts";
import { createContainerNotice } from "./container-storage.ts";
import { createConfiguredJournal, hasJournal } from "./journal.ts";
import { createConfigRedactor } from "./log.ts";
import { createUserSharedGeography } from "./shared-geography.ts";
import type { StartTelemetry } from "./telemetry.ts";

export interface Backend {
  readonly config: Config;
  /** True if the API is an emulator in this process, which ends with it. No other process uses it. */
  readonly inProcess: boolean;
  /** Sentences for the server instructions. */
  readonly notes: readonly Note[];
  /** The files that can be registered as inputs, as far as they are known. */
  readonly files: readonly CompletionValue[];
}

/** `keychainLimitMs`: longer for a command, in which the user may have to type the keychain's password. */
export function compose(
  { config, inProcess, notes, files }: Backend,
  keychainLimitMs: number,
  startTelemetry?: StartTelemetry,
) {
  const redactor = createConfigRedactor(config);
  const transport = createTransport({ proxies: !config.emulator });
  const journal = createConfiguredJournal(config);
  const logging = createLogging(config, redactor, startTelemetry);
  const processContext = createProcessContext({ config, redactor, transport, journal, ...logging });
  const { log, telemetry, timing, actionContext } = processContext;

  const keychain = config.emulator || config.keychain === "off" ? undefined : openKeychain(keychainLimitMs);
  const required = config.keychain === "require";
  const identity = createIdentity({ settings: config, keychain, required, redactor, now: timing.now });
  const store = keychain
    ? createKeychainTokenStore(keychain, timing.now, ({ kind, message, detail }) => {
        log.info({ errorKind: kind }, `tokens are kept in memory: ${message}`);
        log.debug({ errorKind: kind, detail }, "keychain");
      })
    : undefined;
  const client = createApiConnection({ identity, redactor, store, transport }, processContext);
  const { api, tokens } = client;

  const geography = createGeography({
    service: api,
    perMinute: config.geographyRate,
    shared: inProcess ? undefined : createUserSharedGeography(config, async () => identity.baseUrl()),
  });
  const containerNotice = createContainerNotice(config);
  const runtime = createRuntime(processContext, client, {
    actions: createActions(actionContext, {
      serviceName: identity.serviceName,
      // The list has the actions of all services if none is configured.
      listedServiceName: () => identity.serviceName().catch(() => undefined),
      readSecret: identity.credentials,
    }),
    hasJournal: () => hasJournal(config),
    geography,
    files: createFolderFiles(config.downloadDir, api),
    knownFiles: files,
    taskIds: createSignedIdCodec(StartedJob, identity),
    confirmationCodec: undefined,
    notes,
    journalNotice: () => containerNotice,
    onFailedCall: () => undefined,
    async requireConfigured(toolset) {
      await identity.baseUrl();
      if (toolset === "jobs") await identity.credentials();
    },
  });
  telemetry?.registerGauge("mic.watched.resources", runtime.resourceWatcher.count);
  telemetry?.registerGauge("mic.geography.available_requests", geography.availableRequests);
  return {
    runtime,
    /** Set if the journal is deleted with this container. */
    containerNotice,
    identity,
    tokens,
    /** Undefined with MIC_KEYCHAIN=off, or if the API is emulated. */
    keychain,
    transport,
    journal,
    /** Aborts calls in flight. */
    async close(): Promise<void> {
      await geography.close();
      await journal.close();
      await tokens.close();
      keychain?.close();
      await transport.close();
    },
  };
}
