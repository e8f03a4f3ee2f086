// What tools are given when they are made. Each names the few that it works with.
import type { ServiceActions } from "../actions/of-service.ts";
import type { Service } from "../api-client/call.ts";
import type { Downloads } from "../api-client/downloads.ts";
import type { Geography } from "../geography/geography.ts";
import type { Offers } from "./jobs/offers.ts";
import type { Retries } from "./jobs/retries.ts";
import type { LinkedFiles } from "./linked-files.ts";

/** The one folder that tools write to, and how a file gets there. */
export interface FolderFiles extends Pick<Downloads, "save"> {
  readonly kind: "folder";
  readonly folder: string;
}

/** Files here, for a caller on this machine; links, for callers elsewhere. */
export type Files = FolderFiles | LinkedFiles;

export interface Ports {
  readonly service: Service;
  readonly actions: ServiceActions;
  /** Every playground request goes through it. */
  readonly geography: Geography;
  readonly files: Files;
  /** Recipe offers that this process has read. */
  readonly offers: Offers;
  /** Which jobs this process has seen retried. */
  readonly retries: Retries;
}

/** What work with jobs takes. */
export type JobPorts = Pick<Ports, "service" | "actions" | "offers" | "retries">;
