// Connects assistants with the published SDKs, and a member in a real browser: discovery from the address of the tools,
// consent, a call, a refresh and the revocation.
//
//     node assistants.mjs <binary> <python with the package mcp>
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import https from "node:https";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Service, browser, expect, inTime, inWindow, listen } from "./service.mjs";

const [binary, python] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));

/** Opens the authorization request of an app as a member, signs in if necessary, and approves the request. */
const approve = async (page, address) => {
  await page.goto(address);
  const signIn = page.getByRole("button", { name: "Sign in" });
  const yes = page.getByRole("button", { name: "Allow", exact: true });
  await signIn.or(yes).first().waitFor();
  if (await signIn.isVisible()) await signIn.click();
  await yes.waitFor();
  const text = await page.innerText("main");
  expect(text.includes("Casa") && text.includes("ada@example.com"), "the page says for whom", text);
  await yes.click();
  await page.getByText("Back in the app.").waitFor();
};

/** An app on the member's machine. It stores its credentials and has a local server for the redirect. */
class App {
  asked = [];
  refreshed = 0;

  static async start(metadata, clientMetadataUrl) {
    const app = new App();
    const { server, base } = await listen((request, response) => {
      const sent = new URL(request.url, base).searchParams;
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>App</title>Back in the app.");
      if (request.url.startsWith("/callback")) app.came?.(sent);
    });
    Object.assign(app, { server, redirectUrl: `${base}/callback`, clientMetadataUrl });
    app.clientMetadata = { client_name: "Notes", redirect_uris: [app.redirectUrl], grant_types: ["authorization_code", "refresh_token"], ...metadata };
    return app;
  }

  state() {
    return (this.ownState = randomBytes(900).toString("base64"));
  }
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.held;
  }
  saveTokens(tokens) {
    this.refreshed += this.held ? 1 : 0;
    this.held = tokens;
  }
  redirectToAuthorization(url) {
    this.asked.push(url);
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  invalidateCredentials(scope) {
    if (scope === "all" || scope === "tokens") this.held = undefined;
    if (scope === "all" || scope === "client") this.client = undefined;
  }

  transport(address) {
    return new StreamableHTTPClientTransport(new URL(address), { authProvider: this });
  }

  /** Lets the member consent, and exchanges the code. */
  async authorize(page, address, issuer) {
    const back = new Promise((resolve) => {
      this.came = resolve;
    });
    await approve(page, this.asked.at(-1).href);
    const sent = await inTime(back, "the way back to the app");
    expect(sent.get("state") === this.ownState && sent.get("iss") === issuer, "state and issuer come back", [...sent]);
    await this.transport(address).finishAuth(sent.get("code"));
  }

  async connect(page, address, issuer) {
    const [first, before] = [new Client({ name: "notes", version: "1" }), this.asked.length];
    const refused = await first.connect(this.transport(address)).then(() => undefined, (error) => error);
    expect(refused instanceof UnauthorizedError && this.asked.length === before + 1, "nobody is let in unasked", String(refused));
    await this.authorize(page, address, issuer);
    const client = new Client({ name: "notes", version: "1" });
    await client.connect(this.transport(address));
    return client;
  }
}

const post = (service, where, form) => fetch(`${service.base}${where}`, { method: "POST", body: new URLSearchParams(form) });

const search = async (client) => {
  const found = await client.callTool({ name: "search", arguments: { query: "casa" } });
  expect(!found.isError && Array.isArray(found.structuredContent?.data), "a tool answers", found);
};

/** Tests a connection with the TypeScript SDK, from the first consent to the revocation. */
const inTypeScript = async (service, page, name, app) => {
  const address = `${service.base}/mcp`;
  const client = await app.connect(page, address, service.base);
  const { tools } = await client.listTools();
  expect(tools.some((tool) => tool.name === "search"), "tools are listed", tools.map((tool) => tool.name));
  await search(client);

  const authenticate = app.client.client_secret ? { client_id: app.client.client_id, client_secret: app.client.client_secret } : { client_id: app.client.client_id };
  const [old, asked] = [app.held, app.asked.length];
  const revoked = await post(service, "/oauth/revoke", { ...authenticate, token: old.access_token, token_type_hint: "access_token" });
  expect(revoked.status === 200, "an access token is revoked", revoked.status);
  await search(client);
  expect(app.refreshed === 1 && app.held.access_token !== old.access_token && app.held.refresh_token !== old.refresh_token, "it has its tokens renewed by itself");
  expect(app.asked.length === asked, "nobody is asked for that");

  await post(service, "/oauth/revoke", { ...authenticate, token: app.held.refresh_token });
  const refused = await search(client).then(() => undefined, (error) => error);
  expect(refused instanceof UnauthorizedError && app.asked.length === asked + 1, "what is revoked is over, and it starts anew", String(refused));
  await app.authorize(page, address, service.base);
  await search(client);

  const connection = `/api/v1/connections/${encodeURIComponent(app.client.client_id)}/${service.member.id}`;
  const ended = await fetch(`${service.base}${connection}`, { method: "DELETE", headers: { authorization: `Bearer ${service.key}` } });
  expect(ended.ok, "the connection is ended", ended.status);
  const again = await search(client).then(() => undefined, (error) => error);
  expect(again instanceof UnauthorizedError && app.asked.length === asked + 2, "who ends a connection ends it", String(again));
  app.server.close();
  console.log(`passed    the SDK in TypeScript, ${name}`);
};

/** Tests a connection with the Python SDK. It runs as a process and prints the addresses that the browser must open. */
const inPython = async (service, page, name, ...more) => {
  const member = [service.member.id, service.key];
  const child = spawn(python, [path.join(here, "assistant.py"), `${service.base}/mcp`, ...member, ...more], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (bytes) => {
    said += bytes;
  });
  const exit = once(child, "exit");
  try {
    for await (const line of readline.createInterface({ input: child.stdout })) {
      if (line.startsWith("open ")) await approve(page, line.slice("open ".length));
    }
    const [code] = await inTime(exit, "the client's end");
    expect(code === 0, `the SDK in Python\n${said}`, code);
  } catch (error) {
    child.kill();
    error.message += `\n${said}`;
    throw error;
  }
  console.log(`passed    the SDK in Python, ${name}`);
};

/** Starts an HTTPS site for the metadata documents of clients. */
const describe = async (directory) => {
  const [key, certificate] = [path.join(directory, "key.pem"), path.join(directory, "certificate.pem")];
  const about = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"];
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", ...about, "-keyout", key, "-out", certificate], { stdio: "ignore" });
  const site = { documents: new Map(), certificate };
  site.server = https.createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (request, response) => {
    const document = site.documents.get(request.url);
    response.writeHead(document ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(document ?? {}));
  });
  site.server.listen(0, "127.0.0.1");
  await once(site.server, "listening");
  site.base = `https://127.0.0.1:${site.server.address().port}`;
  return site;
};

let site;
const service = await Service.start(binary, async (service) => {
  site = await describe(service.directory);
  return ["--webhook-allow", "127.0.0.0/8", "--webhook-ca-file", site.certificate, "--sign-in-url", `${service.platformSite.base}/enter`];
});
const chrome = await browser();
try {
  [service.member] = await service.organization("Casa", { name: "Ada", email: "ada@example.com" });
  service.key = await service.apiKey(service.member.organization);
  for (const [name, method] of [["registered, without a secret", "none"], ["registered, with a secret in the body", "client_secret_post"], ["registered, with a secret in the header", "client_secret_basic"]]) {
    await inWindow(chrome, async (page) => inTypeScript(service, page, name, await App.start({ token_endpoint_auth_method: method })));
  }
  const described = await App.start({ token_endpoint_auth_method: "none" }, `${site.base}/typescript.json`);
  site.documents.set("/typescript.json", { client_id: described.clientMetadataUrl, ...described.clientMetadata });
  await inWindow(chrome, (page) => inTypeScript(service, page, "described by a document", described));

  await inWindow(chrome, (page) => inPython(service, page, "registered"));
  const document = `${site.base}/python.json`;
  site.documents.set("/python.json", { client_id: document, client_name: "Notes in Python", redirect_uris: ["http://127.0.0.1/callback"], token_endpoint_auth_method: "none" });
  await inWindow(chrome, (page) => inPython(service, page, "described by a document", document));
  expect(service.letIn === 6, "each browser signed in once", service.letIn);
} catch (error) {
  console.error(error.message, error.stack, service.log);
  process.exitCode = 1;
} finally {
  await chrome.close();
  site?.server.close();
  await service.stop();
}
process.exit();
