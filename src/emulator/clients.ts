// The applications that the service knows: each has credentials, a workspace with a world of its own, and Idempotency-Keys of its own.
import { randomBytes } from "node:crypto";
import { ID_PREFIX } from "./assumptions.ts";
import type { Clock } from "./clock.ts";
import { IdempotencyStore } from "./idempotency.ts";
import { createIdGenerator, type IdGenerator } from "./ids.ts";
import { seedWorld } from "./world/seed.ts";
import { createWorld, type World } from "./world/world.ts";

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface Client {
  readonly credentials: Credentials;
  readonly world: World;
  readonly idempotency: IdempotencyStore;
}

/** What a program needs to be this client: its credentials, and what its workspace holds at the start. */
export interface ClientFacts extends Credentials {
  readonly workspaceId: string;
  /** In this order, a job on the file: succeeds, fails retryably, fails for good, waits for review, pauses; then files
   *  not scanned yet and infected; then more that succeed. */
  readonly fileIds: readonly string[];
  /** The files whose content can be downloaded. */
  readonly assetIds: readonly string[];
  /** First one for each file, in the files' order; then an acquisition, a dataset version, an expired and a withdrawn one. */
  readonly inputIds: readonly string[];
  /** Offered now; the first takes one input and flat parameters, the second nested ones with references. */
  readonly recipeVersionIds: readonly string[];
}

interface ClientOptions {
  readonly seed: string;
  /** The secrets are made from the seed, too. */
  readonly isRepeatable: boolean;
  /** The first one's. */
  readonly credentials: Credentials | undefined;
  readonly stageMs: number;
}

function createClient(clock: Clock, ids: IdGenerator, { isRepeatable, credentials, stageMs }: ClientOptions): Client {
  const clientId = ids.next(ID_PREFIX.client);
  const clientSecret = isRepeatable ? ids.hashFor("secret") : randomBytes(32).toString("base64url");
  const world = createWorld(clock, ids, stageMs);
  seedWorld(world);
  return { credentials: credentials ?? { clientId, clientSecret }, world, idempotency: new IdempotencyStore(clock) };
}

/** The first, whose ids are the seed's own, then as many more. */
export function createClients(
  clock: Clock,
  additionalCount: number,
  options: ClientOptions,
): readonly [Client, ...Client[]] {
  const { seed } = options;
  const createAdditionalClient = (_: unknown, index: number): Client =>
    createClient(clock, createIdGenerator(`${seed}\nclient ${index + 2}`), { ...options, credentials: undefined });
  return [
    createClient(clock, createIdGenerator(seed), options),
    ...Array.from({ length: additionalCount }, createAdditionalClient),
  ];
}

export const toClientFacts = ({ credentials, world }: Client): ClientFacts => ({
  ...credentials,
  workspaceId: world.workspaceId,
  fileIds: world.files.map(({ id }) => id),
  assetIds: world.files.filter(({ scan }) => scan === "clean").map(({ id }) => id),
  inputIds: world.inputs.seeded.map(({ id }) => id),
  recipeVersionIds: world.recipes
    .filter((recipe) => recipe.isOfferedAt(world.clock.now()))
    .map(({ definition }) => definition.versionId),
});
