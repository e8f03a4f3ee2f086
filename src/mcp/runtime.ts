// What all connections of one process share: configuration, tools, service, journal, secrets, log.
import type { RequestStateCodec } from "@modelcontextprotocol/server";
import type { Config, Toolset } from "../core/config.ts";
import type { Hooks } from "../core/hooks.ts";
import type { Redactor } from "../credentials/redaction.ts";
import type { IdCodec } from "../credentials/signed-ids.ts";
import type { Telemetry } from "../telemetry/port.ts";
import type { Tool } from "../toolkit/define-tool.ts";
import type { StartedJob } from "../toolkit/jobs/job-task.ts";
import type { CompletionProvider } from "../toolkit/resources/completion.ts";
import type { Resource } from "../toolkit/resources/resource.ts";
import type { ResourceWatcher } from "../toolkit/resources/resource-watcher.ts";
import type { Ports } from "../toolkit/tool-call.ts";
import type { ViewName } from "../toolkit/views.ts";
import type { Note } from "./instructions.ts";
import type { Skills } from "./skills/skills.ts";

/** The part of a logger that we use. Its lines go to stderr, never to stdout. */
export interface Log {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** Seals what a question to the person is about: it comes back through the client. Rejects what is not ours, or not this caller's. */
export type ConfirmationCodec = RequestStateCodec;

export interface Runtime {
  readonly version: string;
  readonly config: Config;
  /** The default workspace, from the configuration or the stored login. Throws Failure when that cannot be read. */
  readonly workspaceId: () => Promise<string | undefined>;
  /**
   * Throws Failure `not_configured` while no tool of this toolset can work. Absent in a deployment for teams: its teams have
   * a service and credentials.
   */
  readonly requireConfigured?: ((toolset: Toolset) => Promise<void>) | undefined;
  /** All tools, offered or not. */
  readonly tools: readonly Tool[];
  /** What the tools were made with. */
  readonly ports: Ports;
  readonly resources: readonly Resource[];
  /** Suggests values for the variables of a resource template and the arguments of a prompt. */
  readonly completions: CompletionProvider;
  readonly resourceWatcher: ResourceWatcher;
  /** The ids of tasks, under a seal that nobody makes or opens for another caller. */
  readonly taskIds: IdCodec<StartedJob>;
  /** Undefined: each way of serving makes its own, with a key that only this process has. */
  readonly confirmationCodec: ConfirmationCodec | undefined;
  readonly skills: Skills;
  /** The HTML of a view. */
  readonly readView: (name: ViewName) => Promise<string>;
  readonly redactor: Redactor;
  readonly log: Log;
  /** Of this runtime's caller. Absent: nobody asked for it, and nothing is wrapped. */
  readonly telemetry?: Telemetry | undefined;
  /** How many actions of this caller have an unknown outcome that can be resolved; it makes no journal. Throws Failure. */
  readonly countUnresolved: () => Promise<number>;
  /** Sentences for the server instructions that only this process knows. */
  readonly notes: readonly Note[];
  readonly hooks?: Hooks;
}
