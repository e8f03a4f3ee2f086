// Request bodies, docs/contract.md, 4.2: what holds for all of them, and reasons.
import { expect, test } from "vitest";
import { operations } from "../operations.ts";
import { proves } from "../proves.ts";
import { worldFor } from "./example.ts";
import { at, expectProblem, parseJson } from "./http.ts";
import { badText, bodyPoster, emoji, type PostId, postIds, without } from "./post-bodies.ts";
import { serviceForFile } from "./service.ts";
import { FILE, submitJob } from "./work.ts";

const service = serviceForFile();
const world = worldFor(service);
const { bodyOf, post, accepts, refuses } = bodyPoster(service, world);

proves(
  ["4.2/bodies-closed", "7.2/bounds-refused", "4.2/job-no-defaults-no-plan"],
  "no body takes one field more",
  async () => {
    for (const id of postIds)
      for (const extra of ["unexpected", "plan", "state", "id", ""]) await refuses(id, "", { [extra]: "x" });
    for (const id of postIds) {
      const text = JSON.stringify(await bodyOf(id)).replace("{", '{"__proto__":{"a":1},');
      await refuses(id, "", () => text);
    }
    await refuses("createMicJob", "/inputBindings", (body) => ({
      ...body,
      inputBindings: [{ ...Object(at(body, "inputBindings", 0)), plan: "x" }],
    }));
  },
);

proves("4.2/bodies-closed", "a cancellation takes nothing but its reason", async () => {
  const job = await submitJob(service(), FILE.succeeds);
  const cancel = (body: unknown) =>
    service().call(operations.cancelMicJob, { path: { jobId: job.id }, ifMatch: `"${job.resourceVersion}"`, body });
  for (const body of [{}, { reason: "A", extra: 1 }, { reason: "A", retryMode: "RESTART" }, { Reason: "A" }])
    expectProblem(await cancel(body), 400);
  expect((await cancel({ reason: "A" })).status).toBe(202);
});

test("every required field is missed, and none is taken as null or as another type", async () => {
  const required: Record<PostId, readonly string[]> = {
    createMicJob: ["workspaceId", "recipeVersionId", "inputBindings", "parameterValues"],
    createMicPublicInput: ["workspaceId", "inputKind", "referenceId"],
    requestMicSharedFileProcessing: [
      "workspaceId",
      "inputId",
      "recipeVersionId",
      "recipeVersionHash",
      "purpose",
      "expiresAt",
    ],
    retryMicJob: ["retryMode", "reason"],
  };
  for (const id of postIds)
    for (const name of required[id]) {
      await refuses(id, `/${name}`, without(name));
      for (const wrong of [null, 5, true, ["a"], ...(name === "parameterValues" ? ["{}"] : [{ a: 1 }])])
        await refuses(id, `/${name}`, { [name]: wrong });
    }
});

test("a body that is no object is refused", async () => {
  for (const id of postIds)
    for (const text of ["null", "[]", '"text"', "5", "true", "{}"]) await refuses(id, "", () => text);
});

proves("4.2/retry-mode", "retryMode is SAFE_RESUME or RESTART", async () => {
  for (const retryMode of ["SAFE_RESUME", "RESTART"]) await accepts("retryMicJob", { retryMode });
  for (const retryMode of ["", "RESUME", "restart", "SAFE_RESUME "])
    await refuses("retryMicJob", "/retryMode", { retryMode });
});

const badReasons = [...badText, "a".repeat(1001), emoji.repeat(501), `a${emoji.repeat(500)}`];
const goodReasons = ["a", "a".repeat(1000), emoji.repeat(500)];

proves("4.2/reason", "reason of a retry and of a cancellation: 1-1000 UTF-16 units of plain text", async () => {
  for (const reason of goodReasons) await accepts("retryMicJob", { reason });
  for (const reason of badReasons) await refuses("retryMicJob", "/reason", { reason });
  for (const reason of goodReasons) {
    const job = await submitJob(service(), FILE.succeeds);
    const parts = { path: { jobId: job.id }, ifMatch: `"${job.resourceVersion}"` };
    for (const bad of badReasons)
      expect(
        expectProblem(await service().call(operations.cancelMicJob, { ...parts, body: { reason: bad } }), 400)
          .fieldErrors[0]?.pointer,
      ).toBe("/reason");
    expect((await service().call(operations.cancelMicJob, { ...parts, body: { reason } })).status).toBe(202);
  }
});

proves("7.2/bounds-refused", "a body with many faults is refused with all of them, at most 100", async () => {
  const two = expectProblem(await post("retryMicJob", () => ({ retryMode: "NEVER", reason: "" })), 400);
  expect(two.fieldErrors.map(({ pointer }) => pointer).sort()).toEqual(
    expect.arrayContaining(["/reason", "/retryMode"]),
  );
  const crowd = Array.from({ length: 400 }, () => ({ port: "", inputId: "" }));
  const many = expectProblem(await post("createMicJob", (body) => ({ ...body, inputBindings: crowd })), 400);
  expect(many.fieldErrors.length).toBeLessThanOrEqual(100);
});

proves("7.2/bounds-refused", "after all these refusals the list of jobs is as it was", async () => {
  const list = async () =>
    parseJson(
      (await service().call(operations.listMicJobs, { query: { workspaceId: service().emulator.workspaceId } })).text,
    );
  const before = await list();
  await refuses("createMicJob", "/recipeVersionId", { recipeVersionId: "nothing" });
  await refuses("createMicJob", "/workspaceId", { workspaceId: "" });
  expect(at(await list(), "data")).toEqual(at(before, "data"));
});
