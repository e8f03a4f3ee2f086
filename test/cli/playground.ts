// Answers of an API with three states, for the commands that read the geography.
import { PLAYGROUND_CONTRACT as contract } from "../../src/contract/playground.ts";
import { openApiDocument } from "../contract/samples.ts";
import { answer, type Step } from "../support/stub.ts";

const states = ["GA", "KL", "TN"].map((code) => ({ code, name: `State ${code}`, districtCount: 1, mandalCount: 4 }));

export function answerGeography(target: string): Step {
  if (target.includes("openapi")) return answer(200, openApiDocument);
  const code = /state=([A-Z]+)/.exec(target)?.[1];
  if (code === undefined) return answer(200, { contract, states });
  const districts = [{ code, name: `District ${code}`, mandalCount: 4 }];
  return answer(200, { contract, state: `State ${code}`, districts });
}
