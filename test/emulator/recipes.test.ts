// Tests recipe offers and the parameterValues that they describe, docs/contract.md, 2.2 and 4.2.
import { expect, test } from "vitest";
import { MAX_OFFER_BYTES, type RecipeOffer } from "../../src/contract/recipes.ts";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { createValue } from "./parameters.ts";
import { nextKey, serviceForFile } from "./service.ts";
import { createInputs, createJobBody, FILE, listOffers, registerInput } from "./work.ts";

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

test("at least three recipes are offered: within the size limit, valid for another day, and the same if read by id", {
  tags: ["2.2/offer-projection-size", "2.2/recipe-parameters-references"],
}, async () => {
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
});

test("invalid parameter values are refused with their place, and have no effect", {
  tags: ["4.2/job-parameter-values", "4.2/job-no-defaults-no-plan", "7.2/bounds-refused"],
}, async () => {
  for (const offer of await listRunnableOffers()) {
    const values = entries(createValue(offer.recipe.parameters));
    const text = JSON.stringify(Object.fromEntries([...values, ["last", 1]]));
    const objects = [
      { ...Object.fromEntries(values), plan: 1 },
      JSON.parse(text.replace("{", '{"__proto__":{"a":1},').replace(/,?"last":1/, "")),
      ...values.map(([name]) => Object.fromEntries(values.filter(([other]) => other !== name))),
      ...values.map(([name]) => Object.fromEntries([...values, [name, null]])),
    ];
    for (const [status, invalid] of [
      ...[null, "not what was asked for", []].map((value) => [400, value] as const),
      ...objects.map((value) => [422, value] as const),
    ]) {
      const key = nextKey();
      const { fieldErrors } = expectProblem(await submit(offer, invalid, key), status);
      expect(fieldErrors.length).toBeGreaterThan(0);
      for (const { pointer } of fieldErrors) expect(pointer).toMatch(/^\/parameterValues/);
      expect(await service().countExecutions(key)).toBe(0);
    }
  }
});

test("a missing, unknown or additional input port is refused", { tags: ["4.2/job-input-bindings"] }, async () => {
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

const readCapabilities = async () =>
  (await service().ok(operations.getMicPublicCapabilities, service().inWorkspace())).data.capabilities;

test("an input beyond a capability's limits is refused", { tags: ["8/workspace-limits-as-data"] }, async () => {
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
