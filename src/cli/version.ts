// Exports the version of this package.
import packageJson from "../../package.json" with { type: "json" };

export const { version } = packageJson;
