//! Tests of the metadata documents with which clients discover the authorization server (RFC 8414,
//! RFC 9728).

use reqwest::Method;
use serde_json::json;

use test_support::{ApiResponse, App, on_both};

on_both!(the_server_and_its_resources_publish_their_metadata);
async fn the_server_and_its_resources_publish_their_metadata(app: App) {
    let get = async |path: &str| {
        ApiResponse::of(
            app.http
                .request(Method::GET, format!("{}/.well-known/{path}", app.base))
                .header("origin", "https://inspector.example"),
        )
        .await
    };
    let server = get("oauth-authorization-server").await;
    assert_eq!(
        (server.status, server.header("access-control-allow-origin")),
        (200, Some("*"))
    );
    assert!(server.header("cache-control").unwrap().contains("max-age"));
    let at = |path: &str| json!(format!("{}{path}", app.base));
    for (name, path) in [
        ("issuer", ""),
        ("authorization_endpoint", "/oauth/authorize"),
        ("token_endpoint", "/oauth/token"),
        ("revocation_endpoint", "/oauth/revoke"),
        ("registration_endpoint", "/oauth/register"),
    ] {
        assert_eq!(server.body[name], at(path), "{name}");
    }
    for (name, value) in [
        ("response_types_supported", json!(["code"])),
        (
            "grant_types_supported",
            json!(["authorization_code", "refresh_token"]),
        ),
        ("code_challenge_methods_supported", json!(["S256"])),
        (
            "token_endpoint_auth_methods_supported",
            json!(["none", "client_secret_basic", "client_secret_post"]),
        ),
        ("client_id_metadata_document_supported", json!(true)),
        (
            "authorization_response_iss_parameter_supported",
            json!(true),
        ),
    ] {
        assert_eq!(server.body[name], value, "{name}");
    }
    assert_eq!(
        server.body["scopes_supported"].as_array().unwrap().len(),
        11
    );
    for (path, resource) in [
        ("", "/mcp"),
        ("/mcp", "/mcp"),
        ("/mcp/read-only", "/mcp/read-only"),
        ("/api/v1", "/api/v1"),
    ] {
        let document = get(&format!("oauth-protected-resource{path}")).await;
        assert_eq!(
            (
                document.status,
                document.header("access-control-allow-origin")
            ),
            (200, Some("*"))
        );
        assert_eq!(document.body["resource"], at(resource));
        assert_eq!(document.body["authorization_servers"], json!([app.base]));
        assert_eq!(document.body["bearer_methods_supported"], json!(["header"]));
        assert_eq!(
            document.body["scopes_supported"].as_array().unwrap().len(),
            11
        );
        assert!(document.body["resource_name"].is_string());
    }
    get("oauth-protected-resource/other").await.error(404);
    // Some clients look for the metadata document below the address of the tool interface.
    for resource in ["/mcp", "/mcp/read-only"] {
        let below = async |name: &str| {
            ApiResponse::of(app.http.request(
                Method::GET,
                format!("{}{resource}/.well-known/{name}", app.base),
            ))
            .await
        };
        assert_eq!(
            below("oauth-authorization-server").await.body,
            server.body,
            "{resource}"
        );
        let document = below("oauth-protected-resource").await;
        assert_eq!(
            (document.status, &document.body["resource"]),
            (200, &at(resource))
        );
    }
    // Each `WWW-Authenticate` header contains the address of the metadata document of the requested
    // resource.
    for (path, resource) in [
        ("/api/v1/portals", "/api/v1"),
        ("/mcp", "/mcp"),
        ("/mcp?toolsets=portals", "/mcp"),
        ("/mcp/read-only", "/mcp/read-only"),
        ("/mcp/read-only?toolsets=portals", "/mcp/read-only"),
    ] {
        let refused = ApiResponse::of(
            app.http
                .request(Method::POST, format!("{}{path}", app.base))
                .json(&json!({})),
        )
        .await;
        let challenge = refused.header("www-authenticate").unwrap().to_owned();
        let url = challenge.split('"').nth(1).unwrap();
        let document = ApiResponse::of(app.http.request(Method::GET, url)).await;
        assert_eq!(
            (document.status, &document.body["resource"]),
            (200, &at(resource)),
            "{url}"
        );
    }
}

on_both!(
    oauth_endpoints_allow_every_origin,
    "--cors-origin=https://own.example"
);
async fn oauth_endpoints_allow_every_origin(app: App) {
    for path in [
        "/oauth/token",
        "/oauth/revoke",
        "/oauth/register",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource/mcp",
    ] {
        for origin in ["https://inspector.example", "https://own.example"] {
            let request = app
                .http
                .request(Method::OPTIONS, format!("{}{path}", app.base))
                .header("origin", origin);
            let request = request
                .header("access-control-request-method", "POST")
                .header(
                    "access-control-request-headers",
                    "authorization, mcp-protocol-version",
                );
            let response = ApiResponse::of(request).await;
            assert_eq!(
                (
                    response.status,
                    response.header("access-control-allow-origin")
                ),
                (204, Some("*")),
                "{path}"
            );
            assert_eq!(
                response.header("access-control-allow-headers"),
                Some("*, authorization")
            );
            if path.starts_with("/.well-known") {
                let read = ApiResponse::of(
                    app.http
                        .request(Method::GET, format!("{}{path}", app.base))
                        .header("origin", origin),
                )
                .await;
                let exposed = read.header("access-control-expose-headers").unwrap();
                assert!(
                    ["etag", "www-authenticate", "x-request-id", "mcp-session-id"]
                        .iter()
                        .all(|name| exposed.contains(name)),
                    "{exposed}"
                );
            }
        }
    }
    // Pages for people do not allow requests from scripts of other origins (CORS).
    let request = app
        .http
        .request(Method::GET, format!("{}/oauth/authorize", app.base))
        .header("origin", "https://inspector.example");
    assert_eq!(
        ApiResponse::of(request)
            .await
            .header("access-control-allow-origin"),
        None
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_paths_contain_the_path_of_the_public_url_after_well_known() {
    let app = App::on_sqlite(&["--public-url=https://host.example/stays"]).await;
    let get = async |path: &str| {
        ApiResponse::of(
            app.http
                .request(Method::GET, format!("{}/.well-known/{path}", app.base)),
        )
        .await
    };
    for path in [
        "oauth-authorization-server",
        "oauth-authorization-server/stays",
    ] {
        let server = get(path).await;
        assert_eq!(
            server.body["issuer"], "https://host.example/stays",
            "{path}"
        );
        assert_eq!(
            server.body["token_endpoint"],
            "https://host.example/stays/oauth/token"
        );
    }
    for path in ["/mcp", "/stays/mcp", "", "/stays"] {
        assert_eq!(
            get(&format!("oauth-protected-resource{path}")).await.body["resource"],
            "https://host.example/stays/mcp",
            "{path}"
        );
    }
    assert_eq!(
        get("oauth-protected-resource/stays/api/v1").await.body["resource"],
        "https://host.example/stays/api/v1"
    );
}
