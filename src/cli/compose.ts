// The composition root: from a configuration to everything a connection needs.

import { tools } from "../../tools/index.ts";
import { createActions } from "../actions/actions.ts";
import { observedActions } from "../actions/observed.ts";
import { actionsOfService } from "../actions/of-service.ts";
import type { JournalHandle } from "../actions/open.ts";
import { createIdentity, type Identity } from "../auth/identity.ts";
import { type Keychain, openKeychain } from "../auth/keychain/keychain.ts";
import { readSign } from "../auth/login-sign.ts";
import { createSealingKey } from "../auth/sealing.ts";
import { keychainTokens, noTokenStore } from "../auth/token-store.ts";
import { createTokens, type Tokens } from "../auth/tokens.ts";
import type { Config } from "../config.ts";
import { createGeography } from "../geography/geography.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { createSkills } from "../mcp/skills/skills.ts";
import { isOfferedTool } from "../mcp/tools/offered-tools.ts";
import { isGone } from "../owner.ts";
import { systemTiming } from "../service/attempts.ts";
import { createService } from "../service/call.ts";
import { createDownloads } from "../service/downloads.ts";
import { observedTokens } from "../service/observed.ts";
import { createTransport, type Transport } from "../service/transport.ts";
import { readSkillFiles } from "../skills.ts";
import { createOffers } from "../toolkit/jobs/offers.ts";
import { createRetries } from "../toolkit/jobs/retries.ts";
import type { Ports } from "../toolkit/ports.ts";
import type { Candidate } from "../toolkit/resources/candidate.ts";
import { createCandidates } from "../toolkit/resources/completion.ts";
import { resources } from "../toolkit/resources/index.ts";
import { createWatching } from "../toolkit/resources/watching.ts";
import { readViewFile } from "../view-files.ts";
import { redactorOf } from "./crash.ts";
import { journalOf } from "./journal.ts";
import { createLog } from "./log.ts";
import { sharedGeography } from "./shared-geography.ts";
import { observedLog, type StartTelemetry } from "./telemetry.ts";
import { version } from "./version.ts";

const HOUR_MS = 3_600_000;

export interface ComposeOptions {
  /** Sentences for the server instructions. */
  readonly notes: readonly string[];
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
  const timing = systemTiming;
  const keychain = inProcess || config.keychain === "off" ? undefined : openKeychain(keychainLimitMs);
  const required = config.keychain === "require";
  const loginSign = () => readSign(config.loginFolder);
  const identity = createIdentity({ given: config, keychain, required, loginSign, redactor, now: timing.now });
  const store = keychain
    ? keychainTokens(keychain, timing.now, ({ trouble, message, detail }) => {
        log.info({ trouble }, `tokens stay in memory: ${message}`);
        log.debug({ trouble, detail }, "keychain");
      })
    : noTokenStore;
  const tokenTransport = telemetry ? observedTokens(telemetry, transport) : transport;
  const tokens = createTokens({ identity, store, transport: tokenTransport, timing, redactor });
  const service = createService({ baseUrl: identity.baseUrl, tokens, transport, timing, telemetry });
  const geography = createGeography({
    service,
    perMinute: config.geographyRate,
    // An emulator in this process is gone with it: nobody else asks it, now or later.
    ...(!inProcess && sharedGeography(config, identity.baseUrl, timing.now)),
  });
  const downloads = createDownloads(service);
  const journal = journalOf(config);
  const actions = createActions({
    journal: journal.open,
    timing,
    resendMs: config.actionResendHours * HOUR_MS,
    monotonicMs: () => performance.now(),
    isGone,
    redact: redactor.redact,
    onTrouble: (reason) => log.error({ reason }, "the action journal could not be written"),
  });
  const { workspaceId, serviceName } = identity;
  const ownActions = actionsOfService({ actions, journal: journal.open, serviceName, now: timing.now });
  const ports: Ports = {
    service,
    actions: telemetry ? observedActions(ownActions, telemetry) : ownActions,
    geography,
    files: { folder: config.downloadDir, save: downloads.save },
    offers: createOffers(),
    retries: createRetries(),
  };
  const watching = createWatching({ timing });
  telemetry?.gauge("mic.watched.resources", watching.count);
  telemetry?.gauge("mic.geography.permits", geography.permits);
  return {
    runtime: {
      version,
      config,
      workspaceId,
      tools: tools.map((tool) => tool.create(ports)),
      ports,
      resources,
      candidates: createCandidates({ actions: ports.actions, now: timing.now, files }),
      watching,
      sealingKey: createSealingKey(identity),
      skills: createSkills(readSkillFiles, (tool) => isOfferedTool(tool, tools, config)),
      readView: readViewFile,
      redactor,
      log,
      telemetry,
      notes,
    },
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
