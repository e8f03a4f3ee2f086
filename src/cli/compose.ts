// The composition root of a server for one person: from a configuration to everything a connection needs. compose/ has the parts,
// by whose they are: the process's, those of one set of client credentials, the caller's.
import { actionsOfService } from "../actions/of-service.ts";
import type { JournalHandle } from "../actions/open.ts";
import { createIdentity, type Identity } from "../auth/identity.ts";
import { type Keychain, openKeychain } from "../auth/keychain/keychain.ts";
import { createSealedIds } from "../auth/sealed-ids.ts";
import { keychainTokens, noTokenStore } from "../auth/token-store.ts";
import type { Tokens } from "../auth/tokens.ts";
import type { Config } from "../config.ts";
import { createGeography } from "../geography/geography.ts";
import type { Note } from "../mcp/instructions.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { createDownloads } from "../service/downloads.ts";
import { createTransport, type Transport } from "../service/transport.ts";
import { StartedJob } from "../toolkit/jobs/job-task.ts";
import type { Candidate } from "../toolkit/resources/candidate.ts";
import { runtimeOf } from "./compose/caller-parts.ts";
import { credentialParts } from "./compose/credential-parts.ts";
import { processParts } from "./compose/process-parts.ts";
import { redactorOf } from "./crash.ts";
import { hasJournal, journalOf } from "./journal.ts";
import { createLog } from "./log.ts";
import { sharedGeography } from "./shared-geography.ts";
import { observedLog, type StartTelemetry } from "./telemetry.ts";

export interface ComposeOptions {
  /** Sentences for the server instructions. */
  readonly notes: readonly Note[];
  /** Files that may be registered, as far as they are known. */
  readonly files?: readonly Candidate[];
  /** The service is in this process: neither proxies nor the keychain are for it. */
  readonly inProcess: boolean;
  /** How long a keychain may take: a server's calls wait less than a person at a prompt. */
  readonly keychainLimitMs: number;
  /** Absent: nobody asked for telemetry. */
  readonly telemetry?: StartTelemetry | undefined;
}

export interface Composed {
  readonly runtime: Runtime;
  readonly identity: Identity;
  readonly tokens: Tokens;
  /** Undefined with MIC_KEYCHAIN=off. */
  readonly keychain: Keychain | undefined;
  readonly transport: Transport;
  readonly journal: JournalHandle;
  /** Ends what is under way; nothing partial stays behind. */
  close(): Promise<void>;
}

export function compose(
  config: Config,
  { notes, files = [], inProcess, keychainLimitMs, ...more }: ComposeOptions,
): Composed {
  const redactor = redactorOf(config);
  const ownLog = createLog(config.logLevel, redactor);
  const telemetry = more.telemetry?.({ log: ownLog, redactor });
  const log = telemetry ? observedLog(ownLog, config.logLevel, telemetry) : ownLog;
  const transport = createTransport({ proxies: !inProcess });
  const journal = journalOf(config);
  const parts = processParts({ config, log, transport, journal, redactor, telemetry });
  const { timing, actions } = parts;

  const keychain = inProcess || config.keychain === "off" ? undefined : openKeychain(keychainLimitMs);
  const required = config.keychain === "require";
  const identity = createIdentity({ given: config, keychain, required, redactor, now: timing.now });
  const store = keychain
    ? keychainTokens(keychain, timing.now, ({ trouble, message, detail }) => {
        log.info({ trouble }, `tokens stay in memory: ${message}`);
        log.debug({ trouble, detail }, "keychain");
      })
    : noTokenStore;
  const credentials = credentialParts({ identity, redactor, store, transport }, parts);
  const { service, tokens } = credentials;

  const geography = createGeography({
    service,
    perMinute: config.geographyRate,
    // An emulator in this process is gone with it: nobody else asks it, now or later.
    ...(!inProcess && sharedGeography(config, identity.baseUrl, timing.now)),
  });
  const downloads = createDownloads(service);
  const { serviceName } = identity;
  const runtime = runtimeOf(parts, credentials, {
    actions: actionsOfService({ actions, journal: journal.open, serviceName }),
    hasJournal: () => hasJournal(config),
    geography,
    files: { kind: "folder", folder: config.downloadDir, save: downloads.save },
    known: files,
    taskIds: createSealedIds(StartedJob, identity),
    questions: undefined,
    notes,
    async requireConfigured(toolset) {
      await identity.baseUrl();
      if (toolset === "jobs") await identity.credentials();
    },
  });
  telemetry?.gauge("mic.watched.resources", runtime.watching.count);
  telemetry?.gauge("mic.geography.permits", geography.permits);
  return {
    runtime,
    identity,
    tokens,
    keychain,
    transport,
    journal,
    async close() {
      await geography.close();
      await downloads.close();
      await journal.close();
      await tokens.close();
      keychain?.close();
      await transport.close();
    },
  };
}
