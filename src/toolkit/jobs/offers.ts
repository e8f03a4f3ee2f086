// Recipe offers that this process has already read: a job is held against its offer before it is sent, at no extra request.
import { BoundedMap } from "../../bounded-map.ts";
import { type InputBinding, MAX_BINDINGS, Port } from "../../contract/endpoints/bodies.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { FieldError } from "../../contract/problem.ts";
import type { RecipeOffer } from "../../contract/recipes.ts";
import { parameterErrors } from "./parameter-schema.ts";

const MAX_REMEMBERED = 500;

export interface Offers {
  remember(offers: readonly RecipeOffer[]): void;
  get(versionId: string): RecipeOffer | undefined;
}

export function createOffers(): Offers {
  const known = new BoundedMap<string, RecipeOffer>(MAX_REMEMBERED);
  return {
    remember(offers) {
      for (const offer of offers) {
        known.delete(offer.recipe.versionId);
        known.set(offer.recipe.versionId, offer);
      }
    },
    get: (versionId) => known.get(versionId),
  };
}

// The contract does not say that ports are the names of the recipe's inputs, each bound: where a name can be no port, or not
// all can be bound, they are not, and only the service knows what they are (doubt 15).
const namesArePorts = (names: ReadonlySet<string>): boolean =>
  names.size <= MAX_BINDINGS && [...names].every((name) => Port.safeParse(name).success);

function portErrors(offer: RecipeOffer, bindings: readonly InputBinding[]): FieldError[] {
  const ports = new Set(offer.recipe.inputs.map(({ name }) => name));
  if (!namesArePorts(ports)) return [];
  const bound = new Set(bindings.map(({ port }) => port));
  const unknown = bindings.flatMap(({ port }, index) =>
    ports.has(port)
      ? []
      : [
          {
            pointer: `/inputBindings/${index}/port`,
            code: "UNKNOWN_PORT",
            message: `the recipe has no such port; it has: ${[...ports].join(", ")}`.slice(0, 1000),
          },
        ],
  );
  const missing = [...ports].filter((port) => !bound.has(port));
  if (missing.length === 0) return unknown;
  const message = `must bind every port; missing: ${missing.join(", ")}`.slice(0, 1000);
  return [...unknown, { pointer: "/inputBindings", code: "MISSING_PORT", message }];
}

/** What the service would refuse about a job's ports and parameterValues (docs/contract.md, 4.2), by JSON pointer. */
export async function offerErrors(
  offer: RecipeOffer,
  job: { inputBindings: readonly InputBinding[]; parameterValues: JsonObject },
): Promise<FieldError[]> {
  const inValues = await parameterErrors(offer.recipe.parameters, job.parameterValues);
  return [...portErrors(offer, job.inputBindings), ...inValues];
}
