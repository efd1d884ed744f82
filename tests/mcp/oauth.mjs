// An MCP server behind OAuth 2.1, with its own authorization server: protected resource metadata (RFC 9728), authorization
// server metadata (RFC 8414), dynamic client registration (RFC 7591), authorization code with PKCE (RFC 7636), resource
// indicators (RFC 8707), refresh tokens that are for one use. It refuses what a real one would refuse. The person who logs
// in always agrees, unless DENY is set. It prints its port.
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const clients = new Map();
const codes = new Map();
const access = new Map();
const refreshing = new Map();
// Shorter than what a client takes for nearly expired, so that every use is a refresh.
const seconds = Number(process.env.TOKEN_SECONDS ?? 3600);
let refreshes = 0;

const read = async (request) => {
  let body = "";
  for await (const chunk of request) {
    body += chunk;
  }
  return body;
};

const server = createServer(async (request, response) => {
  const base = `http://127.0.0.1:${server.address().port}`;
  const resource = `${base}/mcp`;
  const url = new URL(request.url, base);
  const json = (status, value, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
  const refuse = (error, text) => json(400, { error, error_description: text });
  const issue = (client) => {
    const tokens = { access_token: randomUUID(), refresh_token: randomUUID() };
    access.set(tokens.access_token, Date.now() + seconds * 1000);
    refreshing.set(tokens.refresh_token, client);
    json(200, { ...tokens, token_type: "Bearer", expires_in: seconds, scope: "tools" });
  };
  switch (url.pathname) {
    case "/.well-known/oauth-protected-resource":
    case "/.well-known/oauth-protected-resource/mcp":
      return json(200, { resource, authorization_servers: [base], scopes_supported: ["tools"] });
    case "/.well-known/oauth-authorization-server":
      return json(200, {
        issuer: base,
        authorization_endpoint: `${base}/authorize`,
        token_endpoint: `${base}/token`,
        registration_endpoint: `${base}/register`,
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
        scopes_supported: ["tools"],
      });
    case "/register": {
      const { redirect_uris } = JSON.parse(await read(request));
      const id = randomUUID();
      clients.set(id, redirect_uris);
      return json(201, { client_id: id, redirect_uris, token_endpoint_auth_method: "none" });
    }
    case "/authorize": {
      const query = Object.fromEntries(url.searchParams);
      const isGood =
        clients.get(query.client_id)?.includes(query.redirect_uri) &&
        query.response_type === "code" &&
        query.code_challenge_method === "S256" &&
        query.code_challenge &&
        query.state &&
        query.resource === resource;
      if (!isGood) {
        return refuse("invalid_request", JSON.stringify(query));
      }
      const back = new URL(query.redirect_uri);
      if (process.env.DENY) {
        back.search = new URLSearchParams({ error: "access_denied", state: query.state }).toString();
      } else {
        const code = randomUUID();
        codes.set(code, query);
        back.search = new URLSearchParams({ code, state: query.state, iss: base }).toString();
      }
      response.writeHead(302, { location: back.href });
      return response.end();
    }
    case "/token": {
      const form = Object.fromEntries(new URLSearchParams(await read(request)));
      if (form.resource !== resource) {
        return refuse("invalid_target", "no resource");
      }
      if (form.grant_type === "refresh_token") {
        const client = refreshing.get(form.refresh_token);
        refreshing.delete(form.refresh_token);
        refreshes += 1;
        return client === form.client_id
          ? issue(client)
          : refuse("invalid_grant", `no such refresh token: ${form.refresh_token}`);
      }
      const asked = codes.get(form.code);
      codes.delete(form.code);
      const challenge = createHash("sha256")
        .update(form.code_verifier ?? "")
        .digest("base64url");
      const isGood =
        asked?.client_id === form.client_id &&
        asked.redirect_uri === form.redirect_uri &&
        asked.code_challenge === challenge;
      return isGood ? issue(form.client_id) : refuse("invalid_grant", "no such code");
    }
    // All tokens, as an administrator would.
    case "/revoke":
      access.clear();
      refreshing.clear();
      return json(200, {});
    case "/refreshes":
      return json(200, refreshes);
    case "/mcp": {
      const token = request.headers.authorization?.replace(/^Bearer /, "");
      if (!((access.get(token) ?? 0) > Date.now())) {
        const how = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`;
        return json(401, { error: "invalid_token" }, { "www-authenticate": how });
      }
      if (request.method !== "POST") {
        return json(405, {});
      }
      const { id, method, params } = JSON.parse(await read(request));
      if (id === undefined) {
        response.writeHead(202);
        return response.end();
      }
      const result = {
        initialize: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "oauth", version: "1" },
        },
        "tools/list": { tools: ["whoami", "leak"].map((name) => ({ name, inputSchema: { type: "object" } })) },
        "tools/call": { content: [{ type: "text", text: params?.name === "leak" ? `you sent ${token}` : "ann" }] },
        ping: {},
      }[method];
      return result
        ? json(200, { jsonrpc: "2.0", id, result })
        : json(200, { jsonrpc: "2.0", id, error: { code: -32601, message: `no ${method}` } });
    }
    default:
      return json(404, {});
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
