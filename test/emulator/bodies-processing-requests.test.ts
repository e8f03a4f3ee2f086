import { expect } from "vitest";
import { operations } from "../operations.ts";
import { proves } from "../proves.ts";
import { worldFor } from "./example.ts";
import { expectProblem } from "./http.ts";
import { badText, bodyPoster, emoji } from "./post-bodies.ts";
import { serviceForFile, serviceForTest } from "./service.ts";
import { FILE, oneInputOffer, processingBody, registerInput } from "./work.ts";

const service = serviceForFile();
const world = worldFor(service);
const { post, accepts, refuses } = bodyPoster(service, world);

proves(
  ["4.2/processing-request-recipe-version-hash", "9/recipe-version-hash-current"],
  "recipeVersionHash is hex64, and the current one",
  async () => {
    const { offer } = await world();
    const { versionHash } = offer.recipe;
    for (const hash of [
      "",
      versionHash.slice(1),
      `${versionHash}0`,
      versionHash.toUpperCase(),
      "g".repeat(64),
      `${versionHash}\n`,
    ])
      if (hash !== versionHash)
        await refuses("requestMicSharedFileProcessing", "/recipeVersionHash", { recipeVersionHash: hash });
    const stale = (versionHash.startsWith("0") ? "1" : "0") + versionHash.slice(1);
    expectProblem(await post("requestMicSharedFileProcessing", (body) => ({ ...body, recipeVersionHash: stale })), 409);
  },
);

proves("4.2/processing-request-purpose", "purpose: 1-160 of plain text, valid Unicode", async () => {
  for (const purpose of ["a", "a".repeat(160), emoji.repeat(80), "पंचायत"])
    await accepts("requestMicSharedFileProcessing", { purpose });
  for (const purpose of [...badText, "a".repeat(161), emoji.repeat(161), "lone \ud800 surrogate", "\udc00"])
    await refuses("requestMicSharedFileProcessing", "/purpose", { purpose });
});

const instant = (offsetMs: number) => new Date(service().clock.now() + offsetMs).toISOString();

proves("4.2/processing-request-expires-at", "expiresAt is a UTC instant of up to six fractional digits", async () => {
  const second = instant(3_600_000).slice(0, 19);
  for (const fraction of ["", ".1", ".123", ".123456"])
    await accepts("requestMicSharedFileProcessing", { expiresAt: `${second}${fraction}Z` });
  for (const expiresAt of [
    `${second}.1234567Z`,
    `${second}.Z`,
    `${second}`,
    `${second}+00:00`,
    `${second}z`,
    second.replace("T", " ").concat("Z"),
    second.replace("T", "t").concat("Z"),
    ` ${second}Z`,
    "2028-02-30T00:00:00Z",
    "2027-02-29T00:00:00Z",
    "2028-13-01T00:00:00Z",
    "2028-01-01T25:00:00Z",
    "2028-01-01T24:00:00Z",
    "2028-01-01T00:60:00Z",
    "2028-01-01T00:00:60Z",
    "2028-01-01",
    "",
  ])
    await refuses("requestMicSharedFileProcessing", "/expiresAt", { expiresAt });
});

proves("4.2/processing-request-expires-in-future", "expiresAt is in the future", async () => {
  for (const expiresAt of [instant(0), instant(-1), "1970-01-01T00:00:00Z"])
    await refuses("requestMicSharedFileProcessing", "/expiresAt", { expiresAt }, 422);
});

proves(
  "4.2/processing-request-expires-within-approved",
  "expiresAt is within the expiry of file and recipe",
  async () => {
    const own = await serviceForTest();
    const [offer, input] = await Promise.all([oneInputOffer(own), registerInput(own, FILE.succeeds)]);
    const approved = [offer.expiresAt, input.expiresAt ?? offer.expiresAt].map((one) => Date.parse(one));
    const untilMs = Math.min(...approved);
    own.clock.advance(untilMs - own.clock.now() - 3_600_000);
    const ask = (expiresAtMs: number) =>
      own.call(operations.requestMicSharedFileProcessing, {
        body: { ...processingBody(own, offer, input.id), expiresAt: new Date(expiresAtMs).toISOString() },
      });
    expect((await ask(untilMs - 1)).status).toBe(201);
    for (const late of [untilMs + 1, untilMs + 1000, Date.parse("9999-12-31T23:59:59Z")])
      expect(expectProblem(await ask(late), 422).fieldErrors.map(({ pointer }) => pointer)).toEqual(["/expiresAt"]);
  },
);
