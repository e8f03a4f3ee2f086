// Arguments of the tools that read: at, under and over each bound of docs/contract.md, 4.1 and 4.2.
import { proves } from "../proves.ts";
import { anyId, expectBounds, integer, oneOf, pathId, prefixed, workspaceStyleId } from "./arguments.ts";
import { forEachEra } from "./eras.ts";

const LETTERS_43 = "Aa0_-".repeat(9).slice(0, 43);
const noRequestIn = { refuses: [-1, 46, 0.5, "0", true, null] };

forEachEra((bench) => {
  proves(["4.1/state-required", "4.1/state-uppercased"], "list_districts", () =>
    expectBounds(bench(), "listPlaygroundDistricts", {
      state: {
        takes: ["TG", "tg", "Tg"],
        refuses: ["", "T", "TGA", "T1", "त्", "T ", "TG\n", 36, true, null, ["TG"], {}],
      },
    }),
  );

  proves("4.2/query-workspace-id", "get_capabilities", () =>
    expectBounds(bench(), "getMicPublicCapabilities", { workspaceId: anyId }),
  );

  proves(["4.2/query-workspace-id", "4.2/list-limit", "4.2/jobs-cursor"], "list_jobs", () =>
    expectBounds(bench(), "listMicJobs", {
      workspaceId: anyId,
      limit: integer(1, 100),
      // Wide characters would fill the URL before they fill the bound.
      cursor: { takes: ["a", "%".repeat(4096)], refuses: ["", "a".repeat(4097), 5, null, ["a"]] },
      states: {
        takes: [["FAILED"], ["PREPARING", "QUEUED", "RUNNING", "WAITING_REVIEW", "PAUSED", "SUCCEEDED"]],
        refuses: [[], "FAILED", Array.from({ length: 9 }, () => "FAILED"), null, {}],
      },
      createdSince: {
        takes: ["2026-11-01T00:00:00Z", "2026-11-01T00:00:00.5+05:30"],
        refuses: ["", "2026-11-01", "yesterday", "2026-02-30T00:00:00Z", 5, null],
      },
      unretried: { takes: [true, false], refuses: ["true", 1, null] },
      view: oneOf("summary", "full"),
    }),
  );

  proves(
    ["4.2/query-workspace-style-id", "4.2/list-limit", "4.2/recipes-cursor", "4.2/recipes-sort"],
    "list_recipes",
    () =>
      expectBounds(bench(), "listMicExecutableRecipes", {
        workspaceId: workspaceStyleId,
        limit: integer(1, 100),
        cursor: {
          takes: [LETTERS_43],
          refuses: ["", LETTERS_43.slice(1), `${LETTERS_43}a`, LETTERS_43.replace("_", "."), 43, null, [LETTERS_43]],
        },
        sort: oneOf("versionId"),
        view: oneOf("summary", "full"),
      }),
  );

  proves(["4.2/query-workspace-style-id", "4.2/usage-window"], "get_usage", () =>
    expectBounds(bench(), "getMicPublicUsage", {
      workspaceId: workspaceStyleId,
      window: oneOf("DAY", "MONTH", "ENTITLEMENT"),
    }),
  );

  proves("4.2/path-ids", "get_recipe", () =>
    expectBounds(bench(), "getMicExecutableRecipe", { versionId: prefixed("micrecipev_") }),
  );

  proves("4.2/path-ids", "get_file_processing_request", () =>
    expectBounds(bench(), "getMicSharedFileProcessingRequest", {
      requestId: prefixed("micsharedrequest_"),
      waitSeconds: { takes: [0], ...noRequestIn },
    }),
  );

  proves("4.2/get-input", "get_input", () =>
    expectBounds(bench(), "getMicPublicInput", { inputId: pathId, waitSeconds: { takes: [0], ...noRequestIn } }),
  );

  proves("4.2/get-job", "get_job", () =>
    expectBounds(bench(), "getMicJob", { jobId: pathId, waitSeconds: { takes: [0], ...noRequestIn } }),
  );

  proves("4.2/get-operation", "get_operation", () =>
    expectBounds(bench(), "getMicPublicOperation", {
      operationId: pathId,
      waitSeconds: { takes: [0], ...noRequestIn },
    }),
  );
});
