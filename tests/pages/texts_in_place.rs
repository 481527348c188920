//! Tests of texts that are created in several languages by one request, alone or within a question.

use reqwest::Method;
use serde_json::{Value, json};

use test_support::house::{House, id};
use test_support::{App, new_id, on_both};

/// Returns the versions of a translation: the language and the text of each version.
async fn versions(house: &House<'_>, text: &Value) -> Vec<(String, String)> {
    let path = format!("/translations/{}/entries", text.as_str().unwrap());
    let entries = house.api.get(&path).await.data();
    let of = |entry: &Value, field: &str| entry[field].as_str().unwrap().to_owned();
    let entries = entries.as_array().unwrap().iter();
    entries
        .map(|entry| (of(entry, "language"), of(entry, "text")))
        .collect()
}

fn pair(language: &str, text: &str) -> (String, String) {
    (language.to_owned(), text.to_owned())
}

on_both!(a_translation_is_created_in_several_languages_at_once);
async fn a_translation_is_created_in_several_languages_at_once(app: App) {
    let house = House::build(&app).await;
    let body = json!({
        "sourceTable": "precheck_question",
        "texts": { "es": "¿Mascotas?", "EN": "Any pets?" },
    });
    let created = house.api.post("/translations", body).await.data();
    assert_eq!(
        versions(&house, &created["id"]).await,
        [pair("en", "Any pets?"), pair("es", "¿Mascotas?")]
    );

    let text = json!({ "sourceTable": "precheck_question", "text": "Any pets?" });
    let with = |field: &str, value: Value| {
        let mut body = text.clone();
        body[field] = value;
        body
    };
    for (body, issues) in [
        (json!({ "sourceTable": "precheck_question" }), ["text"]),
        (with("texts", json!({ "en": "Pets?" })), ["texts"]),
        (
            json!({
                "sourceTable": "precheck_question",
                "texts": { "EN": "Pets?", "en": "Dogs?" },
            }),
            ["texts.en"],
        ),
        (
            json!({ "sourceTable": "precheck_question", "texts": {} }),
            ["texts"],
        ),
        (
            json!({ "sourceTable": "precheck_question", "texts": { "en": " " } }),
            ["texts.en"],
        ),
        (
            json!({ "sourceTable": "precheck_question", "texts": { "english language": "Pets?" } }),
            ["texts"],
        ),
        (
            json!({
                "sourceTable": "precheck_question",
                "texts": { "en": "Pets?" },
                "language": "en",
            }),
            ["language"],
        ),
    ] {
        assert_eq!(
            house.api.post("/translations", body.clone()).await.issues(),
            issues,
            "{body}"
        );
    }
}

on_both!(questions_can_contain_new_texts);
async fn questions_can_contain_new_texts(app: App) {
    let house = House::build(&app).await;
    let question = json!({
        "kind": "single_select",
        "texts": { "en": "How do you travel?", "es": "¿Cómo viaja?" },
        "options": [
            { "texts": { "en": "By car", "es": "En coche" } },
            { "texts": { "en": "By train" } },
        ],
    });
    let step = json!({
        "stepType": "additional_questions",
        "nickname": "Travel",
        "isActive": true,
        "questions": [question],
    });
    let step = house.api.post("/precheck-steps", step).await.data();
    let read = async || {
        house
            .api
            .get(&format!("/precheck-steps/{}", id(&step["id"])))
            .await
            .data()
    };
    let step = read().await;
    let question = &step["questions"][0];
    assert_eq!(
        versions(&house, &question["textMlTextId"]).await,
        [pair("en", "How do you travel?"), pair("es", "¿Cómo viaja?")]
    );
    assert_eq!(
        versions(&house, &question["options"][0]["nameMlTextId"]).await[1],
        pair("es", "En coche")
    );
    house
        .scopes(
            "add",
            "precheck_step",
            id(&step["id"]),
            json!({ "propertyIds": [house.flat] }),
        )
        .await;
    let seen = house.step_view(id(&step["id"]), "es").await;
    assert_eq!(seen["questions"][0]["text"], "¿Cómo viaja?");

    // The update contains the id of the existing question, so that question stays. The service
    // creates its new text.
    let kept = json!({
        "id": question["id"],
        "kind": "single_select",
        "texts": { "en": "How will you come?" },
        "options": question["options"],
    });
    house
        .update(id(&step["id"]), json!({ "questions": [kept] }))
        .await
        .data();
    let changed = read().await;
    assert_eq!(changed["questions"][0]["id"], question["id"]);
    assert_eq!(
        versions(&house, &changed["questions"][0]["textMlTextId"]).await,
        [pair("en", "How will you come?")]
    );

    let wrong = json!({
        "stepType": "additional_questions", "nickname": "Travel",
        "questions": [
            { "kind": "free_form_input", "textMlTextId": new_id(), "texts": { "en": "When?" } },
            { "kind": "single_select", "texts": { "en": "Which?" }, "options": [{}] },
            { "kind": "free_form_input", "texts": { "ES": "¿Cuál?", "es": "¿Qué?" } },
        ],
    });
    assert_eq!(
        house.api.post("/precheck-steps", wrong).await.issues(),
        [
            "questions.0.texts",
            "questions.1.options.0.nameMlTextId",
            "questions.2.texts.es"
        ]
    );
    let without = json!({
        "stepType": "additional_questions",
        "nickname": "Travel",
        "questions": [{ "kind": "free_form_input" }],
    });
    assert_eq!(
        house.api.post("/precheck-steps", without).await.issues(),
        ["questions.0.textMlTextId"]
    );
    let count = app
        .query("select count(*) from translation", Vec::new(), |row| {
            row.get::<i64>(0)
        })
        .await[0];
    house.api.ok(Method::GET, "/precheck-steps", None).await;
    let refused = json!({
        "stepType": "additional_questions",
        "nickname": " ",
        "questions": [{ "kind": "yes_no", "texts": { "en": "Pets?" } }],
    });
    house.api.post("/precheck-steps", refused).await.error(400);
    assert_eq!(
        app.query("select count(*) from translation", Vec::new(), |row| row
            .get::<i64>(0))
            .await[0],
        count
    );
}
