//! Tests of covers of manuals: the search for icons and stock photos (rules: manuals#covers).

use std::future::ready;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use test_support::http_server::{HttpServer, Reply, response};
use test_support::{App, on_both, on_both_with};

const KEY: &str = "photo-key";

/// A server on loopback that has the same interface as the photo service Unsplash.
pub struct PhotoProvider {
    url: String,
    /// Status and body of this server's response to every request.
    answer: Arc<Mutex<(u16, String)>>,
    server: HttpServer,
}

impl PhotoProvider {
    pub async fn start() -> Self {
        let answer = Arc::new(Mutex::new((200, page().to_string())));
        let shared = answer.clone();
        let server = HttpServer::start(move |_| {
            let (status, body) = shared.lock().unwrap().clone();
            let header = "location: /photos-api/search/photos?query=elsewhere";
            ready(Reply::Response(response(status, header, &body)))
        })
        .await;
        Self {
            url: format!("{}/photos-api", server.base),
            answer,
            server,
        }
    }

    pub fn flags(&self) -> [String; 2] {
        [
            format!("--stock-photos-url={}/", self.url),
            format!("--stock-photos-key={KEY}"),
        ]
    }

    pub fn answer(&self, status: u16, body: &str) {
        *self.answer.lock().unwrap() = (status, body.to_owned());
    }

    /// Returns the requests since the last call, each with its request target and its headers
    /// `Authorization` and `Accept-Version`.
    pub fn requests(&self) -> Vec<[String; 3]> {
        let requests = self.server.take_requests();
        requests
            .iter()
            .map(|request| {
                [
                    request.target().to_owned(),
                    request.header("authorization").to_owned(),
                    request.header("accept-version").to_owned(),
                ]
            })
            .collect()
    }
}

/// Returns one page of search results. A [`PhotoProvider`] responds with this page until a test
/// sets another body.
pub fn page() -> Value {
    json!({
        "total": 133,
        "total_pages": 67,
        "results": [
            {
                "id": "a",
                "width": 4000,
                "description": "White houses",
                "alt_description": "houses by the sea",
                "urls": {
                    "raw": "https://i.example/a/raw",
                    "regular": "https://i.example/a/regular",
                    "small": "https://i.example/a/small",
                },
                "user": {
                    "username": "ada",
                    "name": "Ada L",
                    "links": {
                        "self": "https://api.example/ada",
                        "html": "https://p.example/@ada",
                    },
                },
            },
            {
                "id": "b",
                "width": 4000,
                "description": null,
                "alt_description": null,
                "urls": {
                    "raw": "https://i.example/b/raw",
                    "regular": "https://i.example/b/regular",
                    "small": "https://i.example/b/small",
                },
                "user": {
                    "username": "bob",
                    "name": "Bob",
                    "links": {
                        "self": "https://api.example/bob",
                        "html": "https://p.example/@bob",
                    },
                },
            },
        ],
    })
}

on_both!(icons_are_found_by_part_of_their_name);
async fn icons_are_found_by_part_of_their_name(app: App) {
    let org = app.org().await;
    let api = org.key_with(&[]).await;
    let names = |data: &Value| {
        data["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let every = api.get("/cover-icons").await.data();
    assert_eq!(names(&every).len(), 25);
    assert!(every["total"].as_u64().unwrap() > 1_000 && names(&every).is_sorted());
    let results = api.get("/cover-icons?query=WiFi&limit=100").await.data();
    assert!(
        names(&results).contains(&"house-wifi".to_owned())
            && names(&results).iter().all(|name| name.contains("wifi"))
    );
    assert_eq!(results["total"], names(&results).len());
    let first = api.get("/cover-icons?query=wifi&limit=1").await.data();
    assert_eq!(
        (&first["items"], &first["total"]),
        (&json!([results["items"][0]]), &results["total"])
    );
    assert_eq!(
        api.get("/cover-icons?query=no-such-icon").await.data(),
        json!({ "items": [], "total": 0 })
    );
    assert_eq!(
        api.get("/cover-icons?query=%20&limit=0").await.issues(),
        ["limit", "query"]
    );
    assert_eq!(api.get("/cover-icons?limit=101").await.issues(), ["limit"]);
    assert_eq!(api.get("/cover-icons?limit=all").await.issues(), ["limit"]);
}

on_both!(without_a_provider_photo_search_gives_503);
async fn without_a_provider_photo_search_gives_503(app: App) {
    let org = app.org().await;
    let api = org.key_with(&[]).await;
    let refused = api.get("/stock-photos?query=sea").await;
    assert!(
        refused.headers.get("retry-after").is_none(),
        "waiting does not help"
    );
    let error = refused.error(503);
    assert_eq!(
        (&error["type"], &error["code"]),
        (&json!("service_unavailable"), &json!("SERVICE_UNAVAILABLE"))
    );
    assert_eq!(api.get("/stock-photos").await.issues(), ["query"]);
    assert_eq!(
        api.get("/stock-photos?query=%20&perPage=31&page=101")
            .await
            .issues(),
        ["page", "perPage", "query"]
    );
    assert_eq!(
        api.get("/stock-photos?query=sea&perPage=0&page=0")
            .await
            .issues(),
        ["page", "perPage"]
    );
    assert_eq!(
        api.get(&format!("/stock-photos?query={}", "x".repeat(201)))
            .await
            .issues(),
        ["query"]
    );
}

on_both_with!(photos_come_from_the_provider, PhotoProvider);
async fn photos_come_from_the_provider(app: App, provider: PhotoProvider) {
    let org = app.org().await;
    let api = org.key_with(&[]).await;
    let response = api
        .get("/stock-photos?query=white%20houses%20%26%20sea")
        .await;
    assert_eq!(
        response.data(),
        json!({
            "items": [
                {
                    "imageUrl": "https://i.example/a/regular",
                    "thumbnailUrl": "https://i.example/a/small",
                    "description": "White houses",
                    "photographerName": "Ada L",
                    "photographerUrl": "https://p.example/@ada",
                },
                {
                    "imageUrl": "https://i.example/b/regular",
                    "thumbnailUrl": "https://i.example/b/small",
                    "description": null,
                    "photographerName": "Bob",
                    "photographerUrl": "https://p.example/@bob",
                },
            ],
            "total": 133,
            "totalPages": 67,
        })
    );
    assert_eq!(response.body["meta"].get("pagination"), None);
    api.get("/stock-photos?query=sea&perPage=30&page=100")
        .await
        .data();
    let requests = |target: &str| {
        [
            format!("/photos-api/search/photos?{target}"),
            format!("Client-ID {KEY}"),
            "v1".to_owned(),
        ]
    };
    assert_eq!(
        provider.requests(),
        [
            requests("query=white+houses+%26+sea&page=1&per_page=20"),
            requests("query=sea&page=100&per_page=30")
        ]
    );
}

on_both_with!(
    unauthenticated_and_invalid_searches_never_reach_the_provider,
    PhotoProvider
);
async fn unauthenticated_and_invalid_searches_never_reach_the_provider(
    app: App,
    provider: PhotoProvider,
) {
    let org = app.org().await;
    app.anonymous()
        .get("/stock-photos?query=sea")
        .await
        .error(401);
    org.key()
        .await
        .get("/stock-photos?query=sea&page=101")
        .await
        .error(400);
    assert!(provider.requests().is_empty());
}

on_both_with!(a_failing_photo_provider_gives_502, PhotoProvider);
async fn a_failing_photo_provider_gives_502(app: App, provider: PhotoProvider) {
    let org = app.org().await;
    let api = org.key_with(&[]).await;
    let mut shapeless = page();
    shapeless["results"][1]["urls"]["small"] = Value::Null;
    let (whole, shapeless) = (page().to_string(), shapeless.to_string());
    let (whole, shapeless) = (whole.as_str(), shapeless.as_str());
    for (status, body) in [
        (401, KEY),
        (403, "Rate Limit Exceeded"),
        (500, ""),
        (302, whole),
        (200, ""),
        (200, "<html>"),
        (200, shapeless),
    ] {
        provider.answer(status, body);
        let response = api.get("/stock-photos?query=sea").await;
        let error = response.error(502);
        assert_eq!(
            (&error["type"], &error["code"]),
            (&json!("provider_error"), &json!("CONNECTOR_ERROR")),
            "{status} {body}"
        );
        assert!(
            !response.body.to_string().contains(KEY) && error.get("details").is_none(),
            "{error}"
        );
        assert_eq!(
            provider.requests().len(),
            1,
            "{status}: asked once, and nowhere else"
        );
    }
    provider.answer(200, whole);
    api.get("/stock-photos?query=sea").await.data();
}
