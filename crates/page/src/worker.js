// The service worker of one stay's page. It answers from its cache while there is no connection, and deletes the cache when the
// stay is over.
const page = __PAGE__, until = __UNTIL__, name = "stay:" + page;
const forget = () => Promise.all([caches.delete(name), registration.unregister()]);
const pathOf = (url) => new URL(url).pathname;

// Returns whether the worker caches a page of the stay: the entry page, manuals and the manifest, without regard to the query.
// Pages with a form of a step are not cached.
const isCached = (url) => url.origin === location.origin
  && (url.pathname === page || url.pathname.startsWith(page + "/manuals/") || url.pathname === page + "/manifest.webmanifest");

async function store(response) {
  const cache = await caches.open(name), html = await response.clone().text(), path = pathOf(response.url);
  await cache.put(path, response);
  if (path !== page) return;
  // Caches the pictures of the page, including those that are not loaded yet, and deletes all others.
  const sources = new Set([...html.matchAll(/<img\s[^>]*?\bsrc="(https?:[^"]+|\/[^"]+)"/g)].slice(0, 60)
    .map(([, source]) => new URL(source.replace(/&amp;/g, "&"), location).href));
  for (const { url } of await cache.keys()) if (!isCached(new URL(url)) && !sources.delete(url)) await cache.delete(url);
  for (const url of sources) await fetch(url, { mode: "no-cors", referrerPolicy: "no-referrer" })
    .then((picture) => (picture.ok || picture.type === "opaque") && cache.put(url, picture)).catch(() => {});
}

// Returns the cached page, in which the notice of its age is made visible.
async function cached(path) {
  const cache = await caches.open(name), copy = await cache.match(path) || await cache.match(page);
  if (!copy) return;
  const headers = new Headers(copy.headers);
  headers.delete("content-encoding");
  headers.delete("content-length");
  const text = await copy.text();
  return new Response(text.replace(/<template data-offline>([^]*?)<\/template>/, "$1"), { headers });
}

async function respond(event, path) {
  const late = new Promise((done) => setTimeout(done, 6000)).then(() => cached(path));
  const live = fetch(event.request).then((response) => {
    if ([403, 404, 410].includes(response.status))
      event.waitUntil(path === page ? forget() : caches.open(name).then((cache) => cache.delete(path)));
    else if (response.status === 200 && !response.redirected) event.waitUntil(store(response.clone()));
    else if (response.status > 501 && response.status < 505) return cached(path).then((copy) => copy || response);
    return response;
  });
  const soon = await Promise.race([live.catch(() => cached(path)), late]);
  return soon || live;
}

addEventListener("install", (event) => event.waitUntil((async () => {
  skipWaiting();
  const open = await clients.matchAll({ includeUncontrolled: true, type: "window" });
  const client = open.find(({ url }) => pathOf(url) === page);
  const response = await fetch(client ? client.url : page);
  if (response.status === 200) await store(response);
})()));

addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const { request } = event, url = new URL(request.url);
  if (Date.now() > until) return event.waitUntil(forget());
  if (request.method !== "GET") return;
  if (isCached(url)) event.respondWith(respond(event, url.pathname));
  else if (request.destination === "image")
    event.respondWith(fetch(request).catch(async (error) => {
      const copy = await (await caches.open(name)).match(url.href);
      if (copy) return copy;
      throw error;
    }));
});
