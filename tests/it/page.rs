//! The guest's page and its forms (contract: Guest interface).

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::house::{House, id, with};
use crate::support::{Answer, App, new_id, on_both};

const FORM: &str = "application/x-www-form-urlencoded";

/// A browser without scripts, on the page of a stay.
struct Browser<'a> {
    app: &'a App,
    /// Follows no redirect by itself.
    http: Client,
    token: String,
}

impl<'a> Browser<'a> {
    fn new(house: &House<'a>) -> Self {
        let http = Client::builder().redirect(Policy::none()).build().unwrap();
        Self { app: house.org.app, http, token: house.token.clone() }
    }

    /// Opens the page with a query.
    async fn open(&self, query: &str) -> String {
        self.visit(&format!("/stay/{}{query}", self.token)).await
    }

    async fn visit(&self, address: &str) -> String {
        let answer = Answer::of(self.http.get(format!("{}{address}", self.app.base))).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/html; charset=utf-8")), "{}", answer.body);
        html(&answer)
    }

    /// A form with these fields, to an address below the page.
    fn form(&self, rest: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.body(rest, body).header("content-type", FORM)
    }

    fn body(&self, rest: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        self.http.post(format!("{}/stay/{}{rest}", self.app.base, self.token)).body(body)
    }

    async fn post(&self, rest: &str, fields: &[(&str, &str)]) -> Answer {
        Answer::of(self.form(rest, fields)).await
    }

    /// The page that shows a refusal.
    async fn refused(&self, status: u16, rest: &str, fields: &[(&str, &str)]) -> String {
        self.refusal(status, self.form(rest, fields)).await
    }

    async fn refusal(&self, status: u16, request: RequestBuilder) -> String {
        let answer = Answer::of(request).await;
        assert_eq!((answer.status, answer.header("content-type")), (status, Some("text/html; charset=utf-8")), "{}", answer.body);
        html(&answer)
    }

    /// Fills in the form of a page that goes there, sends it, and goes where that leads: the address and the page.
    async fn fill_in(&self, page: &str, place: &str, fields: &[(&str, &str)]) -> (String, String) {
        let action = action(page, place).unwrap_or_else(|| panic!("no form goes to {place}: {page}"));
        let rest = action.strip_prefix(&format!("/stay/{}", self.token)).unwrap().to_owned();
        let answer = self.post(rest.split('#').next().unwrap(), fields).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        assert_eq!((answer.header("cache-control"), answer.header("referrer-policy")), (Some("no-store"), Some("no-referrer")));
        let address = answer.header("location").unwrap().to_owned();
        let page = self.visit(address.split('#').next().unwrap()).await;
        let anchor = address.split('#').nth(1).unwrap();
        assert!(page.contains(&format!("id=\"{anchor}\"")), "the place is there: {address}");
        (address, page)
    }
}

fn html(answer: &Answer) -> String {
    let html = answer.body.as_str().unwrap().to_owned();
    assert!(!html.to_lowercase().contains("<script"), "no script, and none written by anyone: {html}");
    html
}

/// Where a form of a page goes, as a browser reads it.
fn action(page: &str, place: &str) -> Option<String> {
    let actions = page.split("action=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    actions.map(|action| action.replace("&#38;", "&")).find(|action| action.contains(place))
}

/// The card of a step.
fn card(page: &str, step: Uuid) -> &str {
    let from = page.find(&format!("id=\"step-{step}\"")).unwrap_or_else(|| panic!("no card of {step}: {page}"));
    let card = &page[from..];
    let next = card.find("class=\"step\"").into_iter().chain(card.find("id=\"submit\"")).min();
    &card[..next.unwrap_or(card.len())]
}

#[track_caller]
fn shows(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "{text:?} is not in {page}");
    }
}

#[track_caller]
fn lacks(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(!page.contains(text), "{text:?} is in {page}");
    }
}

/// A translation with its English and its Spanish text.
async fn text(house: &House<'_>, table: &str, english: &str, spanish: &str) -> Value {
    let created = house.api.post("/translations", json!({ "sourceTable": table, "text": english })).await.data()["id"].clone();
    let path = format!("/translations/{}/entries/es", created.as_str().unwrap());
    house.api.ok(Method::PUT, &path, Some(json!({ "text": spanish }))).await;
    created
}

/// A heading for manuals.
async fn heading(house: &House<'_>, title: &str) -> Value {
    house.api.post("/portal-manual-categories", json!({ "title": title })).await.data()["id"].clone()
}

/// An active manual, assigned to the flat and younger than any before.
async fn manual(house: &House<'_>, more: Value) -> Uuid {
    house.org.app.clock.advance(Duration::from_millis(5));
    let fields = json!({ "nickname": "for the team", "isActive": true, "propertyId": house.flat });
    id(&house.api.post("/portal-manuals", with(fields, more)).await.data()["id"])
}

/// The card of a manual.
fn reading(page: &str, manual: Uuid) -> &str {
    let from = page.find(&format!("id=\"manual-{manual}\"")).unwrap_or_else(|| panic!("no card of {manual}: {page}"));
    let card = &page[from..];
    let next = card.find("class=\"manual\"").into_iter().chain(card.find("</section>")).min();
    &card[..next.unwrap_or(card.len())]
}

/// What the platform reads of the stay.
async fn handed_in(house: &House<'_>) -> Value {
    let path = house.org.path(&format!("/reservations/{}/precheckin", house.stay));
    house.org.app.platform().get(&path).await.data()
}

/// A step that asks whether the guest drives, then which car, and what is to be prepared.
struct Survey {
    step: Uuid,
    /// The names of the fields.
    drives: String,
    car: String,
    extras: String,
    yes: String,
    no: String,
    crib: String,
    chair: String,
}

impl Survey {
    async fn build(house: &House<'_>) -> Self {
        let of_question = "precheck_question";
        let drives = text(house, of_question, "Will you drive?", "¿Vienes en coche?").await;
        let car = text(house, of_question, "Which car?", "¿Qué coche?").await;
        let extras = text(house, of_question, "Extras?", "¿Qué preparamos?").await;
        let crib = text(house, of_question, "Crib", "Cuna").await;
        let chair = text(house, of_question, "High chair", "Trona").await;
        let asked = json!([
            { "kind": "yes_no", "textMlTextId": drives, "isRequired": true },
            { "kind": "free_form_input", "textMlTextId": car, "isRequired": true,
              "conditions": [{ "questionIndex": 0, "optionIndex": 0 }] },
            { "kind": "multi_select", "textMlTextId": extras, "options": [{ "nameMlTextId": crib }, { "nameMlTextId": chair }] },
        ]);
        let step = house.step("additional_questions", json!({ "questions": asked })).await;
        let questions = house.api.get(&format!("/precheck-steps/{step}")).await.data()["questions"].clone();
        let field = |number: usize, end: &str| format!("q.{}{end}", questions[number]["id"].as_str().unwrap());
        let option = |number: usize, place: usize| questions[number]["options"][place]["id"].as_str().unwrap().to_owned();
        Self {
            step,
            drives: field(0, ""),
            car: field(1, ".text"),
            extras: field(2, ""),
            yes: option(0, 0),
            no: option(0, 1),
            crib: option(2, 0),
            chair: option(2, 1),
        }
    }
}

/// A box or a button as it is on the page.
fn input(kind: &str, field: &str, option: &str) -> String {
    format!("<input type=\"{kind}\" id=\"o-{option}\" name=\"{field}\" value=\"{option}\"")
}

const ADA: &[(&str, &str)] = &[("firstName", "Ada"), ("lastName", "Lovelace"), ("email", "ada@example.com"), ("phone", "")];

on_both! {
    async fn a_guest_goes_all_the_way_in_spanish(app: App) {
        let house = House::build(&app).await;
        let survey = Survey::build(&house).await;
        let agreement = house.step("agreement", json!({ "contractTemplateText": "Sin fiestas.\nSin ruido." })).await;
        let documents = house.step("document_upload", json!({})).await;
        let details = house.step("your_details", json!({})).await;
        let others = house.step("other_guests", json!({})).await;
        let browser = Browser::new(&house);
        let at = |step: Uuid, more: &str| format!("/stay/{}?language=es&step={step}{more}#step-{step}", house.token);

        let page = browser.open("?language=es").await;
        shows(&page, &["lang=\"es\"", "Completa tu pre-check-in", "Sin empezar", "Podrás enviarlo cuando", " disabled "]);
        let titles = ["Tus datos", "Otros huéspedes", "Algunas preguntas", "Sube tus documentos", "Contrato de alquiler"];
        let places = titles.map(|title| page.find(&format!("<span class=\"title\">{title}</span>")).unwrap());
        assert!(places.is_sorted(), "in guest order");
        shows(&page, &[&format!("id=\"step-{details}\" open")]);
        assert_eq!((page.matches(" open>").count(), page.matches("✓ Hecho").count()), (1, 0));
        shows(card(&page, details), &["Pendiente", "value=\"Ada\"", "value=\"L\"", "Nombre", "Correo electrónico", "(obligatorio)"]);

        let (address, page) = browser.fill_in(&page, &format!("/steps/{details}"), ADA).await;
        assert_eq!(address, at(others, ""));
        shows(&page, &["En curso", &format!("id=\"step-{others}\" open")]);
        shows(card(&page, details), &["✓ Hecho", "Ya está guardado."]);
        lacks(card(&page, details), &["value=\"Ada\""]);

        let (address, page) = browser.fill_in(&page, &format!("/steps/{others}"), &[("guests", " ")]).await;
        assert_eq!(address, at(survey.step, ""), "nobody else is an answer");
        let questions = card(&page, survey.step);
        shows(questions, &["¿Vienes en coche?", "<span>Sí</span>", "<span>No</span>", "¿Qué preparamos?", "Cuna", "Trona"]);
        let (yes, crib) = (input("radio", &survey.drives, &survey.yes), input("checkbox", &survey.extras, &survey.crib));
        let chair = input("checkbox", &survey.extras, &survey.chair);
        shows(questions, &[&format!("{yes} required>"), &format!("{crib}>"), &format!("{chair}>")]);
        lacks(questions, &["¿Qué coche?", " checked"]);

        let place = format!("/steps/{}", survey.step);
        let some: [(&str, &str); 2] = [(&survey.drives, &survey.yes), (&survey.extras, &survey.chair)];
        let (address, page) = browser.fill_in(&page, &place, &some).await;
        assert_eq!(address, at(survey.step, "&note=more"), "the next question is asked");
        let questions = card(&page, survey.step);
        shows(questions, &["Aún queda algo por completar aquí.", "Pendiente", "¿Qué coche?"]);
        shows(questions, &[&format!("{yes} checked required>"), &format!("{crib}>"), &format!("{chair} checked>")]);

        let all: [(&str, &str); 4] = [
            (&survey.drives, &survey.yes), (&survey.car, "Rojo\r\n</textarea><script>alert(1)</script>"),
            (&survey.extras, &survey.crib), (&survey.extras, &survey.chair),
        ];
        let (address, page) = browser.fill_in(&page, &place, &all).await;
        assert_eq!(address, at(documents, ""));
        shows(card(&page, survey.step), &["✓ Hecho", "\nRojo\n&#60;/textarea&#62;&#60;script&#62;alert(1)&#60;/script&#62;</textarea>"]);

        shows(card(&page, documents), &["te indicará cómo enviarlos", "Confirmar"]);
        let (address, page) = browser.fill_in(&page, &format!("/steps/{documents}"), &[("isConfirmed", "true")]).await;
        assert_eq!(address, at(agreement, ""));
        assert_eq!(action(&page, &format!("/steps/{documents}")), None, "confirmed once and for all");

        shows(card(&page, agreement), &["Sin fiestas.\nSin ruido.", "He leído y acepto este contrato."]);
        let place = format!("/steps/{agreement}");
        let (address, page) = browser.fill_in(&page, &place, &[]).await;
        assert_eq!(address, at(agreement, "&note=more"), "saved, and not accepted");
        shows(card(&page, agreement), &["Pendiente"]);
        shows(&page, &[" disabled "]);
        let (address, page) = browser.fill_in(&page, &place, &[("isAccepted", "true")]).await;
        assert_eq!(address, format!("/stay/{}?language=es#submit", house.token));
        lacks(&page, &[" disabled", "Podrás enviarlo", "Pendiente", " open>"]);

        let (address, page) = browser.fill_in(&page, "/submit", &[]).await;
        assert_eq!(address, format!("/stay/{}?language=es#submit", house.token));
        shows(&page, &["En revisión", "Has enviado tu pre-check-in.", "Sin fiestas."]);
        assert_eq!((action(&page, "/steps/"), action(&page, "/submit")), (None, None));
        assert_eq!(page.matches("✓ Hecho").count(), 5);

        let handed_in = handed_in(&house).await;
        let (car, extras) = (&survey.car[2..38], &survey.extras[2..]);
        let answers: Vec<&Value> = handed_in["steps"].as_array().unwrap().iter().map(|step| &step["answers"]).collect();
        assert_eq!(json!(answers), json!([
            { "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com" },
            {},
            {
                &survey.drives[2..]: { "optionIds": [survey.yes] }, car: { "text": "Rojo\n</textarea><script>alert(1)</script>" },
                extras: { "optionIds": [survey.crib, survey.chair] },
            },
            { "isConfirmed": true },
            { "isAccepted": true },
        ]));
        assert_eq!(handed_in["status"], "in_review");
    }

    async fn a_form_that_is_refused_is_shown_again(app: App) {
        let house = House::build(&app).await;
        let survey = Survey::build(&house).await;
        let details = house.step("your_details", json!({})).await;
        let browser = Browser::new(&house);
        let questions = format!("/steps/{}?language=es", survey.step);
        let not_saved = "No se ha podido guardar.";

        let wrong: [(&str, &str); 4] =
            [(&survey.drives, &survey.crib), (&survey.drives, "yes"), (&survey.car[..38], &survey.yes), ("isAccepted", "true")];
        for field in wrong {
            let page = browser.refused(400, &questions, &[field, (&survey.extras, &survey.chair)]).await;
            shows(&page, &[&format!("id=\"step-{}\" open", survey.step)]);
            shows(card(&page, survey.step), &[not_saved, &format!("{} checked>", input("checkbox", &survey.extras, &survey.chair))]);
            lacks(card(&page, details), &[not_saved]);
        }
        let both: [(&str, &str); 2] = [(&survey.drives, &survey.yes), (&survey.drives, &survey.no)];
        browser.refused(400, &questions, &both).await;
        browser.refused(400, &questions, &[(&format!("q.{}", new_id()), &survey.yes)]).await;
        browser.refused(400, &questions, &[(&survey.car, "\0")]).await;

        let blank = [("firstName", "Grace"), ("lastName", " "), ("email", "grace@example.com"), ("phone", "")];
        let page = browser.refused(400, &format!("/steps/{details}?language=es"), &blank).await;
        shows(card(&page, details), &[not_saved, "value=\"Grace\"", "value=\"grace@example.com\""]);
        let page = browser.refused(409, "/submit?language=es", &[]).await;
        shows(&page, &["Todavía hay pasos sin hacer.", "Sin empezar"]);
        browser.refused(400, "/submit?language=es", &[("force", "true")]).await;
        let page = browser.refused(404, &format!("/steps/{}?language=es", new_id()), &[]).await;
        shows(&page, &["Este paso ya no forma parte de tu pre-check-in.", "Tus datos"]);
        browser.refused(400, "/submit?language=!", &[]).await;
        assert_eq!(handed_in(&house).await["status"], "not_started", "nothing of all that was saved");

        browser.post(&format!("/steps/{details}"), ADA).await;
        assert_eq!(browser.post(&questions, &[(&survey.drives, &survey.no)]).await.status, 303);
        assert_eq!(browser.post("/submit", &[]).await.status, 303);
        shows(&browser.refused(409, "/submit?language=fr", &[]).await, &["Votre pré-enregistrement a déjà été envoyé."]);
        let page = browser.refused(409, &format!("/steps/{details}?language=es"), ADA).await;
        shows(card(&page, details), &["Tu pre-check-in ya se ha enviado."]);
        house.update_portal(house.portal, json!({ "isPrecheckinEnabled": false })).await;
        let page = browser.refused(403, "/submit", &[]).await;
        shows(&page, &["Pre-check-in is not available at the moment."]);
        lacks(&page, &["id=\"precheckin\""]);
    }

    async fn a_body_that_is_no_form_is_refused(app: App) {
        let house = House::build(&app).await;
        let details = house.step("your_details", json!({})).await;
        let browser = Browser::new(&house);
        let encoded = form_urlencoded::Serializer::new(String::new()).extend_pairs(ADA).finish();
        let path = format!("/steps/{details}");
        let body = || browser.body(&path, encoded.clone());
        let answers = json!({ "answers": { "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com" } });
        for request in [
            browser.body(&path, answers.to_string()).header("content-type", "application/json"),
            body(), body().header("content-type", "application/json"), body().header("content-type", "text/plain"),
            body().header("content-type", "multipart/form-data; boundary=x"),
            body().header("content-type", FORM).header("content-type", FORM),
            body().header("content-type", FORM).header("content-encoding", "gzip"),
            browser.body(&path, format!("{encoded}{}", "+".repeat(64 << 10))).header("content-type", FORM),
        ] {
            shows(card(&browser.refusal(400, request).await, details), &["This could not be saved."]);
        }
        assert_eq!(handed_in(&house).await["steps"][0]["answers"], Value::Null);
        let padding = "+".repeat((64 << 10) - encoded.len());
        let whole = browser.body(&path, format!("{encoded}{padding}"));
        let whole = whole.header("content-type", "Application/X-WWW-Form-Urlencoded; charset=UTF-8");
        assert_eq!(Answer::of(whole).await.status, 303, "64 KiB are taken");
        assert_eq!(handed_in(&house).await["steps"][0]["answers"]["firstName"], "Ada");
    }

    async fn a_guest_writes_to_the_host(app: App) {
        let house = House::build(&app).await;
        let browser = Browser::new(&house);
        let page = browser.open("?language=fr").await;
        shows(&page, &["Écrire à votre hôte", "Votre message"]);
        let (address, page) = browser.fill_in(&page, "/messages", &[("text", "Bonjour,\r\nà quelle heure ?")]).await;
        assert_eq!(address, format!("/stay/{}?language=fr&note=sent#messages", house.token));
        shows(&page, &["Votre message a été envoyé."]);
        app.clock.advance(Duration::from_millis(5));
        let (address, page) = browser.fill_in(&browser.open("").await, "/messages", &[("text", "Hello")]).await;
        assert_eq!(address, format!("/stay/{}?note=sent#messages", house.token), "the language asked for, and no other");
        shows(&page, &["Your message has been sent."]);
        for text in [" ".to_owned(), "x".repeat(6001)] {
            let page = browser.refused(400, "/messages?language=es", &[("text", &text)]).await;
            shows(&page, &["No se ha podido enviar el mensaje.", &text]);
        }
        browser.refused(400, "/messages", &[("text", "Hello"), ("to", "all")]).await;
        house.update_portal(house.portal, json!({ "isChatEnabled": false })).await;
        let page = browser.refused(403, "/messages?language=fr", &[("text", "Hello")]).await;
        shows(&page, &["Votre hôte ne reçoit pas de messages ici."]);
        lacks(&page, &["/messages"]);
        let messages = handed_in(&house).await["messages"].clone();
        assert_eq!(messages.as_array().unwrap().len(), 2);
        assert_eq!((&messages[0]["text"], &messages[1]["text"]), (&json!("Bonjour,\nà quelle heure ?"), &json!("Hello")));
    }

    async fn what_was_written_is_text(app: App) {
        let house = House::build(&app).await;
        let evil = "\"><script>alert('x')</script>";
        let escaped = "&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;";
        let description = text(&house, "precheck_step_detail", evil, evil).await;
        let agreement = house.step("agreement", json!({
            "displayTitle": evil, "guestDescriptionMlTextId": description, "contractTemplateText": format!("<b>Uno</b>\n  dos\n{evil}"),
        })).await;
        let asked = text(&house, "precheck_question", evil, evil).await;
        let questions = house.step("additional_questions", json!({ "questions": [
            { "kind": "free_form_input", "textMlTextId": asked },
            { "kind": "single_select", "textMlTextId": asked, "options": [{ "nameMlTextId": asked }] },
        ] })).await;
        let details = house.step("your_details", json!({})).await;
        let browser = Browser::new(&house);
        let page = browser.open("?language=es&step=%22%3E%3Cscript%3E&note=%3Cscript%3E").await;
        let shown = card(&page, agreement);
        assert_eq!(shown.matches(escaped).count(), 4, "title, label, description and text: {shown}");
        shows(shown, &["&#60;b&#62;Uno&#60;/b&#62;\n  dos\n"]);
        let shown = card(&page, questions);
        assert_eq!(shown.matches(escaped).count(), 3, "{shown}");
        shows(shown, &["Sin respuesta", "value=\"\" checked>"]);

        let page = browser.refused(400, &format!("/steps/{details}"), &[("firstName", evil), (evil, evil)]).await;
        shows(card(&page, details), &[&format!("value=\"{escaped}\"")]);
        let refused = browser.refused(400, "/messages", &[("text", evil), ("to", "x")]).await;
        shows(&refused, &[&format!("{escaped}</textarea>")]);
        let language = "?language=%22%3E%3Cscript%3E";
        let opened = browser.http.get(format!("{}/stay/{}{language}", app.base, house.token));
        lacks(&browser.refusal(400, opened).await, &["<form"]);
        lacks(&browser.refused(400, &format!("/messages{language}"), &[("text", "x")]).await, &["<form"]);
    }

    async fn the_page_opens_to_its_token_only(app: App) {
        let house = House::build(&app).await;
        let details = house.step("your_details", json!({})).await;
        let browser = Browser::new(&house);
        let answer = Answer::of(browser.http.get(format!("{}/stay/{}", app.base, house.token))).await;
        assert_eq!((answer.header("referrer-policy"), answer.header("cache-control")), (Some("no-referrer"), Some("no-store")));
        assert_eq!(answer.header("content-security-policy"), Some(
            "default-src 'none'; style-src 'unsafe-inline'; img-src http: https:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        ));
        let stranger = Browser { app: &app, http: browser.http.clone(), token: "nonsense".into() };
        for rest in [format!("/steps/{details}"), "/submit".into(), "/messages".into()] {
            shows(&stranger.refused(404, &rest, ADA).await, &["not found"]);
            let json = stranger.body(&rest, "{}").header("content-type", "application/json");
            shows(&stranger.refusal(404, json).await, &["not found"]);
            Answer::of(browser.http.get(format!("{}/stay/{}{rest}", app.base, house.token))).await.error(404);
        }
        let below = format!("/steps/{details}/x");
        for rest in ["", "/", "/submit/", "/steps", "/steps/", "/steps/nonsense", "/steps/%00", below.as_str(), "/else"] {
            browser.post(rest, ADA).await.error(404);
        }
        for token in ["%00", "%ff"] {
            Browser { app: &app, http: browser.http.clone(), token: token.into() }.post("/submit", &[]).await.error(404);
        }
        assert_eq!(handed_in(&house).await["status"], "not_started");
    }

    async fn a_page_behind_a_path_stays_below_it(app: App, "--public-url=https://stay.example.com/guests/") {
        let house = House::build(&app).await;
        let browser = Browser::new(&house);
        let page = browser.open("").await;
        assert_eq!(action(&page, "/messages"), Some(format!("/guests/stay/{}/messages#messages", house.token)));
        let answer = browser.post("/messages", &[("text", "Hello")]).await;
        assert_eq!(answer.header("location"), Some(format!("/guests/stay/{}?note=sent#messages", house.token).as_str()));
    }
}

// What there is to read.
on_both! {
    async fn manuals_stand_under_their_headings(app: App) {
        let house = House::build(&app).await;
        let (away, home) = (heading(&house, "Getting <b>away</b>").await, heading(&house, "At home").await);
        heading(&house, "Nothing").await;
        house.api.post("/portal-manual-categories/reorder", json!({ "orderedIds": [home, away] })).await.data();
        let field = house.org.record("custom_field", json!({ "name": "Door code", "value": "<b>4711</b>\nthen #" })).await;
        let door = manual(&house, json!({ "displayMode": "pms_variable", "customFieldId": field, "iconName": "key-round" })).await;
        let bus = manual(&house, json!({ "title": "Bus", "manualCategoryId": away, "videoUrl": "https://video.example/1?a=b&c=d" })).await;
        let body = "Network **Casa**\npassword `1234`\n\n<script>alert(1)</script>\n\n[map](https://map.example)";
        let wifi = json!({
            "title": "<i>Wi-Fi</i>", "manualCategoryId": home, "description": body, "imageUrl": "https://a.example/1.jpg?a=b&c=d",
        });
        let wifi = manual(&house, wifi).await;
        let bare = manual(&house, json!({ "title": "Be kind", "manualCategoryId": home })).await;

        let browser = Browser::new(&house);
        let page = browser.open("?language=es").await;
        let titles = ["At home", "Getting &#60;b&#62;away&#60;/b&#62;", "Información útil"];
        let places = titles.map(|title| page.find(&format!("<h2>{title}</h2>")).unwrap_or_else(|| panic!("no {title}: {page}")));
        let cards = [wifi, bare, bus, door].map(|manual| page.find(&format!("id=\"manual-{manual}\"")).unwrap());
        assert!([places[0], cards[0], cards[1], places[1], cards[2], places[2], cards[3]].is_sorted(), "in portal order: {page}");
        lacks(&page, &["<h2>Nothing</h2>", "for the team", "key-round", "alert(1)"]);

        shows(reading(&page, wifi), &[
            "<span class=\"title\">&#60;i&#62;Wi-Fi&#60;/i&#62;</span>",
            "<img class=\"cover\" src=\"https://a.example/1.jpg?a=b&#38;c=d\" alt=\"\"",
            "<div class=\"prose\"><p>Network <strong>Casa</strong><br>\npassword <code>1234</code></p>",
            "<a href=\"https://map.example\" rel=\"noopener noreferrer nofollow\">map</a>",
        ]);
        let video = "href=\"https://video.example/1?a=b&#38;c=d\">Ver el vídeo</a>";
        shows(reading(&page, bus), &[video]);
        shows(reading(&page, door), &["<span class=\"title\">Door code</span>", "&lt;b&gt;4711", "<br>then"]);
        shows(&page, &[&format!("<div class=\"manual\" id=\"manual-{bare}\">")]);
        shows(&page, &[&format!("<details class=\"manual\" id=\"manual-{wifi}\">")]);

        house.org.delete_record("custom_field", field).await;
        let page = browser.open("?language=fr").await;
        shows(&page, &["Voir la vidéo"]);
        lacks(&page, &["Bon à savoir", &door.to_string()]);
    }

    async fn a_manual_is_read_without_a_portal(app: App) {
        let org = app.org().await;
        let flat = org.property(None, &[]).await;
        let token = org.stay_token(org.reservation(Some(flat)).await).await;
        let browser = Browser { app: &app, http: app.http.clone(), token };
        let not_yet = "Your host has not set up this page yet.";
        shows(&browser.open("").await, &[not_yet]);
        let fields = json!({ "nickname": "Wi-Fi", "title": "Wi-Fi", "isActive": true, "propertyId": flat });
        org.key().await.post("/portal-manuals", fields).await.data();
        let page = browser.open("").await;
        shows(&page, &["<h2>Good to know</h2>", "<span class=\"title\">Wi-Fi</span>"]);
        lacks(&page, &[not_yet]);
    }
}

/// A portal without steps has nothing to hand in, and one without chat no box.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_off_or_empty_has_no_form() {
    let app = App::on_sqlite(&[]).await;
    let house = House::build(&app).await;
    house.update_portal(house.portal, json!({ "isChatEnabled": false })).await;
    let browser = Browser::new(&house);
    let page = browser.open("").await;
    shows(&page, &["Please complete your pre-check-in"]);
    lacks(&page, &["<form", "Not started"]);
    let step = house.step("main", json!({})).await;
    let page = browser.open("").await;
    assert_eq!(id(&house.precheckin().await["steps"][0]["id"]), step);
    shows(&page, &["Not started", "Confirm that everything is ready for your arrival."]);
}
