// Runs a server, a simulated operations platform and a browser for these tests.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { chromium } from "playwright-core";

const PLATFORM_KEY = "connect";
/** Time limit of every wait, in milliseconds. */
export const WAIT_LIMIT = 20_000;

export const PERMISSIONS = ["view_properties", "view_guides", "view_reservations", "manage_organization"];

/** Throws an error that names the expectation if the condition is false. */
export const expect = (isSo, what, found) => {
  if (!isSo) throw new Error(`${what}${found === undefined ? "" : `: ${JSON.stringify(found)}`}`);
};

/** Awaits a promise, and throws an error after the time limit. */
export const inTime = (promise, what) => {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} takes too long`)), WAIT_LIMIT);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

/** Starts an HTTP server on loopback. */
export const listen = async (answer) => {
  const server = http.createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, base: `http://127.0.0.1:${server.address().port}` };
};

/** Signs a member in as the platform does: creates a sign-in link with the `return_to` address and redirects to it. */
const letIn = (service) => async (request, response) => {
  const returnTo = new URL(request.url, "http://x").searchParams.get("return_to");
  const { url } = await service.link(service.member, returnTo && { returnTo });
  service.letIn += 1;
  response.writeHead(303, { location: url }).end();
};

/** A `vestibule serve` process with its own database, and a platform site that signs members in. */
export class Service {
  letIn = 0;

  static async start(binary, flags = [], log = "warn") {
    const service = new Service();
    service.directory = mkdtempSync(path.join(os.tmpdir(), "vestibule-connect-"));
    service.platformSite = await listen((request, response) => letIn(service)(request, response));
    const own = ["--listen", "127.0.0.1:0", "--platform-key", PLATFORM_KEY, "--database-url", `sqlite:${service.directory}/connect.db`];
    const env = { ...process.env, VESTIBULE_LOG: log };
    const more = typeof flags === "function" ? await flags(service) : flags;
    service.process = spawn(binary, ["serve", ...own, ...more], { env, stdio: ["ignore", "pipe", "pipe"] });
    service.log = "";
    service.process.stderr.on("data", (bytes) => {
      service.log += bytes;
    });
    const [line] = await inTime(once(readline.createInterface({ input: service.process.stdout }), "line"), "the server's first line");
    service.base = line.replace("listening on ", "").trim();
    return service;
  }

  async platform(method, where, body) {
    const headers = { authorization: `Bearer ${PLATFORM_KEY}`, "content-type": "application/json" };
    const answer = await fetch(`${this.base}/platform/v1${where}`, { method, headers, body: body && JSON.stringify(body) });
    const said = await answer.json();
    expect(answer.ok, `${method} ${where}`, said);
    return said.data;
  }

  /** Creates an organization with members. */
  async organization(name, ...members) {
    const id = randomUUID();
    await this.platform("PUT", `/organizations/${id}`, { name });
    const put = { permissions: PERMISSIONS, propertyIds: null, isActive: true, isTwoFactorEnrolled: true };
    const made = [];
    for (const member of members) {
      const of = { organization: id, id: randomUUID() };
      await this.platform("PUT", `/organizations/${id}/members/${of.id}`, { ...put, ...member });
      made.push(of);
    }
    return made;
  }

  link(member, body = {}) {
    return this.platform("POST", `/organizations/${member.organization}/members/${member.id}/sign-in-links`, body ?? {});
  }

  async apiKey(organization) {
    return (await this.platform("POST", `/organizations/${organization}/api-keys`, { name: "connect", permissions: PERMISSIONS })).token;
  }

  async stop() {
    this.process.kill();
    this.platformSite.server.close();
    await inTime(once(this.process, "exit"), "the server's end").catch(() => this.process.kill("SIGKILL"));
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Starts Chromium in headless mode. */
export const browser = (flags = []) =>
  chromium.launch({ executablePath: process.env.VESTIBULE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", ...flags] });

/** Runs an action in a new window without cookies. Errors in the console of the page make it fail. */
export const inWindow = async (chrome, act) => {
  const context = await chrome.newContext({ locale: "en-US" });
  context.setDefaultTimeout(WAIT_LIMIT);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  try {
    const done = await act(page);
    const own = complaints.filter((text) => !text.startsWith("Failed to load resource"));
    expect(own.length === 0, "the browser complains", own);
    return done;
  } catch (error) {
    error.message += `\nat ${page.url()}\n${await page.innerText("body").catch(() => "")}\n${complaints.join("\n")}`;
    throw error;
  } finally {
    await context.close();
  }
};
