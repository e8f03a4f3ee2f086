// The body of an input registration, docs/contract.md, 4.2.
import { expect } from "vitest";
import { proves } from "../proves.ts";
import { worldFor } from "./example.ts";
import { expectProblem } from "./http.ts";
import { bodyPoster, emoji } from "./post-bodies.ts";
import { serviceForFile } from "./service.ts";

const service = serviceForFile();
const world = worldFor(service);
const { post, accepts, refuses } = bodyPoster(service, world);

proves("4.2/input-ids", "workspaceId of an input: 1-128 characters", async () => {
  for (const workspaceId of ["", "a".repeat(129)])
    await refuses("createMicPublicInput", "/workspaceId", { workspaceId });
  for (const workspaceId of ["a", "a".repeat(128), "..", emoji.repeat(128)])
    expectProblem(await post("createMicPublicInput", (body) => ({ ...body, workspaceId })), 403);
});

proves("4.2/input-kind", "inputKind is one of three", async () => {
  for (const inputKind of ["", "FILE", "m4_file", "M4_FILE ", "DATASET"])
    await refuses("createMicPublicInput", "/inputKind", { inputKind });
});

proves("4.2/input-ids", "referenceId: 1-128 characters", async () => {
  for (const referenceId of ["", "a".repeat(129)])
    await refuses("createMicPublicInput", "/referenceId", { referenceId });
});

proves("4.2/input-reference-file", "an M4_FILE refers to an owned file by devfile_ or devsignfile_", async () => {
  for (const id of service().emulator.fileIds) expect(id).toMatch(/^dev(sign)?file_.+/);
  await accepts("createMicPublicInput", {});
  for (const [status, ids] of [
    [400, ["a", "devfile", "a".repeat(128)]],
    [422, ["devfile_", "devfile_of-another", "devsignfile_of-another"]],
  ] as const)
    for (const referenceId of ids)
      expectProblem(await post("createMicPublicInput", (body) => ({ ...body, referenceId })), status);
});

proves("4.2/input-alias-and-client-reference", "alias and clientReference of an input: 1-160 characters", async () => {
  for (const name of ["alias", "clientReference"]) {
    for (const value of ["a", "a".repeat(160), emoji.repeat(160)])
      await accepts("createMicPublicInput", { [name]: value });
    for (const value of ["", "a".repeat(161), emoji.repeat(161), null, 5])
      await refuses("createMicPublicInput", `/${name}`, { [name]: value });
  }
});
