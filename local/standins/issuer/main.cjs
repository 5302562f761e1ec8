// An OAuth 2.0 authorization server for tests: oidc-provider, which is certified, with
// three clients and a key that lives as long as the process. Start it with
//
//	scripts/npm.sh local/standins/issuer node local/standins/issuer/main.cjs [PORT]
//
// It listens on this machine only, says its URL in one line of standard output, and gives
// tokens (RFC 9068, signed with RS256) for the client credentials
//
//	curl -u reader:secret -d 'grant_type=client_credentials&resource=urn:tiltyard&scope=tiltyard:read' URL/token

"use strict";

const { generateKeyPairSync } = require("node:crypto");
const http = require("node:http");

// A client may ask for its scopes and no others. The guest may sign in and nothing else.
const clients = {
  writer: "tiltyard:read tiltyard:write",
  reader: "tiltyard:read",
  guest: "other",
};

const resource = {
  accessTokenFormat: "jwt",
  accessTokenTTL: 6 * 3600, // a run of the suite on a busy machine signs in once
  jwt: { sign: { alg: "RS256" } },
};

function configuration() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: "jwk" }), kid: "first", use: "sig", alg: "RS256" };
  return {
    clients: Object.entries(clients).map(([id, scope]) => ({
      client_id: id,
      client_secret: "secret",
      scope,
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    })),
    scopes: ["tiltyard:read", "tiltyard:write", "other"],
    jwks: { keys: [key] },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        // The resource that a client names is the audience of its token.
        getResourceServerInfo: (_context, audience) => ({
          ...resource,
          audience,
          scope: "tiltyard:read tiltyard:write other",
        }),
      },
    },
  };
}

const server = http.createServer();
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const { Provider } = require("oidc-provider");
  server.on("request", new Provider(url, configuration()).callback());
  console.log(url);
});
process.on("SIGTERM", () => process.exit(0));
