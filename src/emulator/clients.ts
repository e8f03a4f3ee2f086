// Creates the clients of the API; each has its own credentials, workspace and Idempotency-Keys.
import { randomBytes } from "node:crypto";
import { ID_PREFIX } from "./assumptions.ts";
import type { Clock } from "./clock.ts";
import { createRunOnce, type RunOnce } from "./idempotency.ts";
import { createIdGenerator, type IdGenerator } from "./ids.ts";
import { seedWorld } from "./world/seed.ts";
import { createWorld, type World } from "./world/world.ts";

export interface Client {
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
  readonly world: World;
  readonly runOnce: RunOnce;
}

export type ClientFacts = ReturnType<typeof toClientFacts>;

interface ClientOptions {
  readonly seed: string;
  /** True if the secrets are derived from the seed, too. */
  readonly isRepeatable: boolean;
  readonly stageMs: number;
}

function createClient(clock: Clock, ids: IdGenerator, { isRepeatable, stageMs }: ClientOptions): Client {
  const clientId = ids.next(ID_PREFIX.client);
  const clientSecret = isRepeatable ? ids.hashFor("secret") : randomBytes(32).toString("base64url");
  const world = createWorld(clock, ids, stageMs);
  seedWorld(world);
  return { credentials: { clientId, clientSecret }, world, runOnce: createRunOnce(clock) };
}

/** Creates `count` clients. The ids of the first are derived from the seed itself. */
export function createClients(clock: Clock, count: number, options: ClientOptions): readonly [Client, ...Client[]] {
  const create = (seed: string): Client => createClient(clock, createIdGenerator(seed), options);
  const { seed } = options;
  return [create(seed), ...Array.from({ length: count - 1 }, (_, index) => create(`${seed}\nclient ${index + 2}`))];
}

export const toClientFacts = ({ credentials, world }: Client) => ({
  ...credentials,
  workspaceId: world.workspaceId,
  /** Jobs on the first five succeed, fail retryably, fail, wait for review, pause. Then: not scanned, infected, others that succeed. */
  fileIds: world.files.map(({ id }) => id),
  /** The files whose content can be downloaded. */
  assetIds: world.files.filter(({ scan }) => scan === "clean").map(({ id }) => id),
  /** First one input for each file, in the same order; then an acquisition, a dataset version, an expired input and a withdrawn input. */
  inputIds: world.inputs.seeded.map(({ id }) => id),
  /** The offered versions. The first takes one input and flat parameters, the second nested parameters with references. */
  recipeVersionIds: world.recipes
    .filter((recipe) => recipe.isOfferedAt(world.clock.now()))
    .map(({ definition }) => definition.versionId),
});
