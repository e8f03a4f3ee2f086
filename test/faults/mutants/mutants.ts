// Lists all mutants.
import { claimMutants } from "./claims.ts";
import { identityMutants } from "./identity.ts";
import { multiStepMutants } from "./multi-step-tools.ts";
import type { Mutant } from "./mutant.ts";
import { sendingMutants } from "./sending.ts";

export const mutants: readonly Mutant[] = [...identityMutants, ...claimMutants, ...sendingMutants, ...multiStepMutants];
