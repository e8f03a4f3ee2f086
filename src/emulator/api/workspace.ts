// Capabilities and usage of the workspace.
import { getMicPublicCapabilities, getMicPublicUsage } from "../../contract/endpoints/job-processing.ts";
import type { CapabilitySet } from "../../contract/usage.ts";
import { refuseField } from "../problems.ts";
import { CAPABILITIES } from "../world/capabilities.ts";
import { checkWorkspace, enveloped } from "./answers.ts";
import { type OperationHandler, read } from "./operation.ts";

const capabilities = read(getMicPublicCapabilities, ({ query }, context) => {
  checkWorkspace(query.workspaceId, context, "/query/workspaceId");
  const { world } = context;
  const set: CapabilitySet = {
    workspaceId: world.workspaceId,
    environment: "SANDBOX",
    capabilities: Object.values(CAPABILITIES).map((capability) => ({
      ...capability,
      languages: [...capability.languages],
    })),
    limits: [...world.usage.quotas(world.clock.now())],
  };
  return enveloped(200, set, context);
});

const usage = read(getMicPublicUsage, ({ query }, context) => {
  checkWorkspace(query.workspaceId, context, "/query/workspaceId");
  const { world } = context;
  if (query.window === "MONTH")
    throw refuseField("WINDOW_NOT_AVAILABLE", "/query/window", "Ask for the window DAY or ENTITLEMENT.");
  return enveloped(200, world.usage.summary(world.workspaceId, query.window, world.clock.now()), context);
});

export const workspaceOperations: readonly OperationHandler[] = [capabilities, usage];
