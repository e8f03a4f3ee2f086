// Serves a hand-written v1 server over Streamable HTTP: one server for each session, and plain JSON responses. It has no limits
// and no access checks.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

export function serveOnHttp(makeServer, port) {
  const sessions = new Map();

  async function open() {
    const transport = new StreamableHTTPServerTransport({
      enableJsonResponse: true,
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await makeServer().connect(transport);
    return transport;
  }

  createServer(async (request, response) => {
    const transport = sessions.get(request.headers["mcp-session-id"]) ?? (await open());
    await transport.handleRequest(request, response);
  }).listen(port, "127.0.0.1");
}
