//! Tests of machine translation in the background (rules: translations#machine-translation;
//! portals#copy).
//!
//! Most servers in these tests start no translator. Instead a test creates a translator on the
//! database of the server, and decides when that translator runs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use features::translations::Translator;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use test_support::http_server::{HttpServer, RecordedRequest, Reply, response};
use test_support::ports::free_port;
use test_support::waiting::read_until;
use test_support::{Api, App, on_both};

/// A time that is longer than any pause between two attempts at one translation job.
const PAUSE: Duration = Duration::from_secs(600);
/// The time by which a test advances the clock, so that the lease of a job that another translator
/// has claimed ends.
const LEASE: Duration = Duration::from_secs(16);

/// A LibreTranslate-compatible service on loopback. Its translation of `Hello` into Spanish is
/// `[es] Hello`.
pub struct TranslationProvider {
    server: HttpServer,
    /// Status and body of the response with which the provider refuses to translate. `None` while
    /// the provider translates.
    refusal: Arc<Mutex<Option<(u16, String)>>>,
    is_held: watch::Sender<bool>,
}

impl TranslationProvider {
    pub async fn start() -> Self {
        let refusal = Arc::<Mutex<Option<(u16, String)>>>::default();
        let (is_held, seen) = watch::channel(false);
        let shared = refusal.clone();
        let server = HttpServer::start(move |request| {
            let (refusal, mut is_held) = (shared.clone(), seen.clone());
            async move {
                is_held.wait_for(|is_held| !is_held).await.unwrap();
                let refusal = refusal.lock().unwrap().clone();
                let (status, body) = refusal.unwrap_or_else(|| translation(&request));
                Reply::Response(response(status, "", &body))
            }
        })
        .await;
        Self {
            server,
            refusal,
            is_held,
        }
    }

    pub fn translator(&self, app: &App, key: Option<&str>) -> Translator {
        Translator::new(
            app.server.service.clone(),
            &self.server.base,
            key.map(str::to_owned),
        )
        .unwrap()
    }

    fn refuse(&self, status: u16, body: &str) {
        *self.refusal.lock().unwrap() = Some((status, body.to_owned()));
    }

    fn recover(&self) {
        *self.refusal.lock().unwrap() = None;
    }

    /// Delays all responses of the provider until [`TranslationProvider::release`].
    fn hold(&self) {
        self.is_held.send_replace(true);
    }

    fn release(&self) {
        self.is_held.send_replace(false);
    }

    /// Returns the bodies of the requests that the provider got since the last call, ordered by
    /// language and text.
    fn requests(&self) -> Vec<Value> {
        let requests = self.server.take_requests();
        let mut bodies: Vec<Value> = requests.iter().map(RecordedRequest::json).collect();
        bodies.sort_by_key(|body| format!("{} {}", body["target"], body["q"]));
        bodies
    }

    async fn until_requested(&self, count: usize) {
        read_until(
            async || self.server.requests().len(),
            |requests| *requests >= count,
        )
        .await;
    }
}

/// Returns the status and the body of the response that translates the text of a request.
fn translation(request: &RecordedRequest) -> (u16, String) {
    if request.method() != "POST" || request.target() != "/translate" {
        return (404, String::new());
    }
    let body = request.json();
    let text = format!(
        "[{}] {}",
        body["target"].as_str().unwrap(),
        body["q"].as_str().unwrap()
    );
    let answer = json!({ "translatedText": text, "alternatives": [] });
    (200, answer.to_string())
}

/// Starts one run of a translator as a task. The task returns how many translations the run
/// attempted.
fn begin(translator: &Translator) -> JoinHandle<usize> {
    let translator = translator.clone();
    tokio::spawn(async move { translator.step().await })
}

/// Creates a translation with an English text. Returns the id of the translation.
async fn create(api: &Api, text: &str) -> String {
    let body = json!({ "sourceTable": "manual", "text": text });
    api.post("/translations", body).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Writes the entry of a text in this language, as a person does. The entry is not marked as a
/// machine translation.
async fn write(api: &Api, id: &str, language: &str, text: &str) -> Value {
    api.ok(
        Method::PUT,
        &format!("/translations/{id}/entries/{language}"),
        Some(json!({ "text": text })),
    )
    .await
}

/// Returns, for each language of a translation, the language, the text, and whether the text is a
/// machine translation.
async fn versions(api: &Api, id: &str) -> Value {
    let entries = api.get(&format!("/translations/{id}/entries")).await.data();
    let version = |entry: &Value| {
        json!([
            entry["language"],
            entry["text"],
            entry["isMachineTranslated"]
        ])
    };
    entries.as_array().unwrap().iter().map(version).collect()
}

/// Waits until [`versions`] of a translation equals `expected`.
async fn until(api: &Api, id: &str, expected: Value) {
    read_until(
        async || versions(api, id).await,
        |versions| *versions == expected,
    )
    .await;
}

fn hello() -> Value {
    json!([
        ["en", "Hello", false],
        ["es", "[es] Hello", true],
        ["fr", "[fr] Hello", true]
    ])
}

on_both!(an_english_text_is_translated_into_the_other_languages);
async fn an_english_text_is_translated_into_the_other_languages(app: App) {
    let provider = TranslationProvider::start().await;
    let (translator, with_key) = (
        provider.translator(&app, None),
        provider.translator(&app, Some("secret")),
    );
    let api = app.org().await.key().await;
    let text = create(&api, "Hello").await;
    assert_eq!(
        versions(&api, &text).await,
        json!([["en", "Hello", false]]),
        "not in the request"
    );
    assert_eq!(translator.step().await, 2);
    assert_eq!(versions(&api, &text).await, hello());
    let sent = |language: &str| {
        json!({
            "q": "Hello",
            "source": "en",
            "target": language,
            "format": "text",
        })
    };
    assert_eq!(provider.requests(), [sent("es"), sent("fr")]);
    assert_eq!(translator.step().await, 0);

    create(&api, "Hello").await;
    assert_eq!(with_key.step().await, 2);
    let sent = |language: &str| {
        json!({
            "q": "Hello",
            "source": "en",
            "target": language,
            "format": "text",
            "api_key": "secret",
        })
    };
    assert_eq!(provider.requests(), [sent("es"), sent("fr")]);

    let spanish = json!({ "sourceTable": "manual", "text": "Hola", "language": "es" });
    let spanish = api.post("/translations", spanish).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(translator.step().await, 0, "only English is translated");
    write(&api, &spanish, "en", "Hello").await;
    assert_eq!(translator.step().await, 1);
    assert_eq!(
        versions(&api, &spanish).await,
        json!([
            ["en", "Hello", false],
            ["es", "Hola", false],
            ["fr", "[fr] Hello", true]
        ])
    );
    let metrics = app
        .http
        .get(format!("{}/metrics", app.base))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(metrics.contains("vestibule_translations_total{outcome=\"written\"}"));
}

on_both!(failed_translations_are_retried_until_they_succeed);
async fn failed_translations_are_retried_until_they_succeed(app: App) {
    let provider = TranslationProvider::start().await;
    let api = app.org().await.key().await;
    let text = create(&api, "Hello").await;
    let nobody = format!("http://127.0.0.1:{}", free_port());
    let unheard = Translator::new(app.server.service.clone(), &nobody, None).unwrap();
    assert_eq!(unheard.step().await, 2);
    let translator = provider.translator(&app, None);
    assert_eq!(translator.step().await, 0, "not at once");
    let large = json!({ "translatedText": "x".repeat(1 << 20) }).to_string();
    for (status, body) in [
        (500, ""),
        (302, ""),
        (403, r#"{"error":"no key"}"#),
        (200, ""),
        (200, "[]"),
        (200, "{}"),
        (200, r#"{"translatedText":7}"#),
        (200, r#"{"translatedText":" \n"}"#),
        (200, r#"{"translatedText":"a\u0000b"}"#),
        (200, r#"{"translatedText":"\ud800"}"#),
        (200, large.as_str()),
    ] {
        app.clock.advance(PAUSE);
        provider.refuse(status, body);
        assert_eq!(translator.step().await, 2, "{status} {body:.40}");
        assert_eq!(translator.step().await, 0);
    }
    assert_eq!(versions(&api, &text).await, json!([["en", "Hello", false]]));
    provider.recover();
    app.clock.advance(PAUSE);
    assert_eq!(translator.step().await, 2);
    assert_eq!(versions(&api, &text).await, hello());
    app.clock.advance(PAUSE);
    assert_eq!(translator.step().await, 0);
}

on_both!(the_first_retry_pause_is_at_most_a_second);
async fn the_first_retry_pause_is_at_most_a_second(app: App) {
    let provider = TranslationProvider::start().await;
    let translator = provider.translator(&app, None);
    let api = app.org().await.key().await;
    let text = create(&api, "Hello").await;
    provider.refuse(503, "");
    assert_eq!(translator.step().await, 2);
    provider.recover();
    app.clock.advance(Duration::from_secs(1));
    assert_eq!(translator.step().await, 2);
    assert_eq!(versions(&api, &text).await, hello());
}

on_both!(texts_written_by_hand_during_a_translation_are_kept);
async fn texts_written_by_hand_during_a_translation_are_kept(app: App) {
    let provider = TranslationProvider::start().await;
    let translator = provider.translator(&app, None);
    let api = app.org().await.key().await;
    let waiting = create(&api, "Hello").await;
    write(&api, &waiting, "es", "Hola").await;
    assert_eq!(translator.step().await, 1);
    assert_eq!(provider.requests()[0]["target"], "fr");
    let kept = json!([
        ["en", "Hello", false],
        ["es", "Hola", false],
        ["fr", "[fr] Hello", true]
    ]);
    assert_eq!(versions(&api, &waiting).await, kept);

    provider.hold();
    let under_way = create(&api, "Hello").await;
    let step = begin(&translator);
    provider.until_requested(2).await;
    write(&api, &under_way, "es", "Hola").await;
    provider.release();
    assert_eq!(step.await.unwrap(), 2);
    assert_eq!(versions(&api, &under_way).await, kept);
    assert_eq!(translator.step().await, 0);
}

on_both!(the_newest_english_text_is_translated);
async fn the_newest_english_text_is_translated(app: App) {
    let provider = TranslationProvider::start().await;
    let translator = provider.translator(&app, None);
    let api = app.org().await.key().await;
    let text = create(&api, "Hello").await;
    provider.hold();
    let step = begin(&translator);
    provider.until_requested(2).await;
    write(&api, &text, "en", "Goodbye").await;
    provider.release();
    assert_eq!(
        step.await.unwrap(),
        4,
        "two too late, and two of the new text"
    );
    let texts: Vec<_> = provider
        .requests()
        .iter()
        .map(|body| body["q"].clone())
        .collect();
    assert_eq!(texts, ["Goodbye", "Hello", "Goodbye", "Hello"]);
    let expected = json!([
        ["en", "Goodbye", false],
        ["es", "[es] Goodbye", true],
        ["fr", "[fr] Goodbye", true]
    ]);
    assert_eq!(versions(&api, &text).await, expected);
}

on_both!(a_new_english_text_renews_machine_translations);
async fn a_new_english_text_renews_machine_translations(app: App) {
    let provider = TranslationProvider::start().await;
    let translator = provider.translator(&app, None);
    let api = app.org().await.key().await;
    let text = create(&api, "Hello").await;
    assert_eq!(translator.step().await, 2);
    write(&api, &text, "fr", "Salut").await;
    let english = write(&api, &text, "en", "Goodbye").await;
    assert_eq!(translator.step().await, 1);
    let renewed = json!([
        ["en", "Goodbye", false],
        ["es", "[es] Goodbye", true],
        ["fr", "Salut", false]
    ]);
    assert_eq!(versions(&api, &text).await, renewed);

    app.clock.advance(Duration::from_secs(1));
    assert_eq!(
        write(&api, &text, "en", "Goodbye").await,
        english,
        "the same text again changes nothing"
    );
    assert_eq!(translator.step().await, 0);
    assert_eq!(
        write(&api, &text, "es", "[es] Goodbye").await["isMachineTranslated"],
        false,
        "a person stands by it now"
    );
    let moved = write(&api, &text, "en", "Farewell").await;
    assert!(moved["updatedAt"].as_str() > english["updatedAt"].as_str());
    assert_eq!(translator.step().await, 0);
    let kept = json!([
        ["en", "Farewell", false],
        ["es", "[es] Goodbye", false],
        ["fr", "Salut", false]
    ]);
    assert_eq!(versions(&api, &text).await, kept);
}

on_both!(new_copy_of_a_portal_replaces_manual_translations);
async fn new_copy_of_a_portal_replaces_manual_translations(app: App) {
    let provider = TranslationProvider::start().await;
    let translator = provider.translator(&app, None);
    let api = app.org().await.key().await;
    let portal = api
        .post(
            "/portals",
            json!({ "name": "Casa", "specialOfferTitle": "Hello" }),
        )
        .await
        .data();
    let (path, text) = (
        format!("/portals/{}", portal["id"].as_str().unwrap()),
        portal["specialOfferTitleId"].as_str().unwrap(),
    );
    assert_eq!(translator.step().await, 2);
    write(&api, text, "es", "Hola").await;
    write(&api, text, "pt-BR", "Oi").await;
    for unchanged in ["Hello", ""] {
        api.patch(&path, json!({ "data": { "specialOfferTitle": unchanged } }))
            .await
            .data();
    }
    assert_eq!(translator.step().await, 0);
    api.patch(&path, json!({ "data": { "specialOfferTitle": "Goodbye" } }))
        .await
        .data();
    assert_eq!(translator.step().await, 3);
    let replaced = json!([
        ["en", "Goodbye", false],
        ["es", "[es] Goodbye", true],
        ["fr", "[fr] Goodbye", true],
        ["pt-BR", "[pt-BR] Goodbye", true],
    ]);
    assert_eq!(versions(&api, text).await, replaced);

    api.patch(
        &path,
        json!({ "data": { "specialOfferTitle": "Farewell" } }),
    )
    .await
    .data();
    write(&api, text, "es", "Adiós").await;
    assert_eq!(
        translator.step().await,
        2,
        "what is written after the change stands"
    );
    assert_eq!(versions(&api, text).await[1], json!(["es", "Adiós", false]));
}

on_both!(a_too_long_translation_is_not_saved);
async fn a_too_long_translation_is_not_saved(app: App) {
    let provider = TranslationProvider::start().await;
    let translator = provider.translator(&app, None);
    let api = app.org().await.key().await;
    // The provider's prefix makes each translation five characters longer than the text. The
    // translation of the second text would exceed the limit of 200 characters.
    let (fits, long) = ("x".repeat(195), "y".repeat(196));
    let portal = api
        .post(
            "/portals",
            json!({ "name": "Casa", "specialOfferTitle": fits }),
        )
        .await
        .data();
    let (path, text) = (
        format!("/portals/{}", portal["id"].as_str().unwrap()),
        portal["specialOfferTitleId"].as_str().unwrap(),
    );
    assert_eq!(translator.step().await, 2);
    let translated = json!([
        ["en", fits, false],
        ["es", format!("[es] {fits}"), true],
        ["fr", format!("[fr] {fits}"), true]
    ]);
    assert_eq!(versions(&api, text).await, translated);
    write(&api, text, "es", "Oferta").await;
    api.patch(&path, json!({ "data": { "specialOfferTitle": long } }))
        .await
        .data();
    assert_eq!(translator.step().await, 2);
    assert_eq!(
        versions(&api, text).await,
        json!([["en", long, false]]),
        "neither half a sentence nor that of an older text"
    );
    app.clock.advance(PAUSE);
    assert_eq!(translator.step().await, 0, "it would be too long again");
    let metrics = app
        .http
        .get(format!("{}/metrics", app.base))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(metrics.contains("vestibule_translations_total{outcome=\"too_long\"}"));
    write(&api, text, "fr", "Offre").await;
    api.patch(&path, json!({ "data": { "specialOfferTitle": "Hello" } }))
        .await
        .data();
    assert_eq!(translator.step().await, 2);
    assert_eq!(versions(&api, text).await, hello());
}

on_both!(the_queue_follows_the_languages_of_the_organization);
async fn the_queue_follows_the_languages_of_the_organization(app: App) {
    let provider = TranslationProvider::start().await;
    let translator = provider.translator(&app, None);
    let org = app
        .org_with(json!({ "name": "Casa", "languages": ["es"] }))
        .await;
    let api = org.key().await;
    let (text, other) = (create(&api, "Hello").await, create(&api, "Hello").await);
    write(&api, &other, "fr", "Salut").await;
    assert_eq!(translator.step().await, 2);
    let languages =
        |languages: &[&str]| org.put("", json!({ "name": "Casa", "languages": languages }));
    languages(&["es", "fr"]).await;
    assert_eq!(
        translator.step().await,
        1,
        "what there is needs no translation"
    );
    assert_eq!(versions(&api, &text).await, hello());

    write(&api, &text, "en", "Goodbye").await;
    languages(&["fr"]).await;
    assert_eq!(translator.step().await, 1, "nobody wants Spanish any more");
    languages(&["es", "fr"]).await;
    assert_eq!(
        translator.step().await,
        1,
        "and now they do, of the text as it is"
    );
    let expected = json!([
        ["en", "Goodbye", false],
        ["es", "[es] Goodbye", true],
        ["fr", "[fr] Goodbye", true]
    ]);
    assert_eq!(versions(&api, &text).await, expected);
}

on_both!(placeholders_survive_translation);
async fn placeholders_survive_translation(app: App) {
    let provider = TranslationProvider::start().await;
    let api = app.org().await.key().await;
    let text = create(&api, "Hi {{guest.firstName}}, in {{ property.name }}").await;
    provider.translator(&app, None).step().await;
    let found = versions(&api, &text).await;
    let spanish = found
        .as_array()
        .unwrap()
        .iter()
        .find(|version| version[0] == "es")
        .unwrap();
    assert_eq!(
        spanish[1],
        "[es] Hi {{guest.firstName}}, in {{ property.name }}"
    );
    assert!(
        provider
            .requests()
            .iter()
            .all(|body| !body["q"].as_str().unwrap().contains("guest"))
    );
}

on_both!(concurrent_translators_share_the_work);
async fn concurrent_translators_share_the_work(app: App) {
    let provider = TranslationProvider::start().await;
    let (one, another) = (
        provider.translator(&app, None),
        provider.translator(&app, None),
    );
    let api = app.org().await.key().await;
    for number in 0..12 {
        create(&api, &format!("Hello {number}")).await;
    }
    let (ones, others) = tokio::join!(one.step(), another.step());
    assert_eq!((ones + others, provider.requests().len()), (24, 24));
}

on_both!(jobs_of_a_killed_translator_are_retried_after_their_lease);
async fn jobs_of_a_killed_translator_are_retried_after_their_lease(app: App) {
    let provider = TranslationProvider::start().await;
    let translator = provider.translator(&app, None);
    let api = app.org().await.key().await;
    let text = create(&api, "Hello").await;
    provider.hold();
    let dying = begin(&translator);
    provider.until_requested(2).await;
    dying.abort();
    assert!(dying.await.unwrap_err().is_cancelled());
    provider.release();
    assert_eq!(
        translator.step().await,
        0,
        "for all it knows, another one is at it"
    );
    app.clock.advance(LEASE);
    assert_eq!(translator.step().await, 2);
    assert_eq!(versions(&api, &text).await, hello());
}

on_both!(a_later_translator_translates_earlier_texts);
async fn a_later_translator_translates_earlier_texts(app: App) {
    let provider = TranslationProvider::start().await;
    let api = app.org().await.key().await;
    let text = create(&api, "Hello").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(versions(&api, &text).await, json!([["en", "Hello", false]]));
    let base = format!("{}/", provider.server.base);
    let node = app
        .second_node(&["--translator-url", &base, "--translator-key", "secret"])
        .await;
    until(&api, &text, hello()).await;
    let there = node.api(api.token.as_deref().unwrap());
    let text = create(&there, "Hello").await;
    until(&there, &text, hello()).await;
    assert!(
        provider
            .requests()
            .iter()
            .all(|body| body["api_key"] == "secret")
    );
}

/// Only one process uses a SQLite database. A new process can therefore take over jobs that an
/// earlier process had claimed, without waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_the_next_process_takes_over_jobs_at_once() {
    let provider = TranslationProvider::start().await;
    let app = App::on_sqlite(&[]).await;
    let api = app.org().await.key().await;
    let text = create(&api, "Hello").await;
    provider.hold();
    let dying = begin(&provider.translator(&app, None));
    provider.until_requested(2).await;
    dying.abort();
    assert!(dying.await.unwrap_err().is_cancelled());
    provider.release();
    let _next = app
        .second_node(&["--translator-url", &provider.server.base])
        .await;
    until(&api, &text, hello()).await;
}
