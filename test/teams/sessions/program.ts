// An instance in a process of its own, which a test may kill. It prints its URL. Its sessions' rows and its journal are in one database.
import { createNotices } from "../../../src/actions/notices.ts";
import { openPostgres } from "../../../src/actions/postgres.ts";
import { httpServiceOf } from "../../../src/mcp/http/serve.ts";
import { createSessionRows } from "../../../src/teams/session-rows.ts";
import { prepareSharedTables } from "../../../src/teams/shared-tables.ts";
import { composed } from "../../support/composed.ts";
import { startInstance } from "./instances.ts";

const { MIC_JOURNAL_URL = "", MIC_BASE_URL = "", MIC_CLIENT_ID = "", MIC_CLIENT_SECRET = "" } = process.env;
const { runtime } = composed({ MIC_JOURNAL_URL, MIC_BASE_URL, MIC_CLIENT_ID, MIC_CLIENT_SECRET });
const service = httpServiceOf(runtime);
const database = await openPostgres(MIC_JOURNAL_URL);
await prepareSharedTables(database);
const rows = createSessionRows(database, "team");
const notices = createNotices({ urls: [MIC_JOURNAL_URL], query: database.query, onTrouble: () => undefined });
const { url } = await startInstance({ serviceOf: () => service, rows, notices });
await notices.listening();
process.stdout.write(`${JSON.stringify({ url })}\n`);
