//! Tests of two members who change the same resource at the same time. The console never overwrites
//! a member's change without asking.

use reqwest::Method;
use serde_json::{Value, json};
use test_support::{Api, App, on_both};

use super::steps::with_questions;
use super::{Form, marta, page, plain, read};
use crate::people::Browser;

async fn create(api: &Api, path: &str, body: Value) -> Value {
    api.post(path, body).await.data()
}

async fn opened(browser: &Browser, path: &str) -> Form {
    Form::of(&page(browser, path).await, path)
}

async fn write(api: &Api, text: &Value, language: &str, message: &str) {
    let path = format!(
        "/translations/{}/entries/{language}",
        text.as_str().unwrap()
    );
    api.send(Method::PUT, &path, Some(json!({ "text": message })))
        .await
        .data();
}

/// Returns the entry of a text in a language; `None` if the text has no entry in that language.
async fn entry(api: &Api, text: &Value, language: &str) -> Option<String> {
    let entries = read(
        api,
        &format!("/translations/{}/entries", text.as_str().unwrap()),
    )
    .await;
    let entry = entries
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["language"] == language)?
        .clone();
    Some(entry["text"].as_str().unwrap().to_owned())
}

/// Presses a button that changes the form without saving it. Returns the resulting page and its
/// form.
async fn press(browser: &Browser, form: Form, act: &str) -> (String, Form) {
    let path = form.action.clone();
    let html = form.with("act", act).refused(browser, 200).await;
    (html.clone(), Form::of(&html, &path).with("act", "save"))
}

on_both!(a_concurrently_changed_text_is_not_overwritten_without_a_question);
async fn a_concurrently_changed_text_is_not_overwritten_without_a_question(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let manual = create(
        &api,
        "/portal-manuals",
        json!({ "nickname": "Wi-Fi", "title": "Wi-Fi", "description": "Old" }),
    )
    .await;
    let branding = create(
        &api,
        "/portal-brandings",
        json!({ "name": "Casa", "calloutMessage": "Old" }),
    )
    .await;
    let text = create(
        &api,
        "/translations",
        json!({ "sourceTable": "precheck_step_detail", "text": "Old" }),
    )
    .await;
    let step = create(
        &api,
        "/precheck-steps",
        json!({
            "stepType": "agreement",
            "nickname": "Rules",
            "contractTemplateTextMlTextId": text["id"],
        }),
    )
    .await;
    let browser = marta(&org).await;
    let at = |screen: &str, thing: &Value| {
        format!("/console/{screen}/{}", thing["id"].as_str().unwrap())
    };
    for (path, field, text) in [
        (
            at("manuals", &manual),
            "descriptionId",
            &manual["descriptionId"],
        ),
        (
            at("brandings", &branding),
            "calloutMessageId",
            &branding["calloutMessageId"],
        ),
        (
            at("steps", &step),
            "contractTemplateTextMlTextId",
            &text["id"],
        ),
    ] {
        // The other member makes the conflicting change in two ways: with the same form, and on
        // the screen with all languages of the text. Both ways write the table with the
        // versions of texts, so the database row of the resource does not change.
        let (mine, theirs) = (opened(&browser, &path).await, opened(&browser, &path).await);
        theirs.with(field, "Theirs").done(&browser, "saved").await;
        let both = mine
            .clone()
            .with(field, "Mine")
            .refused(&browser, 409)
            .await;
        assert!(
            both.contains("Somebody has changed this") && both.contains("Theirs: Theirs"),
            "{path}: {both}"
        );
        assert_eq!(
            entry(&api, text, "en").await.as_deref(),
            Some("Theirs"),
            "{path}"
        );
        let both = Form::of(&both, &path);
        assert_eq!(both.value(field), Some("Mine"));
        both.with(&format!("choose.{field}"), "theirs")
            .done(&browser, "unchanged")
            .await;

        let mine = opened(&browser, &path).await.with(field, "Mine");
        write(&api, text, "en", "Theirs again").await;
        let both = mine.refused(&browser, 409).await;
        assert!(both.contains("Theirs: Theirs again"), "{path}: {both}");
        Form::of(&both, &path).done(&browser, "saved").await;
        assert_eq!(
            entry(&api, text, "en").await.as_deref(),
            Some("Mine"),
            "{path}"
        );

        // In the next form, the member changes only the name. So the text that another member
        // writes meanwhile stays.
        let name = if path.contains("brandings") {
            "name"
        } else {
            "nickname"
        };
        let other = opened(&browser, &path).await.with(name, "Renamed");
        write(&api, text, "en", "Theirs at last").await;
        other.done(&browser, "saved").await;
        assert_eq!(
            entry(&api, text, "en").await.as_deref(),
            Some("Theirs at last"),
            "{path}"
        );
        // Both members write the same text, so there is no conflict.
        let same = opened(&browser, &path).await.with(field, "The same");
        write(&api, text, "en", "The same").await;
        same.done(&browser, "saved").await;
    }
}

on_both!(an_untouched_language_keeps_the_other_members_text);
async fn an_untouched_language_keeps_the_other_members_text(app: App) {
    let org = app
        .org_with(json!({ "name": "Org", "languages": ["en", "es", "fr"] }))
        .await;
    let api = org.key().await;
    let manual = create(
        &api,
        "/portal-manuals",
        json!({ "nickname": "Wi-Fi", "title": "Wi-Fi" }),
    )
    .await;
    let title = &manual["titleId"];
    let path = format!("/console/translations/{}", title.as_str().unwrap());
    let browser = marta(&org).await;
    let mine = opened(&browser, &path).await.with("text.fr", "Le mien");
    for (language, text) in [("es", "Lo suyo"), ("fr", "Le sien")] {
        write(&api, title, language, text).await;
    }
    let both = mine.clone().refused(&browser, 409).await;
    assert!(both.contains("Theirs: Le sien"), "{both}");
    let form = Form::of(&both, &path);
    assert_eq!(
        (form.value("text.es"), form.value("text.fr")),
        (Some("Lo suyo"), Some("Le mien"))
    );
    form.clone()
        .with("choose.fr", "theirs")
        .done(&browser, "unchanged")
        .await;
    form.done(&browser, "saved").await;
    let stored = async |language: &str| entry(&api, title, language).await;
    assert_eq!(
        (stored("es").await.as_deref(), stored("fr").await.as_deref()),
        (Some("Lo suyo"), Some("Le mien"))
    );
    // While the member still has to choose between two versions, the form saves no field.
    let mine = opened(&browser, &path)
        .await
        .with("text.en", "WiFi")
        .with("text.fr", "Encore");
    write(&api, title, "fr", "Le sien").await;
    mine.refused(&browser, 409).await;
    assert_eq!(stored("en").await.as_deref(), Some("Wi-Fi"));
    // After a new sign-in, the console shows the form again with the text that the member typed
    // before. If another member has saved a newer version since the form was opened, the console
    // still reports this conflict and does not overwrite the newer version.
    let mine = opened(&browser, &path)
        .await
        .with("text.fr", "Gardé")
        .without("form")
        .with("kept", "1");
    write(&api, title, "fr", "Le sien de nouveau").await;
    let kept = mine.refused(&browser, 200).await;
    assert_eq!(Form::of(&kept, &path).value("text.fr"), Some("Gardé"));
    assert!(
        Form::of(&kept, &path)
            .refused(&browser, 409)
            .await
            .contains("Theirs: Le sien de nouveau")
    );
}

on_both!(a_refused_language_does_not_undo_the_saved_languages);
async fn a_refused_language_does_not_undo_the_saved_languages(app: App) {
    let org = app
        .org_with(json!({ "name": "Org", "languages": ["en", "es", "fr"] }))
        .await;
    let api = org.key().await;
    let manual = create(
        &api,
        "/portal-manuals",
        json!({ "nickname": "Wi-Fi", "title": "Wi-Fi" }),
    )
    .await;
    let path = format!(
        "/console/translations/{}",
        manual["titleId"].as_str().unwrap()
    );
    let browser = marta(&org).await;
    let form = opened(&browser, &path).await;
    let refused = form
        .clone()
        .with("text.en", " ")
        .with("text.fr", "Réseau")
        .refused(&browser, 400)
        .await;
    assert!(
        refused.contains("Your other changes are saved.")
            && refused.contains("<a href=\"#t-en\">English: "),
        "{refused}"
    );
    assert!(!refused.contains("The request is not valid"), "{refused}");
    assert_eq!(
        entry(&api, &manual["titleId"], "fr").await.as_deref(),
        Some("Réseau")
    );
    let again = Form::of(&refused, &path);
    assert_eq!(
        (again.value("text.en"), again.value("text.fr")),
        (Some(" "), Some("Réseau"))
    );
    again
        .with("text.en", "Network")
        .done(&browser, "saved")
        .await;
    let refused = opened(&browser, &path)
        .await
        .with("text.en", "")
        .refused(&browser, 400)
        .await;
    assert!(
        !refused.contains("Your other changes are saved."),
        "nothing else was changed: {refused}"
    );
}

on_both!(concurrent_renames_of_a_category_are_a_conflict);
async fn concurrent_renames_of_a_category_are_a_conflict(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = create(
        &api,
        "/portal-manual-categories",
        json!({ "title": "Essentials" }),
    )
    .await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/console/categories/{id}");
    let browser = marta(&org).await;
    let titled = async || read(&api, "/portal-manual-categories").await[0]["title"].clone();
    let (mine, theirs) = (
        opened(&browser, &path).await.with("title", "Mine"),
        opened(&browser, &path).await.with("title", "Theirs"),
    );
    theirs.done(&browser, "saved").await;
    let both = mine.clone().refused(&browser, 409).await;
    assert!(
        both.contains("Theirs: Theirs") && titled().await == "Theirs",
        "{both}"
    );
    let both = Form::of(&both, &path);
    assert_eq!(both.value("title"), Some("Mine"));
    both.clone()
        .with("choose.title", "theirs")
        .done(&browser, "unchanged")
        .await;
    both.done(&browser, "saved").await;
    assert_eq!(titled().await, "Mine");
    opened(&browser, &path)
        .await
        .done(&browser, "unchanged")
        .await;
    // After a new sign-in, the console still compares the stored value with the value that the form
    // showed when the member opened it.
    let kept = mine
        .without("form")
        .with("kept", "1")
        .refused(&browser, 200)
        .await;
    assert!(
        kept.contains("when your session ended")
            && Form::of(&kept, &path).value("was") == Some("Essentials"),
        "{kept}"
    );
}

on_both!(concurrent_edits_of_questions_are_merged);
async fn concurrent_edits_of_questions_are_merged(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = with_questions(&api, 2).await;
    let (path, at) = (
        format!("/console/steps/{id}/questions"),
        format!("/precheck-steps/{id}"),
    );
    let browser = marta(&org).await;
    let english = async |text: &Value| entry(&api, text, "en").await.unwrap();
    let (mine, theirs) = (opened(&browser, &path).await, opened(&browser, &path).await);
    // Another member, whose form is `theirs`, adds a question and an option, and removes the
    // condition of the second question.
    let theirs = press(&browser, theirs, "add").await.1;
    let theirs = press(
        &browser,
        theirs
            .with("q2.text", "Their own")
            .with("q2.kind", "yes_no"),
        "option 1",
    )
    .await
    .1;
    theirs
        .with("q1.o5.text", "Their option")
        .without("q1.c")
        .done(&browser, "saved")
        .await;
    let mine = mine.with("q0.text", "My first").with("act", "save");
    let both = plain(&mine.refused(&browser, 409).await);
    for reported in [
        "Somebody has changed this",
        "Their own · Yes or no · asked of everybody",
        "Their option",
        "asked of everybody",
    ] {
        assert!(both.contains(reported), "{reported}: {both}");
    }
    assert!(
        !both.contains("name=\"q0.choose\"") && !both.contains("name=\"q1.choose\""),
        "nothing is to be chosen: {both}"
    );
    Form::of(&both, &path)
        .with("act", "save")
        .done(&browser, "saved")
        .await;
    let questions = read(&api, &at).await["questions"].clone();
    assert_eq!(questions.as_array().unwrap().len(), 3);
    assert_eq!(english(&questions[0]["textMlTextId"]).await, "My first");
    assert_eq!(english(&questions[2]["textMlTextId"]).await, "Their own");
    assert_eq!(
        (
            questions[1]["options"].as_array().unwrap().len(),
            &questions[1]["conditions"]
        ),
        (6, &json!([]))
    );

    // Both members change the same question, so the service refuses the form that is sent second.
    // Its member then chooses one of the two versions.
    for (choice, text, is_required) in [("theirs", "My first", false), ("mine", "My choice", true)]
    {
        let (mine, theirs) = (opened(&browser, &path).await, opened(&browser, &path).await);
        let is_required_now = mine.value("q0.required").is_some();
        let theirs = if is_required_now {
            theirs.without("q0.required")
        } else {
            theirs.with("q1.o0.text", "Another answer")
        };
        theirs.with("act", "save").done(&browser, "saved").await;
        let mine = if is_required_now {
            mine.with("q0.text", "My choice")
        } else {
            mine.with("q0.required", "1")
                .with("q0.text", "My choice")
                .with("q1.o0.text", "My answer")
        };
        let both = mine.with("act", "save").refused(&browser, 409).await;
        let number = usize::from(!is_required_now);
        assert!(
            both.contains(&format!("name=\"q{number}.choose\" value=\"theirs\"")),
            "{both}"
        );
        // After the member presses another button of the form, the page still asks which of the two
        // versions of the question to keep.
        let (again, form) = press(&browser, Form::of(&both, &path), "down 2").await;
        assert!(
            again.contains(&format!("name=\"q{number}.choose\" value=\"theirs\"")),
            "{again}"
        );
        let done = if choice == "theirs" {
            "unchanged"
        } else {
            "saved"
        };
        form.with(&format!("q{number}.choose"), choice)
            .done(&browser, done)
            .await;
        let questions = read(&api, &at).await["questions"].clone();
        assert_eq!(
            (
                english(&questions[0]["textMlTextId"]).await.as_str(),
                &questions[0]["isRequired"]
            ),
            (text, &json!(is_required))
        );
        if !is_required_now {
            assert_eq!(
                english(&questions[1]["options"][0]["nameMlTextId"]).await,
                "My answer"
            );
        }
    }
    // The other member changes the text of the question, but not the step. The form still
    // reports a conflict.
    let mine = opened(&browser, &path)
        .await
        .with("q0.text", "Mine")
        .with("act", "save");
    let text = read(&api, &at).await["questions"][0]["textMlTextId"].clone();
    write(&api, &text, "en", "Theirs").await;
    let both = mine.refused(&browser, 409).await;
    assert!(
        both.contains("name=\"q0.choose\" value=\"theirs\"") && both.contains("Theirs: Theirs · "),
        "{both}"
    );
    assert_eq!(english(&text).await, "Theirs");
    // One member removes a question while the other member changes its text. The question is
    // not removed.
    let gone = press(&browser, opened(&browser, &path).await, "remove 0")
        .await
        .1;
    write(&api, &text, "en", "Changed").await;
    api.patch(&at, json!({ "data": { "nickname": "Else" } }))
        .await
        .data();
    let html = gone.refused(&browser, 409).await;
    assert!(
        html.contains("You removed this question") && html.contains("value=\"Changed\""),
        "{html}"
    );
    let changed = opened(&browser, &path)
        .await
        .with("q2.text", "Kept")
        .with("act", "save");
    let removed = press(&browser, opened(&browser, &path).await, "remove 2")
        .await
        .1;
    removed.done(&browser, "saved").await;
    let anew = changed.refused(&browser, 409).await;
    assert!(
        anew.contains("Somebody else removed this question") && anew.contains("value=\"Kept\""),
        "{anew}"
    );
    Form::of(&anew, &path)
        .with("act", "save")
        .done(&browser, "saved")
        .await;
    assert_eq!(
        read(&api, &at).await["questions"].as_array().unwrap().len(),
        3
    );
}

on_both!(the_consequences_of_removing_a_question_are_shown_first);
async fn the_consequences_of_removing_a_question_are_shown_first(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = with_questions(&api, 3).await;
    let path = format!("/console/steps/{id}/questions");
    let browser = marta(&org).await;
    let (shown, form) = press(&browser, opened(&browser, &path).await, "remove 0").await;
    let shown = plain(&shown);
    let asked = |number: usize| format!("“What would you like to be asked as question {number}?”");
    assert!(
        shown.contains(&format!(
            "guests’ answers are no longer shown: {}.",
            asked(0)
        )),
        "{shown}"
    );
    assert!(
        shown.contains("Everybody is asked these once you save")
            && shown.contains(&format!("{}.", asked(1))),
        "{shown}"
    );
    assert!(
        !shown.contains(&asked(2)),
        "what hangs on the second still does: {shown}"
    );
    // Until the member saves the form, every page repeats the warning about the removed question.
    let (shown, form) = press(&browser, form, "add").await;
    assert!(
        plain(&shown).contains(&asked(0))
            && shown.contains("Everybody is asked these once you save"),
        "{shown}"
    );
    // The form refuses an added question without text instead of dropping the question.
    let refused = form.refused(&browser, 400).await;
    assert!(
        refused.contains("Question 3: Write what is asked, or remove this question."),
        "{refused}"
    );
    assert_eq!(
        read(&api, &format!("/precheck-steps/{id}")).await["questions"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let (_, form) = press(&browser, Form::of(&refused, &path), "remove 2").await;
    let (_, saved) = form.done(&browser, "saved").await;
    assert!(
        !saved.contains("Everybody is asked these once you save"),
        "{saved}"
    );
    opened(&browser, &path)
        .await
        .with("act", "save")
        .done(&browser, "unchanged")
        .await;
    // The Enter key saves the form, because its first button is the save button.
    let buttons = saved
        .split("<form ")
        .find(|form| form.contains("q0.text"))
        .unwrap();
    assert!(
        buttons
            .split("<button ")
            .nth(1)
            .unwrap()
            .contains("value=\"save\""),
        "{saved}"
    );
}

on_both!(concurrent_changes_of_rules_are_merged);
async fn concurrent_changes_of_rules_are_merged(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = create(
        &api,
        "/portal-manuals",
        json!({ "nickname": "Door code", "title": "Door code" }),
    )
    .await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/console/manuals/{id}/visibility");
    let browser = marta(&org).await;
    let seasons = |form: Form, from: &str| {
        let form = form
            .with("use.seasonal", "1")
            .with("seasonal.seasonalWindows.0.startDate", from);
        form.with("seasonal.seasonalWindows.0.endDate", "2027-08-31")
    };
    let (mine, theirs) = (opened(&browser, &path).await, opened(&browser, &path).await);
    let theirs = theirs
        .with("use.verification_status", "1")
        .with("verification_status.verificationStatuses", "verified");
    seasons(theirs, "2027-06-01").done(&browser, "saved").await;
    let both = seasons(mine, "2027-07-01").refused(&browser, 409).await;
    assert!(
        both.contains("name=\"choose.seasonal\" value=\"theirs\"")
            && !both.contains("choose.verification_status"),
        "{both}"
    );
    let form = Form::of(&both, &path);
    assert_eq!(
        (
            form.value("seasonal.seasonalWindows.0.startDate"),
            form.value("use.verification_status")
        ),
        (Some("2027-07-01"), Some("1"))
    );
    let stored =
        async || read(&api, &format!("/portal-manuals/{id}")).await["visibilityRules"].clone();
    form.clone()
        .with("choose.seasonal", "theirs")
        .done(&browser, "saved")
        .await;
    assert_eq!(
        stored().await[0]["seasonalWindows"][0]["startDate"],
        "2027-06-01"
    );
    let form = opened(&browser, &path).await;
    seasons(form, "2027-07-01").done(&browser, "saved").await;
    let rules = stored().await;
    assert_eq!(
        (
            &rules[0]["seasonalWindows"][0]["startDate"],
            rules.as_array().unwrap().len()
        ),
        (&json!("2027-07-01"), 2)
    );
}
