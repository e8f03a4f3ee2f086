// How a hand-written v1 server is served: on stdio, or on HTTP where PORT is given.
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

export async function serve(makeServer) {
  if (process.env.PORT === undefined) return await makeServer().connect(new StdioServerTransport());
  const { serveOnHttp } = await import("./serve-http.mjs");
  serveOnHttp(makeServer, Number(process.env.PORT));
}
