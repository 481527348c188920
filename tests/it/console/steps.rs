//! Steps: in order, moved, by type, with questions.

use serde_json::json;

use super::{Form, marta, page, plain, read};
use crate::people::Browser;
use crate::support::{Api, App, on_both};

async fn step(api: &Api, kind: &str, nickname: &str) -> String {
    api.post("/precheck-steps", json!({ "stepType": kind, "nickname": nickname })).await.data()["id"].as_str().unwrap().to_owned()
}

async fn order(api: &Api) -> Vec<String> {
    let rows = api.get("/precheck-steps").await.data();
    rows.as_array().unwrap().iter().map(|row| row["nickname"].as_str().unwrap().to_owned()).collect()
}

async fn press(browser: &Browser, name: &str, id: &str) {
    let list = page(browser, "/console/steps").await;
    let form = Form::of(&list, "/console/steps?from=0").without("order").without("moved").with(name, id);
    let answer = form.send(browser).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
}

on_both! {
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
        let places: Vec<usize> = ["First", ">A<", ">B<", ">C<"].iter().map(|name| list.find(name).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!(order(&api).await, ["First", "A", "B", "C"]);
        press(&browser, "up", &ids[2]).await;
        assert_eq!(order(&api).await, ["First", "A", "C", "B"]);
        press(&browser, "down", &ids[0]).await;
        assert_eq!(order(&api).await, ["First", "C", "A", "B"]);
        press(&browser, "up", &ids[2]).await;
        assert_eq!(order(&api).await, ["First", "C", "A", "B"], "the first of its type stays below other types");
        let form = Form::of(&page(&browser, "/console/steps").await, "/console/steps?from=0");
        let dragged = form.with("order", &[&*ids[1], &ids[2], &ids[0]].join(",")).with("moved", &ids[1]);
        dragged.done(&browser, "moved").await;
        assert_eq!(order(&api).await, ["First", "B", "C", "A"]);
    }

    async fn a_step_is_made_by_type_and_has_the_fields_of_its_type(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let account = org.record("payment_account", json!({ "name": "Main account", "isActive": true, "isDefault": true })).await;
        let browser = marta(&org).await;
        let form = Form::of(&page(&browser, "/console/steps/new").await, "/console/steps/new");
        let form = form.with("stepType", "damage_deposit").with("nickname", "Deposit").with("displayTitle", "Your deposit");
        let (location, made) = form.done(&browser, "created").await;
        let path = location.split('?').next().unwrap().to_owned();
        assert!(made.contains("securityDepositAmountCents") && !made.contains("esignATemplateId") && made.contains("Main account"), "{made}");
        let form = Form::of(&made, &path);
        assert_eq!(form.value("displayTitle"), Some("Your deposit"));
        let filled = form
            .with("isSecurityDepositEnabled", "true")
            .with("securityDepositAmountCents", "20000")
            .with("securityDepositPaymentAccountId", &account.to_string())
            .with("securityDepositSubtitleMlTextId", "We give it back after three days.")
            .with("guestDescriptionMlTextId", "It is only held, not taken.")
            .with("minLos", "2")
            .with("inclusionType", "all_except_selected")
            .with("excludedSources", "direct\r\nairbnb");
        let (_, saved) = filled.done(&browser, "saved").await;
        assert!(plain(&saved).contains("For stays of 2 nights or more; not through direct, airbnb."), "{saved}");
        let id = path.rsplit('/').next().unwrap();
        let stored = read(&api, &format!("/precheck-steps/{id}")).await;
        assert_eq!((&stored["securityDepositAmountCents"], &stored["excludedSources"]), (&json!(20_000), &json!(["direct", "airbnb"])));
        let text = read(&api, &format!("/translations/{}/entries", stored["securityDepositSubtitleMlTextId"].as_str().unwrap())).await;
        assert_eq!(text[0]["text"], "We give it back after three days.");
        Form::of(&saved, &path).done(&browser, "unchanged").await;
        let refused = Form::of(&saved, &path).with("minLos", "9").with("maxLos", "3").with("securityDepositAmountCents", "a lot").refused(&browser, 400).await;
        assert!(refused.contains("f-securityDepositAmountCents-error") && refused.contains("value=\"a lot\""), "{refused}");
    }

    async fn questions_are_edited_together(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let id = step(&api, "additional_questions", "Questions").await;
        let browser = marta(&org).await;
        let path = format!("/console/steps/{id}/questions");
        let act = async |form: Form, act: &str| Form::of(&form.with("act", act).refused(&browser, 200).await, &path);
        let form = act(Form::of(&page(&browser, &path).await, &path), "add").await;
        let form = act(form.with("q0.text", "Do you bring a pet?"), "option 0").await;
        let form = act(form.with("q0.o0.text", "A dog"), "option 0").await;
        let form = act(form.with("q0.o1.text", "A cat"), "add").await;
        let form = form.with("q1.text", "How large is it?").with("q1.kind", "free_form_input").with("q1.required", "1");
        let key = form.value("q0.o0.key").unwrap().to_owned();
        assert_eq!(read(&api, &format!("/precheck-steps/{id}")).await["questions"], json!([]), "nothing is saved by the other buttons");
        let (_, saved) = form.with("q1.c", &key).with("act", "save").done(&browser, "saved").await;
        let questions = read(&api, &format!("/precheck-steps/{id}")).await["questions"].clone();
        assert_eq!(questions[1]["conditions"], json!([{ "optionId": questions[0]["options"][0]["id"] }]));
        assert_eq!(questions[1]["isRequired"], json!(true));
        let form = Form::of(&saved, &path);
        assert_eq!((form.value("q0.o1.text"), form.value("q1.c")), (Some("A cat"), questions[0]["options"][0]["id"].as_str()));

        let form = act(form.with("q0.text", "Do you bring an animal?"), "drop 0 1").await;
        let (_, saved) = form.with("act", "save").done(&browser, "saved").await;
        let after = read(&api, &format!("/precheck-steps/{id}")).await["questions"].clone();
        assert_eq!((&after[0]["id"], after[0]["options"].as_array().unwrap().len()), (&questions[0]["id"], 1));
        let text = read(&api, &format!("/translations/{}/entries", after[0]["textMlTextId"].as_str().unwrap())).await;
        assert_eq!(text[0]["text"], "Do you bring an animal?");

        // Somebody else changes them meanwhile: both versions are there.
        let form = Form::of(&saved, &path).with("q1.text", "How heavy is it?").with("act", "save");
        app.clock.advance(std::time::Duration::from_secs(5));
        api.patch(&format!("/precheck-steps/{id}"), json!({ "data": { "nickname": "Pets" } })).await.data();
        let both = form.refused(&browser, 409).await;
        assert!(both.contains("How large is it?") && both.contains("value=\"How heavy is it?\""), "{both}");
        Form::of(&both, &path).with("act", "save").done(&browser, "saved").await;
        // What is refused is shown at its question.
        let form = act(Form::of(&page(&browser, &path).await, &path), "add").await;
        let refused = form.with("q2.text", "Which?").with("q2.kind", "single_select").with("act", "save").refused(&browser, 400).await;
        assert!(refused.contains("class=\"error\"") && refused.contains("value=\"Which?\""), "{refused}");
    }
}
