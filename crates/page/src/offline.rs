//! Makes the guest's page available offline. A service worker stores copies of the page, and a web
//! manifest lets a phone put the page on its home screen.
//!
//! # The service worker
//!
//! `worker.js` sends each request to the server first. If the request fails or takes longer than
//! six seconds, the worker answers with its copy of the page. The worker stores copies of the page,
//! the manuals that the guest opened, the manifest, and the images on the page. It never stores
//! steps, forms or sent messages. The script contains the time at which the stay ends. At that time
//! the worker deletes all copies. It also deletes them as soon as the server answers a request for
//! the page with 403, 404 or 410.
//!
//! The worker relies on these properties of the page:
//! - The page registers the worker for the page's address and all addresses below it:
//!   `navigator.serviceWorker.register(page + "/worker.js", { scope: page })`. The address of the
//!   page itself is above the address of the worker. So the response with the worker has the header
//!   `Service-Worker-Allowed: <page>`.
//! - `<template data-offline>…</template>` contains the notice that says how old the page is. A
//!   browser does not show a template. In its copy, the worker removes the tags around the notice.
//!   So the offline page shows the notice without a script.
//! - Images are `<img … src="…">` with an absolute address, or an address that begins with a slash.
//! - The content security policy of the worker's response allows the worker to fetch the page's
//!   images (`connect-src`). The policy of the page has `worker-src 'self'` and `manifest-src
//!   'self'`.
//! - A preview registers no worker.

use features::guest::BrandingView;
use jiff::Timestamp;
use serde_json::json;

use super::{icons, theme};
use engine::language::is_right_to_left;

/// The source of the service worker. Its placeholders are the path of the page and the time at
/// which the worker deletes its stored copies of the stay's pages and images.
const WORKER: &str = include_str!("worker.js");

/// Returns the service worker of the page at `page_path`. At `forget_at` the worker deletes all
/// stored copies of the stay's pages and images.
#[must_use]
pub fn worker(page_path: &str, forget_at: Timestamp) -> String {
    let lines = WORKER
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"));
    let script = lines.collect::<Vec<_>>().join("\n");
    // A JSON string is also a valid JavaScript string literal.
    script
        .replacen("__PAGE__", &json!(page_path).to_string(), 1)
        .replacen("__UNTIL__", &forget_at.as_millisecond().to_string(), 1)
}

/// Returns the web manifest of the page at `page_path`, in the colours of the portal's branding.
/// `name` is the name of the stay.
#[must_use]
pub fn manifest(
    name: &str,
    branding: Option<&BrandingView>,
    page_path: &str,
    language: &str,
) -> String {
    let (brand, text_colour) = theme::brand(branding);
    json!({
        "name": name,
        "short_name": name,
        "lang": language,
        "dir": if is_right_to_left(language) { "rtl" } else { "ltr" },
        "id": page_path,
        "start_url": page_path,
        "scope": page_path,
        "display": "standalone",
        "background_color": theme::ground(branding),
        "theme_color": brand,
        "icons": [
            {
                "src": icon(&brand, &text_colour),
                "sizes": "any",
                "type": "image/svg+xml",
                "purpose": "any",
            },
        ],
    })
    .to_string()
}

/// Returns a data URL with the page's icon: the drawing of a house on the brand's colour.
fn icon(brand: &str, text_colour: &str) -> String {
    let house = icons::drawing("house").unwrap_or_default();
    let svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 48 48'><rect width='48' height='48' \
            fill='{brand}'/><g transform='translate(12 12)' fill='none' stroke='{text_colour}' \
            stroke-width='2' stroke-linecap='round' stroke-linejoin='round'>{}</g></svg>",
        house.replace('"', "'")
    );
    let encoded = svg
        .replace('%', "%25")
        .replace('#', "%23")
        .replace('<', "%3C")
        .replace('>', "%3E")
        .replace(' ', "%20");
    format!("data:image/svg+xml,{encoded}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_service_worker_is_small_and_names_its_page() {
        let script = worker("/stay/abc", "2026-11-28T11:00:00Z".parse().unwrap());
        assert!(script.len() <= 3 << 10, "{} bytes", script.len());
        assert!(
            script.starts_with("const page = \"/stay/abc\", until = 1795863600000, name"),
            "{script}"
        );
        assert!(!script.contains("__"));
    }

    #[test]
    fn the_web_manifest_starts_at_the_page() {
        let manifest: Value =
            serde_json::from_str(&manifest("Casa \"Ana\"", None, "/stay/abc", "ar")).unwrap();
        assert_eq!(manifest["name"], "Casa \"Ana\"");
        assert_eq!(
            [&manifest["start_url"], &manifest["scope"]],
            ["/stay/abc"; 2]
        );
        assert_eq!(
            [
                &manifest["dir"],
                &manifest["theme_color"],
                &manifest["background_color"]
            ],
            ["rtl", "#2563eb", "#ffffff"]
        );
        let icon = manifest["icons"][0]["src"].as_str().unwrap();
        assert!(
            icon.starts_with("data:image/svg+xml,%3Csvg")
                && !icon.contains(['<', '>', '#', '"', ' ']),
            "{icon}"
        );
    }

    proptest! {
        #[test]
        fn any_path_is_quoted_in_the_service_worker(path in "\\PC{0,30}") {
            let script = worker(&path, Timestamp::UNIX_EPOCH);
            let text = script.strip_prefix("const page = ").unwrap();
            let read = serde_json::Deserializer::from_str(text)
                .into_iter::<String>()
                .next()
                .unwrap()
                .unwrap();
            prop_assert_eq!(read, path);
        }
    }
}
