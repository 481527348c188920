// Runs the authorization-server scenarios of the official conformance suite of the Model Context Protocol against
// `vestibule demo`.
//
// The suite prints an address that a person has to open in a browser and approve. This script does so as a member: it signs in
// with the link that the demo prints and submits the forms.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import net from "node:net";
import readline from "node:readline";

const [binary, suite] = process.argv.slice(2);

/** Returns a free port. */
const freePort = async () => {
  const listener = net.createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address();
  listener.close();
  return port;
};

const env = { ...process.env, VESTIBULE_LOG: "warn" };
const demo = spawn(binary, ["demo", "--listen", "127.0.0.1:0"], { env, stdio: ["ignore", "pipe", "inherit"] });
const told = {};
for await (const line of readline.createInterface({ input: demo.stdout })) {
  const said = line.match(/^ {2}(base URL|platform key|sign-in link) +(\S+)/) ?? [];
  told[said[1]] = said[2];
  if (told["base URL"] && told["platform key"] && told["sign-in link"]) break;
}
const base = new URL(told["base URL"]).origin;

const cookies = new Map();
/** Sends a request with cookies like a browser, but does not follow redirects. */
const browse = async (address, form) => {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const body = form && new URLSearchParams(form);
  const answer = await fetch(new URL(address, base), { method: form ? "POST" : "GET", body, headers: { cookie }, redirect: "manual" });
  for (const set of answer.headers.getSetCookie()) {
    const [, name, value] = set.match(/^([^=]+)=([^;]*)/);
    cookies.set(name, value);
  }
  return answer;
};
/** Returns the address and the hidden fields of the form that contains `button`. */
const formOf = (html, button) => {
  const plain = (text) => text.replaceAll("&#38;", "&").replaceAll("&amp;", "&").replaceAll("&#34;", '"').replaceAll("&quot;", '"');
  const forms = [...html.matchAll(/<form[^>]* action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)];
  const form = forms.find(([, , inside]) => inside.includes(button));
  const fields = [...form[2].matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  return { action: plain(form[1]), fields: fields.map(([, name, value]) => [name, plain(value)]) };
};
const expect = (answer, status, what) => {
  if (answer.status !== status) throw new Error(`${what}: ${answer.status} in place of ${status}`);
  return answer;
};

const signIn = async () => {
  const { action, fields } = formOf(await expect(await browse(told["sign-in link"]), 200, "the sign-in link").text(), "<button");
  expect(await browse(action, fields), 303, "signing in");
};
const approve = async (address) => {
  const { action, fields } = formOf(await expect(await browse(address), 200, "the page that asks").text(), 'name="decision"');
  const back = expect(await browse(action, [...fields, ["decision", "approve"]]), 303, "approving");
  await fetch(back.headers.get("location"));
};

const [client, port] = [randomUUID(), await freePort()];
const app = { name: "Conformance suite", redirectUris: [`http://127.0.0.1:${port}/callback`] };
const headers = { authorization: `Bearer ${told["platform key"]}`, "content-type": "application/json" };
const put = await fetch(`${base}/platform/v1/oauth-apps/${client}`, { method: "PUT", headers, body: JSON.stringify(app) });
expect(put, 200, "the app");
await signIn();

const asked = ["authorization", "--url", base, "--client-id", client, "--port", String(port), "--resource", `${base}/mcp`];
const run = spawn(process.execPath, [suite, ...asked], { stdio: ["ignore", "pipe", "inherit"] });
const output = [];
for await (const line of readline.createInterface({ input: run.stdout })) {
  output.push(line);
  if (line.startsWith(`${base}/oauth/authorize?`)) await approve(line);
}
const summed = output.flatMap((line) => [...line.matchAll(/^(\S) ([a-z-]+): (\d+) passed, (\d+) failed/g)]);
for (const [, , scenario, , failed] of summed) console.log(`${failed === "0" ? "passed   " : "FAILED   "} ${scenario}`);
const isWell = summed.length >= 2 && summed.every(([, , , passed, failed]) => passed !== "0" && failed === "0");
if (!isWell) console.log(output.join("\n"));
demo.kill();
process.exitCode = isWell ? 0 : 1;
