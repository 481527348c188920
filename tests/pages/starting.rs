//! Tests of the settings of the binary, and of the first lines of its log.

use std::path::Path;
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::json;
use tempfile::TempDir;
use test_support::node::Node;
use test_support::server_process::{output_of, serve_in};
use test_support::waiting::wait_until_within;
use test_support::{Api, ApiResponse, PLATFORM_KEY, new_id, postgres};

use crate::people::{Browser, member, path_of};

/// Starts a server in a directory with these environment variables.
fn start(directory: &Path, variables: &[(&str, &str)]) -> Node {
    Node::run(&mut serve_in(directory, variables))
}

/// Starts the binary with environment variables that it refuses. Returns the error message.
fn refusal(directory: &Path, variables: &[(&str, &str)]) -> String {
    let output = output_of(&mut serve_in(directory, variables));
    assert!(!output.status.success(), "{variables:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Uploads a file as a guest of a new organization. Returns the status.
async fn upload(started: &Node) -> u16 {
    let platform = started.platform();
    let organization = format!("/organizations/{}", new_id());
    let put = async |rest: &str, body| {
        let path = format!("{organization}{rest}");
        platform.ok(Method::PUT, &path, Some(body)).await
    };
    put("", json!({ "name": "Casa" })).await;
    let (flat, stay) = (new_id(), new_id());
    let records = json!({
        "records": [
            {
                "kind": "property",
                "id": flat,
                "data": { "name": "Flat", "timezone": "Europe/Madrid", "country": "ES" },
            },
            {
                "kind": "reservation",
                "id": stay,
                "data": {
                    "propertyId": flat,
                    "status": "confirmed",
                    "channel": "direct",
                    "bookedAt": "2026-11-02T10:00:00.000Z",
                    "checkIn": "2099-12-11",
                    "checkOut": "2099-12-15",
                    "guest": {
                        "firstName": "Ada",
                        "lastName": "L",
                        "email": "ada@example.com",
                        "phone": null,
                        "language": "en",
                    },
                },
            },
        ],
    });
    let synced = platform
        .post(&format!("{organization}/sync"), records)
        .await;
    synced.data();
    let body = json!({
        "name": "k",
        "permissions": [
            "modify_properties",
            "view_properties",
            "modify_guides",
            "view_guides",
            "manage_organization",
        ],
    });
    let key = platform
        .post(&format!("{organization}/api-keys"), body)
        .await;
    let api = Api::at(
        &format!("{}/api/v1", started.base),
        key.data()["token"].as_str().unwrap(),
    );
    let portal = json!({ "name": "Casa", "isDefault": true });
    api.post("/portals", portal).await.data();
    let step = json!({
        "stepType": "document_upload",
        "nickname": "Passport",
        "isActive": true,
        "requiredDocumentTypes": ["passport"],
    });
    let step = api.post("/precheck-steps", step).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let scopes = json!({ "entityType": "precheck_step", "entityId": step, "propertyIds": [flat] });
    api.post("/entity-scopes/add", scopes).await.data();
    let link = format!("{organization}/reservations/{stay}/guest-link");
    let link = platform.ok(Method::POST, &link, None).await;
    let token = link["token"].as_str().unwrap();
    let (boundary, head) = ("b", "\u{89}PNG\r\n\u{1a}\n");
    let mut body = format!(
        "--{boundary}\r\ncontent-disposition: form-data; \
            name=\"documentType\"\r\n\r\npassport\r\n--{boundary}\r\ncontent-disposition: \
            form-data; name=\"file\"; filename=\"p.png\"\r\ncontent-type: image/png\r\n\r\n"
    )
    .into_bytes();
    body.extend(
        head.chars()
            .map(|character| u8::try_from(u32::from(character)).unwrap()),
    );
    body.extend(b"rest");
    body.extend(format!("\r\n--{boundary}--\r\n").bytes());
    let request = Client::new()
        .post(format!(
            "{}/guest/v1/stays/{token}/steps/{step}/files",
            started.base
        ))
        .header(
            "content-type",
            format!("multipart/form-data; boundary={boundary}"),
        );
    ApiResponse::of(request.body(body)).await.status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_are_stored_beside_the_database_in_every_notation_of_its_url() {
    for url in ["sqlite://guest.db", "sqlite:guest.db", "SQLITE:guest.db"] {
        let directory = TempDir::new().unwrap();
        let variables = [
            ("VESTIBULE_DATABASE_URL", url),
            ("VESTIBULE_PLATFORM_KEY", PLATFORM_KEY),
        ];
        let started = start(directory.path(), &variables);
        assert_eq!(upload(&started).await, 201, "{url}: {}", started.log());
        assert!(directory.path().join("guest.db").is_file(), "{url}");
        let uploads = directory.path().join("guest.db.uploads");
        assert!(uploads.read_dir().unwrap().next().is_some(), "{url}");
        let log = started.log();
        let whole = directory.path().canonicalize().unwrap();
        let database = format!("sqlite:{}", whole.join("guest.db").display());
        assert!(log.contains(&database), "{log}");
        assert!(log.contains("guest.db.uploads"), "{log}");
        assert!(log.contains("\"is_new\":true"), "{log}");
        drop(started);
        let absolute = format!("sqlite://{}", whole.join("guest.db").display());
        let variables = [("VESTIBULE_DATABASE_URL", absolute.as_str())];
        let again = start(directory.path(), &variables);
        assert!(again.log().contains("\"is_new\":false"), "{}", again.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blanks_around_the_value_of_a_setting_are_ignored() {
    let directory = TempDir::new().unwrap();
    let key = format!("\u{feff}{PLATFORM_KEY}\n");
    let variables = [
        ("VESTIBULE_DATABASE_URL", " sqlite:a.db\n"),
        ("VESTIBULE_PLATFORM_KEY", &key),
        (
            "VESTIBULE_PUBLIC_URL",
            "HTTPS://Stay.Example.com/Portal/ \n",
        ),
        ("VESTIBULE_RATE_LIMIT_PER_MINUTE", " 77\n"),
        ("VESTIBULE_WEBHOOK_TIMEOUT", "\t5s\r\n"),
        (
            "VESTIBULE_CORS_ORIGIN",
            " HTTPS://App.example , http://localhost:3000",
        ),
        ("VESTIBULE_TRUSTED_PROXY", " 10.0.0.1, fd00::/8\n"),
    ];
    let started = start(directory.path(), &variables);
    let organization = new_id();
    let path = format!("/organizations/{organization}");
    let platform = started.platform();
    platform
        .ok(Method::PUT, &path, Some(json!({ "name": "Casa" })))
        .await;
    let metadata = format!("{}/.well-known/oauth-authorization-server", started.base);
    let document = ApiResponse::of(Client::new().get(metadata)).await;
    assert_eq!(document.body["issuer"], "https://stay.example.com/Portal");
    let member_path = format!("{path}/members/{}", new_id());
    platform
        .ok(Method::PUT, &member_path, Some(member("ada@example.com")))
        .await;
    let link = platform
        .post(&format!("{member_path}/sign-in-links"), json!({}))
        .await
        .data();
    let opened = Browser::at(&started.base).get(&path_of(&link)).await;
    // The public URL begins with `https://`, so the sign-in form sets a `Secure` cookie.
    let cookie = opened.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with("__Host-") && cookie.contains("Secure"),
        "{cookie}"
    );
}

#[test]
fn an_unlikely_value_of_a_setting_is_refused_with_an_explanation() {
    let directory = TempDir::new().unwrap();
    for (name, value, reason) in [
        ("VESTIBULE_PLATFORM_KEY", "\"pk_secret\"", "quotes"),
        ("VESTIBULE_PLATFORM_KEY", "'pk_secret'", "quotes"),
        ("VESTIBULE_PLATFORM_KEY", "pk_ secret", "blank"),
        ("VESTIBULE_PLATFORM_KEY", "pk_\u{1}secret", "control"),
        ("VESTIBULE_PUBLIC_URL", "\"https://stay.example\"", "quotes"),
        ("VESTIBULE_PUBLIC_URL", "https://stay\n.example", "control"),
        (
            "VESTIBULE_PUBLIC_URL",
            "https://stay. example",
            "not an address",
        ),
        ("VESTIBULE_DATABASE_URL", "\"sqlite:secret.db\"", "quotes"),
        ("VESTIBULE_LISTEN", "\"127.0.0.1:0\"", "quotes"),
        ("VESTIBULE_TRUSTED_PROXY", "10.0.0.0/40", "10.0.0.0/8"),
        ("VESTIBULE_TRANSLATOR_KEY", "a b", "blank"),
        ("VESTIBULE_REDIS_URL", "'redis://secret'", "quotes"),
    ] {
        let mut variables = vec![("VESTIBULE_DATABASE_URL", "sqlite:x.db")];
        variables.push((name, value));
        if name == "VESTIBULE_TRANSLATOR_KEY" {
            variables.push(("VESTIBULE_TRANSLATOR_URL", "http://127.0.0.1:9"));
        }
        let reported = refusal(directory.path(), &variables);
        assert!(reported.contains(reason), "{name}={value:?}: {reported}");
        assert!(!reported.contains("secret"), "{name}={value:?}: {reported}");
    }
}

/// Every setting trims its value. The test takes the settings from the command line, so that it
/// also covers settings that are added later.
#[test]
fn every_setting_ignores_blanks_around_its_value() {
    use clap::{CommandFactory as _, FromArgMatches as _};
    let samples = [
        ("listen", "127.0.0.1:9"),
        ("public-url", "https://stay.example"),
        ("files-url", "https://files.example"),
        ("translator-url", "https://t.example"),
        ("stock-photos-url", "https://s.example"),
        ("device-connector-url", "https://d.example"),
        ("apns-url", "https://a.example"),
        ("oidc-issuer", "https://id.example"),
        ("sign-in-url", "https://in.example/x"),
        ("otlp-endpoint", "https://otlp.example"),
        ("cors-origin", "https://app.example"),
        ("webhook-allow", "10.0.0.0/8"),
        ("trusted-proxy", "10.0.0.0/8"),
        ("database-connections", "16"),
        ("processors", "2"),
        ("console-rate-limit-per-minute", "600"),
        ("console-rate-limit-per-second", "20"),
        ("guest-rate-limit-per-minute", "600"),
        ("keep-alive", "65s"),
    ];
    let serve = vestibule::config::Cli::command();
    let serve = serve.find_subcommand("serve").unwrap().clone();
    let mut tried = 0;
    for argument in serve.get_arguments().filter(|one| one.get_env().is_some()) {
        let name = argument.get_long().unwrap();
        // This test skips secrets and switches, because the command line does not parse their
        // values. The service reads these values later, and trims them with the same function as
        // the command line.
        let is_secret = argument.is_hide_env_values_set();
        if is_secret || !argument.get_action().takes_values() {
            continue;
        }
        let default = argument.get_default_values().first();
        let sample = samples.iter().find(|(known, _)| *known == name);
        let value = match (sample, default) {
            (Some((_, value)), _) => (*value).to_owned(),
            (None, Some(value)) => value.to_str().unwrap().to_owned(),
            (None, None) if name.ends_with("reserve") || name.ends_with("memory") => "1GiB".into(),
            (None, None) => "text".to_owned(),
        };
        let parsed = |value: &str| {
            let flag = format!("--{name}={value}");
            let matches = serve
                .clone()
                .no_binary_name(true)
                .try_get_matches_from([flag]);
            let matches = matches.unwrap_or_else(|error| panic!("{name}: {error}"));
            format!(
                "{:?}",
                vestibule::config::ServeFlags::from_arg_matches(&matches).unwrap()
            )
        };
        assert_eq!(
            parsed(&format!("\u{feff} {value} \r\n")),
            parsed(&value),
            "{name}"
        );
        tried += 1;
    }
    assert!(tried > 20, "{tried}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_misspelt_variable_is_a_warning_that_names_the_setting() {
    let directory = TempDir::new().unwrap();
    let variables = [
        ("VESTIBULE_DATABASE_URL", "sqlite:a.db"),
        ("VESTIBULE_PLATFROM_KEY", "pk_secret"),
    ];
    let started = start(directory.path(), &variables);
    let log = started.log();
    assert!(
        log.contains("VESTIBULE_PLATFROM_KEY is not a setting"),
        "{log}"
    );
    assert!(
        log.contains("did you mean VESTIBULE_PLATFORM_KEY?"),
        "{log}"
    );
    assert!(!log.contains("pk_secret"), "{log}");
}

#[test]
fn a_database_file_that_cannot_be_opened_is_named() {
    let directory = TempDir::new().unwrap();
    let url = "sqlite:missing/folder/x.db";
    let reported = refusal(directory.path(), &[("VESTIBULE_DATABASE_URL", url)]);
    assert!(reported.contains("missing/folder/x.db"), "{reported}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_database_without_utf_8_is_refused() {
    let Some(url) = tokio::task::spawn_blocking(|| postgres::fresh_database_of("LATIN1"))
        .await
        .unwrap()
    else {
        return;
    };
    let directory = TempDir::new().unwrap();
    let reported = refusal(directory.path(), &[("VESTIBULE_DATABASE_URL", &url)]);
    assert!(
        reported.contains("LATIN1") && reported.contains("UTF8"),
        "{reported}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_role_with_three_connections_is_served_with_a_warning() {
    let url = tokio::task::spawn_blocking(|| {
        let url = postgres::fresh_database()?;
        let (server, name) = url.rsplit_once('/').unwrap();
        let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
        client
            .batch_execute(&format!(
                "create role three login connection limit 3; alter database {name} owner to three; \
                    grant all on schema public to three"
            ))
            .unwrap();
        let (_, host) = server.split_once("://").unwrap();
        let host = host.split_once('@').map_or(host, |(_, host)| host);
        Some(format!("postgres://three@{host}/{name}"))
    });
    let Some(url) = url.await.unwrap() else {
        return;
    };
    let directory = TempDir::new().unwrap();
    let variables = [
        ("VESTIBULE_DATABASE_URL", url.as_str()),
        ("VESTIBULE_DATABASE_CONNECTIONS", "16"),
        ("VESTIBULE_PLATFORM_KEY", PLATFORM_KEY),
    ];
    let started = start(directory.path(), &variables);
    let log = started.log();
    assert!(
        log.contains("allows fewer connections") && log.contains("\"allowed\":3"),
        "{log}"
    );
    let platform = started.platform();
    let all = (0..300).map(|_| async {
        let path = format!("/organizations/{}", new_id());
        let body = Some(json!({ "name": "Casa" }));
        platform.send(Method::PUT, &path, body).await.status
    });
    let statuses = futures_util::future::join_all(all).await;
    let served = statuses.iter().filter(|status| **status < 300).count();
    assert_eq!(served, 300, "{statuses:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_interrupt_ends_the_process_at_once() {
    use tokio::io::AsyncWriteExt as _;
    let directory = TempDir::new().unwrap();
    let variables = [("VESTIBULE_DATABASE_URL", "sqlite:a.db")];
    let mut started = start(directory.path(), &variables);
    // The client does not finish this request, so the process does not end at the first signal.
    let address = started.base.trim_start_matches("http://").to_owned();
    let mut slow = tokio::net::TcpStream::connect(&address).await.unwrap();
    slow.write_all(b"POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\na")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    started.signal("-INT");
    tokio::time::sleep(Duration::from_millis(300)).await;
    started.signal("-INT");
    wait_until_within(
        Duration::from_secs(1),
        "the process ends at the second signal",
        async || !started.is_running(),
    )
    .await;
    assert_eq!(started.wait().code(), Some(130));
}
