// Defines the objects that the connections of one process, or of one caller of a deployment, share: configuration, tools, ports, log.
import type { RequestStateCodec } from "@modelcontextprotocol/server";
import type { Config, Toolset } from "../core/config.ts";
import type { FailureFacts } from "../core/failure.ts";
import type { Text } from "../core/text.ts";
import type { Redactor } from "../credentials/redaction.ts";
import type { IdCodec } from "../credentials/signed-ids.ts";
import type { Telemetry } from "../telemetry/port.ts";
import type { Tool } from "../toolkit/define-tool.ts";
import type { StartedJob } from "../toolkit/jobs/job-task.ts";
import type { CompletionProvider } from "../toolkit/resources/completion.ts";
import type { Resource } from "../toolkit/resources/resource.ts";
import type { ResourceWatcher } from "../toolkit/resources/resource-watcher.ts";
import type { Ports } from "../toolkit/tool-context.ts";
import type { ViewName } from "../toolkit/views.ts";
import type { Note, UnresolvedActions } from "./instructions.ts";
import type { Skills } from "./skills.ts";

/** The part of a logger that this program uses. It writes to stderr, never to stdout. */
export interface Log {
  isLevelEnabled(level: "info"): boolean;
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** Protects the state of a question to the user, which passes through the client. Rejects state of another server or caller. */
export type ConfirmationCodec = RequestStateCodec;

export interface Runtime {
  readonly version: string;
  readonly config: Config;
  /** Returns the default workspace, from the configuration or the stored login. Throws Failure if the login cannot be read. */
  readonly workspaceId: () => Promise<string | undefined>;
  /** Throws Failure `not_configured` while no tool of this toolset can work. Absent in a deployment: every team has credentials. */
  readonly requireConfigured?: ((toolset: Toolset) => Promise<void>) | undefined;
  readonly tools: readonly Tool[];
  readonly offered: ReadonlyMap<string, Tool>;
  readonly ports: Ports;
  readonly resources: readonly Resource[];
  readonly completions: CompletionProvider;
  readonly resourceWatcher: ResourceWatcher;
  /** Signs or encrypts the ids of tasks, so that a client cannot create an id or use the id of another caller. */
  readonly taskIds: IdCodec<StartedJob>;
  /** Undefined: each transport creates its own codec, with a key that only this process has. */
  readonly confirmationCodec: ConfirmationCodec | undefined;
  readonly skills: Skills;
  readonly readView: (name: ViewName) => Promise<string>;
  readonly redactor: Redactor;
  readonly log: Log;
  /** The telemetry of this runtime's caller. Absent if telemetry is off: then nothing is wrapped. */
  readonly telemetry?: Telemetry;
  /** Counts this caller's unknown actions, and other clients' unresolved ones. Does not create a journal. Throws Failure. */
  readonly countUnresolved: () => Promise<UnresolvedActions>;
  /** Sentences for the server instructions that depend on this process. */
  readonly notes: readonly Note[];
  /** Returns a text for results about actions while the journal lacks actions, or will be deleted; undefined for none. */
  readonly journalNotice: (about: "list" | "action") => Text | undefined;
  /** Called when a call of a tool fails. */
  readonly onFailedCall: (tool: Tool, facts: FailureFacts) => void;
}
