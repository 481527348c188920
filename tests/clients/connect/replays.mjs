// Replays the registration, authorization and refresh requests of published assistants exactly as they send them. Also tests
// the consent in a real browser for apps whose callback redirects twice.
//
//     node replays.mjs <binary>
import { createHash, randomBytes } from "node:crypto";
import { Service, browser, expect, inTime, inWindow, listen } from "./service.mjs";

const [binary] = process.argv.slice(2);

/**
 * The requests of each assistant. `registration` is the body of its registration. `callback` is the address that it names in its
 * authorization request; `{port}` is a free port. `authorization` and `refresh` are parameters besides the usual ones.
 */
const ASSISTANTS = [
  {
    name: "Claude Code",
    registration: {
      client_name: "Claude Code (vestibule)",
      redirect_uris: ["http://localhost:{port}/callback"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    callback: "http://localhost:{port}/callback",
    authorization: {},
    refresh: {},
    agent: "claude-code/2.0.0",
  },
  {
    name: "Claude on the web",
    registration: {
      client_name: "Claude",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: "claudeai view_guides",
      token_endpoint_auth_method: "client_secret_post",
    },
    callback: "https://claude.ai/api/mcp/auth_callback",
    authorization: { scope: "claudeai view_guides" },
    refresh: { scope: "claudeai view_guides" },
    agent: "python-httpx/0.28.1",
  },
  {
    name: "Cursor",
    registration: {
      client_name: "Cursor",
      redirect_uris: ["cursor://anysphere.cursor-mcp/oauth/callback"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    },
    callback: "cursor://anysphere.cursor-mcp/oauth/callback",
    authorization: { scope: "openid profile email offline_access" },
    refresh: {},
    agent: "node",
  },
  {
    name: "Visual Studio Code",
    registration: {
      client_name: "Visual Studio Code",
      client_uri: "https://code.visualstudio.com",
      redirect_uris: ["https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect", "http://127.0.0.1/", "http://127.0.0.1:33418/"],
      grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    },
    callback: "http://127.0.0.1:{port}/",
    authorization: { scope: "view_guides  view_properties offline_access", prompt: "consent" },
    refresh: { scope: "view_guides view_properties offline_access" },
    agent: "Visual Studio Code/1.105.0",
  },
  {
    name: "MCP Inspector",
    registration: {
      client_name: "MCP Inspector",
      client_uri: "https://github.com/modelcontextprotocol/inspector",
      redirect_uris: ["http://localhost:6274/oauth/callback"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: "",
      token_endpoint_auth_method: "none",
    },
    callback: "http://localhost:6274/oauth/callback",
    authorization: { prompt: "consent" },
    refresh: {},
    agent: "Mozilla/5.0",
    origin: "http://localhost:6274",
  },
];

/** Fills a free port into every text of a value. */
const filled = (value, port) => JSON.parse(JSON.stringify(value).replaceAll("{port}", String(port)));

const form = (service, where, fields, assistant) =>
  fetch(`${service.base}${where}`, {
    method: "POST",
    headers: { accept: "application/json", "user-agent": assistant.agent, ...(assistant.origin && { origin: assistant.origin }) },
    body: new URLSearchParams(fields),
  });

/** Presses *Allow* and returns the address that the browser requests next, even if no server answers there. */
const allow = async (page, asked) => {
  await page.goto(asked.href);
  const signIn = page.getByRole("button", { name: "Sign in" });
  const yes = page.getByRole("button", { name: "Allow", exact: true });
  await signIn.or(yes).first().waitFor();
  if (await signIn.isVisible()) await signIn.click();
  await yes.waitFor();
  const answered = page.waitForResponse((response) => new URL(response.url()).pathname === "/oauth/consent");
  await yes.click({ noWaitAfter: true });
  const { location } = (await answered).headers();
  expect(location, "the browser is sent back");
  return new URL(location);
};

/** Registers an assistant, connects it, refreshes its token and calls the tools with the new token. */
const replay = async (service, page, assistant, port) => {
  const { registration, callback } = filled({ registration: assistant.registration, callback: assistant.callback }, port);
  const registered = await fetch(`${service.base}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", "user-agent": assistant.agent },
    body: JSON.stringify(registration),
  });
  const client = await registered.json();
  expect(registered.status === 201 && client.client_id, `${assistant.name} registers`, client);

  const verifier = randomBytes(32).toString("base64url");
  const asked = new URL(`${service.base}/oauth/authorize`);
  const state = randomBytes(24).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const sent = { response_type: "code", client_id: client.client_id, redirect_uri: callback, code_challenge: challenge, code_challenge_method: "S256", state, resource: `${service.base}/mcp`, ...assistant.authorization };
  for (const [name, value] of Object.entries(sent)) asked.searchParams.set(name, value);
  const back = await allow(page, asked);
  expect(back.href.startsWith(callback), `${assistant.name} gets its own address`, back.href);
  expect(back.searchParams.get("state") === state && back.searchParams.get("code"), `${assistant.name} gets a code`, back.href);

  const own = { client_id: client.client_id, ...(client.client_secret && { client_secret: client.client_secret }) };
  const exchange = { grant_type: "authorization_code", code: back.searchParams.get("code"), redirect_uri: callback, code_verifier: verifier, resource: `${service.base}/mcp`, ...own };
  const exchanged = await form(service, "/oauth/token", exchange, assistant);
  const tokens = await exchanged.json();
  expect(exchanged.status === 200 && tokens.refresh_token, `${assistant.name} exchanges the code`, tokens);
  const renewal = { grant_type: "refresh_token", refresh_token: tokens.refresh_token, resource: `${service.base}/mcp`, ...assistant.refresh, ...own };
  const renewed = await form(service, "/oauth/token", renewal, assistant);
  const fresh = await renewed.json();
  expect(renewed.status === 200 && fresh.access_token !== tokens.access_token, `${assistant.name} renews its tokens`, fresh);
  const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: assistant.name, version: "1" } } };
  const answer = await fetch(`${service.base}/mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${fresh.access_token}`, "content-type": "application/json", accept: "application/json, text/event-stream", "user-agent": assistant.agent },
    body: JSON.stringify(initialize),
  });
  expect(answer.status === 200, `${assistant.name} is let in`, answer.status);
  console.log(`passed    the requests of ${assistant.name}`);
};

/** An app whose callback redirects to another origin, which redirects to a third one. */
const leadsOnTwice = async (service, page) => {
  let arrived;
  const done = new Promise((resolve) => {
    arrived = resolve;
  });
  const last = await listen((request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>App</title>Back in the app.");
    if (request.url.startsWith("/done")) arrived(new URL(request.url, "http://x"));
  });
  const middle = await listen((request, response) => {
    response.writeHead(302, { location: `${last.base}/done${new URL(request.url, "http://x").search}` }).end();
  });
  const first = await listen((request, response) => {
    response.writeHead(302, { location: `${middle.base.replace("127.0.0.1", "localhost")}/next${new URL(request.url, "http://x").search}` }).end();
  });
  const callback = `${first.base}/callback`;
  const registered = await fetch(`${service.base}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Leads on", redirect_uris: [callback], token_endpoint_auth_method: "none" }),
  });
  const { client_id } = await registered.json();
  const asked = new URL(`${service.base}/oauth/authorize`);
  const challenge = createHash("sha256").update(randomBytes(32).toString("base64url")).digest("base64url");
  const sent = { response_type: "code", client_id, redirect_uri: callback, code_challenge: challenge, code_challenge_method: "S256", state: "s", resource: `${service.base}/mcp` };
  for (const [name, value] of Object.entries(sent)) asked.searchParams.set(name, value);
  await page.goto(asked.href);
  const signIn = page.getByRole("button", { name: "Sign in" });
  const yes = page.getByRole("button", { name: "Allow", exact: true });
  await signIn.or(yes).first().waitFor();
  if (await signIn.isVisible()) await signIn.click();
  await yes.click();
  const end = await inTime(done, "the way over two hops");
  expect(end.searchParams.get("code") && end.searchParams.get("state") === "s", "the code arrives after two hops", end.href);
  await page.getByText("Back in the app.").waitFor();
  for (const { server } of [first, middle, last]) server.close();
  console.log("passed    an app whose callback leads on twice");
};

const service = await Service.start(binary, (service) => ["--sign-in-url", `${service.platformSite.base}/enter`]);
// The addresses of the assistants do not resolve here, so no request leaves this machine.
const chrome = await browser(["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]);
try {
  [service.member] = await service.organization("Casa", { name: "Ada", email: "ada@example.com" });
  let port = 49_200;
  for (const assistant of ASSISTANTS) {
    port += 1;
    await inWindow(chrome, (page) => replay(service, page, assistant, port));
  }
  await inWindow(chrome, (page) => leadsOnTwice(service, page));
} catch (error) {
  console.error(error.message, error.stack, service.log);
  process.exitCode = 1;
} finally {
  await chrome.close();
  await service.stop();
}
process.exit();
