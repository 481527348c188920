//! Tests of a step's content in the guest view: titles, agreement texts and questions.

use std::collections::HashSet;

use serde_json::{Value, json};
use test_support::STEP_TYPES;
use test_support::house::{House, id, with};
use test_support::{App, on_both, reservation};

use super::{AGE, BED, CAR, Chosen, DRIVE, EXTRAS, QuestionStep};

async fn titles(app: &App, token: &str, query: &str) -> Vec<String> {
    let view = app.stay(token, query).await.data();
    view["precheckin"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["title"].as_str().unwrap().to_owned())
        .collect()
}

on_both!(every_step_type_has_a_title_in_three_languages);
async fn every_step_type_has_a_title_in_three_languages(app: App) {
    let house = House::build(&app).await;
    for step_type in STEP_TYPES {
        house.step(step_type, json!({})).await;
    }
    let in_language =
        async |language: &str| titles(&app, &house.token, &format!("?language={language}")).await;
    let mut seen = HashSet::new();
    for language in ["en", "es", "fr"] {
        let titles = in_language(language).await;
        assert_eq!(titles.len(), 12);
        for title in titles {
            assert!(
                !title.trim().is_empty() && seen.insert(title.clone()),
                "{language} {title}"
            );
        }
    }
    assert_eq!(in_language("fr-CA").await, in_language("fr").await);
    assert_eq!(in_language("sv").await, in_language("en").await);
    for (guest, language) in [
        (json!("es"), "es"),
        (json!("fr-CA"), "fr"),
        (json!("de"), "de"),
        (json!("sv"), "en"),
        (Value::Null, "en"),
    ] {
        let stay = with(
            reservation(Some(house.flat)),
            json!({ "guest": { "firstName": "Ada", "language": guest } }),
        );
        house.org.put_record("reservation", house.stay, stay).await;
        assert_eq!(
            titles(&app, &house.token, "").await,
            in_language(language).await,
            "{guest}"
        );
    }
}

on_both!(a_steps_own_title_is_shown_in_the_guests_language);
async fn a_steps_own_title_is_shown_in_the_guests_language(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step("your_details", json!({ "displayTitle": "Who are you?" }))
        .await;
    for (language, title) in [("es", "¿Quién eres?"), ("pt", "Quem é você?")] {
        house
            .update(
                step,
                json!({ "displayTitle": title, "displayTitleLanguage": language }),
            )
            .await
            .data();
    }
    for (language, title) in [
        ("en", "Who are you?"),
        ("es", "¿Quién eres?"),
        ("es-MX", "¿Quién eres?"),
        ("pt-BR", "Quem é você?"),
        ("fr", "Who are you?"),
    ] {
        assert_eq!(
            house.step_view(step, language).await["title"],
            title,
            "{language}"
        );
    }
    let plain = house.step("your_details", json!({})).await;
    house
        .update(step, json!({ "displayTitle": null }))
        .await
        .data();
    for language in ["en", "es", "fr"] {
        assert_eq!(
            house.step_view(step, language).await["title"],
            house.step_view(plain, language).await["title"],
            "{language}"
        );
    }
}

on_both!(a_step_view_has_the_fields_of_the_contract);
async fn a_step_view_has_the_fields_of_the_contract(app: App) {
    let house = House::build(&app).await;
    house.step("your_details", json!({})).await;
    let survey = QuestionStep::build(&house).await;
    let precheckin = house.precheckin().await;
    let fields = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        fields(&precheckin),
        ["isEnabled", "openSteps", "promptMessage", "status", "steps"]
    );
    assert_eq!(
        fields(&precheckin["steps"][0]),
        [
            "id",
            "isComplete",
            "isOpen",
            "requiredFields",
            "state",
            "stepType",
            "title"
        ]
    );
    assert_eq!(
        fields(&precheckin["steps"][1]),
        [
            "id",
            "isComplete",
            "isOpen",
            "questions",
            "state",
            "stepType",
            "title"
        ]
    );
    assert_eq!(
        (&precheckin["isEnabled"], id(&precheckin["steps"][1]["id"])),
        (&json!(true), survey.step)
    );
    assert_eq!(
        (
            &precheckin["steps"][0]["stepType"],
            &precheckin["steps"][0]["isComplete"]
        ),
        (&json!("your_details"), &json!(false))
    );
}

on_both!(an_agreement_shows_its_text);
async fn an_agreement_shows_its_text(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "agreement",
            json!({ "contractTemplateText": "No parties." }),
        )
        .await;
    let view = house.step_view(step, "en").await;
    let fields: Vec<&String> = view.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "agreement",
            "id",
            "isComplete",
            "isOpen",
            "isSignatureRequired",
            "state",
            "stepType",
            "title"
        ]
    );
    assert_eq!(
        view["agreement"],
        json!({
            "title": null,
            "subtitle": null,
            "text": "No parties.",
            "isSignedElsewhere": false,
        })
    );
}

on_both!(questions_are_shown_in_the_guests_language);
async fn questions_are_shown_in_the_guests_language(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionStep::build(&house).await;
    for (language, expected) in [
        (
            "en",
            json!([
                ["yes_no", "Will you drive?", ["Yes", "No"]],
                ["single_select", "Which bed?", ["Double", "Twins"]]
            ]),
        ),
        (
            "es",
            json!([
                ["yes_no", "¿Vienes en coche?", ["Sí", "No"]],
                ["single_select", "Which bed?", ["Doble", "Dos camas"]]
            ]),
        ),
        (
            "fr-CA",
            json!([
                ["yes_no", "Will you drive?", ["Oui", "Non"]],
                ["single_select", "Quel lit ?", ["Double, bien sûr", "Twins"]]
            ]),
        ),
    ] {
        let view = house.step_view(survey.step, language).await;
        let questions = view["questions"].as_array().unwrap().iter();
        let shown: Vec<Value> = questions
            .map(|question| {
                let names: Vec<&Value> = question["options"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|option| &option["name"])
                    .collect();
                json!([question["kind"], question["text"], names])
            })
            .collect();
        assert_eq!(json!(shown), expected, "{language}");
    }
    let view = house.step_view(survey.step, "en").await;
    assert_eq!(
        (
            &view["questions"][0]["isRequired"],
            &view["questions"][1]["isRequired"]
        ),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        view["questions"][1]["options"][1]["id"],
        survey.option(BED, 1)
    );
}

on_both!(a_question_is_shown_when_its_condition_holds);
async fn a_question_is_shown_when_its_condition_holds(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionStep::build(&house).await;
    assert_eq!(
        survey.shown_questions(&house.step_view(survey.step, "en").await),
        [DRIVE, BED]
    );
    let rows: [(Chosen, &[usize]); 8] = [
        (&[(DRIVE, &[0])], &[DRIVE, CAR, BED]),
        (&[(DRIVE, &[1])], &[DRIVE, BED, EXTRAS]),
        (&[(BED, &[1])], &[DRIVE, BED, EXTRAS]),
        (&[(DRIVE, &[0]), (BED, &[1])], &[DRIVE, CAR, BED, EXTRAS]),
        (
            &[(DRIVE, &[1]), (EXTRAS, &[0, 1])],
            &[DRIVE, BED, EXTRAS, AGE],
        ),
        (&[(DRIVE, &[1]), (EXTRAS, &[1])], &[DRIVE, BED, EXTRAS]),
        // A question whose condition refers to a hidden question is hidden as well.
        (&[(DRIVE, &[0]), (EXTRAS, &[0])], &[DRIVE, CAR, BED]),
        (&[(BED, &[0])], &[DRIVE, BED]),
    ];
    for (chosen, asked) in rows {
        let answers = survey.answers(chosen, &[]);
        house.answer(survey.step, answers.clone()).await.data();
        let view = house.step_view(survey.step, "en").await;
        assert_eq!(survey.shown_questions(&view), asked, "{chosen:?}");
        for question in view["questions"].as_array().unwrap() {
            assert_eq!(
                question["answer"],
                answers[question["id"].as_str().unwrap()],
                "what was saved is shown"
            );
        }
    }
}
