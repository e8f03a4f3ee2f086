// Prints the ten districts with the most mandals as CSV, with the date of the catalog, for a report.
import { call, connect } from "./connect.mjs";

const QUERY = { level: "district", by: "mandalCount", limit: 10, waitSeconds: 45 };
/** Reading the whole country for the first time takes more than one call. */
const MAX_CALLS = 10;

const client = await connect("largest-districts");
try {
  let answer = await call(client, "rank_divisions", QUERY);
  for (let calls = 1; answer.coverage && calls < MAX_CALLS; calls += 1)
    answer = await call(client, "rank_divisions", QUERY);
  // `coverage` is absent if all lists were read.
  const { rows, stateNames, coverage, vintage } = answer;
  if (coverage) throw new Error(`Only ${coverage.statesRead} of ${coverage.statesTotal} lists were read.`);
  console.log("district,state,mandals,catalog");
  for (const { name, state, mandals } of rows)
    console.log([name, stateNames[state], mandals, vintage.split(",")[0]].join(","));
} finally {
  await client.close();
}
