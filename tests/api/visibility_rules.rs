//! Tests of the validation of visibility rules. Each issue contains the path of the wrong field
//! (rules: manuals#visibility).

use serde_json::{Value, json};

use test_support::{App, on_both};

on_both!(every_fault_of_a_rule_is_reported_by_path);
async fn every_fault_of_a_rule_is_reported_by_path(app: App) {
    let api = app.org().await.key().await;
    for (rules, expected) in [
        (json!(null), &["visibilityRules"][..]),
        (
            json!([5, {}]),
            &["visibilityRules.0", "visibilityRules.1.ruleCategory"],
        ),
        (
            json!([{ "ruleCategory": "moon_phase", "daysBefore": -1 }]),
            &["visibilityRules.0.ruleCategory"],
        ),
        (
            json!([{ "ruleCategory": "seasonal", "colour": 1 }]),
            &[
                "visibilityRules.0.colour",
                "visibilityRules.0.seasonalWindows",
            ],
        ),
        (
            json!([{ "ruleCategory": "seasonal", "seasonalWindows": [] }]),
            &["visibilityRules.0.seasonalWindows"],
        ),
        (
            json!([{ "ruleCategory": "seasonal", "seasonalWindows": null }]),
            &["visibilityRules.0.seasonalWindows"],
        ),
        (
            json!([
                {
                    "ruleCategory": "seasonal",
                    "seasonalWindows": [{ "startDate": "2026-02-30", "name": "Lent" }],
                },
            ]),
            &[
                "visibilityRules.0.seasonalWindows.0.endDate",
                "visibilityRules.0.seasonalWindows.0.name",
                "visibilityRules.0.seasonalWindows.0.startDate",
            ],
        ),
        (
            json!([
                {
                    "ruleCategory": "relative_date",
                    "startDateRelativeType": "noon",
                    "daysBefore": -1,
                    "daysAfter": 1.5,
                    "daysAfterTimeUnit": "week",
                },
                {
                    "ruleCategory": "length_of_stay",
                    "lengthOfStayFromDays": -1,
                    "lengthOfStayToDays": "3",
                },
                {
                    "ruleCategory": "booking_source",
                    "sourceRuleType": "some",
                    "includedBookingSources": "direct",
                },
                {
                    "ruleCategory": "verification_status",
                    "verificationStatuses": ["verified", "certified"],
                },
            ]),
            &[
                "visibilityRules.0.daysAfter",
                "visibilityRules.0.daysAfterTimeUnit",
                "visibilityRules.0.daysBefore",
                "visibilityRules.0.startDateRelativeType",
                "visibilityRules.1.lengthOfStayFromDays",
                "visibilityRules.1.lengthOfStayToDays",
                "visibilityRules.2.includedBookingSources",
                "visibilityRules.2.sourceRuleType",
                "visibilityRules.3.verificationStatuses.1",
            ],
        ),
        (
            json!([{ "ruleCategory": "booking_source" }]),
            &["visibilityRules.0.sourceRuleType"],
        ),
        (
            json!([{ "ruleCategory": "booking_source", "sourceRuleType": "only_selected" }]),
            &["visibilityRules.0.includedBookingSources"],
        ),
    ] {
        let body = json!({ "nickname": "Wi-Fi", "title": "Wi-Fi", "visibilityRules": rules });
        assert_eq!(
            api.post("/portal-manuals", body).await.issues(),
            expected,
            "{rules}"
        );
    }
}

on_both!(a_rule_stores_only_the_fields_of_its_category);
async fn a_rule_stores_only_the_fields_of_its_category(app: App) {
    let api = app.org().await.key().await;
    let rules = json!([
        {
            "ruleCategory": "length_of_stay",
            "lengthOfStayFromDays": 3,
            "daysBefore": "soon",
            "sourceRuleType": 5,
            "seasonalWindows": {},
        },
        {
            "ruleCategory": "relative_date",
            "startDateRelativeType": "check_in_time",
            "daysBefore": null,
            "verificationStatuses": null,
        },
        {
            "ruleCategory": "booking_source",
            "sourceRuleType": "all_except_selected",
            "excludedBookingSources": [],
        },
    ]);
    let created = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Wi-Fi", "title": "Wi-Fi", "visibilityRules": rules }),
        )
        .await
        .data();
    let id = created["id"].as_str().unwrap();
    let kept: Value =
        api.get(&format!("/portal-manuals/{id}")).await.data()["visibilityRules"].clone();
    assert_eq!(
        kept,
        json!([
            { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 3 },
            { "ruleCategory": "relative_date", "startDateRelativeType": "check_in_time" },
            {
                "ruleCategory": "booking_source",
                "sourceRuleType": "all_except_selected",
                "excludedBookingSources": [],
            },
        ])
    );
}
