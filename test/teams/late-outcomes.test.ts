// Tests that an outcome that the database could not record is recorded, with its audit row, when the database is back.
import { expect, test } from "vitest";
import { emulatorForTest } from "../support/emulator.ts";
import { connectCaller, createCaller, environmentForTest, instanceForTest } from "./deployment.ts";
import { databaseForTest, describeWithPostgres } from "./services.ts";

describeWithPostgres("a database that fails while an action runs", (postgres) => {
  test("the outcome and its audit row are recorded while the instance runs, and nothing is sent again", async () => {
    const place = await environmentForTest(postgres(), await emulatorForTest({ clients: 1 }));
    const caller = createCaller("ann", ["reds"]);
    const client = await connectCaller(await instanceForTest(place), caller);
    const database = await databaseForTest(place.url);
    const readState = async () => ({
      actions: await database.query("SELECT state FROM actions"),
      audit: await database.query("SELECT outcome, caller FROM audit"),
    });
    await client.callTool("list_actions");
    await database.query(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''the disk is full''; END'",
    );
    await database.query("CREATE TRIGGER fail BEFORE UPDATE ON actions FOR EACH ROW EXECUTE FUNCTION fail()");
    const registered = await client.callTool("register_input", {
      inputKind: "M4_FILE",
      referenceId: place.emulator.fileIds[0],
    });
    expect(registered.isError, registered.text).toBe(false);
    expect(await readState()).toEqual({ actions: [{ state: "in_progress" }], audit: [] });
    await database.query("DROP TRIGGER fail ON actions");
    await expect
      .poll(readState, { timeout: 15_000 })
      .toEqual({ actions: [{ state: "succeeded" }], audit: [{ outcome: "succeeded", caller: caller.id }] });
  });
});
