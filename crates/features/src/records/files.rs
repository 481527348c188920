//! The route `/files/…` for photos of reviews. A signed address redirects to the URL of the photo's
//! bytes. `photos.rs` signs and verifies the addresses.
//!
//! The signature is the credential. Every invalid address (tampered with, expired, of a deleted
//! photo) gets the same 404, so that a caller cannot find out which photos exist.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request as HttpRequest, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use engine::error::{Error, Result};
use engine::format;
use engine::pipeline::Service;
use http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY};
use http::{HeaderValue, StatusCode};
use url::Url;
use uuid::Uuid;
use vestibule_http::surface::{RequestId, ServedOperation, refuse_as};

use super::{FilesUrl, PhotoAddress, PhotoSigner};

/// The name of a request for a review photo in the log and in metrics.
const OPERATION: &str = "getReviewPhoto";

/// Returns the route that redirects a signed address to a review photo.
pub(super) fn routes(service: &Arc<Service>) -> Router {
    Router::new()
        .route("/files/{organizationId}/{reviewId}/{position}", get(photo))
        .with_state(service.clone())
}

/// The parameters of the path, or an error if they are not UTF-8.
type RecordFilePath = Result<Path<(String, String, String)>, PathRejection>;

async fn photo(
    State(service): State<Arc<Service>>,
    path: RecordFilePath,
    request: HttpRequest,
) -> Response {
    let id = request
        .extensions()
        .get::<RequestId>()
        .map_or(Uuid::nil(), |id| id.0);
    let address = path
        .ok()
        .and_then(|Path(path)| address(&path, request.uri().query().unwrap_or_default()));
    let mut response = match redirect_target(&service, address).await {
        Ok(location) => (StatusCode::FOUND, [(LOCATION, location)]).into_response(),
        Err(error) => refuse_as(OPERATION, &error, id),
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The file server that the redirect leads to must not see the signed address in `Referer`.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response.extensions_mut().insert(ServedOperation(OPERATION));
    response
}

/// Returns the URL to which a request for a photo is redirected. Fails with 404 if the requested
/// URL is malformed, expired or wrongly signed, or if the photo no longer exists.
async fn redirect_target(
    service: &Arc<Service>,
    address: Option<PhotoAddress>,
) -> Result<HeaderValue> {
    let not_found = || Error::not_found("File");
    let address = address.ok_or_else(not_found)?;
    let signer = service
        .app_state
        .extension::<PhotoSigner>()
        .cloned()
        .ok_or_else(not_found)?;
    let now = service.clock.now();
    let key = service
        .store
        .read(move |tx| signer.find(tx, &address, now))
        .await?;
    let location = key.and_then(|key| {
        location(
            &key,
            service
                .app_state
                .extension::<FilesUrl>()
                .map(|url| url.0.as_str()),
        )
    });
    location
        .and_then(|url| HeaderValue::from_str(url.as_str()).ok())
        .ok_or_else(not_found)
}

/// Parses the signed URL of a review photo from its path and query. Returns `None` if the URL does
/// not have the form of the URLs that this server signs. The signature is not verified here.
fn address(
    (organization, review, position): &(String, String, String),
    query: &str,
) -> Option<PhotoAddress> {
    let uuid = |text: &str| format::is_uuid(text).then(|| text.parse().ok()).flatten();
    let parameter = |parameter_name: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| name == parameter_name)
            .map(|(_, value)| value)
    };
    Some(PhotoAddress {
        organization: uuid(organization)?,
        review: uuid(review)?,
        position: position.parse().ok()?,
        expires: parameter("expires")?.parse().ok()?,
        signature: parameter("signature")?.into_owned(),
    })
}

/// Returns the URL of a photo's bytes. A key that is an http or https URL is used as it is. Any
/// other key is a path below `base`. Returns `None` if such a key would lead out of `base`, or if
/// there is no `base`.
fn location(key: &str, base: Option<&str>) -> Option<Url> {
    if let Ok(url) = Url::parse(key)
        && matches!(url.scheme(), "http" | "https")
    {
        return Some(url);
    }
    let mut url = Url::parse(base?).ok()?;
    let segments = key.split('/').filter(|segment| !segment.is_empty());
    // No segment of a key may lead out of the base path. Control characters are refused too: a URL
    // parser drops some of them, so that `.\t.` would become `..`.
    let is_unsafe =
        |segment: &str| matches!(segment, "." | "..") || segment.contains(char::is_control);
    if segments.clone().next().is_none() || segments.clone().any(is_unsafe) {
        return None;
    }
    url.path_segments_mut().ok()?.extend(segments);
    Some(url)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: &str = "https://files.example/photos";

    fn location_text(key: &str, base: Option<&str>) -> Option<String> {
        location(key, base).map(String::from)
    }

    #[test]
    fn a_photo_key_that_is_a_url_leads_to_that_url() {
        for base in [None, Some(BASE)] {
            for (key, url) in [
                ("https://cdn.example/a.jpg", "https://cdn.example/a.jpg"),
                (
                    "HTTP://cdn.example:8080/a b.jpg?x=1#y",
                    "http://cdn.example:8080/a%20b.jpg?x=1#y",
                ),
                ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ] {
                assert_eq!(location_text(key, base).as_deref(), Some(url), "{key}");
            }
        }
    }

    #[test]
    fn any_other_photo_key_is_a_path_below_the_base() {
        for (key, path) in [
            ("a.jpg", "/a.jpg"),
            ("2026/11/a.jpg", "/2026/11/a.jpg"),
            ("/a.jpg", "/a.jpg"),
            ("//evil.example/a.jpg", "/evil.example/a.jpg"),
            ("a?b#c%2e%2e.jpg", "/a%3Fb%23c%252e%252e.jpg"),
            (r"..\..\a.jpg", r"/..%5C..%5Ca.jpg"),
            ("javascript:alert(1)", "/javascript:alert(1)"),
            ("s3://bucket/a.jpg", "/s3:/bucket/a.jpg"),
            ("ä.jpg", "/%C3%A4.jpg"),
        ] {
            assert_eq!(
                location_text(key, Some(BASE)),
                Some(format!("{BASE}{path}")),
                "{key}"
            );
            assert_eq!(
                location_text(key, Some("https://files.example")),
                Some(format!("https://files.example{path}")),
                "{key}"
            );
            assert_eq!(location_text(key, None), None, "{key}");
        }
        for key in [
            "",
            "/",
            "//",
            ".",
            "..",
            "../a.jpg",
            "a/../../b.jpg",
            "a/.",
            ".\t./a.jpg",
            "a\n.jpg",
        ] {
            assert_eq!(location_text(key, Some(BASE)), None, "{key:?}");
        }
    }

    #[test]
    fn only_well_formed_photo_addresses_are_parsed() {
        let id = "0192f0c1-2345-7abc-8def-0123456789ab";
        let path = |organization: &str, review: &str, position: &str| {
            (organization.into(), review.into(), position.into())
        };
        let parsed = address(&path(id, id, "3"), "signature=s-_&expires=1795253400").unwrap();
        assert_eq!(
            (
                parsed.organization.to_string().as_str(),
                parsed.position,
                parsed.expires
            ),
            (id, 3, 1_795_253_400)
        );
        assert_eq!(
            (parsed.review, parsed.signature.as_str()),
            (parsed.organization, "s-_")
        );
        for (path, query) in [
            (path("x", id, "3"), "signature=s&expires=1"),
            (
                path(id, "0192f0c123457abc8def0123456789ab", "3"),
                "signature=s&expires=1",
            ),
            (path(id, id, "-1"), "signature=s&expires=1"),
            (
                path(id, id, "99999999999999999999"),
                "signature=s&expires=1",
            ),
            (path(id, id, "3"), "signature=s&expires=soon"),
            (path(id, id, "3"), "expires=1"),
            (path(id, id, "3"), ""),
        ] {
            assert!(address(&path, query).is_none(), "{path:?} {query}");
        }
    }

    proptest! {
        #[test]
        fn no_photo_key_leads_out_of_the_base(key in any::<String>()) {
            if let Some(url) = location(&key, Some(BASE)).filter(|_| !key.contains(':')) {
                prop_assert!(
                    url.as_str().starts_with("https://files.example/photos/"),
                    "{}",
                    url
                );
                // The browser parses the text of the URL when it follows the redirect. It must get
                // the same URL that was checked here.
                prop_assert_eq!(Url::parse(url.as_str()).unwrap(), url);
            }
        }
    }
}
