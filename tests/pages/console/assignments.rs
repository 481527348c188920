//! Tests of the screen for assignments in an organization with thousands of flats.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_support::{Api, App, Org, new_id, on_both};
use uuid::Uuid;

use super::{Form, marta, member_with, page, portal, read};
use crate::people::{ada, signed_in};

/// Creates `count` flats. The name of each flat is `name` followed by a number.
async fn flats(org: &Org<'_>, name: &str, count: usize) -> Vec<Uuid> {
    let ids: Vec<Uuid> = (0..count).map(|_| new_id()).collect();
    let record = |(number, id): (usize, &Uuid)| {
        json!({
            "kind": "property",
            "id": id,
            "data": {
                "name": format!("{name} {number:03}"),
                "timezone": "Europe/Madrid",
                "country": "ES",
            },
        })
    };
    let records: Vec<Value> = ids.iter().enumerate().map(record).collect();
    org.sync(records.into()).await.data();
    ids
}

/// Returns the ids of the flats that a portal is assigned to.
async fn assigned(api: &Api, portal: &str) -> BTreeSet<String> {
    ids(&read(
        api,
        &format!("/entity-scopes?entityType=portal_settings&entityId={portal}"),
    )
    .await["propertyIds"])
}

fn ids(list: &Value) -> BTreeSet<String> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

on_both!(only_rows_of_the_current_page_are_changed);
async fn only_rows_of_the_current_page_are_changed(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let ids: Vec<_> = (0..130).map(|_| new_id()).collect();
    let records: Vec<_> = ids
        .iter()
        .enumerate()
        .map(|(number, id)| {
            json!({
                "kind": "property",
                "id": id,
                "data": {
                    "name": format!("Flat {number:03}"),
                    "timezone": "Europe/Madrid",
                    "country": "ES",
                },
            })
        })
        .collect();
    org.sync(json!(records)).await;
    let (group, tag) = (org.group().await, org.tag().await);
    let (id, _) = portal(&api, "Casa Azul").await;
    let browser = marta(&org).await;
    let path = format!("/console/assignments/portals/{id}");
    let first = page(&browser, &path).await;
    assert!(
        first.contains("1 to 50 of 130")
            && first.contains("Flat 049")
            && !first.contains("Flat 050"),
        "{first}"
    );
    let mut form = Form::of(&first, &format!("{path}?"));
    form.fields.extend([
        ("assigned".to_owned(), ids[3].to_string()),
        ("assigned".to_owned(), ids[7].to_string()),
    ]);
    form.done(&browser, "assigned").await;
    let html = page(&browser, &format!("{path}?to=properties&query=Flat+12")).await;
    assert!(
        html.contains("Flat 120") && html.contains("Flat 129") && !html.contains("Flat 012"),
        "{html}"
    );
    let mut form = Form::of(&html, "query=Flat+12");
    form.fields
        .push(("assigned".to_owned(), ids[125].to_string()));
    form.done(&browser, "assigned").await;
    let assigned = async || {
        let scopes = read(
            &api,
            &format!("/entity-scopes?entityType=portal_settings&entityId={id}"),
        )
        .await;
        let mut known: Vec<String> = scopes["propertyIds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_str().unwrap().to_owned())
            .collect();
        known.sort();
        known
    };
    let mut expected: Vec<String> = [3, 7, 125]
        .map(|number: usize| ids[number].to_string())
        .into();
    expected.sort();
    assert_eq!(assigned().await, expected);
    let only = page(&browser, &format!("{path}?to=properties&only=1")).await;
    assert!(
        only.contains("Flat 003") && only.contains("Flat 125") && !only.contains("Flat 004"),
        "{only}"
    );
    let mut form = Form::of(&only, "only=1");
    form.fields
        .retain(|(name, value)| name != "assigned" || *value != ids[3].to_string());
    form.done(&browser, "assigned").await;
    assert_eq!(assigned().await.len(), 2);
    for (to, target) in [("groups", group), ("tags", tag)] {
        let mut form = Form::of(
            &page(&browser, &format!("{path}?to={to}")).await,
            &format!("to={to}"),
        );
        form.fields
            .push(("assigned".to_owned(), target.to_string()));
        form.done(&browser, "assigned").await;
    }
    let used = page(&browser, &format!("/console/portals/{id}")).await;
    assert!(
        used.contains("<dt>Flats</dt><dd>2</dd>") && used.contains("<dt>Groups</dt><dd>1</dd>"),
        "{used}"
    );
    assert!(!page(&browser, &path).await.contains("to=portals"));
}

on_both!(ticks_are_kept_across_searches_and_pages);
async fn ticks_are_kept_across_searches_and_pages(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flats = flats(&org, "Flat", 130).await;
    let (id, _) = portal(&api, "Casa Azul").await;
    let scopes =
        json!({ "entityType": "portal_settings", "entityId": id, "propertyIds": [flats[129]] });
    api.post("/entity-scopes/add", scopes).await.data();
    let browser = marta(&org).await;
    let path = format!("/console/assignments/portals/{id}");
    let first = page(&browser, &path).await;
    // The form has no unsaved changes, so a search redirects to an address that contains the
    // query.
    let found = Form::of(&first, &format!("{path}?"))
        .with("query", "Flat 12")
        .with("act", "show")
        .send(&browser)
        .await;
    assert_eq!(
        (found.status, found.header("location")),
        (303, Some(&*format!("{path}?to=properties&query=Flat+12")))
    );
    let ticking = |page: &str, number: usize| {
        let mut form = Form::of(page, "");
        form.fields
            .push(("assigned".to_owned(), flats[number].to_string()));
        form
    };
    let ticked = Form {
        action: format!("{path}?"),
        ..ticking(first.split("<main").nth(1).unwrap(), 3)
    };
    let second = ticked.with("act", "from 50").refused(&browser, 200).await;
    assert!(
        second.contains("51 to 100 of 130")
            && second.contains("Not saved yet: 1 to assign, 0 to unassign."),
        "{second}"
    );
    let second = second.split("<main").nth(1).unwrap();
    let found = ticking(second, 60)
        .with("query", "Flat 12")
        .with("act", "show")
        .refused(&browser, 200)
        .await;
    assert!(
        found.contains("Flat 129")
            && !found.contains("Flat 060")
            && found.contains("value=\"Flat 12\""),
        "{found}"
    );
    let mut form = Form::of(&found, "query=Flat+12");
    // The member deselects the flat that was assigned.
    form.fields
        .retain(|(name, value)| name != "assigned" || *value != flats[129].to_string());
    let html = form
        .with("query", "")
        .with("act", "show")
        .refused(&browser, 200)
        .await;
    assert!(
        html.contains("Not saved yet: 2 to assign, 1 to unassign."),
        "{html}"
    );
    let again = Form::of(&html, "to=properties");
    assert!(
        again
            .fields
            .contains(&("assigned".to_owned(), flats[3].to_string())),
        "{html}"
    );
    again.with("act", "save").done(&browser, "assigned").await;
    assert_eq!(
        assigned(&api, &id).await,
        ids(&json!([flats[3], flats[60]]))
    );
    // The button selects all flats of the page, but does not save the form.
    let form = Form::of(&page(&browser, &path).await, &format!("{path}?"));
    let all = form
        .clone()
        .with("act", "tick all")
        .refused(&browser, 200)
        .await;
    assert!(
        all.contains("Not saved yet: 49 to assign, 0 to unassign."),
        "{all}"
    );
    let none = Form::of(&all, &format!("{path}?"))
        .with("act", "tick none")
        .refused(&browser, 200)
        .await;
    assert!(
        none.contains("Not saved yet: 0 to assign, 1 to unassign."),
        "{none}"
    );
    Form::of(&all, &format!("{path}?"))
        .with("act", "save")
        .done(&browser, "assigned")
        .await;
    assert_eq!(assigned(&api, &id).await.len(), 51);
    // A form can contain at most 500 changes. The service refuses a form with more changes, and
    // shows it again with all of them.
    let many: Vec<String> = (0..501).map(|_| new_id().to_string()).collect();
    let refused = form
        .with("added", &many.join(","))
        .with("act", "from 50")
        .refused(&browser, 400)
        .await;
    assert!(
        refused.contains("At most 500 unsaved changes can be kept")
            && refused.contains("1 to 50 of 130")
            && refused.contains(&many[500]),
        "{refused}"
    );
}

on_both!(all_flats_of_a_search_are_assigned_at_once);
async fn all_flats_of_a_search_are_assigned_at_once(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (sea, hills) = (
        flats(&org, "Sea", 1_010).await,
        flats(&org, "Hill", 60).await,
    );
    let (id, _) = portal(&api, "Casa Azul").await;
    let browser = marta(&org).await;
    let path = format!("/console/assignments/portals/{id}");
    let html = page(&browser, &format!("{path}?to=properties&query=Sea")).await;
    assert!(
        html.contains("Assign all 1010 that were found") && html.contains("1 to 50 of 1010"),
        "{html}"
    );
    let hill = hills[0].to_string();
    let form = Form::of(&html, "query=Sea").with("added", &hill);
    let question = form.with("act", "ask add").refused(&browser, 200).await;
    assert!(
        question.contains("This assigns all 1010 that were found")
            && question.contains("loses the portal that it has now"),
        "{question}"
    );
    assert!(assigned(&api, &id).await.is_empty(), "it is asked first");
    let asked = Form::of(&question, "query=Sea");
    // The button "Stay" closes the confirmation question. The flats that the member selected
    // are still selected.
    let stayed = asked
        .clone()
        .with("act", "stay")
        .refused(&browser, 200)
        .await;
    assert!(
        !stayed.contains("This assigns all")
            && Form::of(&stayed, "query=Sea").value("added") == Some(&hill),
        "{stayed}"
    );
    asked
        .with("act", "all add")
        .done(&browser, "assigned")
        .await;
    let all: BTreeSet<String> = sea
        .iter()
        .map(Uuid::to_string)
        .chain([hill.clone()])
        .collect();
    assert_eq!(assigned(&api, &id).await, all);
    // The page lists only assigned flats, and the search matches some of them. The button "Unassign
    // all" removes the portal from all flats that match.
    let only = page(&browser, &format!("{path}?to=properties&query=Sea&only=1")).await;
    assert!(
        only.contains("Unassign all 1010 that were found") && !only.contains("Assign all"),
        "{only}"
    );
    let question = Form::of(&only, "only=1")
        .with("act", "ask remove")
        .refused(&browser, 200)
        .await;
    Form::of(&question, "only=1")
        .with("act", "all remove")
        .done(&browser, "assigned")
        .await;
    assert_eq!(assigned(&api, &id).await, BTreeSet::from([hill]));
    // A member who may only view sees no checkboxes and no buttons for assignments.
    let reader = member_with(&org, &[engine::access::Permission::ViewProperties], None).await;
    let html = page(&reader, &format!("{path}?query=Sea")).await;
    assert!(
        !html.contains("name=\"act\"") && html.contains("from=50"),
        "{html}"
    );
}

on_both!(ticks_are_kept_when_the_form_is_refused);
async fn ticks_are_kept_when_the_form_is_refused(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flats = [
        org.property(None, &[]).await,
        org.property(None, &[]).await,
        org.property(None, &[]).await,
    ];
    let (id, _) = portal(&api, "Casa Azul").await;
    let path = format!("/console/assignments/portals/{id}");
    let scopes = |ids: &[Uuid]| {
        json!({
            "entityType": "portal_settings",
            "entityId": id,
            "propertyIds": ids,
        })
    };
    api.post("/entity-scopes/add", scopes(&flats[..1]))
        .await
        .data();
    let member = ada(&org).await;
    let browser = signed_in(&org, member).await;
    let mut form = Form::of(&page(&browser, &path).await, &format!("{path}?"));
    form.fields.retain(|(name, _)| name != "assigned");
    form.fields
        .push(("assigned".to_owned(), flats[1].to_string()));
    // An API client assigns a third flat after the member has opened the form.
    api.post("/entity-scopes/add", scopes(&flats[2..]))
        .await
        .data();
    let ticked = |page: &str| {
        let form = Form::of(page, &format!("{path}?"));
        let of = |wanted: &str| {
            form.fields
                .iter()
                .filter(|(name, _)| name == wanted)
                .map(|(_, id)| id.clone())
                .collect::<BTreeSet<_>>()
        };
        (of("was"), of("assigned"))
    };
    let all = |ids: &[Uuid]| ids.iter().map(Uuid::to_string).collect::<BTreeSet<_>>();
    let mut refused = form.clone();
    refused.fields.extend([
        ("shown".to_owned(), new_id().to_string()),
        ("shown".to_owned(), "nonsense".to_owned()),
        ("assigned".to_owned(), "nonsense".to_owned()),
    ]);
    let again = refused.refused(&browser, 400).await;
    assert_eq!(
        ticked(&again),
        (all(&[flats[0], flats[2]]), all(&[flats[1], flats[2]])),
        "{again}"
    );

    app.clock.advance(std::time::Duration::from_secs(3 * 3_600));
    let ended = form.refused(&browser, 401).await;
    let again = signed_in(&org, member).await;
    let filled = Form::of(&ended, &format!("{path}?"))
        .refused(&again, 200)
        .await;
    assert!(filled.contains("when your session ended"), "{filled}");
    assert_eq!(
        ticked(&filled),
        (all(&[flats[0], flats[2]]), all(&[flats[1], flats[2]])),
        "{filled}"
    );
    Form::of(&filled, &format!("{path}?"))
        .done(&again, "assigned")
        .await;
    let assigned = read(
        &api,
        &format!("/entity-scopes?entityType=portal_settings&entityId={id}"),
    )
    .await["propertyIds"]
        .clone();
    assert_eq!(ids(&assigned), all(&flats[1..]));
}
