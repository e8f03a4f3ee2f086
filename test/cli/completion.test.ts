// Tests `mic-mcp completion`: each installed shell reads its script and completes with it.
import { spawnSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { commandNames, SHELLS } from "../../src/cli/commands.ts";
import { tools } from "../../tools/index.ts";
import { stubEnv } from "../api-client/client.ts";
import { enveloped, job } from "../contract/samples.ts";
import { runInProcess as run } from "../support/command.ts";
import { missingProgram } from "../support/process.ts";
import { answer, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../support/unless.ts";

const bashCompletion = (line: string) =>
  `COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; COMPREPLY=(); _mic_mcp; printf '%s\\n' "\${COMPREPLY[*]}"`;

const scriptOf = async (shell: string): Promise<string> => {
  const { code, stdout, stderr } = await run(["completion", shell]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
};

test.each(SHELLS)("the script for %s has each command and each tool with its arguments", async (shell) => {
  const script = await scriptOf(shell);
  for (const name of [...commandNames, ...tools.map(({ name }) => name)]) expect(script).toContain(name);
  for (const word of ["waitSeconds=", "view=full", "states=FAILED", "log-level", "powershell"])
    expect(script).toContain(word);
});

const cases = [
  ["mic-mcp ac", ["actions"]],
  ["mic-mcp call get_j", ["get_job"]],
  ["mic-mcp call get_job j", ["jobId="]],
  ["mic-mcp call get_job view=", ["summary", "full"]],
  ["mic-mcp call get_job view=f", ["full"]],
  ["mic-mcp call get_job --j", ["--json"]],
  ["mic-mcp serve --log-level w", ["warn"]],
  ["mic-mcp serve --base-url ", []],
  ["mic-mcp help do", ["doctor"]],
  ["mic-mcp show di", ["divisions"]],
  ["mic-mcp watch --t", ["--timeout"]],
] as const;

const bashMissing = posixMissing ?? missingProgram("bash");

testUnless(bashMissing, "bash completes recent job ids, and executes no part of an id", async () => {
  const script = await scriptOf("bash");
  const stub = await stubForTest();
  const folder = await folderForTest();
  const env = { ...stubEnv(stub), MIC_STATE_DIR: folder };
  for (const id of ["micjob_1", "micjob_$(touch$IFS$9executed)"]) {
    stub.respond(({ method }) =>
      answer(method === "POST" ? 202 : 200, enveloped({ ...job, id, retryOfBatchId: `job-of-${id}` })),
    );
    const retry = ["call", "retry_job", `job-of-${id}`, "retryMode=SAFE_RESUME", "reason=again"];
    expect(await run(retry, { env })).toMatchObject({ code: 0 });
  }
  const program = `mic-mcp() { ${JSON.stringify(process.execPath)} ${resolve("dist/cli.js")} "$@"; }`;
  const complete = ["mic-mcp watch micjob_", "mic-mcp call get_job micjob_"].map(bashCompletion);
  const shell = spawnSync("bash", ["-c", [script, program, ...complete].join("\n")], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  expect(await readdir(folder)).not.toContain("executed");
  expect(shell.stdout.toString()).toBe("micjob_1\nmicjob_1\n");
});

testUnless(bashMissing, "bash completes the typed word", async () => {
  const script = await scriptOf("bash");
  const { stdout, stderr } = spawnSync("bash", [
    "-c",
    [script, ...cases.map(([line]) => bashCompletion(line))].join("\n"),
  ]);
  expect(stderr.toString()).toBe("");
  expect(stdout.toString().split("\n").slice(0, -1)).toEqual(cases.map(([, words]) => words.join(" ")));
});

const OTHER_SHELLS = [
  {
    shell: "zsh",
    args: ["-fc"],
    command: "_mic_mcp_words call get_job get_job; print $_comps[mic-mcp]",
    printed: /^jobId=\n[\s\S]*\n_mic_mcp\n$/,
  },
  {
    shell: "fish",
    args: ["-N", "-c"],
    command: "complete -C 'mic-mcp call get_job view='",
    printed: /^view=full\nview=summary\s*$/,
  },
  {
    shell: "powershell",
    args: ["-NoProfile", "-Command"],
    command: "(TabExpansion2 'mic-mcp call get_j' 18).CompletionMatches.CompletionText",
    printed: /^get_job\s*$/,
  },
];

for (const { shell, args, command, printed } of OTHER_SHELLS) {
  const program = shell === "powershell" ? "pwsh" : shell;
  testUnless(missingProgram(program), `${shell} completes the typed word`, async () => {
    const setUp = shell === "zsh" ? "autoload -Uz compinit; compinit -D\n" : "";
    const { stdout } = spawnSync(program, [...args, `${setUp}${await scriptOf(shell)}\n${command}`]);
    expect(stdout.toString()).toMatch(printed);
  });
}
