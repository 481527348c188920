//! Test of `vestibule demo`: it has example stays in every state that its output names.

use serde_json::{Value, json};

use test_support::demo::Demo;

/// Returns the state of the last step of this type in a guest view.
fn state<'v>(view: &'v Value, step_type: &str) -> &'v Value {
    let steps = view["precheckin"]["steps"].as_array().unwrap();
    let step = steps.iter().rfind(|step| step["stepType"] == step_type);
    &step.unwrap_or_else(|| panic!("no {step_type}: {view}"))["state"]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_shows_stays_in_every_state() {
    let demo = Demo::start();
    let view = demo.example_view("a photo to repeat").await;
    assert_eq!(state(&view, "identity_check"), "action_required");

    let view = demo.example_view("charges that are due").await;
    let due = demo.due_charges().await;
    let of_stay = |charge: &&Value| charge["reservationId"] == view["reservation"]["id"];
    let charges = due.as_array().unwrap();
    assert!(charges.iter().any(|charge| of_stay(&charge)), "{due}");

    let view = demo.example_view("a survey to answer").await;
    assert_eq!(view["reviewRequests"], json!(["checkin"]));

    let view = demo.example_view("a contract to sign").await;
    let steps = view["precheckin"]["steps"].as_array().unwrap();
    let to_sign = steps
        .iter()
        .find(|step| step["progress"]["actionUrl"].is_string());
    let to_sign = to_sign.unwrap_or_else(|| panic!("{view}"));
    assert_eq!(
        (&to_sign["stepType"], &to_sign["state"]),
        (&json!("agreement"), &json!("action_required"))
    );

    let view = demo.example_view("an extra in the cart").await;
    assert_eq!(view["cart"].as_array().unwrap().len(), 1);

    let what = "a domain of its own";
    assert!(
        demo.example(what).contains("://signature.localhost:"),
        "{}",
        demo.example(what)
    );
    assert_eq!(demo.example_page(what).await, 200);

    let view = demo.example_view("a new step to do").await;
    let (precheckin, open) = (&view["precheckin"], &view["precheckin"]["openSteps"]);
    assert_eq!(precheckin["status"], "approved");
    assert_eq!(open.as_array().unwrap().len(), 1, "{view}");

    let view = demo.example_view("a changed agreement").await;
    let steps = view["precheckin"]["steps"].as_array().unwrap();
    let changed = steps.iter().find(|step| step["isTextChanged"] == true);
    let changed = changed.unwrap_or_else(|| panic!("{view}"));
    assert_eq!(
        (&changed["stepType"], &changed["isComplete"]),
        (&json!("agreement"), &json!(false))
    );
}
