// Tests recipe offers and the parameterValues that they describe, docs/contract.md, 2.2 and 4.2.
import { expect, test } from "vitest";
import { MAX_OFFER_BYTES, type RecipeOffer } from "../../src/contract/recipes.ts";
import { operations } from "../operations.ts";
import { expectProblem, valueAt } from "./http.ts";
import { compileValidator, createValue } from "./parameters.ts";
import { nextKey, serviceForFile, serviceForTest } from "./service.ts";
import { createInputs, createJobBody, FILE, findOneInputOffer, listOffers, registerInput } from "./work.ts";

const service = serviceForFile();

const inputIds = new Map<string, readonly string[]>();

/** One set of inputs for each offer; several jobs can use the same inputs. */
async function inputsOf(offer: RecipeOffer): Promise<readonly string[]> {
  const ids = inputIds.get(offer.id) ?? (await createInputs(service(), offer));
  inputIds.set(offer.id, ids);
  return ids;
}

async function submit(offer: RecipeOffer, parameterValues: unknown, key = nextKey()) {
  const body = { ...createJobBody(service(), offer, ...(await inputsOf(offer))), parameterValues };
  return service().call(operations.createMicJob, { body, key });
}

/** Offers whose capability is enabled. The service does not check the values of the others. */
async function listRunnableOffers(): Promise<readonly RecipeOffer[]> {
  const offers = await listOffers(service());
  const answers = await Promise.all(offers.map((offer) => submit(offer, createValue(offer.recipe.parameters))));
  return offers.filter((_, index) => answers[index]?.status === 202);
}

const entries = (value: unknown): readonly (readonly [string, unknown])[] => Object.entries(Object(value));

test("at least three recipes are offered, each within the size limit, valid for another day, and equal to the single offer [2.2/offer-projection-size, 2.2/recipe-parameters-references]", async () => {
  const offers = await listOffers(service());
  expect(offers.length).toBeGreaterThanOrEqual(3);
  expect(offers.map(({ recipe }) => recipe.versionId).sort()).toEqual([...service().emulator.recipeVersionIds].sort());
  for (const offer of offers) {
    expect(Buffer.byteLength(JSON.stringify(offer))).toBeLessThanOrEqual(MAX_OFFER_BYTES);
    expect(Date.parse(offer.approvedAt)).toBeLessThanOrEqual(service().clock.now());
    expect(Date.parse(offer.expiresAt)).toBeGreaterThan(service().clock.now() + 86_400_000);
    const path = { versionId: offer.recipe.versionId };
    expect((await service().ok(operations.getMicExecutableRecipe, { path })).data).toEqual(offer);
  }
  const nested = offers.filter(({ recipe: { parameters } }) => {
    const properties = entries(valueAt(parameters.definition, "properties"));
    return Object.keys(parameters.references).length > 0 && JSON.stringify(properties).includes("$ref");
  });
  expect(nested.length).toBeGreaterThan(0);
});

test("each recipe version has a unique id and hash [9/recipe-version-identity]", async () => {
  const recipes = (await listOffers(service())).map(({ recipe }) => recipe);
  for (const name of ["versionId", "versionHash"] as const)
    expect(new Set(recipes.map((recipe) => recipe[name])).size).toBe(recipes.length);
  // The hash depends only on the version's content, so another emulator returns the same.
  const again = await listOffers(await serviceForTest());
  expect(again.map(({ recipe }) => recipe.versionHash)).toEqual(recipes.map(({ versionHash }) => versionHash));
});

/** Values with one error each, at any depth, derived from a valid value. */
function* invalidVariants(value: unknown): Generator<unknown> {
  yield null;
  yield "not what was asked for";
  yield [];
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const invalid of invalidVariants(item)) yield value.map((one, other) => (other === index ? invalid : one));
  } else if (typeof value === "object" && value !== null) {
    yield { ...value, unexpected: 1 };
    for (const [name, part] of entries(value)) {
      yield Object.fromEntries(entries(value).filter(([other]) => other !== name));
      for (const invalid of invalidVariants(part)) yield { ...value, [name]: invalid };
    }
  } else if (typeof value === "number") {
    yield* [String(value), value + 0.5, -1e9, 1e9];
  } else if (typeof value === "boolean") yield* [String(value), Number(value)];
}

test("the service and ajv agree on derived values, and an unknown parameter is refused [4.2/job-parameter-values, 4.2/job-no-defaults-no-plan, 7.2/bounds-refused]", async () => {
  const offers = await listRunnableOffers();
  expect(offers.length).toBeGreaterThanOrEqual(3);
  for (const offer of offers) {
    const isValid = compileValidator(offer.recipe.parameters);
    const values = createValue(offer.recipe.parameters);
    // The service has accepted these values.
    expect(isValid(values), `${offer.recipe.name}: ${JSON.stringify(isValid.errors)}`).toBe(true);
    let refused = 0;
    for (const variant of invalidVariants(values)) {
      const key = nextKey();
      const answer = await submit(offer, variant, key);
      const description = `${offer.recipe.name} ${JSON.stringify(variant)}: ${answer.text}`;
      const isObject = typeof variant === "object" && variant !== null && !Array.isArray(variant);
      if (isObject && isValid(variant)) {
        expect(answer.status, description).toBe(202);
        continue;
      }
      refused += 1;
      const { fieldErrors } = expectProblem(answer, isObject ? 422 : 400);
      expect(fieldErrors.length, description).toBeGreaterThan(0);
      for (const { pointer } of fieldErrors) expect(pointer, description).toMatch(/^\/parameterValues/);
      expect(await service().countExecutions(key)).toBe(0);
    }
    expect(refused).toBeGreaterThan(3);
    const text = JSON.stringify(values);
    const isEmpty = entries(values).length === 0;
    for (const extra of ["plan", "stages", "__proto__"])
      expectProblem(
        await submit(offer, JSON.parse(text.replace("{", `{"${extra}":{"a":1}${isEmpty ? "" : ","}`))),
        422,
      );
  }
});

test("a missing, unknown or additional input port is refused [4.2/job-input-bindings]", async () => {
  const extra = await registerInput(service(), FILE.succeeds);
  for (const offer of await listRunnableOffers()) {
    const body = createJobBody(service(), offer, ...(await inputsOf(offer)));
    const wrong = [
      [...body.inputBindings, { port: "nowhere", inputId: extra.id }],
      body.inputBindings.map((binding, index) => (index === 0 ? { ...binding, port: "nowhere" } : binding)),
      ...(body.inputBindings.length > 1 ? [body.inputBindings.slice(1)] : []),
    ];
    for (const inputBindings of wrong) {
      const answer = await service().call(operations.createMicJob, { body: { ...body, inputBindings } });
      const pointers = expectProblem(answer, 422).fieldErrors.map(({ pointer }) => pointer);
      expect(pointers).toContainEqual(expect.stringMatching(/^\/inputBindings/));
    }
  }
});

test("a job with an input that is not ready is refused", async () => {
  const offer = await findOneInputOffer(service());
  const states = [];
  for (const inputId of service().emulator.inputIds) {
    const { data } = await service().ok(operations.getMicPublicInput, { path: { inputId } });
    if (data.state === "READY") continue;
    states.push(data.state);
    const body = createJobBody(service(), offer, inputId);
    const key = nextKey();
    expectProblem(await service().call(operations.createMicJob, { body, key }), 409);
    expect(await service().countExecutions(key)).toBe(0);
  }
  expect(states.sort()).toEqual(["EXPIRED", "QUARANTINED", "WAITING_SCAN", "WITHDRAWN"]);
});

const readCapabilities = async () =>
  (await service().ok(operations.getMicPublicCapabilities, service().inWorkspace())).data.capabilities;

test("an input beyond a capability's limits is refused [8/workspace-limits-as-data]", async () => {
  // The table of districts has 784 rows; the file of the other tests has four.
  const tooSmall = (await readCapabilities()).filter(({ enabled, maxRows }) => enabled && maxRows < 784);
  expect(tooSmall.length).toBeGreaterThan(0);
  const large = await registerInput(service(), FILE.succeeds);
  const answers = [];
  for (const offer of (await listRunnableOffers()).filter(({ recipe }) => recipe.inputs.length === 1))
    answers.push(await service().call(operations.createMicJob, { body: createJobBody(service(), offer, large.id) }));
  const refused = answers.filter(({ status }) => status !== 202);
  expect(refused).toHaveLength(tooSmall.length);
  for (const answer of refused)
    expect(expectProblem(answer, 422).fieldErrors[0]?.pointer).toMatch(/^\/inputBindings\/0/);
});

test("an offer whose capability is not enabled is refused with the missing prerequisite", async () => {
  const runnable = (await listRunnableOffers()).map(({ id }) => id);
  const others = (await listOffers(service())).filter(({ id }) => !runnable.includes(id));
  const prerequisites = (await readCapabilities()).flatMap(({ enabled, prerequisite }) =>
    enabled ? [] : [prerequisite],
  );
  expect(others.length).toBe(prerequisites.length);
  for (const offer of others) {
    const { fieldErrors } = expectProblem(await submit(offer, createValue(offer.recipe.parameters)), 422);
    expect(prerequisites.some((one) => fieldErrors[0]?.message.includes(one ?? "none"))).toBe(true);
  }
});
