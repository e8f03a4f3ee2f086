import * as z from "zod/v4";
import { getMicPublicOperation } from "../src/contract/endpoints/job-processing.ts";
import type { Operation } from "../src/contract/operation.ts";
import { isOperationMoving, operationSubject } from "../src/toolkit/advice/operation.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { advisedResult } from "../src/toolkit/results.ts";
import { waitSeconds, waitWhile } from "../src/toolkit/wait-while.ts";

export const getOperation = defineTool({
  endpoint: getMicPublicOperation,
  name: "get_operation",
  title: "Get an operation",
  description: "One asynchronous operation, such as a cancellation: state and result. waitSeconds waits for its end.",
  effect: "read",
  input: z.strictObject({ ...getMicPublicOperation.pathParameters.shape, waitSeconds }),
  output: outputs.advised<Operation>(),
  async run({ operationId, waitSeconds = 0 }, call, { service }) {
    let readings = 0;
    const answer = await waitWhile(
      {
        read: () => service.call(getMicPublicOperation, { path: { operationId } }, call.context),
        version: ({ value }) => value.data.resourceVersion,
        isMoving: ({ value }) => isOperationMoving(value.data),
        onRead: ({ value }) => call.report({ progress: ++readings, message: value.data.state }),
      },
      waitSeconds,
      { ...call.context, timing: service.timing },
    );
    return await advisedResult(answer, operationSubject, call);
  },
});
