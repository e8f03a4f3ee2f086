// Publishes the release as .github/workflows/release.yml does, but to a registry of this machine (Verdaccio), for one test file.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { parse } from "yaml";
import * as z from "zod/v4";
import { missingReason, programOf } from "../interop/packages.ts";
import { freePort } from "../support/free-port.ts";
import { launchProcess, type RunningProcess, waitForPort } from "../support/process.ts";
import { posixMissing, thoroughMissing } from "../support/unless.ts";
import { execute, releaseForFile } from "./release-fixture.ts";

/** To pack and publish the release takes 10 s of CPU time. */
export const registryMissing = thoroughMissing ?? posixMissing ?? missingReason("Verdaccio");

const Workflow = z.object({
  jobs: z.object({
    publish: z.object({ steps: z.array(z.object({ name: z.string().optional(), run: z.string().optional() })) }),
  }),
});

/** Fails if a file of the release that an argument names does not exist. It replaces docker and gh, which need other machines. */
const STAND_IN = `#!/bin/sh
for each in "$@"; do case $each in release*) test -e "$each" || { echo "no $each" >&2; exit 1; } ;; esac; done
`;

export function rehearsalForFile() {
  const { siblingPath } = releaseForFile();
  let url = "";
  let registry: RunningProcess | undefined;

  const useRegistry = (home: string): Promise<void> =>
    writeFile(
      join(home, ".npmrc"),
      `registry=${url}/\n${url.replace("http:", "")}/:_authToken=anyone\nupdate-notifier=false\nignore-scripts=true\n`,
    );

  async function runStep(name: string): Promise<void> {
    const { jobs } = Workflow.parse(parse(await readFile(".github/workflows/release.yml", "utf8")));
    const script = jobs.publish.steps.find((step) => step.name === name)?.run;
    if (script === undefined) throw new Error(`The workflow has no step ${name}.`);
    const { version } = JSON.parse(await readFile("package.json", "utf8"));
    const path = [siblingPath("bin"), process.env["PATH"] ?? ""].join(delimiter);
    const env = {
      PATH: path,
      HOME: siblingPath("publisher"),
      GITHUB_REF_NAME: `v${version}`,
      IMAGE: "image",
      GH_TOKEN: "-",
    };
    await execute("bash", ["-e", "-c", script], { cwd: siblingPath(), env });
  }

  beforeAll(async () => {
    if (registryMissing !== undefined) return;
    for (const folder of ["registry", "publisher", "bin"]) await mkdir(siblingPath(folder));
    for (const program of ["docker", "gh"]) await writeFile(siblingPath("bin", program), STAND_IN, { mode: 0o755 });
    const { stdout: uplink } = await execute("npm", ["config", "get", "registry"]);
    const access = { access: "$all", publish: "$all" };
    // A JSON text is also a YAML text. Packages other than this one come from npm's registry.
    const config = {
      storage: siblingPath("registry", "storage"),
      uplinks: { npm: { url: uplink.trim() } },
      packages: { "mic-mcp": access, "**": { ...access, proxy: "npm" } },
      log: { type: "stdout", level: "warn" },
    };
    await writeFile(siblingPath("registry", "config.yaml"), JSON.stringify(config));
    const port = await freePort();
    const args = ["--config", siblingPath("registry", "config.yaml"), "--listen", `127.0.0.1:${port}`];
    registry = launchProcess([process.execPath, ...programOf("Verdaccio"), ...args], { cwd: siblingPath("registry") });
    await waitForPort(port, registry);
    url = `http://127.0.0.1:${port}`;
    await useRegistry(siblingPath("publisher"));
    for (const step of ["Publish the npm package", "Build, push and start the image", "Attach the release folder"])
      await runStep(step);
  }, 300_000);
  afterAll(() => registry?.kill());

  return { siblingPath, useRegistry };
}
