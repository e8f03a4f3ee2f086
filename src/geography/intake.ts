// Limits what is kept of a list that the API returns. The contract sets no maximum length for names (docs/contract.md, 2.1).
import type { DistrictsResponse, StatesResponse } from "../contract/playground.ts";
import { excerpt } from "../excerpt.ts";
import { MAX_NAME } from "./names/fold.ts";

const withShortName = <T extends { readonly name: string }>(item: T): T => ({
  ...item,
  name: excerpt(item.name, MAX_NAME),
});

export const withShortStateNames = (answer: StatesResponse): StatesResponse => ({
  ...answer,
  states: answer.states.map(withShortName),
});

export const withShortDistrictNames = (answer: DistrictsResponse): DistrictsResponse => ({
  ...answer,
  state: excerpt(answer.state, MAX_NAME),
  districts: answer.districts.map(withShortName),
});
