import * as z from "zod/v4";
import { createMicJob } from "../src/contract/endpoints/job-processing.ts";
import { invalidArguments } from "../src/failure.ts";
import { jobSubject } from "../src/toolkit/advice/job.ts";
import { defineAction } from "../src/toolkit/define-tool.ts";
import { offerErrors } from "../src/toolkit/jobs/offers.ts";
import { keyArgument, objectArgument } from "../src/toolkit/requests.ts";
import { runAction } from "../src/toolkit/run-action.ts";

const traits = { about: "recipeVersionId", notes: ["clientReference"] };

export const submitJob = defineAction({
  endpoint: createMicJob,
  name: "submit_job",
  title: "Submit a job",
  description:
    "Starts a job: READY inputs bound to every port of a recipe version, parameterValues as get_recipe's schema asks. " +
    "Follow it with get_job.",
  effect: "create",
  makes: "job",
  traits,
  input: z.strictObject({
    ...createMicJob.body.shape,
    parameterValues: objectArgument,
    clientReference: createMicJob.body.shape.clientReference.describe("Your note."),
    ...keyArgument("text"),
  }),
  run: (args, call, ports) =>
    runAction(args, call, ports, {
      endpoint: createMicJob,
      traits,
      subject: jobSubject(ports),
      findOut: "Look with list_jobs for a job created at that time with this recipe version.",
      async check() {
        const offer = ports.offers.get(args.recipeVersionId);
        const errors = offer ? await offerErrors(offer, args) : [];
        if (errors.length === 0) return;
        throw invalidArguments(
          "submit_job was not sent: the job does not fit the recipe offer read before.",
          errors,
          "Correct the fields named above and call again; get_recipe shows the schema.",
        );
      },
    }),
});
