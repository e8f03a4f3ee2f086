// The operations of the job-processing API, as the emulator does them.
import { inputOperations } from "./inputs.ts";
import { jobOperations } from "./jobs.ts";
import type { OperationHandler } from "./operation.ts";
import { processingRequestOperations } from "./processing-requests.ts";
import { workspaceOperations } from "./workspace.ts";

export const operations: readonly OperationHandler[] = [
  ...workspaceOperations,
  ...inputOperations,
  ...jobOperations,
  ...processingRequestOperations,
];
