// An instance in a process of its own, which a test may kill. It prints its URL.
import { httpServiceOf } from "../../src/mcp/http/serve.ts";
import { composed } from "../support/composed.ts";
import { startStateless } from "../support/stateless.ts";

const { MIC_JOURNAL_URL = "", MIC_BASE_URL = "", MIC_CLIENT_ID = "", MIC_CLIENT_SECRET = "" } = process.env;
const { runtime } = composed({ MIC_JOURNAL_URL, MIC_BASE_URL, MIC_CLIENT_ID, MIC_CLIENT_SECRET });
const { url } = await startStateless(httpServiceOf(runtime));
process.stdout.write(`${JSON.stringify({ url })}\n`);
