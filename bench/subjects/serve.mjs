// Serves a hand-written v1 server on stdio, or on HTTP if PORT is set.
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

export async function serve(makeServer) {
  if (process.env.PORT === undefined) return await makeServer().connect(new StdioServerTransport());
  const { serveOnHttp } = await import("./serve-http.mjs");
  serveOnHttp(makeServer, Number(process.env.PORT));
}
