// Tests that no text of a server mentions a tool that it does not offer: lists, instructions, prompts, results and errors.
import { expect, test } from "vitest";
import { FILE, runJobToEnd } from "../emulator/work.ts";
import { rows } from "../operations.ts";
import { expectConsistentInstructions } from "../support/instructions.ts";
import type { Args } from "./bench.ts";
import { TOOL_NAMES } from "./catalogue.ts";
import { describeLatestRevision } from "./revisions.ts";

const CONFIGURATIONS: readonly Readonly<Record<string, string>>[] = [
  { MIC_READ_ONLY: "1" },
  { MIC_TOOLSETS: "geography" },
  { MIC_TOOLSETS: "jobs" },
  { MIC_EXCLUDE_TOOLS: "get_recipe,list_recipes,list_jobs,retry_job,list_actions,resolve_actions,get_input" },
  { MIC_TOOLSETS: "essentials" },
  { MIC_TOOLS: "run_job,submit_job,cancel_job" },
];

const TOOL_NAME = new RegExp(`\\b(?:${TOOL_NAMES.join("|")})\\b`, "g");

/** Statuses that lead to advice: an unknown id, a refusal, a conflict and a rejection. */
const STATUSES = [404, 403, 409, 422];

for (const env of CONFIGURATIONS)
  describeLatestRevision(
    (bench) => {
      test(`no text mentions a tool that is not offered: ${JSON.stringify(env)}`, async () => {
        const { connection, service } = bench();
        const tools = await connection.listTools();
        await expectConsistentInstructions(connection, JSON.stringify(env));
        const offered: ReadonlySet<string> = new Set(tools.map(({ name }) => name));
        const texts: [what: string, text: string][] = [
          ["tools/list", JSON.stringify(tools)],
          ["resources", JSON.stringify([await connection.listResources(), await connection.listTemplates()])],
        ];
        for (const { name, arguments: args = [] } of await connection.listPrompts()) {
          const values = Object.fromEntries(args.map((each) => [each.name, "1"]));
          texts.push([`prompt ${name}`, await connection.getPrompt(name, values)]);
        }
        async function call(tool: string, args: Args, what: string): Promise<void> {
          const { raw } = await bench().call(tool, args);
          texts.push([`${tool} ${what}`, raw]);
        }
        for (const { id, tool } of rows) {
          if (!offered.has(tool)) continue;
          const args = await bench().argumentsFor(id);
          await call(tool, args, "as it is");
          await call(tool, { ...args, bogus: 1, idempotencyKey: "\n" }, "with wrong arguments");
          for (const status of STATUSES) {
            await service.injectFault({ kind: "status", status, code: "NO", retryable: false }, { operationId: id });
            const idempotencyKey = "idempotencyKey" in args ? { idempotencyKey: `unoffered-${status}` } : {};
            await call(tool, { ...args, ...idempotencyKey }, `after ${status}`);
            await service.admin("DELETE", "faults");
          }
        }
        const { workspaceId } = bench();
        const { id: jobId, recipeVersionId } = await runJobToEnd(service, FILE.failsForGood);
        for (const [tool, args] of [
          ["find_district", { name: "Nowhereville", state: "Atlantis" }],
          ["find_district", { name: "Kerala" }],
          ["list_districts", { state: "ZZ" }],
          ["wait_for_jobs", { jobIds: ["micinput_1"], waitSeconds: 0 }],
          ["get_job", { jobId }],
          ["get_job", { jobId: `micinput_${"0".repeat(32)}` }],
          ["cancel_job", { jobId, reason: "No need" }],
          ["list_jobs", { workspaceId, unretried: true }],
          ["get_usage", { workspaceId, window: "MONTH" }],
          ["run_job", { workspaceId, recipeVersionId, inputs: [], parameterValues: {} }],
        ] as const)
          if (offered.has(tool)) await call(tool, args, JSON.stringify(args));
        for (const [what, text] of texts)
          expect(
            (text.match(TOOL_NAME) ?? []).filter((name) => !offered.has(name)),
            `${what}: ${text}`,
          ).toEqual([]);
      });
    },
    { env },
  );
