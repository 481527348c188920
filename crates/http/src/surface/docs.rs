//! The API reference page at `/docs`. The service serves every file that the page loads, and the
//! page may connect to no other host.

use std::sync::LazyLock;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use axum::routing::get;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::compressed::CompressedText;

/// The HTML page with the API reference. Its URLs are relative, so that the page works below the
/// path prefix of a proxy. The URLs contain the version, so that browsers fetch new scripts after
/// an upgrade.
const PAGE: &str = concat!(
    r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Vestibule API reference</title>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. It shows the documents of three interfaces: "#,
    r#"<a href="api/v1/openapi.json">public</a>, "#,
    r#"<a href="platform/v1/openapi.json">platform</a>, "#,
    r#"<a href="guest/v1/openapi.json">guest</a>.</noscript>
<script src="docs/scalar.js?v="#,
    env!("CARGO_PKG_VERSION"),
    r#""></script>
<script src="docs/start.js?v="#,
    env!("CARGO_PKG_VERSION"),
    r#""></script>
</body>
</html>
"#
);

/// The script that starts the API reference. It is a separate file, so that inline scripts can stay
/// forbidden. The options that are disabled here would make the page contact hosts of the script's
/// vendor.
const START: &str = r##"const at = (path) => new URL(path, document.baseURI).href;
Scalar.createApiReference("#app", {
  sources: [
    { title: "Public interface", slug: "public", url: at("api/v1/openapi.json"), default: true },
    { title: "Platform interface", slug: "platform", url: at("platform/v1/openapi.json") },
    { title: "Guest interface", slug: "guest", url: at("guest/v1/openapi.json") },
  ],
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  persistAuth: false,
});
"##;

/// The content security policy: nothing from other hosts. Inline styles are allowed, because the
/// script that shows the API reference creates them.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' \
    blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The cache policies: browsers revalidate the small page each time, and cache the scripts for a
/// day.
const REVALIDATE: &str = "no-cache";
const CACHE_FOR_A_DAY: &str = "public, max-age=86400";

/// The script that shows the API reference, compressed at build time.
static SCRIPT: LazyLock<CompressedText> = LazyLock::new(|| {
    CompressedText::gzipped(include_bytes!(concat!(env!("OUT_DIR"), "/scalar.js.gz")))
});

/// Returns the routes of the API reference page and of its scripts.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/docs", get(async || page()))
        .route(
            "/docs/start.js",
            get(async || text("text/javascript; charset=utf-8", CACHE_FOR_A_DAY, START)),
        )
        .route("/docs/scalar.js", get(script))
}

fn page() -> Response {
    let mut response = text("text/html; charset=utf-8", REVALIDATE, PAGE);
    let mut set = |name: HeaderName, value| {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value))
    };
    set(CONTENT_SECURITY_POLICY, POLICY);
    set(REFERRER_POLICY, "no-referrer");
    response
}

async fn script(headers: HeaderMap) -> Response {
    let (bytes, coding) = SCRIPT.for_client(&headers).await;
    let mut response = asset("text/javascript; charset=utf-8", CACHE_FOR_A_DAY, bytes);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

fn text(kind: &'static str, caching: &'static str, text: &'static str) -> Response {
    asset(kind, caching, Bytes::from_static(text.as_bytes()))
}

fn asset(kind: &'static str, caching: &'static str, bytes: Bytes) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let mut set = |name: HeaderName, value| {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value))
    };
    set(CONTENT_TYPE, kind);
    set(CACHE_CONTROL, caching);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    response
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use http::header::ACCEPT_ENCODING;

    use super::*;

    #[test]
    fn the_page_names_no_other_host() {
        for text in [PAGE, START, POLICY] {
            assert!(!text.contains("//"), "{text}");
        }
    }

    #[tokio::test]
    async fn the_script_is_served_plain_and_compressed() {
        let plain = script(HeaderMap::new()).await;
        assert_eq!(plain.status(), StatusCode::OK);
        assert!(!plain.headers().contains_key(CONTENT_ENCODING));
        let length = async |response: Response| {
            axum::body::to_bytes(response.into_body(), usize::MAX)
                .await
                .unwrap()
                .len()
        };
        let plain_length = length(plain).await;
        for coding in ["gzip", "br"] {
            let compressed = script(HeaderMap::from_iter([(
                ACCEPT_ENCODING,
                HeaderValue::from_static(coding),
            )]))
            .await;
            assert_eq!(compressed.headers()[CONTENT_ENCODING], coding);
            assert!(length(compressed).await < plain_length / 2);
        }
    }
}
