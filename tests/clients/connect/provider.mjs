// Tests sign-in at a published OpenID provider, in a real browser.
//
//     node provider.mjs <binary>
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";
import { Service, browser, expect, inWindow, listen } from "./service.mjs";

const [binary] = process.argv.slice(2);
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** Accounts of the provider, by login name. */
const ACCOUNTS = {
  ada: { email: "ada@example.com", email_verified: true },
  shouting: { email: "ADA@EXAMPLE.COM", email_verified: true },
  doubtful: { email: "ada@example.com", email_verified: false },
  stranger: { email: "stranger@example.com", email_verified: true },
  nobody: {},
  both: { email: "both@example.com", email_verified: true },
};

/** Configurations of the provider: with the email address at the userinfo endpoint only, or in the ID token as well. */
const MANNERS = [
  { name: "RS256, the address at its userinfo endpoint, a secret in the header", algorithm: "RS256", method: "client_secret_basic", inToken: false },
  { name: "ES256, the address in the ID token, a secret in the body", algorithm: "ES256", method: "client_secret_post", inToken: true },
  { name: "EdDSA, the address at its userinfo endpoint, no secret", algorithm: "EdDSA", method: "none", inToken: false },
];

/** Starts a provider. Its port is chosen first, because both the service and the provider's configuration need the address. */
const provide = async (manner) => {
  const server = http.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const client = { client_id: "vestibule", id_token_signed_response_alg: manner.algorithm, token_endpoint_auth_method: manner.method };
  if (manner.method !== "none") client.client_secret = randomBytes(24).toString("base64");
  const serve = async (base) => {
    const { privateKey } = await generateKeyPair(manner.algorithm, { extractable: true, crv: manner.algorithm === "EdDSA" ? "Ed25519" : undefined });
    const key = { ...(await exportJWK(privateKey)), alg: manner.algorithm, use: "sig", kid: manner.algorithm };
    const provider = new Provider(issuer, {
      clients: [{ ...client, redirect_uris: [`${base}/sign-in/callback`], grant_types: ["authorization_code"], response_types: ["code"] }],
      claims: { openid: ["sub"], email: ["email", "email_verified"] },
      conformIdTokenClaims: !manner.inToken,
      cookies: { keys: [randomBytes(24).toString("hex")] },
      enabledJWA: { idTokenSigningAlgValues: [manner.algorithm, "RS256"].filter((one, place, all) => all.indexOf(one) === place) },
      findAccount: (_, id) => ACCOUNTS[id] && { accountId: id, claims: () => ({ sub: id, ...ACCOUNTS[id] }) },
      jwks: { keys: [key] },
      pkce: { required: () => true },
    });
    server.on("request", provider.callback());
  };
  const flags = ["--oidc-issuer", issuer, "--oidc-client-id", client.client_id];
  if (client.client_secret) flags.push("--oidc-client-secret", client.client_secret);
  return { server, issuer, serve, flags };
};

/** Goes to the provider and logs in. Returns the button that confirms the sign-in. */
const logInUpTo = async (page, account) => {
  await page.getByRole("link", { name: "Continue with your organization’s account" }).click();
  await page.locator("input[name=login]").fill(account);
  await page.locator("input[name=password]").fill("anything");
  await page.getByRole("button", { name: "Sign-in" }).click();
  return page.getByRole("button", { name: "Continue" });
};

/** Logs in at the provider and confirms the sign-in. */
const logIn = async (page, account) => (await logInUpTo(page, account)).click();

const heading = (page) => page.locator("main h1").innerText();

const comes = async (page, text) => {
  await page.getByRole("heading", { name: text, exact: true }).waitFor();
};

/** Logs in, but stops before the callback. Returns the address of the callback. */
const halted = async (page, service, account) => {
  await page.goto(`${service.base}/sign-in`);
  await (await logInUpTo(page, account)).waitFor();
  const [action, { request }] = [await page.locator("form").first().getAttribute("action"), page.context()];
  let answer = await request.post(action, { form: { prompt: "consent" }, maxRedirects: 0 });
  for (let redirects = 0; !answer.headers().location.startsWith(service.base); redirects++) {
    expect(redirects < 10, "the provider redirects to the service", answer.headers().location);
    answer = await request.get(answer.headers().location, { maxRedirects: 0 });
  }
  return answer.headers().location;
};

const scenes = {
  "a member comes in, whichever way their address is written": async (service, chrome) => {
    for (const account of ["ada", "shouting"]) {
      await inWindow(chrome, async (page) => {
        await page.goto(`${service.base}/sign-in?return_to=/sign-in`);
        await logIn(page, account);
        await comes(page, "You are signed in");
        const text = await page.innerText("main");
        expect(text.includes("Casa") && text.includes("ada@example.com"), "who is signed in", text);
        expect(!(await page.context().cookies()).some(({ name }) => name.startsWith("vestibule_provider")), "what was under way is over");
        await page.goto(`${service.base}/sign-out`);
        await page.getByRole("button", { name: "Sign out" }).click();
        await comes(page, "You are signed out");
      });
    }
  },
  "who is not to come in is told why": async (service, chrome) => {
    for (const [account, told] of [["doubtful", "Your email address is not confirmed"], ["stranger", "No account here"], ["nobody", "Your email address is not confirmed"]]) {
      await inWindow(chrome, async (page) => {
        await page.goto(`${service.base}/sign-in`);
        await logIn(page, account);
        await comes(page, told);
        await page.goto(`${service.base}/sign-in`);
        expect((await heading(page)) === "Sign in", `${account} is not signed in`, await heading(page));
      });
    }
    await inWindow(chrome, async (page) => {
      await page.goto(`${service.base}/sign-in`);
      await page.getByRole("link", { name: "Continue with your organization’s account" }).click();
      await page.getByRole("link", { name: "[ Cancel ]" }).click();
      await comes(page, "You were not signed in");
    });
  },
  "a member of two organizations chooses": async (service, chrome) => {
    for (const [chosen, other] of [["Casa", "Lloret"], ["Lloret", "Casa"]]) {
      await inWindow(chrome, async (page) => {
        await page.goto(`${service.base}/sign-in?return_to=/sign-in`);
        await logIn(page, "both");
        await comes(page, "Choose an organization");
        await page.getByRole("button", { name: chosen }).click();
        await comes(page, "You are signed in");
        const text = await page.innerText("main");
        expect(text.includes(chosen) && !text.includes(other), "the one that was chosen", text);
      });
    }
  },
  "an answer is good in the browser that asked, for what it asked, and once": (service, chrome) =>
    inWindow(chrome, async (page) => {
      const there = await halted(page, service, "ada");
      await inWindow(chrome, async (foreign) => {
        await foreign.goto(there);
        await comes(foreign, "Please start again");
        // The service refuses a code with the `state` of another sign-in.
        const own = new URL(await halted(foreign, service, "stranger"));
        own.searchParams.set("code", new URL(there).searchParams.get("code"));
        await foreign.goto(own.href);
        await comes(foreign, "You were not signed in");
      });
      const forged = new URL(there);
      forged.searchParams.set("state", randomBytes(32).toString("base64url"));
      await page.goto(forged.href);
      await comes(page, "Please start again");
      await page.goto(there);
      await comes(page, "Please start again");
      await page.goto(`${service.base}/sign-in`);
      expect((await heading(page)) === "Sign in", "nobody is signed in by all that", await heading(page));
    }),
  "who comes to let an app in comes back to that, however much the app has to say": async (service, chrome) => {
    const { server, base } = await listen((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>App</title>Back in the app."));
    const [app, state] = [randomUUID(), randomBytes(3_000).toString("base64")];
    await service.platform("PUT", `/oauth-apps/${app}`, { name: "Notes", redirectUris: [`${base}/callback`] });
    const asked = { response_type: "code", client_id: app, redirect_uri: `${base}/callback`, state, code_challenge: CHALLENGE, code_challenge_method: "S256" };
    for (const [account, choice, decision, name] of [["ada", undefined, "Allow", "code"], ["both", "Lloret", "Don’t allow", "error"]]) {
      await inWindow(chrome, async (page) => {
        await page.goto(`${service.base}/oauth/authorize?${new URLSearchParams(asked)}`);
        await logIn(page, account);
        if (choice) await page.getByRole("button", { name: choice }).click();
        await comes(page, "Connect Notes?");
        await page.getByRole("button", { name: decision, exact: true }).click();
        await page.getByText("Back in the app.").waitFor();
        const back = new URL(page.url()).searchParams;
        expect(back.has(name) && back.get("state") === state && back.get("iss") === service.base, "the app has its answer", [...back.keys()]);
      });
    }
    // The app's request is invalid, so the choice of an organization redirects to the app with an error.
    await inWindow(chrome, async (page) => {
      const registered = await fetch(`${service.base}/oauth/register`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ redirect_uris: [asked.redirect_uri], token_endpoint_auth_method: "none" }) });
      const { client_id } = await registered.json();
      await page.goto(`${service.base}/oauth/authorize?${new URLSearchParams({ ...asked, client_id, scope: "everything" })}`);
      await logIn(page, "both");
      await page.getByRole("button", { name: "Casa" }).click();
      await page.getByText("Back in the app.").waitFor();
      expect(new URL(page.url()).searchParams.get("error") === "invalid_scope", "the app is told what is wrong", page.url());
    });
    server.close();
  },
};

const chrome = await browser();
for (const manner of MANNERS) {
  const provider = await provide(manner);
  const service = await Service.start(binary, provider.flags, "info");
  try {
    await provider.serve(service.base);
    await service.organization("Casa", { name: "Ada", email: "ada@example.com" }, { name: "Both", email: "both@example.com" });
    await service.organization("Lloret", { name: "Both", email: "both@example.com" });
    for (const [name, scene] of Object.entries(scenes)) {
      await scene(service, chrome);
      console.log(`passed    ${manner.name}: ${name}`);
    }
  } catch (error) {
    console.error(error.message, error.stack, service.log);
    process.exitCode = 1;
  } finally {
    provider.server.close();
    await service.stop();
  }
}
await chrome.close();
process.exit();
