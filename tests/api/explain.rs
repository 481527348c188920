//! Tests of which steps a stay gets, in which order, and how the service explains it (rules:
//! steps#targeting; steps#order; portals#portal-of-a-property; stays#explanations).

use std::time::Duration;

use engine::access::Permission;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::dice::Dice;
use test_support::house::{House, id, ids, with};
use test_support::{App, new_id, on_both, reservation};

/// Returns the explanation of a stay, after checking that it includes exactly the steps and manuals
/// that the guest sees.
async fn explained(house: &House<'_>, stay: Uuid) -> Value {
    let explained = house
        .api
        .get(&format!("/reservations/{stay}/explain"))
        .await
        .data();
    let view = house.org.guest_view(stay).await;
    let steps = explained["steps"].as_array().unwrap();
    let shown: Vec<Uuid> = steps
        .iter()
        .filter(|step| step["isShown"] == true)
        .map(|step| id(&step["id"]))
        .collect();
    assert_eq!(shown, ids(&view["precheckin"]["steps"]), "{explained}");
    assert_eq!(explained["portal"]["id"], view["portal"]["id"]);
    for part in steps.iter().chain([&explained["portal"]]) {
        assert!(
            part["reason"]["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty()),
            "{part}"
        );
    }
    explained
}

/// Reads the explanation of a step for a stay. Returns whether the guest gets the step, the key of
/// the reason, and the targets through which the step is assigned to the property.
async fn verdict(house: &House<'_>, stay: Uuid, step: Uuid) -> (bool, String, Value) {
    let explained = explained(house, stay).await;
    let found = explained["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| id(&row["id"]) == step)
        .unwrap();
    let path: Vec<Value> = found["path"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hop| json!([hop["type"], hop["id"]]))
        .collect();
    (
        found["isShown"].as_bool().unwrap(),
        found["reason"]["key"].as_str().unwrap().to_owned(),
        json!(path),
    )
}

fn yes(key: &str, path: Value) -> (bool, String, Value) {
    (true, key.to_owned(), path)
}

fn no(key: &str, path: Value) -> (bool, String, Value) {
    (false, key.to_owned(), path)
}

async fn portal(house: &House<'_>, name: &str, more: Value) -> Uuid {
    house.org.app.clock.advance(Duration::from_millis(1));
    id(&house
        .api
        .post("/portals", with(json!({ "name": name }), more))
        .await
        .data()["id"])
}

/// Returns the nicknames of a stay's steps in order, after checking that the stay gets all of them.
async fn order(house: &House<'_>, stay: Uuid) -> Vec<String> {
    let explained = explained(house, stay).await;
    let steps = explained["steps"].as_array().unwrap();
    assert!(
        steps.iter().all(|step| step["isShown"] == true),
        "{explained}"
    );
    steps
        .iter()
        .map(|step| step["nickname"].as_str().unwrap().to_owned())
        .collect()
}

fn number_or_null(dice: &mut Dice, sides: u64) -> Value {
    if dice.roll(2) == 0 {
        Value::Null
    } else {
        json!(dice.roll(sides))
    }
}

/// Returns random targeting rules of a step.
fn step_rules(dice: &mut Dice) -> Value {
    let (min_los, earliest) = (dice.roll(5), number_or_null(dice, 30));
    let latest = number_or_null(dice, 30)
        .as_u64()
        .map(|days| days + 20 + earliest.as_u64().unwrap_or(0));
    let channels = [
        json!(["direct"]),
        json!(["airbnb", "direct"]),
        json!(["airbnb"]),
    ];
    json!({
        "isActive": dice.roll(6) > 0,
        "sortOrder": number_or_null(dice, 4),
        "minLos": min_los,
        "maxLos": if dice.roll(2) == 0 { 1000 } else { min_los + dice.roll(4) },
        "leadTimeMinDays": earliest,
        "leadTimeMaxDays": latest,
        "inclusionType": dice.one_of(&[
            Value::Null,
            json!("all_except_selected"),
            json!("only_selected"),
        ]),
        "excludedSources": dice.one_of(&channels),
        "includedSourcesReturning": dice.one_of(&channels),
        "isReturningGuestExcluded": dice.roll(4) == 0,
        "isAlwaysShown": dice.roll(6) == 0,
    })
}

on_both!(a_step_reaches_a_stay_through_its_assignments);
async fn a_step_reaches_a_stay_through_its_assignments(app: App) {
    let house = House::build(&app).await;
    let step = house
        .unassigned_step("main", json!({ "isAlwaysShown": true }))
        .await;
    assert_eq!(
        verdict(&house, house.stay, step).await,
        no("not_assigned", json!([]))
    );
    let (group, tag) = (house.org.group().await, house.org.tag().await);
    let neighbour = house.org.property(Some(group), &[tag]).await;
    let other = portal(&house, "Other", json!({})).await;
    house
        .scopes(
            "add",
            "portal_settings",
            other,
            json!({ "propertyIds": [neighbour] }),
        )
        .await;
    for targets in [
        json!({ "propertyIds": [neighbour] }),
        json!({ "propertyGroupIds": [group] }),
        json!({ "tagIds": [tag] }),
        json!({ "portalSettingsIds": [other] }),
    ] {
        house.scopes("add", "precheck_step", step, targets).await;
    }
    assert_eq!(
        verdict(&house, house.stay, step).await,
        no("not_assigned", json!([]))
    );
    let flat = json!(["property", house.flat]);
    for (targets, path) in [
        (json!({ "propertyIds": [house.flat] }), json!([flat])),
        (
            json!({ "propertyGroupIds": [house.group] }),
            json!([["property_group", house.group], flat]),
        ),
        (
            json!({ "tagIds": [house.tag] }),
            json!([["tag", house.tag], flat]),
        ),
        (
            json!({ "portalSettingsIds": [house.portal] }),
            json!([["portal_settings", house.portal], flat]),
        ),
    ] {
        house
            .scopes("add", "precheck_step", step, targets.clone())
            .await;
        assert_eq!(
            verdict(&house, house.stay, step).await,
            yes("always_shown", path),
            "{targets}"
        );
        house.scopes("remove", "precheck_step", step, targets).await;
        assert_eq!(
            verdict(&house, house.stay, step).await,
            no("not_assigned", json!([]))
        );
    }
    house
        .scopes(
            "add",
            "precheck_step",
            step,
            json!({ "tagIds": [house.tag] }),
        )
        .await;
    let named = explained(&house, house.stay).await["steps"][0]["path"].clone();
    assert_eq!(
        (&named[0]["name"], &named[1]["name"]),
        (&json!("Sea view"), &json!("Flat"))
    );
    // The property loses the tag to which the step is assigned, so the step no longer reaches the
    // stay.
    let flat = json!({
        "name": "Flat",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "propertyGroupId": house.group,
        "tagIds": [],
    });
    house.org.put_record("property", house.flat, flat).await;
    assert_eq!(
        verdict(&house, house.stay, step).await,
        no("not_assigned", json!([]))
    );
}

on_both!(a_portals_steps_reach_the_flats_it_serves);
async fn a_portals_steps_reach_the_flats_it_serves(app: App) {
    let house = House::build(&app).await;
    let other = portal(&house, "Other", json!({})).await;
    let step = house.unassigned_step("main", json!({})).await;
    house
        .scopes(
            "add",
            "precheck_step",
            step,
            json!({ "portalSettingsIds": [other] }),
        )
        .await;
    let (flat, hop) = (
        json!(["property", house.flat]),
        json!(["portal_settings", other]),
    );
    let key = async || {
        explained(&house, house.stay).await["portal"]["reason"]["key"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for (targets, reason, path) in [
        (
            json!({ "propertyIds": [house.flat] }),
            "property",
            json!([hop, flat]),
        ),
        (
            json!({ "propertyGroupIds": [house.group] }),
            "property_group",
            json!([hop, ["property_group", house.group], flat]),
        ),
        (
            json!({ "tagIds": [house.tag] }),
            "tag",
            json!([hop, ["tag", house.tag], flat]),
        ),
    ] {
        assert_eq!(
            verdict(&house, house.stay, step).await,
            no("not_assigned", json!([]))
        );
        assert_eq!(key().await, "default");
        house
            .scopes("add", "portal_settings", other, targets.clone())
            .await;
        assert_eq!(
            verdict(&house, house.stay, step).await,
            yes("all_rules_pass", path),
            "{targets}"
        );
        assert_eq!(key().await, reason);
        house
            .scopes("remove", "portal_settings", other, targets)
            .await;
    }
    house
        .update_portal(other, json!({ "isDefault": true }))
        .await;
    assert_eq!(
        verdict(&house, house.stay, step).await,
        yes("all_rules_pass", json!([hop, flat]))
    );
    assert_eq!(
        explained(&house, house.stay).await["portal"]["name"],
        "Other"
    );
    // A more specific assignment gives the property another portal.
    house
        .scopes(
            "add",
            "portal_settings",
            house.portal,
            json!({ "tagIds": [house.tag] }),
        )
        .await;
    assert_eq!(
        verdict(&house, house.stay, step).await,
        no("not_assigned", json!([]))
    );
}

on_both!(a_step_is_shown_while_it_is_active);
async fn a_step_is_shown_while_it_is_active(app: App) {
    let house = House::build(&app).await;
    let path = json!([["property", house.flat]]);
    let new = house
        .api
        .post(
            "/precheck-steps",
            json!({ "stepType": "main", "nickname": "New", "isAlwaysShown": true }),
        )
        .await
        .data();
    let step = id(&new["id"]);
    house
        .scopes(
            "add",
            "precheck_step",
            step,
            json!({ "propertyIds": [house.flat] }),
        )
        .await;
    for (data, is_shown) in [
        (json!({}), false),
        (json!({ "isEnabled": true }), false),
        (json!({ "isActive": true }), true),
        (json!({ "isActive": true, "isEnabled": false }), false),
        (json!({ "isActive": true }), true),
        (json!({ "isActive": false }), false),
    ] {
        house.update(step, data.clone()).await.data();
        let expected = if is_shown {
            yes("always_shown", path.clone())
        } else {
            no("inactive", path.clone())
        };
        assert_eq!(verdict(&house, house.stay, step).await, expected, "{data}");
    }
}

on_both!(rules_decide_which_stays_get_a_step);
#[expect(clippy::too_many_lines, reason = "a table of rules")]
async fn rules_decide_which_stays_get_a_step(app: App) {
    let house = House::build(&app).await;
    let path = json!([["property", house.flat]]);
    // Each row of the table has rules, a stay and the expected result. The stay of a row has the
    // default data except for the listed fields. The default guest is new and booked directly on 2
    // November, for four nights from 11 December.
    let years = json!({ "checkOut": "2029-12-15" });
    // Both times are half past midnight in Madrid, the first in winter time and the second in
    // summer time. In UTC they are on the day before.
    let (late, late_in_summer) = (
        json!({ "bookedAt": "2026-11-01T23:30:00Z" }),
        json!({ "bookedAt": "2026-10-20T22:30:00Z" }),
    );
    let today = json!({
        "bookedAt": "2026-11-20T23:30:00Z",
        "checkIn": "2026-11-21",
        "checkOut": "2026-11-25",
    });
    let returning = json!({ "isReturningGuest": true });
    for (rules, stay, expected) in [
        (json!({}), json!({}), "all_rules_pass"),
        (
            json!({ "minLos": 4, "maxLos": 4 }),
            json!({}),
            "all_rules_pass",
        ),
        (json!({ "minLos": 5 }), json!({}), "min_los"),
        (json!({ "maxLos": 3 }), json!({}), "max_los"),
        (json!({}), years.clone(), "all_rules_pass"),
        (json!({ "maxLos": 1000 }), years.clone(), "all_rules_pass"),
        (json!({ "maxLos": 999 }), years, "max_los"),
        (
            json!({ "leadTimeMinDays": 39, "leadTimeMaxDays": 39 }),
            json!({}),
            "all_rules_pass",
        ),
        (json!({ "leadTimeMinDays": 40 }), json!({}), "lead_time_min"),
        (json!({ "leadTimeMaxDays": 38 }), json!({}), "lead_time_max"),
        (
            json!({ "leadTimeMinDays": null, "leadTimeMaxDays": null }),
            json!({}),
            "all_rules_pass",
        ),
        (
            json!({ "leadTimeMaxDays": 39 }),
            late.clone(),
            "all_rules_pass",
        ),
        (json!({ "leadTimeMinDays": 40 }), late, "lead_time_min"),
        (
            json!({ "leadTimeMaxDays": 51 }),
            late_in_summer.clone(),
            "all_rules_pass",
        ),
        (
            json!({ "leadTimeMinDays": 52 }),
            late_in_summer,
            "lead_time_min",
        ),
        (
            json!({ "leadTimeMinDays": 0, "leadTimeMaxDays": 0 }),
            today.clone(),
            "all_rules_pass",
        ),
        (json!({ "leadTimeMinDays": 1 }), today, "lead_time_min"),
        (
            json!({
                "inclusionType": "all_except_selected",
                "excludedSources": ["airbnb", "direct"],
            }),
            json!({}),
            "channel_excluded",
        ),
        (
            json!({ "inclusionType": "all_except_selected", "excludedSources": ["airbnb"] }),
            json!({}),
            "all_rules_pass",
        ),
        (
            json!({ "inclusionType": "all_except_selected" }),
            json!({}),
            "all_rules_pass",
        ),
        (
            json!({ "excludedSources": ["direct"] }),
            json!({}),
            "all_rules_pass",
        ),
        (
            json!({ "inclusionType": "only_selected", "includedSourcesReturning": ["airbnb"] }),
            json!({}),
            "channel_not_included",
        ),
        (
            json!({ "inclusionType": "only_selected", "includedSourcesReturning": ["airbnb"] }),
            json!({ "channel": "airbnb" }),
            "all_rules_pass",
        ),
        (
            json!({
                "inclusionType": "only_selected",
                "includedSourcesReturning": ["direct"],
                "excludedSources": ["direct"],
            }),
            json!({}),
            "all_rules_pass",
        ),
        (
            json!({ "includedSourcesReturning": ["airbnb"] }),
            json!({}),
            "all_rules_pass",
        ),
        (
            json!({ "isReturningGuestExcluded": true }),
            json!({}),
            "all_rules_pass",
        ),
        (
            json!({ "isReturningGuestExcluded": true }),
            json!({ "isReturningGuest": false }),
            "all_rules_pass",
        ),
        (
            json!({ "isReturningGuestExcluded": true }),
            returning.clone(),
            "returning_guest",
        ),
        (
            json!({ "isReturningGuestExcluded": false }),
            returning.clone(),
            "all_rules_pass",
        ),
        (
            json!({
                "isAlwaysShown": true,
                "minLos": 9,
                "maxLos": 9,
                "leadTimeMinDays": 400,
                "leadTimeMaxDays": 400,
                "inclusionType": "only_selected",
                "includedSourcesReturning": ["airbnb"],
                "isReturningGuestExcluded": true,
            }),
            returning,
            "always_shown",
        ),
    ] {
        let step = house.step("main", rules.clone()).await;
        let booked = house
            .org
            .record(
                "reservation",
                with(reservation(Some(house.flat)), stay.clone()),
            )
            .await;
        let is_shown = ["all_rules_pass", "always_shown"].contains(&expected);
        assert_eq!(
            verdict(&house, booked, step).await,
            (is_shown, expected.to_owned(), path.clone()),
            "{rules} {stay}"
        );
        house
            .update(step, json!({ "isActive": false }))
            .await
            .data();
    }
}

on_both!(lead_time_uses_the_property_time_zone);
async fn lead_time_uses_the_property_time_zone(app: App) {
    let house = House::build(&app).await;
    let step = house
        .unassigned_step("main", json!({ "leadTimeMinDays": 40 }))
        .await;
    for (timezone, is_shown) in [
        ("Europe/Madrid", false),
        ("UTC", true),
        ("America/New_York", true),
        ("Pacific/Kiritimati", false),
    ] {
        let flat = house
            .org
            .record(
                "property",
                json!({ "name": "Flat", "timezone": timezone, "country": "ES" }),
            )
            .await;
        house
            .scopes(
                "add",
                "precheck_step",
                step,
                json!({ "propertyIds": [flat] }),
            )
            .await;
        let late = with(
            reservation(Some(flat)),
            json!({ "bookedAt": "2026-11-01T23:30:00Z" }),
        );
        let stay = house.org.record("reservation", late).await;
        assert_eq!(verdict(&house, stay, step).await.0, is_shown, "{timezone}");
    }
}

on_both!(steps_follow_the_order_set_by_the_portal);
async fn steps_follow_the_order_set_by_the_portal(app: App) {
    let house = House::build(&app).await;
    for (nickname, step_type, sort_order) in [
        ("ready", "main", Some(0)),
        ("waiver", "screen_and_protect", None),
        ("deposit", "damage_deposit", Some(1)),
        ("fee", "mandatory_fee", Some(0)),
        ("rules", "agreement", Some(0)),
        ("papers", "document_upload", Some(5)),
        ("survey", "additional_questions", Some(2)),
        ("filing", "authority_reporting", Some(2)),
        ("party", "other_guests", Some(1)),
        ("background", "background_check", None),
        ("identity", "identity_check", Some(7)),
        ("who, nowhere", "your_details", None),
        ("who, ninth", "your_details", Some(9)),
        ("who, ninth again", "your_details", Some(9)),
        ("who, nowhere again", "your_details", None),
        ("deposit again", "damage_deposit", Some(1)),
        ("screening", "screen_and_protect", Some(0)),
    ] {
        let step = house
            .unassigned_step(
                step_type,
                json!({ "nickname": nickname, "sortOrder": sort_order }),
            )
            .await;
        house
            .scopes(
                "add",
                "precheck_step",
                step,
                json!({ "tagIds": [house.tag] }),
            )
            .await;
    }
    let automatic = [
        "who, ninth",
        "who, ninth again",
        "who, nowhere",
        "who, nowhere again",
        "identity",
        "background",
        "party",
        "filing",
        "survey",
        "papers",
        "rules",
        "fee",
        "screening",
        "deposit",
        "deposit again",
        "waiver",
        "ready",
    ];
    let by_position = [
        "ready",
        "fee",
        "rules",
        "screening",
        "deposit",
        "party",
        "deposit again",
        "survey",
        "filing",
        "papers",
        "identity",
        "who, ninth",
        "who, ninth again",
        "waiver",
        "background",
        "who, nowhere",
        "who, nowhere again",
    ];
    // Another property has the same steps and another portal, which is assigned to it. That
    // portal, not the default portal, decides the order of the property's steps.
    let other = portal(
        &house,
        "Other",
        json!({ "isPrecheckOrderAutomatic": false }),
    )
    .await;
    let flat = house.org.property(None, &[house.tag]).await;
    house
        .scopes(
            "add",
            "portal_settings",
            other,
            json!({ "propertyIds": [flat] }),
        )
        .await;
    let neighbour = house.org.reservation(Some(flat)).await;
    assert_eq!(order(&house, house.stay).await, automatic);
    assert_eq!(order(&house, neighbour).await, by_position);
    house
        .update_portal(house.portal, json!({ "isPrecheckOrderAutomatic": false }))
        .await;
    house
        .update_portal(other, json!({ "isPrecheckOrderAutomatic": true }))
        .await;
    assert_eq!(order(&house, house.stay).await, by_position);
    assert_eq!(order(&house, neighbour).await, automatic);
}

on_both!(without_a_portal_with_precheckin_no_step_is_shown);
async fn without_a_portal_with_precheckin_no_step_is_shown(app: App) {
    let house = House::build(&app).await;
    let path = json!([["property", house.flat]]);
    let step = house.step("main", json!({ "isAlwaysShown": true })).await;
    house
        .update_portal(house.portal, json!({ "isPrecheckinEnabled": false }))
        .await;
    assert_eq!(
        verdict(&house, house.stay, step).await,
        no("precheckin_disabled", path)
    );
    let homeless = house.org.reservation(None).await;
    assert_eq!(
        verdict(&house, homeless, step).await,
        no("no_property", json!([]))
    );
    let portal = explained(&house, homeless).await["portal"].clone();
    assert_eq!(
        (&portal["id"], &portal["name"], &portal["reason"]["key"]),
        (&Value::Null, &Value::Null, &json!("no_property"))
    );

    let bare = app.org().await;
    let api = bare.key().await;
    let flat = bare.property(None, &[]).await;
    let stay = bare.reservation(Some(flat)).await;
    let step = id(&api
        .post(
            "/precheck-steps",
            json!({ "stepType": "main", "nickname": "Main", "isActive": true }),
        )
        .await
        .data()["id"]);
    let body = json!({ "entityType": "precheck_step", "entityId": step, "propertyIds": [flat] });
    api.post("/entity-scopes/add", body).await.data();
    let explained = api
        .get(&format!("/reservations/{stay}/explain"))
        .await
        .data();
    assert_eq!(
        (
            &explained["portal"]["id"],
            &explained["portal"]["reason"]["key"]
        ),
        (&Value::Null, &json!("no_portal"))
    );
    let [step] = explained["steps"].as_array().unwrap().as_slice() else {
        panic!("{explained}")
    };
    assert_eq!(
        (&step["isShown"], &step["reason"]["key"], &step["nickname"]),
        (&json!(false), &json!("no_portal"), &json!("Main"))
    );
}

on_both!(a_stay_is_explained_only_to_callers_who_may_see_it);
async fn a_stay_is_explained_only_to_callers_who_may_see_it(app: App) {
    let house = House::build(&app).await;
    let theirs = house.org.property(None, &[house.tag]).await;
    let (their_stay, homeless) = (
        house.org.reservation(Some(theirs)).await,
        house.org.reservation(None).await,
    );
    let empty_tag = house.org.tag().await;
    let mut steps = Vec::new();
    for (targets, is_visible) in [
        (json!({ "propertyIds": [house.flat] }), true),
        (json!({ "tagIds": [house.tag] }), true),
        (json!({ "portalSettingsIds": [house.portal] }), true),
        (json!({}), true),
        (json!({ "propertyIds": [theirs] }), false),
        (json!({ "tagIds": [empty_tag] }), false),
    ] {
        let step = house.unassigned_step("main", json!({})).await;
        house.scopes("add", "precheck_step", step, targets).await;
        steps.push((step, is_visible));
    }
    let all: Vec<Uuid> = steps.iter().map(|(step, _)| *step).collect();
    let visible: Vec<Uuid> = steps
        .iter()
        .filter(|(_, is_visible)| *is_visible)
        .map(|(step, _)| *step)
        .collect();
    let limited = house.org.limited(&[house.flat]).await;
    let at = |stay: Uuid| format!("/reservations/{stay}/explain");
    assert_eq!(ids(&explained(&house, house.stay).await["steps"]), all);
    for stay in [house.stay, homeless] {
        assert_eq!(ids(&limited.get(&at(stay)).await.data()["steps"]), visible);
    }
    limited.get(&at(their_stay)).await.error(404);
    house.api.get(&at(new_id())).await.error(404);
    house
        .api
        .get("/reservations/nonsense/explain")
        .await
        .error(404);
    let stranger = app.org().await.key().await;
    stranger.get(&at(house.stay)).await.error(404);
    let error = house
        .org
        .key_without(Permission::ViewReservations)
        .await
        .get(&at(house.stay))
        .await
        .error(403);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("Missing permission"),
        "{error}"
    );
    house
        .org
        .key_with(&[Permission::ViewReservations])
        .await
        .get(&at(house.stay))
        .await
        .data();
    house
        .api
        .get(&format!("{}?at=2026-12-12T10:00:00Z", at(house.stay)))
        .await
        .data();
    assert_eq!(
        house
            .api
            .get(&format!("{}?at=tomorrow", at(house.stay)))
            .await
            .issues(),
        ["at"]
    );
}

on_both!(a_single_step_can_be_explained);
async fn a_single_step_can_be_explained(app: App) {
    let house = House::build(&app).await;
    let (shown, idle) = (
        house.step("agreement", json!({})).await,
        house.unassigned_step("main", json!({})).await,
    );
    let manual = json!({
        "nickname": "Door",
        "title": "Door code",
        "isActive": true,
        "propertyId": house.flat,
    });
    house.api.post("/portal-manuals", manual).await.data();
    let all = explained(&house, house.stay).await;
    let types: Vec<&Value> = all["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["stepType"])
        .collect();
    assert_eq!(types, ["agreement", "main"]);
    assert_eq!(
        (
            all["manuals"].as_array().unwrap().len(),
            &all["manuals"][0]["stepType"]
        ),
        (1, &Value::Null)
    );
    let path = format!("/reservations/{}/explain", house.stay);
    for (number, step) in [shown, idle].into_iter().enumerate() {
        let one = house.api.get(&format!("{path}?stepId={step}")).await.data();
        assert_eq!(
            (&one["steps"], &one["manuals"]),
            (&json!([all["steps"][number]]), &json!([]))
        );
        assert_eq!(one["portal"], all["portal"]);
    }
    house
        .api
        .get(&format!("{path}?stepId={}", new_id()))
        .await
        .error(404);
    assert_eq!(
        house
            .api
            .get(&format!("{path}?stepId=nonsense"))
            .await
            .issues(),
        ["stepId"]
    );
    // A request about a step that the caller cannot access gets a 404.
    let theirs = house.org.property(None, &[]).await;
    house
        .scopes(
            "add",
            "precheck_step",
            idle,
            json!({ "propertyIds": [theirs] }),
        )
        .await;
    let limited = house.org.limited(&[house.flat]).await;
    limited.get(&format!("{path}?stepId={shown}")).await.data();
    limited
        .get(&format!("{path}?stepId={idle}"))
        .await
        .error(404);
    house.api.get(&format!("{path}?stepId={idle}")).await.data();
}

on_both!(shown_steps_agree_with_the_explanation);
async fn shown_steps_agree_with_the_explanation(app: App) {
    let house = House::build(&app).await;
    let neighbour = house.org.property(Some(house.group), &[]).await;
    let places = [
        json!({ "propertyIds": [house.flat] }),
        json!({ "propertyGroupIds": [house.group] }),
        json!({ "tagIds": [house.tag] }),
        json!({ "portalSettingsIds": [house.portal] }),
        json!({ "propertyIds": [neighbour] }),
        json!({}),
        json!({ "propertyIds": [house.flat, neighbour], "tagIds": [house.tag] }),
    ];
    let mut dice = Dice(2026);
    for _ in 0..40 {
        let step_type = dice.one_of(&[
            "your_details",
            "other_guests",
            "authority_reporting",
            "document_upload",
            "main",
        ]);
        let step = house
            .unassigned_step(step_type, step_rules(&mut dice))
            .await;
        house
            .scopes("add", "precheck_step", step, dice.one_of(&places))
            .await;
    }
    let mut shown = Vec::new();
    for flat in [house.flat, neighbour] {
        for changes in [
            json!({}),
            json!({ "isReturningGuest": true, "channel": "airbnb" }),
            json!({ "checkOut": "2026-12-12", "bookedAt": "2026-12-01T23:30:00Z" }),
            json!({ "checkOut": "2026-12-18", "channel": "booking" }),
        ] {
            let stay = house
                .org
                .record("reservation", with(reservation(Some(flat)), changes))
                .await;
            let steps = explained(&house, stay).await["steps"].clone();
            assert_eq!(steps.as_array().unwrap().len(), 40);
            shown.push(
                steps
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|step| step["isShown"] == true)
                    .count(),
            );
        }
    }
    assert!(
        shown.iter().all(|count| *count < 40) && shown.iter().sum::<usize>() > 8,
        "{shown:?} of 40 each"
    );
}

on_both!(the_setup_of_a_property_names_its_portal_and_the_steps_that_reach_it);
async fn the_setup_of_a_property_names_its_portal_and_the_steps_that_reach_it(app: App) {
    let house = House::build(&app).await;
    let setup = async |api: &test_support::Api, flat: Uuid| {
        api.get(&format!("/properties/{flat}/setup")).await
    };
    let own = setup(&house.api, house.flat).await.data();
    assert_eq!(
        (
            id(&own["portal"]["id"]),
            &own["portal"]["name"],
            &own["portal"]["reason"]["key"],
            &own["steps"]
        ),
        (house.portal, &json!("Casa"), &json!("default"), &json!([]))
    );
    let of_tag = house
        .unassigned_step("main", json!({ "nickname": "Of the tag" }))
        .await;
    house
        .scopes(
            "add",
            "precheck_step",
            of_tag,
            json!({ "tagIds": [house.tag] }),
        )
        .await;
    house
        .update(of_tag, json!({ "isActive": false }))
        .await
        .data();
    let of_nothing = house
        .unassigned_step("main", json!({ "nickname": "Of nothing" }))
        .await;
    house
        .scopes(
            "add",
            "portal_settings",
            house.portal,
            json!({ "propertyGroupIds": [house.group] }),
        )
        .await;
    let own = setup(&house.api, house.flat).await.data();
    assert_eq!(own["portal"]["reason"]["key"], "property_group", "{own}");
    let steps = own["steps"].as_array().unwrap();
    let of_tag = steps.iter().find(|step| id(&step["id"]) == of_tag).unwrap();
    assert_eq!(
        (
            &of_tag["nickname"],
            &of_tag["stepType"],
            &of_tag["isActive"]
        ),
        (&json!("Of the tag"), &json!("main"), &json!(false))
    );
    assert!(
        steps.iter().all(|step| id(&step["id"]) != of_nothing),
        "{own}"
    );
    setup(&house.api, new_id()).await.error(404);
    let limited = house.org.limited(&[house.flat]).await;
    assert_eq!(
        setup(&limited, house.flat).await.data()["portal"]["id"],
        json!(house.portal)
    );
    let other = house.org.property(None, &[]).await;
    setup(&limited, other).await.error(404);
}
