// What all connections of one process share: configuration, tools, service, journal, secrets, log.
import type { Actions } from "../actions/actions.ts";
import type { Journal } from "../actions/journal.ts";
import type { Redactor } from "../auth/redaction.ts";
import type { Config } from "../config.ts";
import type { Geography } from "../geography/geography.ts";
import type { Service } from "../service/call.ts";
import type { Downloads } from "../service/downloads.ts";
import type { Tool } from "../toolkit/define-tool.ts";
import type { Offers } from "../toolkit/jobs/offers.ts";
import type { Retries } from "../toolkit/jobs/retries.ts";
import type { Candidates } from "../toolkit/resources/completion.ts";
import type { Resource } from "../toolkit/resources/resource.ts";
import type { Watching } from "../toolkit/resources/watching.ts";
import type { Skills } from "./skills/skills.ts";

/** The part of a logger that we use. Its lines go to stderr, never to stdout. */
export interface Log {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

export interface Runtime {
  readonly version: string;
  readonly config: Config;
  /** The default workspace, from the configuration or the stored login. Throws Failure when that cannot be read. */
  readonly workspaceId: () => Promise<string | undefined>;
  /** All tools, offered or not. */
  readonly tools: readonly Tool[];
  readonly resources: readonly Resource[];
  /** Suggests values for the variables of a resource template. */
  readonly candidates: Candidates;
  readonly service: Service;
  readonly watching: Watching;
  readonly geography: Geography;
  readonly actions: Actions;
  /** Opens the action journal. Throws Failure. */
  readonly journal: () => Promise<Journal>;
  /** Whose Idempotency-Keys these are: base URL and client. Throws Failure. */
  readonly serviceName: () => Promise<string>;
  /** A key that only holders of the client credentials can derive; it seals what clients keep for us. Throws Failure. */
  readonly sealingKey: () => Promise<Buffer>;
  readonly skills: Skills;
  readonly downloads: Downloads;
  readonly offers: Offers;
  readonly retries: Retries;
  readonly redactor: Redactor;
  readonly log: Log;
  /** Sentences for the server instructions that only this process knows. */
  readonly notes: readonly string[];
}
