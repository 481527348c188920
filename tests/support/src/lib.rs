//! Support for the integration tests: the server under test, its clients, and other programs that
//! it needs.

pub mod authority;
pub mod calendar_host;
pub mod citus;
pub mod demo;
pub mod dice;
pub mod files;
pub mod house;
pub mod http_server;
pub mod left_out;
pub mod middle_box;
pub mod node;
pub mod patroni;
pub mod pebble;
pub mod pgbouncer;
pub mod ports;
pub mod postgres;
pub mod proxy;
pub mod queueing;
pub mod raw_receiver;
pub mod receiver;
pub mod redis;
pub mod s3;
pub mod server_process;
pub mod sql;
mod sqlite;
pub mod standby;
pub mod waiting;

use std::path::PathBuf;
use std::time::Duration;

use delivery::Names;
use engine::access::Permission;
use engine::clock::Clock;
use reqwest::{Client, ClientBuilder, Method, RequestBuilder};
use serde_json::{Value, json};
use strum::VariantArray;
use tempfile::TempDir;
use uuid::Uuid;
use vestibule::config::{Cli, ServeCommand, ServeFlags};
use vestibule::server::{Limits, Server};

use self::pgbouncer::PgBouncer;
use self::postgres::TestDatabase;
use self::waiting::in_time_within;

pub const PLATFORM_KEY: &str = "pk_test";

/// The types of pre-check-in steps.
pub const STEP_TYPES: [&str; 12] = [
    "your_details",
    "identity_check",
    "background_check",
    "other_guests",
    "authority_reporting",
    "additional_questions",
    "document_upload",
    "agreement",
    "mandatory_fee",
    "damage_deposit",
    "screen_and_protect",
    "main",
];

/// Time limit of a response for which the request sets no limit itself.
const RESPONSE_LIMIT: Duration = Duration::from_mins(2);

/// Makes two tests of a function that takes an `App`: one on SQLite and one on PostgreSQL. Flags of
/// the server follow the name of the function: `on_both!(name, "--timezone=UTC");`.
#[macro_export]
macro_rules! on_both {
    ($(#[$meta:meta])* $name:ident $(, $flags:expr)* $(,)?) => {
        mod $name {
            use super::*;

            $(#[$meta])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                let flags: &[&str] = &[$($flags),*];
                $name($crate::App::on_sqlite(flags).await).await;
            }

            $(#[$meta])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                let flags: &[&str] = &[$($flags),*];
                if let Some(app) = $crate::App::on_postgres(flags).await {
                    $name(app).await;
                }
            }
        }
    };
}

/// Makes two tests of a function that takes an `App` and another server such as a `Receiver`: one
/// test on SQLite and one on PostgreSQL. The `flags` of that server let the server under test reach
/// it. More flags follow the type: `on_both_with!(name, Receiver);`.
#[macro_export]
macro_rules! on_both_with {
    ($(#[$meta:meta])* $name:ident, $other:ty $(, $flags:expr)* $(,)?) => {
        $(#[$meta])*
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                let other = <$other>::start().await;
                let flags = other.flags();
                let flags: Vec<&str> =
                    flags.iter().map(String::as_str).chain([$($flags),*]).collect();
                $name($crate::App::on_sqlite(&flags).await, other).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                let other = <$other>::start().await;
                let flags = other.flags();
                let flags: Vec<&str> =
                    flags.iter().map(String::as_str).chain([$($flags),*]).collect();
                if let Some(app) = $crate::App::on_postgres(&flags).await {
                    $name(app, other).await;
                }
            }
        }
    };
}

/// Returns the path of the program under test. Cargo builds it before the tests of the package, and
/// puts it into the folder above theirs.
pub fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().with_file_name("vestibule");
    assert!(program.is_file(), "{} does not exist", program.display());
    program
}

/// Returns the folder of cargo for temporary files of tests.
pub fn temporary_directory() -> PathBuf {
    let profile = program().parent().unwrap().to_owned();
    let path = profile.with_file_name("tmp");
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Sets the TLS provider of the process. All servers and clients of a test use this provider.
pub fn choose_tls_provider() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
}

/// A server in the test process with its own database. Its clock advances only when the test
/// advances it.
pub struct App {
    pub server: Server,
    pub base: String,
    pub clock: Clock,
    pub database_url: String,
    pub http: Client,
    _directory: TempDir,
    _pooler: Option<PgBouncer>,
    /// The database, if it is removed with this server. It is the last field, because fields are
    /// dropped in their order and the server must end first.
    _database: Option<TestDatabase>,
}

impl App {
    pub async fn on_sqlite(flags: &[&str]) -> Self {
        Self::on_sqlite_resolving(flags, Names::System).await
    }

    /// Starts a server on SQLite that resolves host names with `names`.
    pub async fn on_sqlite_resolving(flags: &[&str], names: Names) -> Self {
        Self::on_sqlite_with(flags, names, Limits::default()).await
    }

    /// Starts a server on SQLite. `limits` replace the usual limits for clients.
    pub async fn on_sqlite_with_limits(flags: &[&str], limits: Limits) -> Self {
        Self::on_sqlite_with(flags, Names::System, limits).await
    }

    async fn on_sqlite_with(flags: &[&str], names: Names, limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("test.db");
        tokio::task::spawn_blocking({
            let file = file.clone();
            move || sqlite::create_migrated(&file)
        })
        .await
        .unwrap();
        let url = format!("sqlite:{}", file.display());
        Self::start(url, directory, flags, names, limits).await
    }

    pub async fn on_postgres(flags: &[&str]) -> Option<Self> {
        Self::on_postgres_resolving(flags, Names::System).await
    }

    pub async fn on_postgres_resolving(flags: &[&str], names: Names) -> Option<Self> {
        let database = tokio::task::spawn_blocking(postgres::migrated_database)
            .await
            .unwrap()?;
        let url = database.url.clone();
        let app = if std::env::var_os("VESTIBULE_TEST_POOLER").is_some() {
            let pooler = PgBouncer::in_front_of(&url, "pool_mode = transaction")?;
            Self::behind(pooler, &url, flags, names).await
        } else {
            Self::start(
                url,
                tempfile::tempdir().unwrap(),
                flags,
                names,
                Limits::default(),
            )
            .await
        };
        Some(Self {
            _database: Some(database),
            ..app
        })
    }

    /// Starts a server on an existing database.
    pub async fn on(database_url: String, flags: &[&str]) -> Self {
        Self::start(
            database_url,
            tempfile::tempdir().unwrap(),
            flags,
            Names::System,
            Limits::default(),
        )
        .await
    }

    /// Starts a server on PostgreSQL behind PgBouncer in transaction mode. `pool` contains
    /// additional settings of PgBouncer.
    pub async fn behind_a_pooler(pool: &str, flags: &[&str]) -> Option<Self> {
        let url = tokio::task::spawn_blocking(postgres::fresh_database)
            .await
            .unwrap()?;
        let pooler = PgBouncer::in_front_of(&url, &format!("pool_mode = transaction\n{pool}"))?;
        Some(Self::behind(pooler, &url, flags, Names::System).await)
    }

    async fn behind(pooler: PgBouncer, server: &str, flags: &[&str], names: Names) -> Self {
        let flags: Vec<_> = flags
            .iter()
            .copied()
            .chain(["--database-direct-url", server])
            .collect();
        let url = pooler.database_url.clone();
        let app = Self::start(
            url,
            tempfile::tempdir().unwrap(),
            &flags,
            names,
            Limits::default(),
        )
        .await;
        Self {
            _pooler: Some(pooler),
            ..app
        }
    }

    async fn start(
        database_url: String,
        directory: TempDir,
        flags: &[&str],
        names: Names,
        limits: Limits,
    ) -> Self {
        choose_tls_provider();
        let clock = Clock::manual("2026-11-21T09:30:00Z".parse().unwrap());
        let server = Server::start_with_limits(
            serve_flags(&database_url, flags),
            clock.clone(),
            names,
            limits,
        )
        .await
        .unwrap();
        let base = server.url();
        Self {
            server,
            base,
            clock,
            database_url,
            http: http_client(),
            _directory: directory,
            _pooler: None,
            _database: None,
        }
    }

    /// Starts another server on the same database, as a second node.
    pub async fn second_node(&self, flags: &[&str]) -> Self {
        Self::start(
            self.database_url.clone(),
            tempfile::tempdir().unwrap(),
            flags,
            Names::System,
            Limits::default(),
        )
        .await
    }

    pub fn platform(&self) -> Api {
        Api {
            http: self.http.clone(),
            base: format!("{}/platform/v1", self.base),
            token: Some(PLATFORM_KEY.into()),
        }
    }

    pub fn api(&self, token: &str) -> Api {
        Api {
            http: self.http.clone(),
            base: format!("{}/api/v1", self.base),
            token: Some(token.into()),
        }
    }

    pub fn anonymous(&self) -> Api {
        Api {
            http: self.http.clone(),
            base: format!("{}/api/v1", self.base),
            token: None,
        }
    }

    pub async fn org(&self) -> Org<'_> {
        self.org_with(json!({ "name": "Casa", "country": "ES", "languages": ["en", "es", "fr"] }))
            .await
    }

    pub async fn org_with(&self, settings: Value) -> Org<'_> {
        let org = Org {
            app: self,
            id: new_id(),
            oauth_app: new_id(),
        };
        org.put("", settings).await;
        let app = json!({ "name": "Client", "redirectUris": ["https://client.example/cb"] });
        self.platform()
            .ok(
                Method::PUT,
                &format!("/oauth-apps/{}", org.oauth_app),
                Some(app),
            )
            .await;
        org
    }

    /// Reads the guest view of the stay with this token. `query` is the query string with its
    /// question mark; it may be empty.
    pub async fn stay(&self, token: &str, query: &str) -> ApiResponse {
        let request = self
            .http
            .get(format!("{}/guest/v1/stays/{token}{query}", self.base));
        ApiResponse::of(request).await
    }
}

pub fn serve_flags(database_url: &str, extra: &[&str]) -> ServeFlags {
    let mut arguments = vec![
        "vestibule",
        "serve",
        "--database-url",
        database_url,
        "--platform-key",
        PLATFORM_KEY,
    ];
    let is_set = |flag: &str| extra.iter().any(|argument| argument.starts_with(flag));
    for (flag, value) in [
        ("--listen", "127.0.0.1:0"),
        ("--rate-limit-per-minute", "0"),
        ("--rate-limit-per-second", "0"),
        ("--console-rate-limit-per-minute", "0"),
        ("--console-rate-limit-per-second", "0"),
        ("--guest-rate-limit-per-minute", "0"),
        ("--webhook-retry-base", "10ms"),
        // Uploads need no free space on the disk of this machine beyond their own size.
        ("--uploads-reserve", "0B"),
    ] {
        if !is_set(flag) {
            arguments.extend([flag, value]);
        }
    }
    arguments.extend(extra);
    let cli = <Cli as clap::Parser>::try_parse_from(arguments).unwrap();
    let ServeCommand::Serve(flags) = cli.command else {
        panic!("the arguments contain `serve`")
    };
    flags
}

/// Returns a client whose requests fail if they have no response after [`RESPONSE_LIMIT`].
pub fn http_client() -> Client {
    plain_client().timeout(RESPONSE_LIMIT).build().unwrap()
}

/// Returns the builder of a client that trusts no certificate authority. Such a client reads no
/// certificates of the system, which would take a tenth of a test's time.
pub fn plain_client() -> ClientBuilder {
    Client::builder().tls_certs_only([])
}

pub fn new_id() -> Uuid {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    Uuid::from_u128(0x0192_f0c1_0000_7000_8000_0000_0000_0000 + u128::from(number))
}

/// An HTTP response: status, headers and body.
#[derive(Debug)]
pub struct ApiResponse {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub body: Value,
}

impl ApiResponse {
    pub async fn of(request: RequestBuilder) -> Self {
        let receiving = Box::pin(async {
            let response = request.send().await.unwrap();
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            (status, headers, response.text().await.unwrap())
        });
        let (status, headers, text) =
            in_time_within(RESPONSE_LIMIT, "the response arrives", receiving).await;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Self {
            status,
            headers,
            body,
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Returns `data` of the response. Panics if the response is not a success.
    #[track_caller]
    pub fn data(&self) -> Value {
        assert!(
            (200..300).contains(&self.status),
            "{} {}",
            self.status,
            self.body
        );
        assert_eq!(
            self.body["meta"]["requestId"],
            self.header("x-request-id").unwrap()
        );
        self.body["data"].clone()
    }

    /// Returns the field `error` of the response's body. Panics if the response has another status
    /// than `status`.
    #[track_caller]
    pub fn error(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(
            self.body["meta"]["requestId"],
            self.header("x-request-id").unwrap()
        );
        self.body["error"].clone()
    }

    /// Returns the path of each issue in a 400 response, sorted. The parts of a path are joined by
    /// dots.
    #[track_caller]
    pub fn issues(&self) -> Vec<String> {
        let error = self.error(400);
        assert_eq!(error["code"], "VALIDATION_ERROR");
        let joined = |issue: &Value| {
            let steps = issue["path"].as_array().unwrap().iter();
            steps
                .map(|step| {
                    step.as_str()
                        .map_or_else(|| step.to_string(), str::to_owned)
                })
                .collect::<Vec<_>>()
                .join(".")
        };
        let mut paths: Vec<_> = error["details"]["issues"]
            .as_array()
            .unwrap()
            .iter()
            .map(joined)
            .collect();
        paths.sort();
        paths
    }
}

/// A client of one interface with one credential.
#[derive(Clone)]
pub struct Api {
    http: Client,
    base: String,
    pub token: Option<String>,
}

impl Api {
    /// Returns a client for the interface at the URL `base`. Every request of the client contains
    /// `token`.
    pub fn at(base: &str, token: &str) -> Self {
        Self {
            http: http_client(),
            base: base.to_owned(),
            token: Some(token.to_owned()),
        }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .http
            .request(method, format!("{}{path}", self.base))
            .timeout(Duration::from_secs(30));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> ApiResponse {
        let request = self.request(method, path);
        ApiResponse::of(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }

    pub async fn get(&self, path: &str) -> ApiResponse {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> ApiResponse {
        self.send(Method::POST, path, Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> ApiResponse {
        self.send(Method::PATCH, path, Some(body)).await
    }

    pub async fn post_with_key(&self, path: &str, key: &str, body: Value) -> ApiResponse {
        ApiResponse::of(
            self.request(Method::POST, path)
                .header("idempotency-key", key)
                .json(&body),
        )
        .await
    }

    pub async fn ok(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        self.send(method, path, body).await.data()
    }
}

/// A new organization, with functions that send requests about it to the platform interface.
pub struct Org<'a> {
    pub app: &'a App,
    pub id: Uuid,
    pub oauth_app: Uuid,
}

impl Org<'_> {
    pub fn path(&self, rest: &str) -> String {
        format!("/organizations/{}{rest}", self.id)
    }

    pub async fn put(&self, rest: &str, body: Value) -> Value {
        self.app
            .platform()
            .ok(Method::PUT, &self.path(rest), Some(body))
            .await
    }

    /// Creates an API key with every permission.
    pub async fn key(&self) -> Api {
        self.key_with(Permission::VARIANTS).await
    }

    pub async fn key_with(&self, permissions: &[Permission]) -> Api {
        self.key_and_id(permissions).await.0
    }

    pub async fn key_and_id(&self, permissions: &[Permission]) -> (Api, String) {
        let body = json!({ "name": "key", "permissions": permissions });
        let key = self
            .app
            .platform()
            .ok(Method::POST, &self.path("/api-keys"), Some(body))
            .await;
        (
            self.app.api(key["token"].as_str().unwrap()),
            key["id"].as_str().unwrap().to_owned(),
        )
    }

    /// Creates an API key with every permission except this one.
    pub async fn key_without(&self, missing: Permission) -> Api {
        let permissions: Vec<_> = Permission::VARIANTS
            .iter()
            .copied()
            .filter(|permission| *permission != missing)
            .collect();
        self.key_with(&permissions).await
    }

    pub async fn member(
        &self,
        id: Uuid,
        properties: Option<&[Uuid]>,
        permissions: &[Permission],
        enrolled: bool,
    ) {
        let body = json!({
            "name": "Member",
            "email": "member@example.com",
            "permissions": permissions,
            "propertyIds": properties,
            "isActive": true,
            "isTwoFactorEnrolled": enrolled,
        });
        self.put(&format!("/members/{id}"), body).await;
    }

    pub async fn token_of(&self, member: Uuid, permissions: &[Permission]) -> Api {
        let body =
            json!({ "memberId": member, "oauthAppId": self.oauth_app, "permissions": permissions });
        let token = self
            .app
            .platform()
            .ok(Method::POST, &self.path("/access-tokens"), Some(body))
            .await;
        self.app.api(token["token"].as_str().unwrap())
    }

    /// Creates a member who has every permission and whose access is limited to these properties.
    /// Returns a client with an access token of this member.
    pub async fn limited(&self, properties: &[Uuid]) -> Api {
        let member = new_id();
        self.member(member, Some(properties), Permission::VARIANTS, true)
            .await;
        self.token_of(member, Permission::VARIANTS).await
    }

    pub async fn sync(&self, records: Value) -> ApiResponse {
        self.app
            .platform()
            .post(&self.path("/sync"), json!({ "records": records }))
            .await
    }

    pub async fn record(&self, kind: &str, data: Value) -> Uuid {
        let id = new_id();
        self.put_record(kind, id, data).await;
        id
    }

    pub async fn put_record(&self, kind: &str, id: Uuid, data: Value) {
        self.sync(json!([{ "kind": kind, "id": id, "data": data }]))
            .await
            .data();
    }

    pub async fn delete_record(&self, kind: &str, id: Uuid) {
        self.sync(json!([{ "kind": kind, "id": id, "isDeleted": true }]))
            .await
            .data();
    }

    pub async fn group(&self) -> Uuid {
        self.record("property_group", json!({ "name": "District" }))
            .await
    }

    pub async fn tag(&self) -> Uuid {
        self.record("tag", json!({ "name": "Sea view" })).await
    }

    pub async fn property(&self, group: Option<Uuid>, tags: &[Uuid]) -> Uuid {
        let data = json!({
            "name": "Flat",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "checkInTime": "15:00",
            "checkOutTime": "11:00",
            "propertyGroupId": group,
            "tagIds": tags,
        });
        self.record("property", data).await
    }

    pub async fn reservation(&self, property: Option<Uuid>) -> Uuid {
        self.record("reservation", reservation(property)).await
    }

    /// Returns the token of the reservation's guest link.
    pub async fn stay_token(&self, reservation: Uuid) -> String {
        let path = self.path(&format!("/reservations/{reservation}/guest-link"));
        let link = self.app.platform().ok(Method::POST, &path, None).await;
        link["token"].as_str().unwrap().to_owned()
    }

    pub async fn guest_view(&self, reservation: Uuid) -> Value {
        self.app
            .stay(&self.stay_token(reservation).await, "")
            .await
            .data()
    }
}

/// Returns the four arrays of assignments from a response about entity scopes. Checks that `names`
/// contains exactly the ids of these arrays.
#[track_caller]
pub fn arrays(mut scopes: Value) -> Value {
    let names = scopes.as_object_mut().unwrap().remove("names").unwrap();
    let listed: std::collections::BTreeSet<&str> = scopes
        .as_object()
        .unwrap()
        .values()
        .flat_map(|ids| ids.as_array().unwrap())
        .map(|id| id.as_str().unwrap())
        .collect();
    assert_eq!(
        names
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect::<std::collections::BTreeSet<_>>(),
        listed
    );
    scopes
}

/// Replaces the `data` of a response about entity scopes by its four [`arrays`] of assignments. A
/// response without `data`, such as an error, stays unchanged.
#[track_caller]
pub fn of_arrays(mut answer: ApiResponse) -> ApiResponse {
    if let Some(data) = answer.body.get_mut("data") {
        *data = arrays(data.take());
    }
    answer
}

/// Returns the fields of a confirmed reservation from 11 to 15 December. The tests' clock starts
/// three weeks earlier.
pub fn reservation(property: Option<Uuid>) -> Value {
    json!({
        "propertyId": property,
        "status": "confirmed",
        "channel": "direct",
        "bookedAt": "2026-11-02T10:00:00.000Z",
        "checkIn": "2026-12-11",
        "checkOut": "2026-12-15",
        "guest": {
            "firstName": "Ada",
            "lastName": "L",
            "email": "ada@example.com",
            "phone": null,
            "language": "en",
        },
    })
}
