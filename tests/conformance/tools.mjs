// Runs the official conformance suite of the Model Context Protocol against `vestibule demo`.
//
// The suite sends no credential, so a relay adds one. The script runs only scenarios that need no special server; LEFT_OUT has
// the reason for each of the others.
import { spawn, spawnSync } from "node:child_process";
import http from "node:http";
import { once } from "node:events";
import readline from "node:readline";

const SCENARIOS = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"];

const FIXTURE = "calls a tool, or asks for an argument, of the suite's own example server";
const NOT_DECLARED = "a capability that is not declared: the method is not found, as the protocol asks";
const LEFT_OUT = {
  "tools-call-simple-text": FIXTURE, "tools-call-image": FIXTURE, "tools-call-audio": FIXTURE, "tools-call-embedded-resource": FIXTURE,
  "tools-call-mixed-content": FIXTURE, "tools-call-with-logging": FIXTURE, "tools-call-error": FIXTURE, "tools-call-with-progress": FIXTURE,
  "tools-call-sampling": FIXTURE, "tools-call-elicitation": FIXTURE, "json-schema-2020-12": FIXTURE, "elicitation-sep1034-defaults": FIXTURE,
  "elicitation-sep1330-enums": FIXTURE, "server-sse-polling": FIXTURE,
  "server-sse-multiple-streams": "wants a session, and this server has none: every answer is JSON, and any node gives it",
  "logging-set-level": NOT_DECLARED, "completion-complete": NOT_DECLARED, "resources-list": NOT_DECLARED, "resources-read-text": NOT_DECLARED,
  "resources-read-binary": NOT_DECLARED, "resources-templates-read": NOT_DECLARED, "resources-subscribe": NOT_DECLARED,
  "resources-unsubscribe": NOT_DECLARED, "prompts-list": NOT_DECLARED, "prompts-get-simple": NOT_DECLARED, "prompts-get-with-args": NOT_DECLARED,
  "prompts-get-embedded-resource": NOT_DECLARED, "prompts-get-with-image": NOT_DECLARED,
};

/** Scenarios of protocol revision 2026-07-28, which only the newest suite has. */
const NEWEST = ["server-stateless", "caching", "http-header-validation", "tools-list"];

/** Checks of these scenarios that do not apply here, with the reason. Any other failed check fails the run. */
const NOT_APPLICABLE = {
  "sep-2575-server-rejects-undeclared-capability": FIXTURE, "sep-2575-missing-capability-http-400": FIXTURE,
  "sep-2575-http-server-no-independent-requests-on-stream": FIXTURE, "sep-2575-server-no-log-without-loglevel": FIXTURE,
  "sep-2549-prompts-list-caching-hints": NOT_DECLARED, "sep-2549-resources-list-caching-hints": NOT_DECLARED,
  "sep-2549-resources-templates-list-caching-hints": NOT_DECLARED,
};

/** Returns the ids of the failed checks in the output of a scenario. */
const failures = (output) => [...output.replace(/\u001b\[\d+m/g, "").matchAll(/^\S+Z \[(\S+)\s*\]\s+FAILURE/gm)].map((found) => found[1]);

const [binary, suite, newest] = process.argv.slice(2);
let target, token;

/** Forwards requests with all headers and adds the token. */
const relay = http.createServer((incoming, outgoing) => {
  const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
  const onward = http.request(new URL(incoming.url, target), { method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  incoming.pipe(onward);
});
relay.listen(0, "127.0.0.1");
await once(relay, "listening");
const url = `http://localhost:${relay.address().port}`;

const env = { ...process.env, VESTIBULE_LOG: "warn" };
const demo = spawn(binary, ["demo", "--listen", "127.0.0.1:0", "--public-url", url], { env, stdio: ["ignore", "pipe", "inherit"] });
for await (const line of readline.createInterface({ input: demo.stdout })) {
  target ??= line.match(/listening on (http:\S+)/)?.[1];
  token ??= line.match(/API key\s+(sk_\S+)/)?.[1];
  if (target && token) break;
}

const run = (program, ...args) => new Promise((done) => {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => { output += text; });
  child.on("close", (code) => done({ code, output }));
});

let failed = 0;
const { stdout } = spawnSync(process.execPath, [suite, "list"], { encoding: "utf8" });
const known = [...stdout.split("Client scenarios")[0].matchAll(/^ {2}- (\S+)/gm)].map((found) => found[1]);
for (const scenario of known.filter((name) => !SCENARIOS.includes(name) && !(name in LEFT_OUT))) {
  console.log(`NEW       ${scenario}: neither run nor left out for a reason`);
  failed += 1;
}
const scenarios = [...SCENARIOS.map((name) => [suite, name]), ...NEWEST.map((name) => [newest, name, "--spec-version", "2026-07-28"])];
for (const [program, scenario, ...more] of scenarios) {
  const { code, output } = await run(program, "server", "--url", `${url}/mcp`, "--scenario", scenario, ...more);
  const names = program === newest ? failures(output) : [];
  const isPassed = code === 0 || (names.length > 0 && names.every((name) => name in NOT_APPLICABLE));
  console.log(`${isPassed ? "passed   " : "FAILED   "} ${scenario}${program === newest ? " (2026-07-28)" : ""}`);
  for (const name of names) console.log(`  left out  ${name}: ${NOT_APPLICABLE[name] ?? "not expected"}`);
  if (!isPassed) {
    console.log(output);
    failed += 1;
  }
}
for (const [scenario, reason] of Object.entries(LEFT_OUT)) console.log(`left out  ${scenario}: ${reason}`);
demo.kill();
relay.close();
relay.closeAllConnections();
process.exitCode = failed === 0 ? 0 : 1;
