//! Tests of refusals: the console shows them in the language of the page, REST in English.

use engine::access::Permission;
use serde_json::json;
use test_support::house::House;
use test_support::{App, on_both, reservation};

use super::{Form, html, marta, member_with, page, plain, portal};
use crate::people::Browser;

const NASTY: &str = "<script>alert(1)</script>";

async fn in_language(browser: &Browser, tag: &str) {
    Form::of(&page(browser, "/console").await, "/console/language")
        .with("language", tag)
        .send(browser)
        .await;
}

on_both!(an_invalid_colour_is_explained_with_an_example);
async fn an_invalid_colour_is_explained_with_an_example(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let created = org
        .key()
        .await
        .post("/portal-brandings", json!({ "name": "Mar" }))
        .await
        .data();
    let path = format!("/console/brandings/{}", created["id"].as_str().unwrap());
    let refused = Form::of(&page(&browser, &path).await, &path)
        .with("primaryColor", "blue")
        .refused(&browser, 400)
        .await;
    assert!(
        refused.contains("must be a colour, such as #0E7490") && !refused.contains("must match"),
        "{refused}"
    );
}

on_both!(french_labels_have_a_space_before_the_colon);
async fn french_labels_have_a_space_before_the_colon(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let request = browser
        .request(reqwest::Method::GET, "/console/access/members")
        .header("accept-language", "fr");
    let members = html(&browser.send(request).await);
    assert!(
        members.contains("Peut : ") && !members.contains("Peut: "),
        "{members}"
    );
}

on_both!(a_form_is_refused_in_the_language_of_the_page);
async fn a_form_is_refused_in_the_language_of_the_page(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (id, path) = portal(&api, "Casa").await;
    let browser = marta(&org).await;
    for (tag, phone, number, required) in [
        (
            "en",
            "is not a valid phone number",
            "the communication method needs",
            "must be",
        ),
        (
            "es",
            "no es un número de teléfono",
            "necesita su número",
            "tiene que ser",
        ),
        (
            "fr",
            "n’est pas un numéro de téléphone",
            "demande son numéro",
            "doit être",
        ),
    ] {
        in_language(&browser, tag).await;
        let form = Form::of(&page(&browser, &path).await, &path);
        let refused = plain(
            &form
                .clone()
                .with("supportPhone", "12")
                .refused(&browser, 400)
                .await,
        );
        assert!(refused.contains(phone), "{tag}: {refused}");
        let refused = plain(
            &form
                .clone()
                .with("communicationMethod", "whatsapp")
                .refused(&browser, 400)
                .await,
        );
        assert!(refused.contains(number), "{tag}: {refused}");
        let refused = plain(
            &form
                .with("supportEmail", "nobody")
                .refused(&browser, 400)
                .await,
        );
        assert!(refused.contains(required), "{tag}: {refused}");
    }
    let response = api
        .patch(
            &format!("/portals/{id}"),
            json!({ "data": { "supportPhone": "12" } }),
        )
        .await;
    assert_eq!(
        response.error(400)["details"]["issues"],
        json!([{ "path": ["data", "supportPhone"], "message": "is not a valid phone number" }])
    );
}

on_both!(
    a_refusal_without_a_field_uses_the_page_language,
    "--console-keys"
);
async fn a_refusal_without_a_field_uses_the_page_language(app: App) {
    let org = app.org().await;
    let browser = member_with(&org, &[Permission::ManageOrganization], None).await;
    in_language(&browser, "es").await;
    let new = Form::of(
        &page(&browser, "/console/access/keys/new").await,
        "/keys/new",
    );
    let refused = plain(
        &new.with("name", "More")
            .with("permission", "view_devices")
            .refused(&browser, 403)
            .await,
    );
    assert!(
        refused.contains("La clave tendría un permiso que usted no tiene.")
            && !refused.contains("permissions that you have"),
        "{refused}"
    );
}

on_both!(guest_messages_are_shown_on_the_stay_page);
async fn guest_messages_are_shown_on_the_stay_page(app: App) {
    let house = House::build(&app).await;
    let (org, stay) = (&house.org, house.stay);
    let path = format!("/console/stays/{stay}");
    let browser = marta(org).await;
    assert!(
        page(&browser, &path)
            .await
            .contains("The guest has not written any messages")
    );
    let api = org.key().await;
    let portal = house.portal.to_string();
    api.patch(
        &format!("/portals/{portal}"),
        json!({ "data": { "isChatEnabled": true } }),
    )
    .await
    .data();
    for text in ["Is there a cot?", NASTY] {
        house.say(text).await.data();
    }
    let html = page(&browser, &path).await;
    assert!(
        html.contains("Is there a cot?") && !html.contains(NASTY) && plain(&html).contains(NASTY),
        "{html}"
    );
    let listed = api
        .get(&format!("/reservations/{stay}/messages?limit=1&offset=1"))
        .await;
    assert_eq!(
        (
            &listed.data()[0]["text"],
            &listed.body["meta"]["pagination"]["total"]
        ),
        (&json!(NASTY), &json!(2))
    );
    org.key_without(Permission::ViewReservations)
        .await
        .get(&format!("/reservations/{stay}/messages"))
        .await
        .error(403);
    let elsewhere = app.org().await;
    assert_eq!(
        elsewhere
            .key()
            .await
            .get(&format!("/reservations/{stay}/messages"))
            .await
            .status,
        404
    );
}

on_both!(home_uses_the_local_day_of_each_flat);
async fn home_uses_the_local_day_of_each_flat(app: App) {
    let org = app.org().await;
    let flat = |zone: &'static str| {
        let org = &org;
        async move {
            org.record(
                "property",
                json!({ "name": zone, "timezone": zone, "country": "ES" }),
            )
            .await
        }
    };
    // The tests' clock starts at 09:30 UTC on 21 November. At that time the local dates of the
    // two flats differ.
    let (east, west) = (flat("Pacific/Kiritimati").await, flat("Etc/GMT+12").await);
    let mut stays = Vec::new();
    for (flat, day) in [
        (east, "2026-11-21"),
        (east, "2026-11-22"),
        (east, "2026-11-23"),
        (west, "2026-11-20"),
        (west, "2026-11-21"),
        (west, "2026-11-22"),
    ] {
        let mut coming = reservation(Some(flat));
        (coming["checkIn"], coming["checkOut"]) = (day.into(), "2026-12-31".into());
        stays.push(org.record("reservation", coming).await);
    }
    let home = html(&marta(&org).await.get("/console").await);
    let shown: Vec<bool> = stays
        .iter()
        .map(|stay| home.contains(&format!("/console/stays/{stay}")))
        .collect();
    // It is now 23:30 on 21 November in the eastern flat, and 21:30 on 20 November in the western
    // flat. The home page shows the stays that begin today or tomorrow by the time of their flat.
    assert_eq!(shown, [true, true, false, true, true, false]);
}
