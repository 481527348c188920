//! The operation `searchStockPhotos`, which calls a provider with the interface of Unsplash, `GET
//! /search/photos` (rules: manuals#covers, 6).

use std::sync::Arc;
use std::time::Duration;

use engine::app_state::AppState;
use engine::error::{Error, Reason, Result, innermost};
use engine::field::Text200;
use engine::operation::{Needs, Operation, OperationName};
use http::Method;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::Client;
use reqwest::redirect::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

/// Searches stock photos for the cover of a manual.
pub const SEARCH_STOCK_PHOTOS: OperationName<FoundPhotos> = OperationName::new("searchStockPhotos");

/// Deadline of a search, from the connection to the last byte of the response.
const DEADLINE: Duration = Duration::from_secs(10);
/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 4 << 20;
/// The user agent of the service in its requests to the photo provider.
const USER_AGENT: &str = "Vestibule-Photos/1";

/// A client of the photo provider.
pub struct StockPhotos {
    client: Client,
    endpoint: Url,
}

/// The fields of the provider's response that this client reads.
#[derive(Deserialize)]
struct PhotoResponse {
    total: u64,
    total_pages: u64,
    results: Vec<ProviderPhoto>,
}

#[derive(Deserialize)]
struct ProviderPhoto {
    description: Option<String>,
    alt_description: Option<String>,
    urls: Sizes,
    user: Photographer,
}

#[derive(Deserialize)]
struct Sizes {
    regular: String,
    small: String,
}

#[derive(Deserialize)]
struct Photographer {
    name: String,
    links: PhotoLinks,
}

#[derive(Deserialize)]
struct PhotoLinks {
    html: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SearchStockPhotos {
    /// What the photos show, in a few words.
    query: Text200,
    /// Maximum number of photos on a page.
    #[serde(default = "default_per_page")]
    #[schemars(range(min = 1, max = 30))]
    per_page: u32,
    /// Page of the photos found, counted from 1.
    #[serde(default = "default_page")]
    #[schemars(range(min = 1, max = 100))]
    page: u32,
}

const fn default_per_page() -> u32 {
    20
}

const fn default_page() -> u32 {
    1
}

/// A page of photos.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "items": [
        {
            "imageUrl": "https://images.example.com/photo?w=1080",
            "thumbnailUrl": "https://images.example.com/photo?w=400",
            "description": "White houses by the sea",
            "photographerName": "Ada L",
            "photographerUrl": "https://photos.example.com/@ada",
        },
    ],
    "total": 133,
    "totalPages": 7,
}))]
pub struct FoundPhotos {
    pub items: Vec<StockPhoto>,
    /// Number of photos on all pages.
    pub total: u64,
    pub total_pages: u64,
}

/// A stock photo.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StockPhoto {
    /// Value for a manual's `imageUrl`.
    pub image_url: String,
    pub thumbnail_url: String,
    pub description: Option<String>,
    pub photographer_name: String,
    pub photographer_url: String,
}

impl From<PhotoResponse> for FoundPhotos {
    fn from(page: PhotoResponse) -> Self {
        let items = page.results.into_iter().map(
            |ProviderPhoto {
                 description,
                 alt_description,
                 urls,
                 user,
             }| StockPhoto {
                image_url: urls.regular,
                thumbnail_url: urls.small,
                description: description.or(alt_description),
                photographer_name: user.name,
                photographer_url: user.links.html,
            },
        );
        Self {
            items: items.collect(),
            total: page.total,
            total_pages: page.total_pages,
        }
    }
}

impl StockPhotos {
    /// Creates a client for the provider at a base address that does not end with a slash.
    pub fn new(url: &str, key: Option<&str>) -> Result<Self, String> {
        let endpoint = Url::parse(&format!("{url}/search/photos"))
            .map_err(|error| format!("the address for stock photos is not valid: {error}"))?;
        let mut headers = HeaderMap::new();
        headers.insert(
            HeaderName::from_static("accept-version"),
            HeaderValue::from_static("v1"),
        );
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            let value = HeaderValue::from_str(&format!("Client-ID {key}"));
            let mut value = value.map_err(|_| {
                "the key for stock photos has characters that a header cannot contain".to_owned()
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let client = Client::builder()
            .user_agent(USER_AGENT)
            .default_headers(headers)
            .timeout(DEADLINE)
            // Redirects are off, so that the key is sent only to the configured address.
            .redirect(Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| {
                format!(
                    "cannot create the client for stock photos: {}",
                    innermost(&error)
                )
            })?;
        Ok(Self { client, endpoint })
    }

    async fn search(&self, input: &SearchStockPhotos) -> Result<FoundPhotos> {
        let mut url = self.endpoint.clone();
        url.query_pairs_mut()
            .append_pair("query", &input.query)
            .append_pair("page", &input.page.to_string())
            .append_pair("per_page", &input.per_page.to_string());
        self.fetch(url)
            .await
            .map(FoundPhotos::from)
            .map_err(Error::provider)
    }

    /// Returns the provider's response, or the cause of the failure for the log. The cause contains
    /// neither the key nor the query.
    async fn fetch(&self, url: Url) -> Result<PhotoResponse, String> {
        let mut response = self.client.get(url).send().await.map_err(reason)?;
        if !response.status().is_success() {
            return Err(format!("answered {}", response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reason)? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err("the answer is too large".into());
            }
            body.extend_from_slice(&chunk);
        }
        // The text of the error quotes the response, which may contain the query. So the log gets
        // only the position of the error.
        serde_json::from_slice(&body).map_err(|error| {
            format!(
                "the answer cannot be parsed at {}:{}",
                error.line(),
                error.column()
            )
        })
    }
}

/// Returns the cause of a failed request, for the log.
fn reason(error: reqwest::Error) -> String {
    // The text of the error must not contain the request's URL, because the query of this URL
    // contains the member's search words.
    let error = error.without_url();
    if error.is_timeout() {
        "timed out".into()
    } else {
        innermost(&error).to_string()
    }
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            SEARCH_STOCK_PHOTOS.id(),
            Method::GET,
            "/stock-photos",
            Needs::Credential,
        )
        .summary("Search stock photos for the cover of a manual")
        .tool(
            "manuals",
            "Search stock photos",
            "Photos for the cover of a manual from a stock library; put `imageUrl` of one into the \
                manual. For an icon use `searchCoverIcons`. Returns {items, total, totalPages}.",
        )
        .offered_where(|app_state| app_state.extension::<StockPhotos>().is_some())
        .asks_as(SEARCH_STOCK_PHOTOS, search),
    ]
}

async fn search(app_state: Arc<AppState>, input: SearchStockPhotos) -> Result<FoundPhotos> {
    match app_state.extension::<StockPhotos>() {
        Some(provider) => provider.search(&input).await,
        None => Err(Error::not_configured(Reason::rule(
            "no_photos",
            "Stock photo search is not configured.",
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_fields_of_a_photo_page_are_ignored() {
        let photo = |description: Option<&str>, alternative: Option<&str>| {
            json!({
                "id": "x",
                "description": description,
                "alt_description": alternative,
                "likes": 5,
                "urls": {
                    "raw": "https://i.example/raw",
                    "regular": "https://i.example/regular",
                    "small": "https://i.example/small",
                },
                "user": {
                    "name": "Ada",
                    "links": {
                        "html": "https://p.example/@ada",
                        "self": "https://api.p.example/ada",
                    },
                },
            })
        };
        let photos = [
            photo(Some("Sea"), Some("blue water")),
            photo(None, Some("blue water")),
            photo(None, None),
        ];
        let page: PhotoResponse =
            serde_json::from_value(json!({ "total": 133, "total_pages": 45, "results": photos }))
                .unwrap();
        let found = serde_json::to_value(FoundPhotos::from(page)).unwrap();
        let item = |description: Option<&str>| {
            json!({
                "imageUrl": "https://i.example/regular",
                "thumbnailUrl": "https://i.example/small",
                "description": description,
                "photographerName": "Ada",
                "photographerUrl": "https://p.example/@ada",
            })
        };
        let items = [item(Some("Sea")), item(Some("blue water")), item(None)];
        assert_eq!(
            found,
            json!({ "items": items, "total": 133, "totalPages": 45 })
        );
    }

    #[test]
    fn an_invalid_provider_key_is_refused_without_showing_it() {
        let error = StockPhotos::new("https://photos.example", Some("se\ncret"))
            .err()
            .unwrap();
        assert!(!error.contains("cret"), "{error}");
        assert!(StockPhotos::new("not an address", None).is_err());
    }
}
