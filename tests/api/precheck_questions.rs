//! Tests of the questions of a step (rules: steps#questions).

use std::collections::BTreeSet;

use engine::access::Permission;
use serde_json::{Value, json};
use test_support::{Api, App, new_id, on_both};

use crate::precheck::{change, create, keys, read, translation, try_create, with};

/// Creates a step with three questions: a yes-or-no question, a choice that is asked after "yes",
/// and a text that is asked after the second option of the choice.
async fn step_with_questions(api: &Api, text: &Value) -> Value {
    let name = json!({ "nameMlTextId": text });
    let questions = json!([
        { "kind": "yes_no", "textMlTextId": text, "isRequired": true },
        {
            "kind": "single_select",
            "textMlTextId": text,
            "isRequired": false,
            "options": [name, name],
            "conditions": [{ "questionIndex": 0, "optionIndex": 0 }],
        },
        {
            "kind": "free_form_input",
            "textMlTextId": text,
            "isRequired": false,
            "conditions": [{ "questionIndex": 1, "optionIndex": 1 }],
        },
    ]);
    create(
        api,
        "additional_questions",
        json!({ "questions": questions }),
    )
    .await
}

on_both!(questions_can_be_sent_back_as_read);
async fn questions_can_be_sent_back_as_read(app: App) {
    let org = app.org().await;
    let (api, weak) = (
        org.key().await,
        org.key_without(Permission::ModifyTasks).await,
    );
    let text = translation(&api, "precheck_question").await;
    let step = step_with_questions(&api, &text).await;
    let before = read(&api, &step).await;
    let [yes_no, choice, open] = before["questions"].as_array().unwrap().as_slice() else {
        panic!("{before}")
    };
    for question in [yes_no, choice, open] {
        assert_eq!(
            keys(question),
            BTreeSet::from([
                "conditions",
                "id",
                "isRequired",
                "kind",
                "options",
                "textMlTextId"
            ])
        );
        assert_eq!(question["textMlTextId"], text);
    }
    assert_eq!(
        (&yes_no["isRequired"], &choice["isRequired"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        (
            &yes_no["options"][0]["answer"],
            &yes_no["options"][1]["answer"]
        ),
        (&json!("yes"), &json!("no"))
    );
    assert_eq!(
        (
            yes_no["options"].as_array().unwrap().len(),
            &yes_no["conditions"]
        ),
        (2, &json!([]))
    );
    assert_eq!(
        choice["options"][0],
        json!({ "id": choice["options"][0]["id"], "nameMlTextId": text, "isFlagged": false })
    );
    assert_eq!(
        choice["conditions"],
        json!([{ "optionId": yes_no["options"][0]["id"] }])
    );
    assert_eq!(
        (&open["options"], &open["conditions"]),
        (
            &json!([]),
            &json!([{ "optionId": choice["options"][1]["id"] }])
        )
    );

    let same = change(&weak, &step, json!({ "questions": before["questions"] }))
        .await
        .data();
    assert_eq!(same, step, "nothing has changed, and nothing new is linked");
    assert_eq!(read(&api, &step).await, before);
    // An update without `questions` does not change the questions. A caller without the permission
    // to link texts may reorder, shorten or empty the list of questions, because such a change
    // links no new text.
    change(&api, &step, json!({ "nickname": "Renamed" }))
        .await
        .data();
    assert_eq!(read(&api, &step).await["questions"], before["questions"]);
    let fewer = with(
        choice.clone(),
        json!({ "conditions": [], "isRequired": true }),
    );
    let changed = change(&weak, &step, json!({ "questions": [fewer, yes_no] }))
        .await
        .data();
    assert!(changed["updatedAt"].as_str() > step["updatedAt"].as_str());
    assert_eq!(read(&api, &step).await["questions"], json!([fewer, yes_no]));
    change(&weak, &step, json!({ "questions": [] }))
        .await
        .data();
    assert_eq!(read(&api, &step).await["questions"], json!([]));
}

on_both!(questions_keep_their_ids_and_omitted_questions_are_removed);
async fn questions_keep_their_ids_and_omitted_questions_are_removed(app: App) {
    let api = app.org().await.key().await;
    let text = translation(&api, "precheck_question").await;
    let step = step_with_questions(&api, &text).await;
    let before = read(&api, &step).await["questions"].clone();
    let mut sent = before.clone();
    sent[0].as_object_mut().unwrap().remove("options");
    sent[1]["options"] = json!([{ "nameMlTextId": text }, before[1]["options"][1]]);
    sent[2].as_object_mut().unwrap().remove("conditions");
    sent.as_array_mut().unwrap().push(json!({
        "kind": "multi_select",
        "textMlTextId": text,
        "isRequired": false,
        "options": [{ "nameMlTextId": text }],
        "conditions": [
            { "questionIndex": 1, "optionIndex": 0 },
            { "optionId": before[0]["options"][1]["id"] },
        ],
    }));
    change(&api, &step, json!({ "questions": sent }))
        .await
        .data();
    let after = read(&api, &step).await["questions"].clone();
    assert_eq!(
        after[0], before[0],
        "a yes-or-no question keeps its two options"
    );
    assert_eq!(
        (&after[1]["id"], &after[1]["options"][1]),
        (&before[1]["id"], &before[1]["options"][1])
    );
    let fresh = &after[1]["options"][0]["id"];
    assert!(
        before[1]["options"]
            .as_array()
            .unwrap()
            .iter()
            .all(|option| option["id"] != *fresh)
    );
    assert_eq!(after[1]["options"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&after[2]["id"], &after[2]["conditions"]),
        (&before[2]["id"], &json!([])),
        "omitted conditions are none"
    );
    assert_eq!(
        after[3]["conditions"],
        json!([{ "optionId": fresh }, { "optionId": before[0]["options"][1]["id"] }])
    );
    // An update cannot restore a removed option by sending its id.
    let mut sent = after.clone();
    sent[1]["options"][0] = before[1]["options"][0].clone();
    sent[3]["conditions"] = json!([]);
    assert_eq!(
        change(&api, &step, json!({ "questions": sent }))
            .await
            .issues(),
        ["data.questions.1.options.0.id"]
    );
    let mut sent = after.clone();
    sent[0]["options"].as_array_mut().unwrap().pop();
    change(&api, &step, json!({ "questions": sent }))
        .await
        .data();
    assert_eq!(read(&api, &step).await["questions"], after);
}

on_both!(inconsistent_questions_are_refused);
async fn inconsistent_questions_are_refused(app: App) {
    let api = app.org().await.key().await;
    let text = translation(&api, "precheck_question").await;
    let step = step_with_questions(&api, &text).await;
    let own = read(&api, &step).await["questions"].clone();
    let foreign = read(&api, &step_with_questions(&api, &text).await).await["questions"].clone();
    let (yes_no, choice, open) = (&own[0], &own[1], &own[2]);
    let option = |question: &Value, place: usize| question["options"][place]["id"].clone();
    let depends = |question: &Value, condition: Value| {
        with(question.clone(), json!({ "conditions": [condition] }))
    };
    let alone = |question: &Value, fields: Value| {
        with(question.clone(), with(json!({ "conditions": [] }), fields))
    };
    let name = json!({ "nameMlTextId": text });
    let table = [
        (json!([alone(&foreign[2], json!({}))]), "0.id"),
        (json!([alone(open, json!({ "id": new_id() }))]), "0.id"),
        (
            json!([
                yes_no,
                with(choice.clone(), json!({ "kind": "multi_select" }))
            ]),
            "1.kind",
        ),
        (
            json!([alone(
                choice,
                json!({ "options": [{ "id": option(yes_no, 0), "nameMlTextId": text }] })
            )]),
            "0.options.0.id",
        ),
        (
            json!([alone(
                choice,
                json!({ "options": [{ "id": option(&foreign[1], 0), "nameMlTextId": text }] })
            )]),
            "0.options.0.id",
        ),
        (
            json!([alone(choice, json!({ "options": [] }))]),
            "0.options",
        ),
        (
            json!([alone(open, json!({ "options": [name] }))]),
            "0.options",
        ),
        // A condition may refer only to an option of an earlier question in the same list. The
        // service refuses unknown options, and options of another step, of the question itself,
        // of a later question, or of a question that the list omits.
        (
            json!([yes_no, depends(choice, json!({ "optionId": new_id() }))]),
            "1.conditions.0",
        ),
        (
            json!([
                yes_no,
                depends(choice, json!({ "optionId": option(&foreign[0], 0) }))
            ]),
            "1.conditions.0",
        ),
        (
            json!([depends(choice, json!({ "optionId": option(choice, 0) }))]),
            "0.conditions.0",
        ),
        (json!([choice, yes_no]), "0.conditions.0"),
        (json!([choice]), "0.conditions.0"),
        (
            json!([
                yes_no,
                with(choice.clone(), json!({ "options": [choice["options"][0]] })),
                open
            ]),
            "2.conditions.0",
        ),
        (
            json!([
                depends(yes_no, json!({ "questionIndex": 1, "optionIndex": 0 })),
                alone(choice, json!({}))
            ]),
            "0.conditions.0",
        ),
        (
            json!([depends(
                yes_no,
                json!({ "questionIndex": 0, "optionIndex": 0 })
            )]),
            "0.conditions.0",
        ),
        (
            json!([
                yes_no,
                depends(choice, json!({ "questionIndex": 0, "optionIndex": 2 }))
            ]),
            "1.conditions.0",
        ),
    ];
    for (questions, expected) in table {
        let issues = change(&api, &step, json!({ "questions": questions }))
            .await
            .issues();
        assert!(
            issues.len() == 1 && issues[0].starts_with(&format!("data.questions.{expected}")),
            "{expected}: {issues:?} for {questions}"
        );
    }
    assert_eq!(
        read(&api, &step).await["questions"],
        own,
        "nothing is saved"
    );
    let create_step = async |questions: Value| {
        try_create(
            &api,
            "additional_questions",
            json!({ "questions": questions }),
        )
        .await
    };
    assert_eq!(
        create_step(json!([alone(open, json!({}))])).await.issues(),
        ["questions.0.id"]
    );
    let kept_option = json!({
        "kind": "multi_select",
        "textMlTextId": text,
        "isRequired": false,
        "options": choice["options"],
    });
    assert_eq!(
        create_step(json!([kept_option])).await.issues(),
        ["questions.0.options.0.id", "questions.0.options.1.id"]
    );
}

on_both!(a_step_has_at_most_100_questions_with_100_options);
async fn a_step_has_at_most_100_questions_with_100_options(app: App) {
    let api = app.org().await.key().await;
    let text = translation(&api, "precheck_question").await;
    let open = json!({ "kind": "free_form_input", "textMlTextId": text, "isRequired": false });
    let create_step = async |questions: Vec<Value>| {
        try_create(
            &api,
            "additional_questions",
            json!({ "questions": questions }),
        )
        .await
    };
    let choice = |options: usize| {
        let options = vec![json!({ "nameMlTextId": text }); options];
        json!({
            "kind": "multi_select",
            "textMlTextId": text,
            "isRequired": false,
            "options": options,
        })
    };
    assert_eq!(
        create_step(vec![open.clone(); 101]).await.issues(),
        ["questions"]
    );
    assert_eq!(
        create_step(vec![choice(101)]).await.issues(),
        ["questions.0.options"]
    );
    let mut most = vec![open; 99];
    most.push(choice(100));
    let step = create_step(most).await.data();
    assert_eq!(
        read(&api, &step).await["questions"]
            .as_array()
            .unwrap()
            .len(),
        100
    );
}

on_both!(linking_question_texts_needs_modify_tasks);
async fn linking_question_texts_needs_modify_tasks(app: App) {
    let org = app.org().await;
    let (api, weak) = (
        org.key().await,
        org.key_without(Permission::ModifyTasks).await,
    );
    let (text, other) = (
        translation(&api, "precheck_question").await,
        translation(&api, "precheck_question").await,
    );
    let wrong = translation(&api, "precheck_step_detail").await;
    let step = step_with_questions(&api, &text).await;
    let own = read(&api, &step).await["questions"].clone();
    let relinked = |pointer: &str, to: &Value| {
        let mut questions = own.clone();
        *questions.pointer_mut(pointer).unwrap() = to.clone();
        json!({ "questions": questions })
    };
    let mut more = own.clone();
    more[1]["options"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "nameMlTextId": other }));
    let fresh =
        json!({ "questions": [{ "kind": "yes_no", "textMlTextId": other, "isRequired": true }] });
    try_create(&weak, "additional_questions", fresh.clone())
        .await
        .error(403);
    for data in [
        relinked("/0/textMlTextId", &other),
        relinked("/1/options/0/nameMlTextId", &other),
        json!({ "questions": more }),
        fresh,
    ] {
        change(&weak, &step, data).await.error(403);
        assert_eq!(
            read(&api, &step).await["questions"],
            own,
            "nothing is saved"
        );
    }
    for pointer in ["/0/textMlTextId", "/1/options/0/nameMlTextId"] {
        change(&api, &step, relinked(pointer, &json!(new_id())))
            .await
            .error(404);
        let path = format!("data.questions{}", pointer.replace('/', "."));
        assert_eq!(
            change(&api, &step, relinked(pointer, &wrong))
                .await
                .issues(),
            [path]
        );
        change(&api, &step, relinked(pointer, &other)).await.data();
        assert_eq!(
            read(&api, &step).await["questions"].pointer(pointer),
            Some(&other)
        );
    }
}
