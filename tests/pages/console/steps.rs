//! Tests of the console screens for steps: order, types, questions and assignments.

use engine::access::Permission;
use serde_json::json;
use test_support::house::House;
use test_support::{Api, App, on_both};

use super::{Form, marta, member_with, page, plain, read};
use crate::people::Browser;

async fn step(api: &Api, kind: &str, nickname: &str) -> String {
    api.post(
        "/precheck-steps",
        json!({ "stepType": kind, "nickname": nickname }),
    )
    .await
    .data()["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Creates a step with questions. Each question has five options and depends on the first option of
/// the question before. Returns the step's id.
pub async fn with_questions(api: &Api, count: usize) -> String {
    let id = step(api, "additional_questions", "Many questions").await;
    let text = async |text: String| {
        api.post(
            "/translations",
            json!({ "sourceTable": "precheck_question", "text": text }),
        )
        .await
        .data()["id"]
            .clone()
    };
    let mut options = Vec::new();
    for number in 1..=5 {
        options
            .push(json!({ "nameMlTextId": text(format!("The answer of number {number}")).await }));
    }
    let mut questions = Vec::new();
    for number in 0..count {
        let conditions = if number == 0 {
            json!([])
        } else {
            json!([{ "questionIndex": number - 1, "optionIndex": 0 }])
        };
        let asked = text(format!(
            "What would you like to be asked as question {number}?"
        ))
        .await;
        questions.push(json!({
            "kind": "single_select",
            "textMlTextId": asked,
            "isRequired": true,
            "options": options,
            "conditions": conditions,
        }));
    }
    api.patch(
        &format!("/precheck-steps/{id}"),
        json!({ "data": { "questions": questions } }),
    )
    .await
    .data();
    id
}

async fn order(api: &Api) -> Vec<String> {
    let rows = api.get("/precheck-steps").await.data();
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| row["nickname"].as_str().unwrap().to_owned())
        .collect()
}

async fn press(browser: &Browser, name: &str, id: &str) {
    let list = page(browser, "/console/steps").await;
    let form = Form::of(&list, "/console/steps?from=0")
        .without("order")
        .without("moved")
        .with(name, id);
    let response = form.send(browser).await;
    assert_eq!(response.status, 303, "{}", response.body);
}

on_both!(an_inactive_step_says_that_no_guest_gets_it);
async fn an_inactive_step_says_that_no_guest_gets_it(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step("your_details", json!({ "nickname": "Details" }))
        .await;
    let browser = marta(&house.org).await;
    let path = format!("/console/steps/{step}");
    let html = page(&browser, &path).await;
    assert!(
        html.contains("Every guest of 1 flat gets it.") && !html.contains("switched off"),
        "{html}"
    );
    // The form shows an unlimited maximum stay as an empty field. When the form is saved, the
    // maximum remains unlimited.
    let form = Form::of(&html, &path);
    assert_eq!(form.value("maxLos"), Some(""));
    form.done(&browser, "unchanged").await;
    house
        .update(step, json!({ "isActive": false }))
        .await
        .data();
    for path in [path.as_str(), "/console/steps"] {
        let html = page(&browser, path).await;
        assert!(
            html.contains(
                "It is switched off, so nobody gets it. When it is on: Every guest of 1 flat gets \
                    it."
            ),
            "{path}: {html}"
        );
    }
}

on_both!(steps_are_moved_within_their_type);
async fn steps_are_moved_within_their_type(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let mut ids = Vec::new();
    for name in ["A", "B", "C"] {
        ids.push(step(&api, "agreement", name).await);
    }
    step(&api, "your_details", "First").await;
    let browser = marta(&org).await;
    let list = page(&browser, "/console/steps").await;
    let places: Vec<usize> = ["First", ">A<", ">B<", ">C<"]
        .iter()
        .map(|name| list.find(name).unwrap())
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(order(&api).await, ["First", "A", "B", "C"]);
    press(&browser, "up", &ids[2]).await;
    assert_eq!(order(&api).await, ["First", "A", "C", "B"]);
    press(&browser, "down", &ids[0]).await;
    assert_eq!(order(&api).await, ["First", "C", "A", "B"]);
    press(&browser, "up", &ids[2]).await;
    assert_eq!(
        order(&api).await,
        ["First", "C", "A", "B"],
        "the first of its type stays below other types"
    );
    let form = Form::of(
        &page(&browser, "/console/steps").await,
        "/console/steps?from=0",
    )
    .without("order")
    .without("moved");
    let (_, text) = form.with("up", &ids[2]).done(&browser, "unchanged").await;
    assert!(text.contains("There was nothing to change."), "{text}");
    let form = Form::of(
        &page(&browser, "/console/steps").await,
        "/console/steps?from=0",
    );
    let dragged = form
        .with("order", &[&*ids[1], &ids[2], &ids[0]].join(","))
        .with("moved", &ids[1]);
    dragged.done(&browser, "moved").await;
    assert_eq!(order(&api).await, ["First", "B", "C", "A"]);
}

on_both!(a_step_form_has_the_fields_of_its_type);
async fn a_step_form_has_the_fields_of_its_type(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let account = org
        .record(
            "payment_account",
            json!({ "name": "Main account", "isActive": true, "isDefault": true }),
        )
        .await;
    let browser = marta(&org).await;
    let form = Form::of(
        &page(&browser, "/console/steps/new").await,
        "/console/steps/new",
    );
    let form = form
        .with("stepType", "damage_deposit")
        .with("nickname", "Deposit")
        .with("displayTitle", "Your deposit");
    let (location, created) = form.done(&browser, "created").await;
    let path = location.split('?').next().unwrap().to_owned();
    assert!(
        created.contains("securityDepositAmountCents")
            && !created.contains("esignATemplateId")
            && created.contains("Main account"),
        "{created}"
    );
    let form = Form::of(&created, &path);
    assert_eq!(form.value("displayTitle"), Some("Your deposit"));
    let filled = form
        .with("isSecurityDepositEnabled", "true")
        .with("securityDepositAmountCents", "20000")
        .with("securityDepositPaymentAccountId", &account.to_string())
        .with(
            "securityDepositSubtitleMlTextId",
            "We give it back after three days.",
        )
        .with("guestDescriptionMlTextId", "It is only held, not taken.")
        .with("minLos", "2")
        .with("inclusionType", "all_except_selected")
        .with("excludedSources", "direct\r\nairbnb");
    let (_, saved) = filled.done(&browser, "saved").await;
    assert!(
        plain(&saved).contains("For stays of 2 nights or more; not through direct, airbnb."),
        "{saved}"
    );
    let id = path.rsplit('/').next().unwrap();
    let stored = read(&api, &format!("/precheck-steps/{id}")).await;
    assert_eq!(
        (
            &stored["securityDepositAmountCents"],
            &stored["excludedSources"]
        ),
        (&json!(20_000), &json!(["direct", "airbnb"]))
    );
    let text = read(
        &api,
        &format!(
            "/translations/{}/entries",
            stored["securityDepositSubtitleMlTextId"].as_str().unwrap()
        ),
    )
    .await;
    assert_eq!(text[0]["text"], "We give it back after three days.");
    Form::of(&saved, &path).done(&browser, "unchanged").await;
    let refused = Form::of(&saved, &path)
        .with("minLos", "9")
        .with("maxLos", "3")
        .with("securityDepositAmountCents", "a lot")
        .refused(&browser, 400)
        .await;
    assert!(
        refused.contains("f-securityDepositAmountCents-error")
            && refused.contains("value=\"a lot\""),
        "{refused}"
    );
}

on_both!(saved_texts_of_a_step_are_shown_again);
async fn saved_texts_of_a_step_are_shown_again(app: App) {
    let house = House::build(&app).await;
    house
        .org
        .put(
            "",
            json!({ "name": "Casa", "country": "ES", "languages": ["en", "es"] }),
        )
        .await;
    let id = house
        .step(
            "other_guests",
            json!({ "nickname": "Others", "displayTitle": "Who else comes" }),
        )
        .await;
    let (path, api) = (format!("/console/steps/{id}"), &house.api);
    let browser = marta(&house.org).await;
    let (_, saved) = Form::of(&page(&browser, &path).await, &path)
        .with("guestDescriptionMlTextId", "Everybody but you.")
        .done(&browser, "saved")
        .await;
    assert_eq!(
        Form::of(&saved, &path).value("guestDescriptionMlTextId"),
        Some("Everybody but you."),
        "{saved}"
    );
    let shown = read(
        api,
        &format!("/translations/shown?sourceTable=precheck_step_detail&thingId={id}"),
    )
    .await;
    let fields: Vec<&str> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["displayTitleMlTextId", "guestDescriptionMlTextId"]);
    let text = shown[1]["id"].as_str().unwrap();
    let (form, beside) = saved.split_once("Its texts in all languages").unwrap();
    for part in [form, beside] {
        assert!(
            part.contains("Everybody but you.")
                && part.contains(&format!("/console/translations/{text}")),
            "{part}"
        );
    }
    // Saving the form changes the existing text instead of creating a second text.
    let (_, saved) = Form::of(&saved, &path)
        .with("guestDescriptionMlTextId", "All but you.")
        .done(&browser, "saved")
        .await;
    assert_eq!(
        read(api, &format!("/translations/{text}/entries")).await[0]["text"],
        "All but you."
    );
    Form::of(&saved, &path).done(&browser, "unchanged").await;
    // A member without the permission to write texts can still change the other fields of the step.
    let other = member_with(
        &house.org,
        &[Permission::ViewProperties, Permission::ModifyProperties],
        None,
    )
    .await;
    let (_, seen) = Form::of(&page(&other, &path).await, &path)
        .with("nickname", "Companions")
        .done(&other, "saved")
        .await;
    assert!(seen.contains("All but you."), "{seen}");
    let (_, cleared) = Form::of(&page(&browser, &path).await, &path)
        .with("guestDescriptionMlTextId", "")
        .done(&browser, "saved")
        .await;
    assert!(!cleared.contains("All but you."), "{cleared}");
    let elsewhere = house.org.property(None, &[]).await;
    let limited = member_with(
        &house.org,
        &[Permission::ViewProperties],
        Some(&[elsewhere]),
    )
    .await;
    assert_eq!(limited.get(&path).await.status, 404);
}

on_both!(required_guest_fields_are_chosen_by_checkboxes);
async fn required_guest_fields_are_chosen_by_checkboxes(app: App) {
    let house = House::build(&app).await;
    let id = house
        .step("other_guests", json!({ "nickname": "Others" }))
        .await;
    let path = format!("/console/steps/{id}");
    let browser = marta(&house.org).await;
    let asked = async || house.step_view(id, "en").await["requiredFields"].clone();
    let html = page(&browser, &path).await;
    assert!(plain(&html).contains(">Date of birth<"), "{html}");
    let mut form = Form::of(&html, &path).with("requiredGuestFields.others", "Shoe size\r\n");
    for name in ["firstName", "birthDate"] {
        form.fields
            .push(("requiredGuestFields".to_owned(), name.to_owned()));
    }
    let (_, saved) = form.done(&browser, "saved").await;
    assert_eq!(
        asked().await,
        json!(["firstName", "birthDate", "Shoe size"])
    );
    // The form sends the list of required details together with all other fields, so a change of
    // another field does not clear that list.
    let form = Form::of(&saved, &path);
    let ticked: Vec<&str> = form
        .fields
        .iter()
        .filter(|(name, _)| name == "requiredGuestFields")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(
        (ticked, form.value("requiredGuestFields.others")),
        (vec!["firstName", "birthDate"], Some("Shoe size"))
    );
    let (_, saved) = form
        .with("nickname", "Companions")
        .done(&browser, "saved")
        .await;
    assert_eq!(
        asked().await,
        json!(["firstName", "birthDate", "Shoe size"])
    );
    let refused = Form::of(&saved, &path)
        .with("requiredGuestFields.others", &"x".repeat(201))
        .with("requiredGuestFields", "email")
        .refused(&browser, 400)
        .await;
    let again = Form::of(&refused, &path);
    assert!(
        refused.contains("f-requiredGuestFields-error")
            && again.value("requiredGuestFields") == Some("email"),
        "{refused}"
    );
    let nothing = Form::of(&saved, &path)
        .without("requiredGuestFields")
        .with("requiredGuestFields.others", "");
    nothing.done(&browser, "saved").await;
    assert_eq!(asked().await.as_array().map_or(0, Vec::len), 0);
    for (language, name) in [("es", "Fecha de nacimiento"), ("fr", "Date de naissance")] {
        Form::of(&page(&browser, &path).await, "/console/language")
            .with("language", language)
            .send(&browser)
            .await;
        let html = page(&browser, &path).await;
        assert!(
            html.contains(name)
                && !html.contains("por ejemplo, firstName")
                && !html.contains(">birthDate"),
            "{html}"
        );
    }
}

on_both!(a_list_that_a_form_cannot_show_is_kept_or_cleared);
async fn a_list_that_a_form_cannot_show_is_kept_or_cleared(app: App) {
    let house = House::build(&app).await;
    let id = house
        .step(
            "document_upload",
            json!({ "nickname": "Papers", "requiredDocumentTypes": ["passport"] }),
        )
        .await;
    let path = format!("/console/steps/{id}");
    let browser = marta(&house.org).await;
    let asked = async || house.step_view(id, "en").await["requiredDocumentTypes"].clone();
    let html = page(&browser, &path).await;
    for text in [
        "To remove it, tick “Clear it”.",
        "If you choose nothing, it stays unchanged",
    ] {
        assert!(plain(&html).contains(text), "{text}: {html}");
    }
    // If the form selects no document type, the stored list stays unchanged. The checkbox
    // "Clear it" empties the list.
    let (_, saved) = Form::of(&html, &path)
        .with("nickname", "Documents")
        .done(&browser, "saved")
        .await;
    assert_eq!(asked().await, json!(["passport"]));
    Form::of(&saved, &path)
        .with("requiredDocumentTypes.clear", "1")
        .done(&browser, "saved")
        .await;
    assert_eq!(asked().await.as_array().map_or(0, Vec::len), 0);
}

on_both!(missing_translations_of_titles_are_linked_from_home);
async fn missing_translations_of_titles_are_linked_from_home(app: App) {
    let org = app
        .org_with(json!({ "name": "Org", "languages": ["en", "es"] }))
        .await;
    let api = org.key().await;
    api.post(
        "/precheck-steps",
        json!({ "stepType": "main", "nickname": "Gate", "displayTitle": "The gate" }),
    )
    .await
    .data();
    let browser = marta(&org).await;
    let way = |of: &str| format!("/console/translations?of={of}&language=es&todo=1");
    let home = plain(&page(&browser, "/console").await);
    assert!(
        home.contains(&format!(
            "<a href=\"{}\">Steps: 1 in Español</a>",
            way("steps")
        )) && !home.contains("Manuals: 1"),
        "{home}"
    );
    assert!(page(&browser, &way("steps")).await.contains("The gate"));
    api.post(
        "/portal-manuals",
        json!({ "nickname": "Oven", "title": "The oven" }),
    )
    .await
    .data();
    let home = plain(&page(&browser, "/console").await);
    assert!(
        home.contains(&format!(
            "<a href=\"{}\">Manuals: 1 in Español</a>",
            way("manuals")
        )) && home.contains("Steps: 1"),
        "{home}"
    );
}

on_both!(all_questions_of_a_step_are_edited_in_a_single_form);
async fn all_questions_of_a_step_are_edited_in_a_single_form(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = step(&api, "additional_questions", "Questions").await;
    let browser = marta(&org).await;
    let path = format!("/console/steps/{id}/questions");
    let act = async |form: Form, act: &str| {
        Form::of(&form.with("act", act).refused(&browser, 200).await, &path)
    };
    let form = act(Form::of(&page(&browser, &path).await, &path), "add").await;
    let form = act(form.with("q0.text", "Do you bring a pet?"), "option 0").await;
    let form = act(form.with("q0.o0.text", "A dog"), "option 0").await;
    let form = act(form.with("q0.o1.text", "A cat"), "add").await;
    let form = form
        .with("q1.text", "How large is it?")
        .with("q1.kind", "free_form_input")
        .with("q1.required", "1");
    let key = form.value("q0.o0.key").unwrap().to_owned();
    assert_eq!(
        read(&api, &format!("/precheck-steps/{id}")).await["questions"],
        json!([]),
        "nothing is saved by the other buttons"
    );
    let (_, saved) = form
        .with("q1.c", &key)
        .with("act", "save")
        .done(&browser, "saved")
        .await;
    let questions = read(&api, &format!("/precheck-steps/{id}")).await["questions"].clone();
    assert_eq!(
        questions[1]["conditions"],
        json!([{ "optionId": questions[0]["options"][0]["id"] }])
    );
    assert_eq!(questions[1]["isRequired"], json!(true));
    let form = Form::of(&saved, &path);
    assert_eq!(
        (form.value("q0.o1.text"), form.value("q1.c")),
        (Some("A cat"), questions[0]["options"][0]["id"].as_str())
    );

    let form = act(form.with("q0.text", "Do you bring an animal?"), "drop 0 1").await;
    let (_, saved) = form.with("act", "save").done(&browser, "saved").await;
    let after = read(&api, &format!("/precheck-steps/{id}")).await["questions"].clone();
    assert_eq!(
        (
            &after[0]["id"],
            after[0]["options"].as_array().unwrap().len()
        ),
        (&questions[0]["id"], 1)
    );
    let text = read(
        &api,
        &format!(
            "/translations/{}/entries",
            after[0]["textMlTextId"].as_str().unwrap()
        ),
    )
    .await;
    assert_eq!(text[0]["text"], "Do you bring an animal?");

    // Another member changes the step after the form was opened. The page shows both versions.
    let form = Form::of(&saved, &path)
        .with("q1.text", "How heavy is it?")
        .with("act", "save");
    app.clock.advance(std::time::Duration::from_secs(5));
    api.patch(
        &format!("/precheck-steps/{id}"),
        json!({ "data": { "nickname": "Pets" } }),
    )
    .await
    .data();
    let both = form.refused(&browser, 409).await;
    assert!(
        both.contains("How large is it?") && both.contains("value=\"How heavy is it?\""),
        "{both}"
    );
    Form::of(&both, &path)
        .with("act", "save")
        .done(&browser, "saved")
        .await;
    // The page shows each error beside the question that caused it.
    let form = act(Form::of(&page(&browser, &path).await, &path), "add").await;
    let refused = form
        .with("q2.text", "Which?")
        .with("q2.kind", "single_select")
        .with("act", "save")
        .refused(&browser, 400)
        .await;
    assert!(
        refused.contains("class=\"error\"") && refused.contains("value=\"Which?\""),
        "{refused}"
    );
}

on_both!(options_with_equal_names_have_separate_texts);
async fn options_with_equal_names_have_separate_texts(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = step(&api, "additional_questions", "Questions").await;
    let browser = marta(&org).await;
    let path = format!("/console/steps/{id}/questions");
    let act = async |form: Form, act: &str| {
        Form::of(&form.with("act", act).refused(&browser, 200).await, &path)
    };
    let mut form = Form::of(&page(&browser, &path).await, &path);
    for number in 0..2 {
        form = act(act(form, "add").await, &format!("option {number}")).await;
        form = form
            .with(&format!("q{number}.text"), "Which?")
            .with(&format!("q{number}.o0.text"), "Other");
    }
    let (_, saved) = form.with("act", "save").done(&browser, "saved").await;
    let questions = read(&api, &format!("/precheck-steps/{id}")).await["questions"].clone();
    let texts = [
        &questions[0]["textMlTextId"],
        &questions[1]["textMlTextId"],
        &questions[0]["options"][0]["nameMlTextId"],
        &questions[1]["options"][0]["nameMlTextId"],
    ];
    let distinct: std::collections::BTreeSet<&str> =
        texts.iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(distinct.len(), 4, "{questions}");
    // Each option has its own text, so the form can change the text of one option alone.
    Form::of(&saved, &path)
        .with("q0.o0.text", "Something else")
        .with("act", "save")
        .done(&browser, "saved")
        .await;
    let english = async |text: &serde_json::Value| {
        read(
            &api,
            &format!("/translations/{}/entries", text.as_str().unwrap()),
        )
        .await[0]["text"]
            .clone()
    };
    assert_eq!(
        (english(texts[2]).await, english(texts[3]).await),
        (json!("Something else"), json!("Other"))
    );
}

on_both!(a_long_question_form_is_small_and_saves_only_changes);
async fn a_long_question_form_is_small_and_saves_only_changes(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = with_questions(&api, 30).await;
    let before = read(&api, &format!("/precheck-steps/{id}")).await["questions"].clone();
    let browser = marta(&org).await;
    let path = format!("/console/steps/{id}/questions");
    // A console page is at most 100 KiB long, so the form shows the questions collapsed.
    let html = page(&browser, &path).await;
    assert_eq!(html.matches("class=\"card folded\"").count(), 30);
    let form = Form::of(&html, &path);
    assert!(form.fields.len() < 100, "{} fields", form.fields.len());
    let act = async |form: Form, act: &str| form.with("act", act).refused(&browser, 200).await;
    let opened = act(form, "open 20").await;
    assert_eq!(opened.matches("class=\"card folded\"").count(), 29);
    let form = Form::of(&opened, &path);
    assert_eq!(
        (form.value("q20.o4.text"), form.value("q20.c")),
        (
            Some("The answer of number 5"),
            before[19]["options"][0]["id"].as_str()
        )
    );
    // The button `ways` of question 20 loads the options of the earlier question that `q20.from`
    // names. The form offers these options as conditions.
    let question = before[3]["id"].as_str().unwrap();
    let asked = act(form.with("q20.from", question), "ways 20").await;
    let answer = before[3]["options"][2]["id"].as_str().unwrap();
    assert!(
        asked.contains(&format!("name=\"q20.c\" value=\"{answer}\"")),
        "{asked}"
    );
    let form = Form::of(&asked, &path)
        .with("q20.c", answer)
        .with("q20.text", "What else?")
        .with("q20.o4.text", "Nothing")
        .without("q20.required");
    // A question with unsaved changes stays open when another question is opened.
    let form = Form::of(&act(form, "open 2").await, &path);
    assert_eq!(
        (form.value("q20.text"), form.value("q2.o0.text")),
        (Some("What else?"), Some("The answer of number 1"))
    );
    let (_, saved) = act_and_save(form, &browser, &path).await;
    assert_eq!(saved.matches("class=\"card folded\"").count(), 30);
    let after = read(&api, &format!("/precheck-steps/{id}")).await["questions"].clone();
    let mut expected = before.clone();
    expected[20]["isRequired"] = json!(false);
    expected[20]["conditions"] = json!([{ "optionId": answer }]);
    // `act_and_save` moved question 5 up while it was collapsed.
    let moved = expected.as_array_mut().unwrap();
    moved.swap(5, 4);
    moved[4]["conditions"] = json!([]);
    moved[5]["conditions"] = json!([{ "optionId": before[3]["options"][0]["id"] }]);
    assert_eq!(after.as_array().unwrap().len(), 30);
    for (number, (after, expected)) in after
        .as_array()
        .unwrap()
        .iter()
        .zip(expected.as_array().unwrap())
        .enumerate()
    {
        assert_eq!(after, expected, "{number}");
    }
    let text = read(
        &api,
        &format!(
            "/translations/{}/entries",
            after[20]["textMlTextId"].as_str().unwrap()
        ),
    )
    .await;
    assert_eq!(text[0]["text"], "What else?");
    assert!(
        saved.contains("What else?") && saved.contains("asked only after certain answers"),
        "{saved}"
    );
}

on_both!(a_form_without_an_action_or_with_too_many_fields_is_not_saved);
async fn a_form_without_an_action_or_with_too_many_fields_is_not_saved(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = with_questions(&api, 2).await;
    let before = read(&api, &format!("/precheck-steps/{id}")).await;
    let browser = marta(&org).await;
    let path = format!("/console/steps/{id}/questions");
    let form = Form::of(&page(&browser, &path).await, &path).with("q0.text", "Else?");
    form.clone().refused(&browser, 200).await;
    // A form with more fields than the service accepts is refused as a whole and changes nothing.
    let mut large = form.with("act", "save");
    large
        .fields
        .extend((0..5_000).map(|number| (format!("x{number}"), String::new())));
    let refused = large.refused(&browser, 400).await;
    assert!(
        refused.contains("at most 5,000 fields")
            && refused.contains("what you typed is still there"),
        "{refused}"
    );
    assert_eq!(read(&api, &format!("/precheck-steps/{id}")).await, before);
}

on_both!(valid_changes_are_saved_when_a_question_is_refused);
async fn valid_changes_are_saved_when_a_question_is_refused(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = with_questions(&api, 2).await;
    let browser = marta(&org).await;
    let path = format!("/console/steps/{id}/questions");
    let act = async |form: Form, act: &str| {
        Form::of(&form.with("act", act).refused(&browser, 200).await, &path)
    };
    let form = act(Form::of(&page(&browser, &path).await, &path), "add").await;
    let form = form
        .without("q0.required")
        .with("q1.text", &"x".repeat(6_001))
        .with("q2.text", "And what else?")
        .with("q2.kind", "free_form_input");
    let refused = form.with("act", "save").refused(&browser, 400).await;
    assert!(
        refused.contains("Question 2: ") && refused.contains("Your other changes are saved."),
        "{refused}"
    );
    let questions = read(&api, &format!("/precheck-steps/{id}")).await["questions"].clone();
    assert_eq!(
        (
            &questions[0]["isRequired"],
            questions.as_array().unwrap().len()
        ),
        (&json!(false), 3)
    );
    let again = Form::of(&refused, &path);
    assert_eq!(again.value("q2.key"), questions[2]["id"].as_str());
    again
        .with("q1.text", "Shorter?")
        .with("act", "save")
        .done(&browser, "saved")
        .await;
    assert_eq!(
        read(&api, &format!("/precheck-steps/{id}")).await["questions"],
        questions,
        "nothing is made twice"
    );
    let text = read(
        &api,
        &format!(
            "/translations/{}/entries",
            questions[1]["textMlTextId"].as_str().unwrap()
        ),
    )
    .await;
    assert_eq!(text[0]["text"], "Shorter?");
}

on_both!(a_step_shows_the_number_of_flats_it_reaches);
async fn a_step_shows_the_number_of_flats_it_reaches(app: App) {
    let org = app
        .org_with(json!({ "name": "Org", "languages": ["en", "es", "fr"] }))
        .await;
    let api = org.key().await;
    let (group, tag) = (org.group().await, org.tag().await);
    // Four flats have the group or the tag, and one of these has both. The fifth flat has
    // neither.
    for (group, tags) in [
        (Some(group), vec![]),
        (Some(group), vec![]),
        (Some(group), vec![tag]),
        (None, vec![tag]),
        (None, vec![]),
    ] {
        org.property(group, &tags).await;
    }
    let created = api
        .post(
            "/precheck-steps",
            json!({
                "stepType": "agreement",
                "nickname": "Rules",
                "displayTitle": "Our rules",
                "minLos": 2,
                "contractTemplateText": "Quiet.",
            }),
        )
        .await
        .data();
    let id = created["id"].as_str().unwrap();
    let browser = marta(&org).await;
    let path = format!("/console/steps/{id}");
    assert!(
        page(&browser, &path)
            .await
            .contains("It is assigned to no flat yet")
    );
    api.post(
        "/entity-scopes/add",
        json!({
            "entityType": "precheck_step",
            "entityId": id,
            "propertyGroupIds": [group],
            "tagIds": [tag],
        }),
    )
    .await
    .data();
    for path in [&*path, "/console/steps"] {
        let html = page(&browser, path).await;
        assert!(
            html.contains("Guests of 4 flats, for stays of 2 nights or more."),
            "{html}"
        );
    }
    // The page also shows the step's texts in every language and marks machine translations.
    let title = created["displayTitleMlTextId"].as_str().unwrap();
    api.send(
        reqwest::Method::PUT,
        &format!("/translations/{title}/entries/es"),
        Some(json!({ "text": "Nuestras normas" })),
    )
    .await
    .data();
    let html = page(&browser, &path).await;
    assert!(
        html.contains("lang=\"en\" dir=\"auto\">Our rules<")
            && html.contains("lang=\"es\" dir=\"auto\">Nuestras normas<"),
        "{html}"
    );
    assert!(
        html.contains("Missing") && html.contains(&format!("/console/translations/{title}")),
        "{html}"
    );
}

on_both!(a_move_that_returns_after_sign_in_is_refused_in_the_page_language);
async fn a_move_that_returns_after_sign_in_is_refused_in_the_page_language(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let ids = [
        step(&api, "agreement", "A").await,
        step(&api, "agreement", "B").await,
    ];
    let browser = marta(&org).await;
    let language = Form::of(&page(&browser, "/console/steps").await, "/console/language")
        .with("language", "es");
    language.send(&browser).await;
    let category = async |title: &str| {
        api.post("/portal-manual-categories", json!({ "title": title }))
            .await
            .data()["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let [category, _] = [category("Uno").await, category("Dos").await];
    for (path, name, id) in [
        ("/console/steps", "down", ids[0].clone()),
        ("/console/categories", "down", category),
    ] {
        let kept = Form {
            action: path.to_owned(),
            fields: vec![("kept".into(), "1".into()), (name.into(), id)],
        };
        let refused = kept.refused(&browser, 403).await;
        assert!(
            refused.contains("Este formulario no es de su sesión")
                && !refused.contains("The form is none"),
            "{refused}"
        );
    }
}

/// Moves question 5, which is collapsed, up by one position and saves the form.
async fn act_and_save(form: Form, browser: &Browser, path: &str) -> (String, String) {
    let moved = form.with("act", "up 5").refused(browser, 200).await;
    Form::of(&moved, path)
        .with("act", "save")
        .done(browser, "saved")
        .await
}
