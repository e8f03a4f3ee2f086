// The metadata that each request of revision 2026-07-28 has instead of a handshake.

const META = "io.modelcontextprotocol";

export const modernEnvelope = (capabilities: object = {}) => ({
  [`${META}/protocolVersion`]: "2026-07-28",
  [`${META}/clientInfo`]: { name: "raw", version: "1" },
  [`${META}/clientCapabilities`]: capabilities,
});
