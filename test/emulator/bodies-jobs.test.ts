// The body of a job creation, docs/contract.md, 4.2, and the ids that it shares with a processing request.
import { expect } from "vitest";
import { proves } from "../proves.ts";
import { worldFor } from "./example.ts";
import { at, expectProblem } from "./http.ts";
import { badStyleIds, badText, bodyPoster, emoji, hex, notPrefixed } from "./post-bodies.ts";
import { serviceForFile } from "./service.ts";

const service = serviceForFile();
const world = worldFor(service);
const { bodyOf, post, accepts, refuses } = bodyPoster(service, world);

proves(["4.2/job-ids", "4.2/processing-request-ids"], "workspaceId is a workspace-style id", async () => {
  for (const id of ["createMicJob", "requestMicSharedFileProcessing"] as const) {
    for (const workspaceId of badStyleIds) await refuses(id, "/workspaceId", { workspaceId });
    for (const workspaceId of ["a", "a".repeat(128), "a.b:c-d_e"])
      expectProblem(await post(id, (body) => ({ ...body, workspaceId })), 403);
  }
});

proves(
  ["4.2/job-ids", "4.2/processing-request-ids"],
  "recipeVersionId is micrecipev_ and hex32; inputId of a processing request micinput_ and hex32",
  async () => {
    for (const id of ["createMicJob", "requestMicSharedFileProcessing"] as const) {
      for (const recipeVersionId of notPrefixed("micrecipev_"))
        await refuses(id, "/recipeVersionId", { recipeVersionId });
      expectProblem(await post(id, (body) => ({ ...body, recipeVersionId: `micrecipev_${hex}` })), 422);
    }
    for (const inputId of notPrefixed("micinput_"))
      await refuses("requestMicSharedFileProcessing", "/inputId", { inputId });
    const unknown = await post("requestMicSharedFileProcessing", (body) => ({ ...body, inputId: `micinput_${hex}` }));
    expectProblem(unknown, 422);
  },
);

const bindings = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ port: `p${index}`, inputId: `input-${index}` }));

proves("4.2/job-input-bindings", "1-32 bindings", async () => {
  await refuses("createMicJob", "/inputBindings", { inputBindings: [] });
  await refuses("createMicJob", "/inputBindings", { inputBindings: bindings(33) });
  // 32 are not too many: what is wrong with these is that the recipe has no such ports and the workspace no such inputs.
  const tooMany = expectProblem(await post("createMicJob", (body) => ({ ...body, inputBindings: bindings(33) })), 400);
  const allowed = expectProblem(await post("createMicJob", (body) => ({ ...body, inputBindings: bindings(32) })), 422);
  const lengthError = tooMany.fieldErrors.find(({ pointer }) => pointer === "/inputBindings");
  expect(lengthError).toBeDefined();
  expect(allowed.fieldErrors).not.toContainEqual(lengthError);
});

proves("4.2/job-input-bindings-unique", "ports and input ids are unique", async () => {
  const { inputId } = await world();
  const port = at(await bodyOf("createMicJob"), "inputBindings", 0, "port");
  const [other = ""] = service().emulator.inputIds;
  await refuses("createMicJob", "/inputBindings", {
    inputBindings: [
      { port, inputId },
      { port, inputId: other },
    ],
  });
  await refuses("createMicJob", "/inputBindings", {
    inputBindings: [
      { port, inputId },
      { port: "another", inputId },
    ],
  });
});

proves("4.2/job-input-binding-port", "a port is a letter, then letters, digits, _ -, 80 in all", async () => {
  const { inputId } = await world();
  for (const port of ["", "1a", "_a", "-a", "a.b", "a b", "a:b", "é", "a\n", `a${"b".repeat(80)}`, null, 5])
    await refuses("createMicJob", "/inputBindings/0/port", { inputBindings: [{ port, inputId }] });
  await refuses("createMicJob", "/inputBindings/0/port", { inputBindings: [{ inputId }] });
});

proves("4.2/job-input-binding-input-id", "an input id is a workspace-style id", async () => {
  const port = at(await bodyOf("createMicJob"), "inputBindings", 0, "port");
  for (const inputId of [...badStyleIds, null, 5])
    await refuses("createMicJob", "/inputBindings/0/inputId", { inputBindings: [{ port, inputId }] });
  await refuses("createMicJob", "/inputBindings/0/inputId", { inputBindings: [{ port }] });
});

proves("4.2/job-input-binding-owned", "an input that is not the workspace's is refused", async () => {
  const port = at(await bodyOf("createMicJob"), "inputBindings", 0, "port");
  for (const inputId of [`micinput_${hex}`, "a", "a".repeat(128)])
    expectProblem(await post("createMicJob", (body) => ({ ...body, inputBindings: [{ port, inputId }] })), 422);
});

proves("4.2/job-client-reference", "clientReference of a job: null or 1-160 UTF-16 units of plain text", async () => {
  for (const clientReference of [
    null,
    "a",
    "a".repeat(160),
    emoji.repeat(80),
    " padded ",
    "\u00a0a",
    "nightly run é 木",
  ])
    await accepts("createMicJob", { clientReference });
  for (const clientReference of [...badText, "a".repeat(161), emoji.repeat(81), `a${emoji.repeat(80)}`, 5, {}])
    await refuses("createMicJob", "/clientReference", { clientReference });
});
