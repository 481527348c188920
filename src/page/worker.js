// What keeps the page of one stay for when there is no connection, and forgets it when the stay is over.
const page = __PAGE__, until = __UNTIL__, name = "stay:" + page;
const forget = () => Promise.all([caches.delete(name), registration.unregister()]);
const pathOf = (url) => new URL(url).pathname;

// A page is kept by its path, whatever its query asks for; of its own, only what holds no form of a step.
const isKept = (url) => url.origin === location.origin
  && (url.pathname === page || url.pathname.startsWith(page + "/manuals/") || url.pathname === page + "/manifest.webmanifest");

async function keep(response) {
  const cache = await caches.open(name), html = await response.clone().text(), path = pathOf(response.url);
  await cache.put(path, response);
  if (path !== page) return;
  // The pictures that the page shows, also those it has not loaded yet, and no others.
  const shown = new Set([...html.matchAll(/<img\s[^>]*?\bsrc="(https?:[^"]+|\/[^"]+)"/g)].slice(0, 60)
    .map(([, source]) => new URL(source.replace(/&amp;/g, "&"), location).href));
  for (const { url } of await cache.keys()) if (!isKept(new URL(url)) && !shown.delete(url)) await cache.delete(url);
  for (const url of shown) await fetch(url, { mode: "no-cors", referrerPolicy: "no-referrer" })
    .then((picture) => (picture.ok || picture.type === "opaque") && cache.put(url, picture)).catch(() => {});
}

// What was kept, with the notice of its age that the page brought along.
async function kept(path) {
  const cache = await caches.open(name), found = await cache.match(path) || await cache.match(page);
  if (!found) return;
  const headers = new Headers(found.headers);
  headers.delete("content-encoding");
  headers.delete("content-length");
  const text = await found.text();
  return new Response(text.replace(/<template data-offline>([^]*?)<\/template>/, "$1"), { headers });
}

async function answer(event, path) {
  const late = new Promise((done) => setTimeout(done, 6000)).then(() => kept(path));
  const live = fetch(event.request).then((response) => {
    if ([403, 404, 410].includes(response.status))
      event.waitUntil(path === page ? forget() : caches.open(name).then((cache) => cache.delete(path)));
    else if (response.status === 200 && !response.redirected) event.waitUntil(keep(response.clone()));
    else if (response.status > 501 && response.status < 505) return kept(path).then((copy) => copy || response);
    return response;
  });
  const soon = await Promise.race([live.catch(() => kept(path)), late]);
  return soon || live;
}

addEventListener("install", (event) => event.waitUntil((async () => {
  skipWaiting();
  const open = await clients.matchAll({ includeUncontrolled: true, type: "window" });
  const client = open.find(({ url }) => pathOf(url) === page);
  const response = await fetch(client ? client.url : page);
  if (response.status === 200) await keep(response);
})()));

addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const { request } = event, url = new URL(request.url);
  if (Date.now() > until) return event.waitUntil(forget());
  if (request.method !== "GET") return;
  if (isKept(url)) event.respondWith(answer(event, url.pathname));
  else if (request.destination === "image")
    event.respondWith(fetch(request).catch(async (error) => {
      const copy = await (await caches.open(name)).match(url.href);
      if (copy) return copy;
      throw error;
    }));
});
