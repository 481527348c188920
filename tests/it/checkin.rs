//! Pre-check-in as a guest goes through it (contract: Guest interface; spec: Pre-check step).

use std::collections::HashSet;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::precheck::TYPES;
use crate::support::receiver::{subscribe, with_receiver};
use crate::support::{Answer, Api, App, Org, new_id, on_both, reservation};

/// A flat in a group and with a tag, the organization's default portal, and a stay in the flat.
pub struct House<'a> {
    pub org: Org<'a>,
    pub api: Api,
    pub group: Uuid,
    pub tag: Uuid,
    pub flat: Uuid,
    pub portal: Uuid,
    pub stay: Uuid,
    pub token: String,
}

impl<'a> House<'a> {
    pub async fn build(app: &'a App) -> Self {
        let org = app.org().await;
        let api = org.key().await;
        let (group, tag) = (org.group().await, org.tag().await);
        let flat = org.property(Some(group), &[tag]).await;
        let portal = id(&api.post("/portals", json!({ "name": "Casa", "isDefault": true })).await.data()["id"]);
        let stay = org.reservation(Some(flat)).await;
        let token = org.stay_token(stay).await;
        Self { org, api, group, tag, flat, portal, stay, token }
    }

    /// An active step of a type, assigned to nothing.
    pub async fn idle_step(&self, step_type: &str, more: Value) -> Uuid {
        let needed = match step_type {
            "agreement" => json!({ "contractTemplateText": "No parties." }),
            "additional_questions" => {
                json!({ "questions": [{ "kind": "free_form_input", "textMlTextId": self.text(&[("en", "When?")]).await }] })
            }
            "mandatory_fee" => json!({ "feeProductIds": [self.org.record("fee_product", json!({ "name": "Linen" })).await] }),
            "background_check" => {
                json!({ "backgroundCheckAccountId": self.org.record("background_check_account", json!({ "name": "Checks" })).await })
            }
            _ => json!({}),
        };
        let fields = with(with(json!({ "stepType": step_type, "nickname": step_type, "isActive": true }), needed), more);
        // Each step is younger than the one before.
        self.org.app.clock.advance(Duration::from_millis(1));
        id(&self.api.post("/precheck-steps", fields).await.data()["id"])
    }

    /// An active step of a type, assigned to the flat.
    pub async fn step(&self, step_type: &str, more: Value) -> Uuid {
        let step = self.idle_step(step_type, more).await;
        self.scopes("add", "precheck_step", step, json!({ "propertyIds": [self.flat] })).await;
        step
    }

    /// Adds or removes assignments.
    pub async fn scopes(&self, change: &str, entity_type: &str, entity: Uuid, targets: Value) {
        let body = with(json!({ "entityType": entity_type, "entityId": entity }), targets);
        self.api.post(&format!("/entity-scopes/{change}"), body).await.data();
    }

    pub async fn update(&self, step: Uuid, data: Value) -> Answer {
        self.api.patch(&format!("/precheck-steps/{step}"), json!({ "data": data })).await
    }

    pub async fn update_portal(&self, portal: Uuid, data: Value) {
        self.api.patch(&format!("/portals/{portal}"), json!({ "data": data })).await.data();
    }

    /// A text for questions, in these languages.
    async fn text(&self, texts: &[(&str, &str)]) -> Uuid {
        let (language, text) = texts[0];
        let body = json!({ "sourceTable": "precheck_question", "language": language, "text": text });
        let created = id(&self.api.post("/translations", body).await.data()["id"]);
        for (language, text) in &texts[1..] {
            self.api.ok(Method::PUT, &format!("/translations/{created}/entries/{language}"), Some(json!({ "text": text }))).await;
        }
        created
    }

    pub async fn precheckin(&self) -> Value {
        self.org.app.stay(&self.token, "").await.data()["precheckin"].clone()
    }

    async fn status(&self) -> String {
        self.precheckin().await["status"].as_str().unwrap().to_owned()
    }

    /// A step as the guest sees it, in a language.
    async fn step_view(&self, step: Uuid, language: &str) -> Value {
        let view = self.org.app.stay(&self.token, &format!("?language={language}")).await.data();
        let steps = view["precheckin"]["steps"].as_array().unwrap();
        steps.iter().find(|row| id(&row["id"]) == step).cloned().unwrap()
    }

    async fn guest(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        guest(self.org.app, &self.token, method, path, body).await
    }

    async fn answer(&self, step: Uuid, answers: Value) -> Answer {
        self.guest(Method::PUT, &format!("/steps/{step}"), Some(json!({ "answers": answers }))).await
    }

    async fn submit(&self) -> Answer {
        self.guest(Method::POST, "/submit", None).await
    }

    async fn say(&self, text: &str) -> Answer {
        self.guest(Method::POST, "/messages", Some(json!({ "text": text }))).await
    }

    /// What the platform reads of the stay.
    async fn handed_in(&self) -> Value {
        let path = self.org.path(&format!("/reservations/{}/precheckin", self.stay));
        self.org.app.platform().get(&path).await.data()
    }
}

/// A request to the guest interface.
async fn guest(app: &App, token: &str, method: Method, path: &str, body: Option<Value>) -> Answer {
    let request = app.http.request(method, format!("{}/guest/v1/stays/{token}{path}", app.base));
    Answer::of(match body {
        Some(body) => request.json(&body),
        None => request,
    })
    .await
}

pub fn with(mut fields: Value, more: Value) -> Value {
    let (Value::Object(all), Value::Object(more)) = (&mut fields, more) else { panic!("both are objects") };
    all.extend(more);
    fields
}

pub fn id(value: &Value) -> Uuid {
    value.as_str().unwrap().parse().unwrap()
}

pub fn ids(rows: &Value) -> Vec<Uuid> {
    rows.as_array().unwrap().iter().map(|row| id(&row["id"])).collect()
}

/// Additional questions: whether they drive (required); which car (required, if they drive); which bed; what extras
/// (if they do not drive, or the beds are twins); and how old the child is (if a crib is wanted).
struct Survey {
    step: Uuid,
    questions: Value,
}

/// What was chosen: questions, each with the places of its options.
type Chosen = &'static [(usize, &'static [usize])];
/// What was written: questions, each with a text.
type Written = &'static [(usize, &'static str)];

const DRIVE: usize = 0;
const CAR: usize = 1;
const BED: usize = 2;
const EXTRAS: usize = 3;
const AGE: usize = 4;

impl Survey {
    async fn build(house: &House<'_>) -> Self {
        let drive = house.text(&[("en", "Will you drive?"), ("es", "¿Vienes en coche?")]).await;
        let car = house.text(&[("en", "Which car?")]).await;
        let bed = house.text(&[("en", "Which bed?"), ("fr", "Quel lit ?")]).await;
        let double = house.text(&[("en", "Double"), ("es", "Doble"), ("fr", "Double, bien sûr")]).await;
        let twins = house.text(&[("en", "Twins"), ("es", "Dos camas")]).await;
        let (extras, crib) = (house.text(&[("en", "Extras?")]).await, house.text(&[("en", "Crib")]).await);
        let sauna = house.text(&[("en", "Sauna")]).await;
        let age = house.text(&[("en", "How old is the child?")]).await;
        let when = |question: usize, option: usize| json!({ "questionIndex": question, "optionIndex": option });
        let questions = json!([
            { "kind": "yes_no", "textMlTextId": drive, "isRequired": true },
            { "kind": "free_form_input", "textMlTextId": car, "isRequired": true, "conditions": [when(DRIVE, 0)] },
            { "kind": "single_select", "textMlTextId": bed, "options": [{ "nameMlTextId": double }, { "nameMlTextId": twins }] },
            { "kind": "multi_select", "textMlTextId": extras, "options": [{ "nameMlTextId": crib }, { "nameMlTextId": sauna }],
              "conditions": [when(DRIVE, 1), when(BED, 1)] },
            { "kind": "free_form_input", "textMlTextId": age, "conditions": [when(EXTRAS, 0)] },
        ]);
        let step = house.step("additional_questions", json!({ "questions": questions })).await;
        let read = house.api.get(&format!("/precheck-steps/{step}")).await.data();
        Self { step, questions: read["questions"].clone() }
    }

    fn question(&self, number: usize) -> &str {
        self.questions[number]["id"].as_str().unwrap()
    }

    fn option(&self, number: usize, place: usize) -> &str {
        self.questions[number]["options"][place]["id"].as_str().unwrap()
    }

    /// Answers from what was chosen, and what was written.
    fn answers(&self, chosen: &[(usize, &[usize])], written: &[(usize, &str)]) -> Value {
        let mut answers = json!({});
        for (number, places) in chosen {
            let ids: Vec<&str> = places.iter().map(|place| self.option(*number, *place)).collect();
            answers[self.question(*number)] = json!({ "optionIds": ids });
        }
        for (number, text) in written {
            answers[self.question(*number)] = json!({ "text": text });
        }
        answers
    }

    /// The numbers of the questions that a view of the step asks.
    fn asked(&self, view: &Value) -> Vec<usize> {
        let number = |question: &Value| (0..5).find(|number| question["id"] == self.question(*number)).unwrap();
        view["questions"].as_array().unwrap().iter().map(number).collect()
    }
}

async fn titles(app: &App, token: &str, query: &str) -> Vec<String> {
    let view = app.stay(token, query).await.data();
    view["precheckin"]["steps"].as_array().unwrap().iter().map(|step| step["title"].as_str().unwrap().to_owned()).collect()
}

on_both! {
    async fn every_type_has_a_title_in_three_languages(app: App) {
        let house = House::build(&app).await;
        for step_type in TYPES {
            house.step(step_type, json!({})).await;
        }
        let in_language = async |language: &str| titles(&app, &house.token, &format!("?language={language}")).await;
        let mut seen = HashSet::new();
        for language in ["en", "es", "fr"] {
            let titles = in_language(language).await;
            assert_eq!(titles.len(), 12);
            for title in titles {
                assert!(!title.trim().is_empty() && seen.insert(title.clone()), "{language} {title}");
            }
        }
        assert_eq!(in_language("fr-CA").await, in_language("fr").await);
        assert_eq!(in_language("de").await, in_language("en").await);
        for (guest, language) in [(json!("es"), "es"), (json!("fr-CA"), "fr"), (json!("de"), "en"), (Value::Null, "en")] {
            let stay = with(reservation(Some(house.flat)), json!({ "guest": { "firstName": "Ada", "language": guest } }));
            house.org.put_record("reservation", house.stay, stay).await;
            assert_eq!(titles(&app, &house.token, "").await, in_language(language).await, "{guest}");
        }
    }

    async fn a_steps_own_title_is_shown_in_the_guests_language(app: App) {
        let house = House::build(&app).await;
        let step = house.step("your_details", json!({ "displayTitle": "Who are you?" })).await;
        for (language, title) in [("es", "¿Quién eres?"), ("pt", "Quem é você?")] {
            house.update(step, json!({ "displayTitle": title, "displayTitleLanguage": language })).await.data();
        }
        for (language, title) in [
            ("en", "Who are you?"), ("es", "¿Quién eres?"), ("es-MX", "¿Quién eres?"), ("pt-BR", "Quem é você?"), ("fr", "Who are you?"),
        ] {
            assert_eq!(house.step_view(step, language).await["title"], title, "{language}");
        }
        let plain = house.step("your_details", json!({})).await;
        house.update(step, json!({ "displayTitle": null })).await.data();
        for language in ["en", "es", "fr"] {
            assert_eq!(house.step_view(step, language).await["title"], house.step_view(plain, language).await["title"], "{language}");
        }
    }

    async fn a_step_shows_what_the_contract_lists(app: App) {
        let house = House::build(&app).await;
        house.step("your_details", json!({})).await;
        let survey = Survey::build(&house).await;
        let precheckin = house.precheckin().await;
        let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(fields(&precheckin), ["isEnabled", "promptMessage", "status", "steps"]);
        assert_eq!(fields(&precheckin["steps"][0]), ["id", "isComplete", "stepType", "title"]);
        assert_eq!(fields(&precheckin["steps"][1]), ["id", "isComplete", "questions", "stepType", "title"]);
        assert_eq!((&precheckin["isEnabled"], id(&precheckin["steps"][1]["id"])), (&json!(true), survey.step));
        assert_eq!((&precheckin["steps"][0]["stepType"], &precheckin["steps"][0]["isComplete"]), (&json!("your_details"), &json!(false)));
    }

    async fn an_agreement_shows_what_is_agreed_to(app: App) {
        let house = House::build(&app).await;
        let step = house.step("agreement", json!({ "contractTemplateText": "No parties." })).await;
        let view = house.step_view(step, "en").await;
        assert_eq!(view.as_object().unwrap().keys().collect::<Vec<_>>(), ["agreementText", "id", "isComplete", "stepType", "title"]);
        assert_eq!(view["agreementText"], "No parties.");
    }

    async fn questions_are_asked_in_the_guests_language(app: App) {
        let house = House::build(&app).await;
        let survey = Survey::build(&house).await;
        for (language, expected) in [
            ("en", json!([["yes_no", "Will you drive?", ["Yes", "No"]], ["single_select", "Which bed?", ["Double", "Twins"]]])),
            ("es", json!([["yes_no", "¿Vienes en coche?", ["Sí", "No"]], ["single_select", "Which bed?", ["Doble", "Dos camas"]]])),
            (
                "fr-CA",
                json!([["yes_no", "Will you drive?", ["Oui", "Non"]], ["single_select", "Quel lit ?", ["Double, bien sûr", "Twins"]]]),
            ),
        ] {
            let view = house.step_view(survey.step, language).await;
            let questions = view["questions"].as_array().unwrap().iter();
            let shown: Vec<Value> = questions.map(|question| {
                let names: Vec<&Value> = question["options"].as_array().unwrap().iter().map(|option| &option["name"]).collect();
                json!([question["kind"], question["text"], names])
            }).collect();
            assert_eq!(json!(shown), expected, "{language}");
        }
        let view = house.step_view(survey.step, "en").await;
        assert_eq!((&view["questions"][0]["isRequired"], &view["questions"][1]["isRequired"]), (&json!(true), &json!(false)));
        assert_eq!(view["questions"][1]["options"][1]["id"], survey.option(BED, 1));
    }

    async fn a_question_is_asked_once_its_condition_holds(app: App) {
        let house = House::build(&app).await;
        let survey = Survey::build(&house).await;
        assert_eq!(survey.asked(&house.step_view(survey.step, "en").await), [DRIVE, BED]);
        let rows: [(Chosen, &[usize]); 8] = [
            (&[(DRIVE, &[0])], &[DRIVE, CAR, BED]),
            (&[(DRIVE, &[1])], &[DRIVE, BED, EXTRAS]),
            (&[(BED, &[1])], &[DRIVE, BED, EXTRAS]),
            (&[(DRIVE, &[0]), (BED, &[1])], &[DRIVE, CAR, BED, EXTRAS]),
            (&[(DRIVE, &[1]), (EXTRAS, &[0, 1])], &[DRIVE, BED, EXTRAS, AGE]),
            (&[(DRIVE, &[1]), (EXTRAS, &[1])], &[DRIVE, BED, EXTRAS]),
            // What depends on a question that is not asked is not asked either.
            (&[(DRIVE, &[0]), (EXTRAS, &[0])], &[DRIVE, CAR, BED]),
            (&[(BED, &[0])], &[DRIVE, BED]),
        ];
        for (chosen, asked) in rows {
            let answers = survey.answers(chosen, &[]);
            house.answer(survey.step, answers.clone()).await.data();
            let view = house.step_view(survey.step, "en").await;
            assert_eq!(survey.asked(&view), asked, "{chosen:?}");
            for question in view["questions"].as_array().unwrap() {
                assert_eq!(question["answer"], answers[question["id"].as_str().unwrap()], "what was saved is shown");
            }
        }
    }

    async fn what_is_missing_can_follow(app: App) {
        let house = House::build(&app).await;
        let survey = Survey::build(&house).await;
        let rows: [(Chosen, Written, bool); 10] = [
            (&[], &[], false),
            (&[(DRIVE, &[])], &[], false),
            (&[(BED, &[1])], &[], false),
            (&[(DRIVE, &[0])], &[], false),
            (&[(DRIVE, &[0])], &[(CAR, " ")], false),
            (&[(DRIVE, &[0])], &[(CAR, "A red one")], true),
            // What is required counts only where it is asked.
            (&[(DRIVE, &[1])], &[], true),
            (&[(DRIVE, &[1])], &[(CAR, "")], true),
            (&[(DRIVE, &[1]), (BED, &[0]), (EXTRAS, &[0, 1])], &[(AGE, "Two")], true),
            (&[], &[(CAR, "A red one")], false),
        ];
        for (chosen, written, is_complete) in rows {
            let answers = survey.answers(chosen, written);
            let saved = house.answer(survey.step, answers.clone()).await;
            assert_eq!(saved.status, 200, "{answers}");
            assert_eq!(saved.data()["isComplete"], is_complete, "{answers}");
            assert_eq!(house.step_view(survey.step, "en").await["isComplete"], is_complete, "{answers}");
        }
        house.submit().await.error(409);
        house.answer(survey.step, survey.answers(&[(DRIVE, &[1])], &[])).await.data();
        house.submit().await.data();
    }

    async fn every_wrong_answer_is_named(app: App) {
        let house = House::build(&app).await;
        let survey = Survey::build(&house).await;
        let agreement = house.step("agreement", json!({})).await;
        let [drive, car, bed, extras] = [DRIVE, CAR, BED, EXTRAS].map(|number| survey.question(number));
        let (yes, double, twins, crib) = (survey.option(DRIVE, 0), survey.option(BED, 0), survey.option(BED, 1), survey.option(EXTRAS, 0));
        let stranger = new_id();
        let at = |question: &str, rest: &str| format!("answers.{question}{rest}");
        for (answers, mut issues) in [
            (json!({ drive: { "optionIds": [double] } }), vec![at(drive, ".optionIds.0")]),
            (json!({ drive: { "optionIds": [stranger] } }), vec![at(drive, ".optionIds.0")]),
            (json!({ drive: { "optionIds": ["yes"] } }), vec![at(drive, ".optionIds.0")]),
            (json!({ drive: { "optionIds": [true] } }), vec![at(drive, ".optionIds.0")]),
            (json!({ extras: { "optionIds": [crib, yes] } }), vec![at(extras, ".optionIds.1")]),
            (json!({ bed: { "optionIds": [double, twins] } }), vec![at(bed, ".optionIds")]),
            (json!({ bed: { "optionIds": double } }), vec![at(bed, ".optionIds")]),
            (json!({ bed: { "text": "Double" } }), vec![at(bed, ".text")]),
            (json!({ car: { "optionIds": [yes] } }), vec![at(car, ".optionIds")]),
            (json!({ car: { "text": 911 } }), vec![at(car, ".text")]),
            (json!({ car: { "text": "A red one", "colour": "red" } }), vec![at(car, ".colour")]),
            (json!({ drive: "yes" }), vec![at(drive, "")]),
            (json!({ stranger.to_string(): { "text": "Hello" } }), vec![at(&stranger.to_string(), "")]),
            (json!({ "nonsense": { "text": "Hello" }, drive: { "optionIds": [yes] } }), vec![at("nonsense", "")]),
            (json!({ drive: { "optionIds": [double] }, car: { "text": [] } }), vec![at(drive, ".optionIds.0"), at(car, ".text")]),
        ] {
            issues.sort();
            assert_eq!(house.answer(survey.step, answers.clone()).await.issues(), issues, "{answers}");
        }
        assert_eq!(house.answer(agreement, json!({ "isAccepted": "yes" })).await.issues(), ["answers.isAccepted"]);
        // Nothing of all that was saved, so nothing was used.
        assert_eq!(house.status().await, "not_started");
        house.update(agreement, json!({ "stepType": "main" })).await.data();
    }

    async fn answers_are_an_object_and_nothing_beside_it(app: App) {
        let house = House::build(&app).await;
        let step = house.step("your_details", json!({})).await;
        for (body, issues) in [
            (json!({}), vec!["answers"]),
            (json!({ "answers": null }), vec!["answers"]),
            (json!({ "answers": [] }), vec!["answers"]),
            (json!({ "answers": "none" }), vec!["answers"]),
            (json!({ "answers": {}, "isComplete": true }), vec!["isComplete"]),
            (json!({ "answers": 1, "more": 2 }), vec!["answers", "more"]),
        ] {
            let answer = house.guest(Method::PUT, &format!("/steps/{step}"), Some(body.clone())).await;
            assert_eq!(answer.issues(), issues, "{body}");
        }
        house.guest(Method::PUT, &format!("/steps/{step}"), Some(json!([]))).await.error(400);
        assert_eq!(house.status().await, "not_started");
        house.answer(step, json!({ "anything": ["goes", { "here": null }] })).await.data();
        assert_eq!(house.step_view(step, "en").await["isComplete"], true);
    }

    async fn only_a_step_that_is_shown_can_be_answered(app: App) {
        let house = House::build(&app).await;
        let other = House::build(&app).await;
        let hidden = [
            house.step("main", json!({ "isActive": false })).await,
            house.step("main", json!({ "minLos": 30 })).await,
            house.idle_step("main", json!({ "isAlwaysShown": true })).await,
            other.step("main", json!({})).await,
            new_id(),
        ];
        for step in hidden {
            house.answer(step, json!({})).await.error(404);
        }
        house.guest(Method::PUT, "/steps/nonsense", Some(json!({ "answers": {} }))).await.error(404);
        assert_eq!(house.status().await, "not_started");
    }

    async fn an_answer_locks_the_type(app: App) {
        let house = House::build(&app).await;
        let step = house.step("document_upload", json!({})).await;
        let rules = house.step("agreement", json!({})).await;
        house.update(step, json!({ "stepType": "your_details" })).await.data();
        house.answer(step, json!({})).await.data();
        house.answer(rules, json!({ "isAccepted": false })).await.data();
        for (step, own, other) in [(step, "your_details", "main"), (rules, "agreement", "main")] {
            let error = house.update(step, json!({ "stepType": other, "nickname": "Other" })).await.error(409);
            assert_eq!((&error["code"], &error["message"]), (&json!("CONFLICT"), &json!("PRECHECK_STEP_TYPE_LOCKED")));
            let kept = house.update(step, json!({ "stepType": own, "sortOrder": 4 })).await.data();
            assert_eq!((&kept["stepType"], &kept["sortOrder"]), (&json!(own), &json!(4)));
            assert_ne!(kept["nickname"], "Other", "a refused update changes nothing");
        }
    }

    async fn kept_questions_keep_their_answers(app: App) {
        let house = House::build(&app).await;
        let survey = Survey::build(&house).await;
        let answers = survey.answers(&[(DRIVE, &[0]), (BED, &[1]), (EXTRAS, &[0])], &[(CAR, "A red one"), (AGE, "Two")]);
        house.answer(survey.step, answers.clone()).await.data();

        // The bed moves to the front, the car stays, the extras and what hangs on them go.
        let kept = json!([survey.questions[BED], survey.questions[DRIVE], survey.questions[CAR]]);
        house.update(survey.step, json!({ "questions": kept })).await.data();
        let view = house.step_view(survey.step, "en").await;
        assert_eq!((survey.asked(&view), &view["isComplete"]), (vec![BED, DRIVE, CAR], &json!(true)));
        for question in view["questions"].as_array().unwrap() {
            assert_eq!(question["answer"], answers[question["id"].as_str().unwrap()]);
        }
        let gone = survey.question(EXTRAS);
        assert_eq!(house.answer(survey.step, json!({ gone: { "optionIds": [] } })).await.issues(), [format!("answers.{gone}")]);

        // A new question is open, and one whose chosen option is gone is open again.
        let mut bed = survey.questions[BED].clone();
        bed["options"].as_array_mut().unwrap().remove(1);
        bed["isRequired"] = json!(true);
        house.update(survey.step, json!({ "questions": [bed, survey.questions[DRIVE]] })).await.data();
        let view = house.step_view(survey.step, "en").await;
        assert_eq!((survey.asked(&view), &view["isComplete"]), (vec![BED, DRIVE], &json!(false)));
        house.answer(survey.step, survey.answers(&[(BED, &[0]), (DRIVE, &[1])], &[])).await.data();
        assert_eq!(house.step_view(survey.step, "en").await["isComplete"], true);

        // All are gone, and others come in their place.
        house.update(survey.step, json!({ "questions": [], "isActive": false })).await.data();
        assert_eq!(house.precheckin().await["steps"], json!([]));
        let text = house.text(&[("en", "When?")]).await;
        let questions = json!([{ "kind": "free_form_input", "textMlTextId": text, "isRequired": true }]);
        house.update(survey.step, json!({ "questions": questions, "isActive": true })).await.data();
        let view = house.step_view(survey.step, "en").await;
        assert_eq!((&view["isComplete"], &view["questions"][0]["answer"]), (&json!(false), &Value::Null));
    }

    async fn a_stay_goes_from_not_started_to_submitted(app: App) {
        let house = House::build(&app).await;
        let rules = house.step("agreement", json!({})).await;
        let details = house.step("your_details", json!({})).await;
        assert_eq!(house.status().await, "not_started");
        house.submit().await.error(409);
        assert_eq!(house.status().await, "not_started");
        house.answer(rules, json!({ "isAccepted": false })).await.data();
        assert_eq!(house.status().await, "in_progress", "a refusal is an answer");
        house.answer(details, json!({ "firstName": "Ada" })).await.data();
        assert_eq!(house.step_view(rules, "en").await["isComplete"], false);
        assert_eq!(house.submit().await.error(409)["code"], "CONFLICT");
        house.answer(rules, json!({ "isAccepted": true })).await.data();
        assert_eq!(house.status().await, "in_progress");

        let submitted = house.submit().await;
        assert_eq!(submitted.status, 200);
        submitted.data();
        assert_eq!(house.status().await, "in_review");
        house.submit().await.error(409);
        house.answer(rules, json!({ "isAccepted": false })).await.error(409);
        assert_eq!((house.status().await, &house.step_view(rules, "en").await["isComplete"]), ("in_review".to_owned(), &json!(true)));
    }

    async fn some_submissions_are_approved_at_once(app: App) {
        type Row = (bool, &'static [(&'static str, bool)], &'static str);
        let rows: [Row; 9] = [
            (true, &[], "in_review"),
            (true, &[("document_upload", false)], "approved"),
            (true, &[("document_upload", true)], "in_review"),
            (true, &[("document_upload", false), ("damage_deposit", false), ("additional_questions", false)], "approved"),
            (true, &[("document_upload", false), ("damage_deposit", true)], "in_review"),
            // Not one of the types that have the setting.
            (true, &[("agreement", false)], "in_review"),
            (true, &[("agreement", true), ("damage_deposit", false)], "approved"),
            (false, &[("document_upload", true)], "approved"),
            (false, &[], "approved"),
        ];
        for (is_reviewed, reviewable, status) in rows {
            let house = House::build(&app).await;
            house.update_portal(house.portal, json!({ "isManualReviewEnabled": is_reviewed })).await;
            let mut steps = vec![house.step("your_details", json!({})).await];
            for (step_type, is_held) in reviewable {
                steps.push(house.step(step_type, json!({ "isManualReviewEnabled": is_held })).await);
            }
            // What the guest does not get is not reviewed.
            house.step("document_upload", json!({ "minLos": 30 })).await;
            for step in steps {
                let question = house.step_view(step, "en").await["questions"][0]["id"].clone();
                let answers = question.as_str().map_or(json!({ "isAccepted": true }), |id| json!({ id: { "text": "At noon" } }));
                house.answer(step, answers).await.data();
            }
            house.submit().await.data();
            assert_eq!(house.status().await, status, "{is_reviewed} {reviewable:?}");
        }
    }

    async fn of_many_submissions_one_counts(app: App) {
        let house = House::build(&app).await;
        let step = house.step("main", json!({})).await;
        house.answer(step, json!({})).await.data();
        let answers = futures_util::future::join_all((0..6).map(|_| house.submit())).await;
        let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409, 409, 409, 409, 409]);
    }

    async fn without_precheckin_nothing_is_asked(app: App) {
        let house = House::build(&app).await;
        let step = house.step("main", json!({})).await;
        house.answer(step, json!({})).await.data();
        house.update_portal(house.portal, json!({ "isPrecheckinEnabled": false })).await;
        let precheckin = house.precheckin().await;
        assert_eq!((&precheckin["isEnabled"], &precheckin["steps"]), (&json!(false), &json!([])));
        house.answer(step, json!({})).await.error(404);
        house.submit().await.error(403);
        house.update_portal(house.portal, json!({ "isPrecheckinEnabled": true })).await;
        assert_eq!(house.status().await, "in_progress");
        house.submit().await.data();
    }

    async fn without_a_portal_every_feature_is_off(app: App) {
        let house = House::build(&app).await;
        let homeless = house.org.reservation(None).await;
        let bare = app.org().await;
        let flat = bare.property(None, &[]).await;
        let unserved = bare.reservation(Some(flat)).await;
        let step = house.step("main", json!({ "isAlwaysShown": true })).await;
        for token in [house.org.stay_token(homeless).await, bare.stay_token(unserved).await] {
            let view = app.stay(&token, "").await.data();
            assert_eq!((&view["portal"], &view["contact"], &view["quickAccess"]), (&Value::Null, &Value::Null, &json!([])));
            assert_eq!((&view["precheckin"]["isEnabled"], &view["precheckin"]["steps"]), (&json!(false), &json!([])));
            guest(&app, &token, Method::PUT, &format!("/steps/{step}"), Some(json!({ "answers": {} }))).await.error(404);
            guest(&app, &token, Method::POST, "/submit", None).await.error(403);
            guest(&app, &token, Method::POST, "/messages", Some(json!({ "text": "Hello" }))).await.error(403);
        }
    }

    async fn a_guest_writes_to_the_host(app: App) {
        let house = House::build(&app).await;
        assert_eq!(house.handed_in().await["messages"], json!([]));
        for text in ["Is there parking?", "  And a sauna?\n"] {
            app.clock.advance(Duration::from_millis(1));
            assert_eq!(house.say(text).await.status, 201);
        }
        for (body, issues) in [
            (json!({ "text": "" }), ["text"]),
            (json!({ "text": " \n\t" }), ["text"]),
            (json!({ "text": null }), ["text"]),
            (json!({}), ["text"]),
            (json!({ "text": "Hello", "to": "host" }), ["to"]),
        ] {
            assert_eq!(house.guest(Method::POST, "/messages", Some(body.clone())).await.issues(), issues, "{body}");
        }
        house.update_portal(house.portal, json!({ "isChatEnabled": false })).await;
        assert_eq!(house.say("Anyone?").await.error(403)["code"], "FORBIDDEN");
        let messages = house.handed_in().await["messages"].clone();
        let texts: Vec<&Value> = messages.as_array().unwrap().iter().map(|message| &message["text"]).collect();
        assert_eq!(texts, ["Is there parking?", "  And a sauna?\n"]);
    }

    async fn a_cancelled_stay_is_asked_and_told_nothing(app: App) {
        let house = House::build(&app).await;
        let step = house.step("agreement", json!({ "contractTemplateText": "No parties." })).await;
        let manual = json!({ "nickname": "Door", "title": "Door code", "isActive": true, "propertyId": house.flat });
        house.api.post("/portal-manuals", manual).await.data();
        house.org.put_record("reservation", house.stay, with(reservation(Some(house.flat)), json!({ "status": "cancelled" }))).await;
        let view = house.org.guest_view(house.stay).await;
        assert_eq!((&view["precheckin"]["isEnabled"], &view["precheckin"]["steps"]), (&json!(false), &json!([])));
        assert_eq!(view["manualCategories"], json!([]));
        house.answer(step, json!({ "isAccepted": true })).await.error(404);
        house.submit().await.error(403);
        let explained = house.api.get(&format!("/reservations/{}/explain", house.stay)).await.data();
        for item in [&explained["steps"][0], &explained["manuals"][0]] {
            assert_eq!((&item["isShown"], &item["reason"]["key"]), (&json!(false), &json!("cancelled")));
        }
    }

    async fn what_was_answered_outlives_a_cancellation(app: App) {
        let house = House::build(&app).await;
        let (done, _) = (house.step("your_details", json!({})).await, house.step("main", json!({})).await);
        house.answer(done, json!({ "firstName": "Ada" })).await.data();
        let with_status = |status: &str| with(reservation(Some(house.flat)), json!({ "status": status }));
        house.org.put_record("reservation", house.stay, with_status("cancelled")).await;
        // The guest may still write, and is still told how to reach the host.
        house.update_portal(house.portal, json!({ "supportPhone": "934 12 34 56", "communicationMethod": "phone" })).await;
        house.say("Will I be paid back?").await.data();
        let view = house.org.guest_view(house.stay).await;
        assert_eq!((&view["contact"]["method"], &view["reservation"]["status"]), (&json!("phone"), &json!("cancelled")));
        assert_eq!((&view["precheckin"]["status"], &view["precheckin"]["promptMessage"]), (&json!("not_started"), &Value::Null));
        // The platform still reads what was answered.
        let handed_in = house.handed_in().await;
        assert_eq!(handed_in["steps"].as_array().unwrap().len(), 1);
        let step = &handed_in["steps"][0];
        assert_eq!((&step["isShown"], &step["answers"]["firstName"]), (&json!(false), &json!("Ada")));
        house.org.put_record("reservation", house.stay, with_status("confirmed")).await;
        let precheckin = house.precheckin().await;
        assert_eq!((&precheckin["status"], &precheckin["steps"][0]["isComplete"]), (&json!("in_progress"), &json!(true)));
    }

    async fn a_wrong_token_opens_nothing(app: App) {
        let house = House::build(&app).await;
        let step = house.step("main", json!({})).await;
        let gone = house.org.reservation(Some(house.flat)).await;
        let gone_token = house.org.stay_token(gone).await;
        house.org.delete_record("reservation", gone).await;
        for token in ["nonsense".to_owned(), house.stay.to_string(), gone_token, house.token[1..].to_owned()] {
            for (method, path, body) in [
                (Method::GET, String::new(), None),
                (Method::PUT, format!("/steps/{step}"), Some(json!({ "answers": {} }))),
                (Method::POST, "/submit".into(), None),
                (Method::POST, "/messages".into(), Some(json!({ "text": "Hello" }))),
            ] {
                assert_eq!(guest(&app, &token, method, &path, body).await.error(404)["code"], "NOT_FOUND", "{path}");
            }
        }
        assert_eq!(house.status().await, "not_started");
    }

    async fn a_deleted_reservation_leaves_no_answers(app: App) {
        let house = House::build(&app).await;
        let step = house.step("your_details", json!({})).await;
        house.answer(step, json!({ "firstName": "Ada" })).await.data();
        house.say("Hello").await.data();
        house.submit().await.data();
        house.org.delete_record("reservation", house.stay).await;
        app.stay(&house.token, "").await.error(404);
        app.platform().get(&house.org.path(&format!("/reservations/{}/precheckin", house.stay))).await.error(404);

        house.org.put_record("reservation", house.stay, reservation(Some(house.flat))).await;
        let view = house.org.guest_view(house.stay).await;
        assert_eq!((&view["precheckin"]["status"], &view["precheckin"]["steps"][0]["isComplete"]), (&json!("not_started"), &json!(false)));
        let handed_in = house.handed_in().await;
        assert_eq!((&handed_in["submittedAt"], &handed_in["messages"]), (&Value::Null, &json!([])));
        assert_eq!((&handed_in["steps"][0]["answers"], &handed_in["steps"][0]["savedAt"]), (&Value::Null, &Value::Null));
        house.update(step, json!({ "stepType": "main" })).await.error(409);
    }

    async fn the_platform_reads_what_was_handed_in(app: App) {
        let house = House::build(&app).await;
        let policy = json!({ "document_expired": "ignore", "guest_is_local": "review", "guest_underage": "fail" });
        let identity = house.step("identity_check", json!({ "identityFlagPolicy": policy, "minimumGuestAge": 21 })).await;
        let papers = house.step("document_upload", json!({ "requiredDocumentTypes": ["passport"], "nickname": "Papers" })).await;
        house.step("agreement", json!({ "isActive": false })).await;
        let rules = house.step("agreement", json!({ "contractTemplateText": "Quiet from 22:00." })).await;
        let answers = json!({ "key": "passport.jpg", "pages": [1, 2], "note": null });
        house.answer(papers, answers.clone()).await.data();
        house.say("Sent!").await.data();

        let read = house.handed_in().await;
        assert_eq!((&read["status"], &read["submittedAt"]), (&json!("in_progress"), &Value::Null));
        assert_eq!(ids(&read["steps"]), [identity, papers, rules], "in guest order, and only what is shown");
        let [first, second, third] = [&read["steps"][0], &read["steps"][1], &read["steps"][2]];
        assert_eq!((&first["answers"], &first["savedAt"], &first["isComplete"]), (&Value::Null, &Value::Null, &json!(false)));
        assert_eq!((&first["settings"]["identityFlagPolicy"], &first["settings"]["minimumGuestAge"]), (&policy, &json!(21)));
        assert_eq!(first["identityActions"], json!({
            "document_not_official": "fail", "document_expired": "ignore", "document_unreadable": "review", "no_face_on_document": "review",
            "face_mismatch": "review", "selfie_spoof": "fail", "name_mismatch": "review", "name_unavailable": "review",
            "name_unconfirmed": "review", "guest_is_local": "review", "guest_underage": "review", "retake_limit": "review",
            "verification_unavailable": "fail",
        }), "fail behaves as review for the guest's age");
        assert_eq!((&second["nickname"], &second["stepType"]), (&json!("Papers"), &json!("document_upload")));
        assert_eq!((&second["answers"], &second["isComplete"], second["savedAt"].is_string()), (&answers, &json!(true), true));
        assert_eq!((&second["settings"]["requiredDocumentTypes"], second.get("identityActions")), (&json!(["passport"]), None));
        assert_eq!(third["settings"]["contractTemplateText"], "Quiet from 22:00.");
        assert_eq!(read["messages"][0]["text"], "Sent!");
        // No public read has these settings.
        let public = house.api.get(&format!("/precheck-steps/{papers}")).await.data();
        assert_eq!(public.get("requiredDocumentTypes"), None);

        house.answer(identity, json!({})).await.data();
        house.answer(rules, json!({ "isAccepted": true })).await.data();
        house.submit().await.data();
        let read = house.handed_in().await;
        assert_eq!((&read["status"], read["submittedAt"].is_string()), (&json!("in_review"), true));

        let path = house.org.path(&format!("/reservations/{}/precheckin", house.stay));
        let mut stranger = app.platform();
        stranger.token = house.api.token.clone();
        stranger.get(&path).await.error(401);
        let unknown = house.org.path(&format!("/reservations/{}/precheckin", new_id()));
        let elsewhere = app.org().await.path(&format!("/reservations/{}/precheckin", house.stay));
        for path in [unknown, elsewhere] {
            app.platform().get(&path).await.error(404);
        }
    }
}

with_receiver! {
    /// Whatever was tried before and after.
    async fn a_submission_is_told_once(app: App, receiver: Receiver) {
        let house = House::build(&app).await;
        subscribe(&house.api, "reservation.precheckin_submitted", &receiver.url).await;
        let step = house.step("agreement", json!({})).await;
        house.answer(step, json!({ "isAccepted": false })).await.data();
        house.submit().await.error(409);
        house.answer(step, json!({ "isAccepted": true })).await.data();
        house.submit().await.data();
        house.submit().await.error(409);
        let delivery = receiver.next().await;
        assert_eq!(delivery.body["event"], "reservation.precheckin_submitted");
        let read = house.api.get(&format!("/reservations/{}", house.stay)).await.data();
        assert_eq!(delivery.body["data"], read, "data is what the read returns");
        assert!(receiver.is_quiet().await);
    }
}
