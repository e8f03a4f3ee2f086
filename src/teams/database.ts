// The one database of a deployment for teams: on whichever of its PostgreSQL servers is the primary, shared by all that its instances keep.

import { type Durability, durabilityOf, type Meant } from "../actions/durability.ts";
import type { PostgresDatabase } from "../actions/postgres.ts";
import { explainFaults } from "../actions/trouble.ts";
import { onceUntilFailure, soonOr } from "../async.ts";
import { reasonOf } from "../failure.ts";

/** What was found holds for so long: probes come often, and from several sides. */
const WELL_MS = 5_000;
const ILL_MS = 1_000;
/** A probe waits no longer. */
const LOOK_MS = 3_000;
const CONNECTIONS = 16;

export interface DeploymentOptions {
  /** Of one database on the primary and its replicas, in any order. */
  readonly urls: readonly string[];
  /** MIC_DATABASE_POOL. */
  readonly connections?: number;
  /** MIC_DATABASE_DURABILITY. */
  readonly durability: Meant;
}

export interface DeploymentDatabase {
  /** Its faults are Failures that say what to do about MIC_DATABASE_URL. */
  open(): Promise<PostgresDatabase>;
  /** Whether it can be reached, and what it confirms outlives its server; as of some seconds ago at most. Never rejects. */
  durability(): Promise<Durability>;
  close(): Promise<void>;
}

export function createDeploymentDatabase(options: DeploymentOptions): DeploymentDatabase {
  const { urls, connections = CONNECTIONS, durability: meant } = options;
  const database = onceUntilFailure(async () => {
    const { openPostgres } = await import("../actions/postgres.ts");
    const opened = await openPostgres(urls.join(","), { connections, failover: true });
    const explained = await explainFaults(Promise.resolve(opened), "PostgreSQL", "MIC_DATABASE_URL");
    return { ...opened, ...explained, clock: opened.clock };
  });
  let looking: Promise<Durability> | undefined;

  const unusable = (reason: string): Durability => ({
    isDurable: false,
    trouble: `The database cannot be used: ${reason}`,
    next: "Check MIC_DATABASE_URL and its PostgreSQL servers.",
  });

  const look = (): Promise<Durability> =>
    soonOr(
      database
        .get()
        .then(({ query }) => durabilityOf(query, meant))
        .catch((error: unknown) => unusable(reasonOf(error))),
      unusable(`no answer within ${LOOK_MS / 1_000} s`),
      LOOK_MS,
    );

  return {
    open: database.get,
    durability() {
      looking ??= look().then((found) => {
        setTimeout(() => (looking = undefined), found.isDurable ? WELL_MS : ILL_MS).unref();
        return found;
      });
      return looking;
    },
    async close() {
      const opened = await database.ifStarted()?.catch(() => undefined);
      await opened?.close();
    },
  };
}
