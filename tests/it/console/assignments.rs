//! What things are assigned to, from thousands.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Form, marta, page, portal, read};
use crate::people::{ada, signed_in};
use crate::support::{App, new_id, on_both};

fn ids(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

on_both! {
    async fn rows_that_are_shown_are_changed_and_no_others(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let ids: Vec<_> = (0..130).map(|_| new_id()).collect();
        let records: Vec<_> = ids
            .iter()
            .enumerate()
            .map(|(number, id)| json!({ "kind": "property", "id": id, "data": { "name": format!("Flat {number:03}"), "timezone": "Europe/Madrid", "country": "ES" } }))
            .collect();
        org.sync(json!(records)).await;
        let (group, tag) = (org.group().await, org.tag().await);
        let (id, _) = portal(&api, "Casa Azul").await;
        let browser = marta(&org).await;
        let path = format!("/console/assignments/portals/{id}");
        let first = page(&browser, &path).await;
        assert!(first.contains("1 to 50 of 130") && first.contains("Flat 049") && !first.contains("Flat 050"), "{first}");
        let mut form = Form::of(&first, &format!("{path}?"));
        form.fields.extend([("assigned".to_owned(), ids[3].to_string()), ("assigned".to_owned(), ids[7].to_string())]);
        form.done(&browser, "assigned").await;
        let found = page(&browser, &format!("{path}?to=properties&query=Flat+12")).await;
        assert!(found.contains("Flat 120") && found.contains("Flat 129") && !found.contains("Flat 012"), "{found}");
        let mut form = Form::of(&found, "query=Flat+12");
        form.fields.push(("assigned".to_owned(), ids[125].to_string()));
        form.done(&browser, "assigned").await;
        let assigned = async || {
            let scopes = read(&api, &format!("/entity-scopes?entityType=portal_settings&entityId={id}")).await;
            let mut known: Vec<String> = scopes["propertyIds"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
            known.sort();
            known
        };
        let mut expected: Vec<String> = [3, 7, 125].map(|number: usize| ids[number].to_string()).into();
        expected.sort();
        assert_eq!(assigned().await, expected);
        let only = page(&browser, &format!("{path}?to=properties&only=1")).await;
        assert!(only.contains("Flat 003") && only.contains("Flat 125") && !only.contains("Flat 004"), "{only}");
        let mut form = Form::of(&only, "only=1");
        form.fields.retain(|(name, value)| name != "assigned" || *value != ids[3].to_string());
        form.done(&browser, "assigned").await;
        assert_eq!(assigned().await.len(), 2);
        for (to, target) in [("groups", group), ("tags", tag)] {
            let mut form = Form::of(&page(&browser, &format!("{path}?to={to}")).await, &format!("to={to}"));
            form.fields.push(("assigned".to_owned(), target.to_string()));
            form.done(&browser, "assigned").await;
        }
        let used = page(&browser, &format!("/console/portals/{id}")).await;
        assert!(used.contains("<dt>Flats</dt><dd>2</dd>") && used.contains("<dt>Groups</dt><dd>1</dd>"), "{used}");
        assert!(!page(&browser, &path).await.contains("to=portals"));
    }

    async fn what_was_ticked_stays_whatever_is_refused(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let flats = [org.property(None, &[]).await, org.property(None, &[]).await, org.property(None, &[]).await];
        let (id, _) = portal(&api, "Casa Azul").await;
        let path = format!("/console/assignments/portals/{id}");
        let scopes = |ids: &[Uuid]| json!({ "entityType": "portal_settings", "entityId": id, "propertyIds": ids });
        api.post("/entity-scopes/add", scopes(&flats[..1])).await.data();
        let member = ada(&org).await;
        let browser = signed_in(&org, member).await;
        let mut form = Form::of(&page(&browser, &path).await, &format!("{path}?"));
        form.fields.retain(|(name, _)| name != "assigned");
        form.fields.push(("assigned".to_owned(), flats[1].to_string()));
        // Somebody else assigns another one meanwhile.
        api.post("/entity-scopes/add", scopes(&flats[2..])).await.data();
        let ticked = |page: &str| {
            let form = Form::of(page, &format!("{path}?"));
            let of = |wanted: &str| form.fields.iter().filter(|(name, _)| name == wanted).map(|(_, id)| id.clone()).collect::<BTreeSet<_>>();
            (of("was"), of("assigned"))
        };
        let all = |ids: &[Uuid]| ids.iter().map(Uuid::to_string).collect::<BTreeSet<_>>();
        let mut refused = form.clone();
        refused.fields.extend([("shown".to_owned(), new_id().to_string()), ("shown".to_owned(), "nonsense".to_owned()), ("assigned".to_owned(), "nonsense".to_owned())]);
        let again = refused.refused(&browser, 400).await;
        assert_eq!(ticked(&again), (all(&[flats[0], flats[2]]), all(&[flats[1], flats[2]])), "{again}");

        app.clock.advance(std::time::Duration::from_secs(3 * 3_600));
        let ended = form.refused(&browser, 401).await;
        let again = signed_in(&org, member).await;
        let filled = Form::of(&ended, &format!("{path}?")).refused(&again, 200).await;
        assert!(filled.contains("when your session ended"), "{filled}");
        assert_eq!(ticked(&filled), (all(&[flats[0], flats[2]]), all(&[flats[1], flats[2]])), "{filled}");
        Form::of(&filled, &format!("{path}?")).done(&again, "assigned").await;
        let assigned = read(&api, &format!("/entity-scopes?entityType=portal_settings&entityId={id}")).await["propertyIds"].clone();
        assert_eq!(ids(&assigned), all(&flats[1..]));
    }
}
