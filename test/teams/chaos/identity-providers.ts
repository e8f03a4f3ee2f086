// Starts real identity providers of Debian on this machine: glewlwyd, and LemonLDAP::NG (liblemonldap-ng-portal-perl). Each gets the
// clients of the tests' own provider and one user, who signs in with a password.
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { freePort } from "../../support/free-port.ts";
import { AGENT, followRedirects, SCOPES, startIdentityProvider } from "../../support/identity-provider.ts";
import { isInstalled, launchProcess } from "../../support/process.ts";

/** Groups of the user; the first is a team's. */
const GROUPS = ["group-1", "staff"] as const;
const USER = { name: "dwho", password: "dwho" } as const;

export interface RunningProvider {
  readonly issuer: string;
  /** The origin for which docs/operate/identity-providers.md has a name in MIC_AUTH_ISSUER. */
  readonly origin: string;
  /** Opens a URL as the browser of the signed-in user does. Resolves with the first address outside the provider. */
  browse(url: URL): Promise<URL>;
  stop(): Promise<void>;
}

/** `resource`: the URL of /mcp, which is the audience of tokens. */
type StartProvider = (resource: string) => Promise<RunningProvider>;

/** Runs a server in a new folder until `stop`, and waits until it serves its metadata. */
async function launchProvider(
  issuer: string,
  createCommand: (folder: string) => readonly string[],
  env: (folder: string) => Record<string, string> = () => ({}),
): Promise<{ stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "mic-mcp-provider-"));
  const running = launchProcess(createCommand(folder), { env: { ...process.env, ...env(folder) }, cwd: folder });
  const stop = async () => {
    await running.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; ; tries++) {
    const answer = await fetch(issuer).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer && answer.status < 500) return { stop };
    if (tries > 300 || !running.isRunning()) {
      await stop();
      throw new Error(`the identity provider did not start: ${running.output()}`);
    }
    await sleep(100);
  }
}

const GLEWLWYD_SCHEMA = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3";
/** Users get the property `groups`. */
const GLEWLWYD_USERS = `UPDATE g_user_module_instance SET gumi_parameters =
  '{"use-glewlwyd-connection":true,"data-format":{"groups":{"multiple":true,"read":true,"write":true}}}';`;

const createGlewlwydConfiguration = (port: number, database: string) => `
port=${port}
bind_address="127.0.0.1"
external_url="http://127.0.0.1:${port}"
login_url="login.html"
api_prefix="api"
log_mode="console"
log_level="WARNING"
cookie_secure=0
session_expiration=2419200
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
hash_algorithm="SHA512"
database = { type = "sqlite3" path = "${database}" };
`;

const startGlewlwyd: StartProvider = async (resource) => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const issuer = `${origin}/api/oidc`;
  const { stop } = await launchProvider(`${origin}/api/auth/scheme/`, (folder) => {
    const database = join(folder, "glewlwyd.db");
    execFileSync("sqlite3", [database], { input: readFileSync(GLEWLWYD_SCHEMA, "utf8") + GLEWLWYD_USERS });
    const path = join(folder, "glewlwyd.conf");
    writeFileSync(path, createGlewlwydConfiguration(port, database));
    return ["glewlwyd", "--config-file", path];
  });
  /** A session of its API: every request sends the cookie of the sign-in. */
  async function signIn(username: string, password: string) {
    let cookie = "";
    const send = async (method: string, path: string, body: object): Promise<void> => {
      const headers = { "content-type": "application/json", cookie };
      const response = await fetch(`${origin}/api/${path}`, { method, headers, body: JSON.stringify(body) });
      if (response.status !== 200)
        throw new Error(`glewlwyd, ${method} ${path}: ${response.status} ${await response.text()}`);
      cookie ||= response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    };
    await send("POST", "auth/", { username, password });
    return { send, cookie };
  }
  try {
    const admin = await signIn("admin", "password");
    const scopes = Object.values(SCOPES);
    for (const name of scopes)
      await admin.send("POST", "scope/", { name, display_name: name, password_required: false });
    await admin.send("POST", "user/", {
      ...{ username: USER.name, password: USER.password, groups: GROUPS, enabled: true },
      scope: ["g_profile", "openid", ...scopes],
    });
    await admin.send("POST", "client/", {
      ...{ client_id: AGENT.id, confidential: false, redirect_uri: [AGENT.redirectUrl], enabled: true },
      authorization_type: ["code", "refresh_token"],
    });
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    await admin.send("POST", "mod/plugin/", {
      ...{ module: "oidc", name: "oidc", display_name: "oidc", enabled: true },
      parameters: {
        iss: issuer,
        "jwt-type": "rsa",
        "jwt-key-size": "256",
        key: privateKey.export({ type: "pkcs8", format: "pem" }),
        cert: publicKey.export({ type: "spki", format: "pem" }),
        "access-token-duration": 3600,
        "refresh-token-duration": 1209600,
        "code-duration": 600,
        "refresh-token-rolling": true,
        "allow-non-oidc": true,
        "auth-type-code-enabled": true,
        "auth-type-client-enabled": true,
        "auth-type-refresh-enabled": true,
        "pkce-allowed": true,
        "resource-allowed": true,
        "resource-scope": Object.fromEntries(scopes.map((scope) => [scope, [resource]])),
        "additional-parameters": [{ "user-parameter": "groups", "token-parameter": "groups" }],
      },
    });
    const user = await signIn(USER.name, USER.password);
    await user.send("PUT", `auth/grant/${AGENT.id}`, { scope: ["openid", ...scopes].join(" ") });
    const [name = "", value = ""] = user.cookie.split("=");
    return {
      ...{ issuer, origin, stop },
      browse(url) {
        // glewlwyd's own sign-in page adds this when the user has chosen to continue.
        url.searchParams.set("g_continue", "");
        return followRedirects(url, origin, new Map([[name, value]]));
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
};

const LEMONLDAP_PORTAL = "/usr/share/lemonldap-ng/portal/htdocs/index.psgi";

const createLemonldapConfiguration = (origin: string, resource: string, folder: string) => {
  const store = (name: string) => {
    mkdirSync(join(folder, name, "lock"), { recursive: true });
    return {
      Directory: join(folder, name),
      LockDirectory: join(folder, name, "lock"),
      generateModule: "Lemonldap::NG::Common::Apache::Session::Generate::SHA256",
    };
  };
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const relyingParty = (name: string) => `oidcRPMetaDataOptions${name}`;
  return {
    ...{ cfgNum: 1, cfgVersion: "2.16.1", cfgAuthor: "test", cfgDate: "1", portal: `${origin}/`, domain: "127.0.0.1" },
    ...{ authentication: "Demo", userDB: "Same", passwordDB: "Null", registerDB: "Null", requireToken: 0 },
    ...{ cookieName: "lemonldap", securedCookie: 0, timeout: 72_000, key: "0123456789abcdef", exportedVars: {} },
    ...{ macros: { _whatToTrace: "lc($_user)" }, whatToTrace: "_whatToTrace" },
    ...{ globalStorage: "Apache::Session::File", globalStorageOptions: store("sessions") },
    ...{ persistentStorage: "Apache::Session::File", persistentStorageOptions: store("persistent") },
    // The default folder of this cache is writable only for root.
    ...{ localSessionStorage: "Cache::FileCache", localSessionStorageOptions: { cache_root: join(folder, "cache") } },
    demoExportedVars: { cn: "cn", mail: "mail", uid: "uid" },
    locationRules: { "127.0.0.1": { default: "accept" } },
    groups: Object.fromEntries(GROUPS.map((group) => [group, "1"])),
    ...{ issuerDBOpenIDConnectActivation: 1, issuerDBOpenIDConnectPath: "^/oauth2/", issuerDBOpenIDConnectRule: 1 },
    ...{ oidcServiceMetaDataIssuer: `${origin}/`, oidcServiceAllowAuthorizationCodeFlow: 1, oidcServiceKeyIdSig: "1" },
    oidcServicePrivateKeySig: privateKey.export({ type: "pkcs8", format: "pem" }),
    oidcServicePublicKeySig: publicKey.export({ type: "spki", format: "pem" }),
    oidcRPMetaDataOptions: {
      agent: {
        [relyingParty("ClientID")]: AGENT.id,
        [relyingParty("Public")]: 1,
        [relyingParty("RequirePKCE")]: 1,
        [relyingParty("RedirectUris")]: AGENT.redirectUrl,
        [relyingParty("BypassConsent")]: 1,
        [relyingParty("RefreshToken")]: 1,
        [relyingParty("IDTokenSignAlg")]: "RS256",
        [relyingParty("AccessTokenJWT")]: 1,
        [relyingParty("AccessTokenClaims")]: 1,
        [relyingParty("AccessTokenSignAlg")]: "RS256",
        [relyingParty("AdditionalAudiences")]: resource,
      },
    },
    oidcRPMetaDataExportedVars: { agent: { groups: "groups" } },
    oidcRPMetaDataOptionsExtraClaims: { agent: { [SCOPES.read]: "groups" } },
  };
};

const startLemonldap: StartProvider = async (resource) => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const { stop } = await launchProvider(
    `${origin}/.well-known/openid-configuration`,
    (folder) => {
      const configuration = createLemonldapConfiguration(origin, resource, folder);
      mkdirSync(join(folder, "conf"));
      writeFileSync(join(folder, "conf", "lmConf-1.json"), JSON.stringify(configuration));
      writeFileSync(
        join(folder, "lemonldap-ng.ini"),
        `[all]\nlogLevel = warn\n[configuration]\ntype = File\ndirName = ${join(folder, "conf")}\n[portal]\nlanguages = en\n` +
          "staticPrefix = /static\ntemplateDir = /usr/share/lemonldap-ng/portal/templates\n",
      );
      const listen = ["--host", "127.0.0.1", "--port", String(port), "--server", "HTTP::Server::PSGI"];
      return ["plackup", "--env", "deployment", ...listen, LEMONLDAP_PORTAL];
    },
    (folder) => ({ LLNG_DEFAULTCONFFILE: join(folder, "lemonldap-ng.ini") }),
  );
  return {
    ...{ issuer: `${origin}/`, origin, stop },
    async browse(url) {
      const body = new URLSearchParams({ user: USER.name, password: USER.password });
      const response = await fetch(`${origin}/`, { method: "POST", body, redirect: "manual" });
      const cookies = z.array(z.string()).min(1).parse(response.headers.getSetCookie());
      const jar = new Map(cookies.map((cookie) => [cookie.split("=")[0] ?? "", /=([^;]*)/.exec(cookie)?.[1] ?? ""]));
      return followRedirects(url, origin, jar);
    },
  };
};

export interface ProviderCase {
  /** Heading in docs/operate/identity-providers.md. */
  readonly name: string;
  readonly missing: string | undefined;
  readonly start: StartProvider;
}

const isPresent = (programs: readonly string[], file: string): boolean =>
  programs.every(isInstalled) && existsSync(file);

export const PROVIDERS: readonly ProviderCase[] = [
  {
    name: "oidc-provider",
    missing: undefined,
    async start() {
      const provider = await startIdentityProvider({ groupsOf: () => GROUPS });
      return { ...provider, origin: provider.issuer, browse: (url) => provider.browse(url, USER.name) };
    },
  },
  {
    name: "glewlwyd",
    missing: isPresent(["glewlwyd", "sqlite3"], GLEWLWYD_SCHEMA) ? undefined : "glewlwyd or sqlite3 is not installed",
    start: startGlewlwyd,
  },
  {
    name: "LemonLDAP::NG",
    missing: isPresent(["plackup"], LEMONLDAP_PORTAL) ? undefined : "LemonLDAP::NG is not installed",
    start: startLemonldap,
  },
];
