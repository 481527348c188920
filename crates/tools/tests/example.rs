//! Tests the engine with a program of one module, two operations and a table.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use engine::access::{Access, Identified, Permission, hash};
use engine::app::{About, App, DocumentAdditions, GuestTokenLookup};
use engine::app_state::{AppState, Extensions};
use engine::background::Background;
use engine::clock::Clock;
use engine::context::Context;
use engine::error::Result;
use engine::ids::Ids;
use engine::module::{Module, assemble};
use engine::operation::{CacheBasis, Needs, Nothing, Operation, OperationName, Surface};
use engine::pipeline::{
    self, Callers, InFlight, Incoming, Memory, OrganizationHints, OutboundBuffer, RateLimits,
    Service, ServiceSettings,
};
use engine::values;
use http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Json, Store, Transaction};
use tower::ServiceExt as _;
use uuid::Uuid;
use vestibule_http::surface::{self, Metrics, OtherRoutes, openapi};

/// A token of an API key: `sk_`, the id of `ORGANIZATION` as 22 digits, and a secret of 43
/// characters.
const TOKEN: &str = "sk_0000000000000000000001an-example-secret-of-forty-three-characters";
const ORGANIZATION: Uuid = Uuid::from_u128(1);
const CREATE_NOTE: OperationName<Note> = OperationName::new("createNote");
const LIST_NOTES: OperationName<Vec<Note>> = OperationName::new("listNotes");

store::statements! {
    /// Inserts a note.
    INSERT = "insert into note (organization_id, id, doc) values (?1, ?2, ?3)";
    /// Lists all notes, the oldest first.
    LIST = "select doc from note where organization_id = ?1 order by id";
    /// Deletes the notes of an erased organization.
    ERASE = "delete from note where organization_id = ?1";
    /// Inserts an organization.
    PUT_ORGANIZATION = "insert into organization (id, revision, created_at, updated_at, doc)
        values (?1, 1, 0, 0, ?2)";
    /// Inserts an API key.
    PUT_KEY = "insert into api_key (id, organization_id, token_hash, created_at, doc)
        values (?1, ?2, ?3, 0, ?4)";
}

/// A note to create.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CreateNote {
    /// The text, 1 to 20 characters.
    #[schemars(length(min = 1, max = 20))]
    text: String,
}

/// A note.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Note {
    /// The id, which the server assigns.
    id: Uuid,
    /// The prefix of every note. The program registers it as an extension of the application state.
    text: String,
}

/// The prefix of all notes: application state that the program registers.
struct Prefix(&'static str);

fn create(context: &mut Context<'_, '_>, input: CreateNote) -> Result<Note> {
    let Prefix(prefix) = context.extension()?;
    let note = Note {
        id: context.new_id(),
        text: format!("{prefix}{}", input.text),
    };
    context.execute(&INSERT, values![note.id, store::Value::json(&note)?])?;
    Ok(note)
}

fn list(context: &mut Context<'_, '_>, _: Nothing) -> Result<Vec<Note>> {
    let rows = context.rows(&LIST, [])?;
    rows.iter()
        .map(|row| Ok(row.get(0).map(|Json(note)| note)?))
        .collect()
}

static NOTES: Module = Module {
    operations: || {
        vec![
            Operation::public(
                CREATE_NOTE.id(),
                Method::POST,
                "/notes",
                Needs::Permission(Permission::ModifyTasks),
            )
            .summary("Write a note down")
            .creates()
            .run_as(CREATE_NOTE, create),
            Operation::public(
                LIST_NOTES.id(),
                Method::GET,
                "/notes",
                Needs::Permission(Permission::ViewTasks),
            )
            .summary("List the notes")
            .cached(CacheBasis::Configuration)
            .run_as(LIST_NOTES, list),
        ]
    },
    statements: || vec![&INSERT, &LIST],
    erased: &[&ERASE],
    ..Module::new("notes")
};

#[expect(clippy::unnecessary_wraps, reason = "the engine requires a result")]
fn no_guests(_: &mut Transaction<'_>, _: Vec<String>) -> Result<HashMap<String, Identified>> {
    Ok(HashMap::new())
}

fn app() -> &'static App {
    static APP: LazyLock<App> = LazyLock::new(|| {
        let annex = DocumentAdditions {
            parameters: || json!({}),
            schemas: |_| Vec::new(),
            webhooks: |_| serde_json::Map::new(),
        };
        let link = GuestTokenLookup {
            find: no_guests,
            what: "Link",
        };
        assemble(
            &[&NOTES],
            About {
                interface: |_| ("Notes", "Notes."),
                instructions: "Takes notes.",
                advice: |_| None,
                annex,
                link,
            },
        )
    });
    &APP
}

/// The running program, with an API key that has the required permissions.
struct Program {
    service: Arc<Service>,
    interface: surface::Interface,
    _folder: tempfile::TempDir,
}

impl Program {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("notes.db").display());
        let runner = || {
            store::Migrations::runner(&[("V1__notes", include_str!("migrations/V1__notes.sql"))])
        };
        let migrations = store::Migrations {
            sqlite: runner(),
            postgres: runner(),
        };
        let store = Store::open(&url, &migrations).unwrap();
        let key =
            json!({ "name": "k", "permissions": [Permission::ViewTasks, Permission::ModifyTasks] });
        let put = move |tx: &mut Transaction<'_>| {
            let doc = json!({
                "name": "O",
                "country": "ES",
                "languages": ["en"],
                "isTwoFactorRequired": false,
            });
            tx.execute(
                &PUT_ORGANIZATION,
                &values![ORGANIZATION, store::Value::json(&doc)?],
            )?;
            tx.execute(
                &PUT_KEY,
                &values![
                    Uuid::from_u128(2),
                    ORGANIZATION,
                    store::Value::Bytes(hash(TOKEN)),
                    store::Value::json(&key)?
                ],
            )
        };
        store.write(put).await.unwrap();
        let app = app();
        let clock = Clock::manual("2026-11-21T09:30:00Z".parse::<Timestamp>().unwrap());
        let service = Arc::new(Service {
            app,
            callers: Callers::of(app, &store, &clock),
            store,
            clock,
            app_state: Arc::new(AppState::new(
                Ids::default(),
                "http://notes.example/",
                &app.lists,
                Extensions::default().with(Prefix("- ")),
            )),
            settings: ServiceSettings {
                platform_keys: Vec::new(),
                idempotency_retention: Duration::from_secs(3_600),
                audit_retention: Duration::MAX,
            },
            limits: RateLimits::new(100, 0),
            guest_limits: RateLimits::new(0, 0),
            memory: Memory::for_processors(2),
            organization_hints: OrganizationHints::default(),
            in_flight: InFlight::default(),
            incoming: Arc::new(Incoming::new(1 << 20, Duration::ZERO)),
            outbound: Arc::new(OutboundBuffer::new(1 << 20, Duration::ZERO)),
            background: Background::default(),
        });
        let interface = surface::router(
            &service,
            Metrics::install().unwrap(),
            &[],
            OtherRoutes {
                within: vec![vestibule_tools::router(service.clone(), &[])],
                ..OtherRoutes::default()
            },
        )
        .unwrap();
        Self {
            service,
            interface,
            _folder: folder,
        }
    }

    async fn ask(
        &self,
        method: Method,
        token: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> (Response<()>, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri("/api/v1/notes")
            .header(AUTHORIZATION, format!("Bearer {token}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let (parts, body) = self
            .interface
            .clone()
            .oneshot(request.body(body).unwrap())
            .await
            .unwrap()
            .into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (
            Response::from_parts(parts, ()),
            serde_json::from_slice(&bytes).unwrap_or_default(),
        )
    }
}

#[tokio::test]
async fn a_caller_in_this_process_gets_values() {
    let program = Program::start().await;
    let call = async |operation: &str, headers: &[(HeaderName, &str)], body: &str| {
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            sent.insert(name, HeaderValue::from_str(value).unwrap());
        }
        let bearer = format!("Bearer {TOKEN}");
        sent.insert(AUTHORIZATION, HeaderValue::from_str(&bearer).unwrap());
        let request = pipeline::Request {
            id: Uuid::nil(),
            path: Vec::new(),
            query: Vec::new(),
            headers: sent,
            payload: pipeline::Payload::Body(Body::from(body.to_owned()), None),
            caller: None,
        };
        let operation = app().operation(operation).unwrap();
        pipeline::call(&program.service, operation, request)
            .await
            .answer
    };
    let list = async || call(LIST_NOTES.id(), &[], "").await.unwrap();
    let key = [
        (HeaderName::from_static("idempotency-key"), "a"),
        (CONTENT_TYPE, "application/json"),
    ];
    let create = async || {
        call(CREATE_NOTE.id(), &key, r#"{"text":"Milk"}"#)
            .await
            .unwrap()
    };

    let note = create().await.value::<Note>().unwrap().data;
    assert_eq!(note.text, "- Milk");
    // The second and the third request have the idempotency key of the first, so they get its
    // recorded response. That response is text and has no value of type `Note`.
    assert!(create().await.value::<Note>().is_err());
    let replayed = create().await.value_or_text::<Note>().unwrap().data;
    assert_eq!(replayed, note);

    let first = list().await.value::<Vec<Note>>().unwrap().data;
    let second = list().await.value::<Vec<Note>>().unwrap().data;
    assert!(Arc::ptr_eq(&first, &second), "the value comes from memory");
    assert_eq!(first[0], *note);
    let (_, listed) = program.ask(Method::GET, TOKEN, &[], None).await;
    assert_eq!(list().await.json::<Value>().unwrap().data, listed["data"]);

    let mismatch = list().await.value::<Note>().err().unwrap();
    let cause = mismatch.cause().unwrap().to_owned();
    assert!(cause.contains("listNotes"), "{cause}");
    let refused = call(CREATE_NOTE.id(), &key[1..], "{}").await.err().unwrap();
    assert_eq!(refused.kind().status(), 400);
}

#[tokio::test]
async fn a_small_program_serves_its_operations_over_http() {
    let program = Program::start().await;
    let (created, note) = program
        .ask(
            Method::POST,
            TOKEN,
            &[("idempotency-key", "a")],
            Some(json!({ "text": "Milk" })),
        )
        .await;
    assert_eq!(
        (created.status(), &note["data"]["text"]),
        (StatusCode::CREATED, &json!("- Milk"))
    );
    let (again, same) = program
        .ask(
            Method::POST,
            TOKEN,
            &[("idempotency-key", "a")],
            Some(json!({ "text": "Milk" })),
        )
        .await;
    assert_eq!(
        (
            again.headers()["idempotency-replayed"].to_str().unwrap(),
            same
        ),
        ("true", note.clone())
    );

    let (first, listed) = program.ask(Method::GET, TOKEN, &[], None).await;
    assert_eq!(
        (first.status(), &listed["data"]),
        (StatusCode::OK, &json!([note["data"]]))
    );
    let etag = first.headers()[ETAG].to_str().unwrap();
    assert_eq!(
        program
            .ask(Method::GET, TOKEN, &[("if-none-match", etag)], None)
            .await
            .0
            .status(),
        StatusCode::NOT_MODIFIED
    );
    assert!(
        program.service.memory.tally().hits > 0,
        "an unchanged response comes from memory"
    );
    program
        .ask(Method::POST, TOKEN, &[], Some(json!({ "text": "Bread" })))
        .await;
    assert_eq!(
        program
            .ask(Method::GET, TOKEN, &[("if-none-match", etag)], None)
            .await
            .1["data"]
            .as_array()
            .unwrap()
            .len(),
        2
    );

    let (refused, error) = program
        .ask(
            Method::POST,
            TOKEN,
            &[],
            Some(json!({ "text": "", "txet": "Milk" })),
        )
        .await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    assert_eq!(
        error["error"]["details"]["issues"]
            .as_array()
            .unwrap()
            .len(),
        2,
        "{error}"
    );
    assert_eq!(
        program
            .ask(Method::GET, "sk_nobody", &[], None)
            .await
            .0
            .status(),
        StatusCode::UNAUTHORIZED
    );
}

#[test]
fn a_small_program_has_an_openapi_document_and_tools() {
    let document = openapi::document(app(), Surface::Public, "http://127.0.0.1:8080");
    let notes = &document["paths"]["/notes"];
    assert_eq!(
        (&notes["post"]["operationId"], &notes["get"]["operationId"]),
        (&json!("createNote"), &json!("listNotes"))
    );
    assert_eq!(
        notes["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]["text"]
            ["maxLength"],
        20
    );
    let tools = vestibule_tools::describe_all(app());
    assert_eq!(
        tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(),
        ["createNote", "listNotes"]
    );
}

#[test]
fn statements_of_modules_and_the_engine_are_collected() {
    let is_there = |statement: &'static store::Statement| {
        app()
            .statements
            .iter()
            .any(|other| std::ptr::eq(*other, statement))
    };
    assert!([&INSERT, &LIST, &ERASE].into_iter().all(is_there));
    // The module's statement is the first in `erased`, because an erasure deletes the rows of
    // modules before the engine's rows.
    assert!(std::ptr::eq(app().erased[0], &raw const ERASE));
    assert_eq!(
        Access::platform().permissions.has(Permission::ViewTasks),
        Access::platform().permissions.has(Permission::ModifyTasks)
    );
}
