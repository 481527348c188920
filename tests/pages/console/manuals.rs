//! Tests of the console screens for manuals, their visibility rules and covers, categories, and
//! texts in all languages.

use serde_json::json;
use test_support::{App, on_both, on_both_with};

use super::{Form, marta, page, plain, read};
use crate::covers::PhotoProvider;

on_both!(seasons_are_shown_with_their_years);
async fn seasons_are_shown_with_their_years(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let category = api
        .post("/portal-manual-categories", json!({ "title": "House" }))
        .await
        .data()["id"]
        .clone();
    let windows = json!([
        { "startDate": "2025-10-15", "endDate": "2026-04-30" },
        { "startDate": "2026-10-15", "endDate": "2027-04-30" },
    ]);
    let rules = json!([
        { "ruleCategory": "seasonal", "seasonalWindows": windows },
        {
            "ruleCategory": "relative_date",
            "endDateRelativeType": "after_check_out",
            "daysAfter": 1,
        },
        { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 1 },
    ]);
    let manual = json!({
        "nickname": "Pool",
        "title": "Pool",
        "description": "Text",
        "manualCategoryId": category,
        "visibilityRules": rules,
    });
    let id = api.post("/portal-manuals", manual).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let html = page(&marta(&org).await, &format!("/console/manuals/{id}")).await;
    for text in [
        "15 October 2025 – 30 April 2026, 15 October 2026 – 30 April 2027",
        "Until 1 day after check-out.",
        "For stays of 1 night or more.",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
}

on_both!(a_manual_is_created_edited_and_rendered);
async fn a_manual_is_created_edited_and_rendered(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let category = api
        .post(
            "/portal-manual-categories",
            json!({ "title": "Essentials" }),
        )
        .await
        .data();
    let browser = marta(&org).await;
    let form = Form::of(
        &page(&browser, "/console/manuals/new").await,
        "/console/manuals/new",
    );
    let form = form
        .with("nickname", "Wi-Fi")
        .with("title", "Wi-Fi")
        .with("description", "Network **Casa**");
    let (location, created) = form
        .with("manualCategoryId", category["id"].as_str().unwrap())
        .done(&browser, "created")
        .await;
    let path = location.split('?').next().unwrap().to_owned();
    assert!(created.contains("<strong>Casa</strong>"), "{created}");
    let form = Form::of(&created, &path);
    assert_eq!(
        (form.value("titleId"), form.value("descriptionId")),
        (Some("Wi-Fi"), Some("Network **Casa**"))
    );
    let (_, saved) = form
        .with("descriptionId", "Network *Casa*")
        .with("isActive", "true")
        .done(&browser, "saved")
        .await;
    assert!(saved.contains("<em>Casa</em>"), "{saved}");
    let list = page(&browser, "/console/manuals?search=wi").await;
    assert!(
        list.contains("Essentials") && list.contains("Always."),
        "{list}"
    );
    assert!(
        page(&browser, "/console/manuals?search=xyz")
            .await
            .contains("Nothing was found.")
    );
    // The member searches for a cover and chooses a result.
    let icons = page(&browser, &format!("{path}/icon?query=wifi")).await;
    assert!(icons.contains("value=\"house-wifi\""), "{icons}");
    assert!(
        !icons.contains("Photos") && icons.contains("Choose an icon"),
        "without a library of photos none are offered: {icons}"
    );
    Form::of(&icons, &format!("{path}/icon"))
        .with("iconName", "wifi")
        .done(&browser, "saved")
        .await;
    let id = path.rsplit('/').next().unwrap();
    assert_eq!(
        read(&api, &format!("/portal-manuals/{id}")).await["iconName"],
        "wifi"
    );
    // Another member changes the manual after the form was opened. The REST operation alone
    // does not detect such a conflict; the form does.
    let form = Form::of(&page(&browser, &path).await, &path);
    app.clock.advance(std::time::Duration::from_secs(5));
    api.patch(
        &format!("/portal-manuals/{id}"),
        json!({ "data": { "nickname": "Internet" } }),
    )
    .await
    .data();
    let both = form.with("nickname", "WLAN").refused(&browser, 409).await;
    assert!(both.contains("Theirs: Internet"), "{both}");
    Form::of(&both, &path).done(&browser, "saved").await;
    assert_eq!(
        read(&api, &format!("/portal-manuals/{id}")).await["nickname"],
        "WLAN"
    );
    let form = Form::of(&page(&browser, &path).await, &path);
    let rendered = browser
        .post(
            "/console/rendered",
            &[
                ("form", form.value("form").unwrap()),
                ("text", "**a** <script>x</script>"),
            ],
        )
        .await;
    let rendered = rendered.body.as_str().unwrap().to_owned();
    assert!(
        rendered.contains("<strong>a</strong>") && !rendered.contains("<script"),
        "{rendered}"
    );
    assert!(
        rendered.contains("<mark>&lt;script&gt;</mark>"),
        "what guests do not see is marked: {rendered}"
    );
}

on_both!(visibility_rules_are_edited_in_forms_and_shown_as_sentences);
async fn visibility_rules_are_edited_in_forms_and_shown_as_sentences(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Door code", "title": "Door code" }),
        )
        .await
        .data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let browser = marta(&org).await;
    let path = format!("/console/manuals/{id}/visibility");
    let form = Form::of(&page(&browser, &path).await, &path);
    let filled = form
        .with("use.relative_date", "1")
        .with("relative_date.startDateRelativeType", "before_check_in")
        .with("relative_date.daysBefore", "2")
        .with("use.seasonal", "1")
        .with("seasonal.seasonalWindows.0.startDate", "2027-06-01")
        .with("seasonal.seasonalWindows.0.endDate", "2027-08-31")
        .with("use.verification_status", "1")
        .with("verification_status.verificationStatuses", "verified");
    let (_, saved) = filled.done(&browser, "saved").await;
    assert!(
        plain(&saved).contains("From 2 days before check-in.") && saved.contains("is: Verified."),
        "{saved}"
    );
    let rules = read(&api, &format!("/portal-manuals/{id}")).await["visibilityRules"].clone();
    assert_eq!(rules[0]["startDateRelativeType"], "before_check_in");
    assert_eq!(rules[0]["daysBefore"], 2);
    let seasons = json!({
        "ruleCategory": "seasonal",
        "seasonalWindows": [{ "startDate": "2027-06-01", "endDate": "2027-08-31" }],
    });
    let verified =
        json!({ "ruleCategory": "verification_status", "verificationStatuses": ["verified"] });
    assert_eq!(
        (&rules[1], &rules[2], rules.as_array().unwrap().len()),
        (&seasons, &verified, 3)
    );
    let form = Form::of(&saved, &path);
    let refused = form
        .clone()
        .with("relative_date.startDateRelativeType", "")
        .with("seasonal.seasonalWindows.0.endDate", "2027-01-01")
        .refused(&browser, 400)
        .await;
    assert!(
        refused.contains("class=\"error\"") && refused.contains("<li>From: "),
        "{refused}"
    );
    form.without("use.relative_date")
        .without("use.seasonal")
        .without("use.verification_status")
        .done(&browser, "saved")
        .await;
    assert_eq!(
        read(&api, &format!("/portal-manuals/{id}")).await["visibilityRules"],
        json!([])
    );
}

on_both!(rule_fields_follow_the_order_of_their_sentence);
async fn rule_fields_follow_the_order_of_their_sentence(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Door code", "title": "Door code" }),
        )
        .await
        .data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let browser = marta(&org).await;
    let path = format!("/console/manuals/{id}/visibility");
    let fields = [
        "relative_date.daysBefore",
        "relative_date.daysBeforeTimeUnit",
        "relative_date.startDateRelativeType",
        "relative_date.daysAfter",
        "relative_date.daysAfterTimeUnit",
        "relative_date.endDateRelativeType",
        "seasonal.seasonalWindows.0.startDate",
        "seasonal.seasonalWindows.0.endDate",
        "length_of_stay.lengthOfStayFromDays",
        "length_of_stay.lengthOfStayToDays",
        "booking_source.sourceRuleType",
        "booking_source.includedBookingSources",
        "booking_source.excludedBookingSources",
    ];
    for (language, labels) in [
        (
            "es",
            [
                "Inicio: cuántos",
                "Inicio: contado desde",
                "Final: cuántos",
                "Desde <",
                "Hasta <",
            ],
        ),
        (
            "fr",
            [
                "Début : combien",
                "Début : compté depuis",
                "Fin : combien",
                "Du <",
                "Au <",
            ],
        ),
        (
            "en",
            [
                "Start: how many",
                "Start: counted from",
                "End: how many",
                "From <",
                "Until <",
            ],
        ),
    ] {
        Form::of(&page(&browser, &path).await, "/console/language")
            .with("language", language)
            .send(&browser)
            .await;
        let html = page(&browser, &path).await;
        let places: Vec<usize> = fields
            .iter()
            .map(|field| {
                html.find(&format!(" name=\"{field}\""))
                    .unwrap_or_else(|| panic!("{field}: {html}"))
            })
            .collect();
        assert!(places.is_sorted(), "{places:?}");
        let places: Vec<usize> = labels
            .iter()
            .map(|label| {
                html.find(&format!("\">{label}"))
                    .unwrap_or_else(|| panic!("{label}: {html}"))
            })
            .collect();
        assert!(places.is_sorted(), "{places:?}");
        for name in [
            "before_",
            "_time",
            "daysAfter<",
            "only_selected",
            "of `",
            "lengthOfStayToDays<",
        ] {
            assert!(
                !html.split("class=\"hint\"").skip(1).any(|hint| hint
                    .split("</p>")
                    .next()
                    .unwrap()
                    .contains(name)),
                "{name}: {html}"
            );
        }
    }
    let form = Form::of(&page(&browser, &path).await, &path).with("use.relative_date", "1");
    let form = form
        .with(fields[0], "2")
        .with(fields[1], "day")
        .with(fields[2], "before_check_in");
    let (_, saved) = form
        .with(fields[3], "1")
        .with(fields[4], "day")
        .with(fields[5], "after_check_out")
        .done(&browser, "saved")
        .await;
    assert!(
        plain(&saved).contains("From 2 days before check-in until 1 day"),
        "{saved}"
    );
}

on_both!(categories_are_created_moved_renamed_and_removed);
async fn categories_are_created_moved_renamed_and_removed(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let browser = marta(&org).await;
    let titles = async || {
        let rows = api.get("/portal-manual-categories").await.data();
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["title"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for title in ["One", "Two", "Three"] {
        Form::of(
            &page(&browser, "/console/categories").await,
            "/console/categories",
        )
        .with("title", title)
        .done(&browser, "created")
        .await;
    }
    let refused = Form::of(
        &page(&browser, "/console/categories").await,
        "/console/categories",
    )
    .with("title", "two")
    .refused(&browser, 409)
    .await;
    assert!(refused.contains("value=\"two\""), "{refused}");
    let rows = api.get("/portal-manual-categories").await.data();
    let id = |number: usize| rows[number]["id"].as_str().unwrap().to_owned();
    let form = Form::of(
        &page(&browser, "/console/categories").await,
        "/console/categories",
    )
    .without("title")
    .without("key");
    form.clone()
        .with("up", &id(2))
        .done(&browser, "moved")
        .await;
    assert_eq!(titles().await, ["One", "Three", "Two"]);
    form.with("order", &[id(1), id(2), id(0)].join(","))
        .done(&browser, "moved")
        .await;
    assert_eq!(titles().await, ["Two", "Three", "One"]);
    let path = format!("/console/categories/{}", id(0));
    Form::of(&page(&browser, &path).await, &path)
        .with("title", "First")
        .done(&browser, "saved")
        .await;
    assert_eq!(titles().await, ["Two", "Three", "First"]);
    let manual = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "M", "title": "M", "manualCategoryId": id(0) }),
        )
        .await
        .data();
    // The confirmation page says that the category will be deleted, and how many manuals it
    // contains. The deletion is refused while the category contains a manual.
    let remove = format!("{path}/remove");
    assert!(
        page(&browser, &path)
            .await
            .contains(&format!("href=\"{remove}\""))
    );
    let html = page(&browser, &remove).await;
    assert!(
        html.contains("manuals: 1") && html.contains("This deletes the category"),
        "{html}"
    );
    assert!(
        html.contains(&format!(
            "<a class=\"button plain\" href=\"{path}\">Cancel</a>"
        )),
        "{html}"
    );
    Form::of(&html, "/remove").refused(&browser, 409).await;
    api.patch(
        &format!("/portal-manuals/{}", manual["id"].as_str().unwrap()),
        json!({ "data": { "manualCategoryId": null } }),
    )
    .await
    .data();
    Form::of(&html, "/remove").done(&browser, "removed").await;
    assert_eq!(titles().await, ["Two", "Three"]);
    // The first category cannot move up, so the button changes nothing. The audit log does not
    // link to the removed category, which has no page.
    let form = Form::of(
        &page(&browser, "/console/categories").await,
        "/console/categories",
    )
    .without("title")
    .without("key");
    form.with("up", &id(1)).done(&browser, "unchanged").await;
    assert!(
        !page(&browser, "/console/audit")
            .await
            .contains(&format!("href=\"{path}\""))
    );
}

on_both!(a_text_is_edited_in_every_language);
async fn a_text_is_edited_in_every_language(app: App) {
    let org = app
        .org_with(json!({ "name": "Org", "languages": ["en", "es", "fr"] }))
        .await;
    let api = org.key().await;
    let manual = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Wi-Fi", "title": "Wi-Fi" }),
        )
        .await
        .data();
    let id = manual["titleId"].as_str().unwrap().to_owned();
    let browser = marta(&org).await;
    let list = page(&browser, "/console/translations?of=manuals&language=fr").await;
    assert!(
        list.contains(&format!("/console/translations/{id}")),
        "{list}"
    );
    let path = format!("/console/translations/{id}");
    let form = Form::of(&page(&browser, &path).await, &path);
    assert_eq!(
        (form.value("text.en"), form.value("text.es")),
        (Some("Wi-Fi"), Some(""))
    );
    let filled = form.with("text.es", "Wifi").with("text.en", "WiFi");
    let (_, saved) = filled.done(&browser, "saved").await;
    let entries = read(&api, &format!("/translations/{id}/entries")).await;
    let text = |language: &str| {
        entries
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["language"] == language)
            .map(|entry| entry["text"].clone())
    };
    assert_eq!(
        (text("en"), text("es"), text("fr")),
        (Some(json!("WiFi")), Some(json!("Wifi")), None)
    );
    let form = Form::of(&saved, &path).with("text.es", "La wifi");
    api.send(
        reqwest::Method::PUT,
        &format!("/translations/{id}/entries/es"),
        Some(json!({ "text": "El wifi" })),
    )
    .await
    .data();
    let both = form.refused(&browser, 409).await;
    assert!(
        both.contains("El wifi") && both.contains("La wifi"),
        "{both}"
    );
    Form::of(&both, &path).done(&browser, "saved").await;
    assert_eq!(
        read(&api, &format!("/translations/{id}/entries")).await[1]["text"],
        "La wifi"
    );
    let long = Form::of(&page(&browser, &path).await, &path)
        .with("text.en", &"x".repeat(300))
        .refused(&browser, 400)
        .await;
    assert!(long.contains("class=\"error\""), "{long}");
}

on_both!(texts_are_read_in_batches_within_the_callers_access);
async fn texts_are_read_in_batches_within_the_callers_access(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let mut ids = Vec::new();
    for text in ["One", "Two"] {
        ids.push(
            api.post(
                "/translations",
                json!({ "sourceTable": "manual", "text": text }),
            )
            .await
            .data()["id"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    let found = api
        .get(&format!(
            "/translations?ids={}&ids={}&ids={}&language=fr",
            ids[1], ids[0], ids[1]
        ))
        .await
        .data();
    let text = |id: &str, text| {
        json!({
            "id": id,
            "language": "en",
            "text": text,
            "isMachineTranslated": false,
            "isOutdated": false,
        })
    };
    assert_eq!(found, json!([text(&ids[1], "Two"), text(&ids[0], "One")]));
    assert_eq!(
        api.get(&format!("/translations?ids={}", test_support::new_id()))
            .await
            .data(),
        json!([])
    );
    assert_eq!(api.get("/translations").await.status, 400);
    api.send(
        reqwest::Method::PUT,
        &format!("/translations/{}/entries/fr", ids[1]),
        Some(json!({ "text": "Deux" })),
    )
    .await
    .data();
    let versions = api
        .get(&format!(
            "/translations/versions?ids={}&ids={}",
            ids[1], ids[0]
        ))
        .await
        .data();
    let version = |id: &String, language: &str, text: &str| {
        json!({
            "id": id,
            "language": language,
            "text": text,
            "isMachineTranslated": false,
            "isOutdated": false,
        })
    };
    assert_eq!(
        versions,
        json!([
            version(&ids[1], "en", "Two"),
            version(&ids[1], "fr", "Deux"),
            version(&ids[0], "en", "One")
        ])
    );
    // A limited caller reads the texts of resources that they can access, and texts that no
    // resource uses yet.
    let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let mut titles = Vec::new();
    for property in [mine, theirs] {
        titles.push(
            api.post(
                "/portal-manuals",
                json!({ "nickname": "M", "title": "Title", "propertyId": property }),
            )
            .await
            .data()["titleId"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    let limited = org.limited(&[mine]).await;
    let found = limited
        .get(&format!(
            "/translations?ids={}&ids={}&ids={}",
            titles[0], titles[1], ids[0]
        ))
        .await
        .data();
    let found: Vec<&str> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text["id"].as_str().unwrap())
        .collect();
    assert_eq!(found, [titles[0].as_str(), ids[0].as_str()]);
    let versions = limited
        .get(&format!(
            "/translations/versions?ids={}&ids={}",
            titles[0], titles[1]
        ))
        .await
        .data();
    assert_eq!(
        (
            versions.as_array().unwrap().len(),
            versions[0]["id"].as_str()
        ),
        (1, Some(&*titles[0]))
    );
}

on_both_with!(a_stock_photo_becomes_the_cover, PhotoProvider);
async fn a_stock_photo_becomes_the_cover(app: App, provider: PhotoProvider) {
    let org = app.org().await;
    let api = org.key().await;
    let id = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Pool", "title": "Pool" }),
        )
        .await
        .data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let browser = marta(&org).await;
    let path = format!("/console/manuals/{id}");
    assert!(page(&browser, &path).await.contains("Choose a cover"));
    let cover = format!("{path}/icon");
    page(&browser, &cover).await;
    assert!(
        provider.requests().is_empty(),
        "nothing is asked before something is looked for"
    );
    let html = page(&browser, &format!("{cover}?query=house")).await;
    assert!(
        html.contains("Photos found: 133.") && html.contains("value=\"house\""),
        "{html}"
    );
    assert!(
        html.contains("alt=\"White houses\"")
            && html.contains("https://p.example/@ada")
            && html.contains("Photo by Ada L"),
        "{html}"
    );
    assert!(plain(&html).contains("?query=house&page=2"), "{html}");
    page(&browser, &format!("{cover}?query=house&page=2")).await;
    assert!(provider.requests().last().unwrap()[0].ends_with("query=house&page=2&per_page=12"));
    let taken = Form::of(&html, &cover).with("imageUrl", "https://i.example/b/regular");
    let (_, manual) = taken.done(&browser, "saved").await;
    assert!(
        manual.contains("<img class=\"photo\" src=\"https://i.example/b/regular\""),
        "{manual}"
    );
    assert_eq!(
        read(&api, &format!("/portal-manuals/{id}")).await["imageUrl"],
        "https://i.example/b/regular"
    );
    // If the photo provider fails, the search still offers icons.
    provider.answer(500, "");
    let failed = page(&browser, &format!("{cover}?query=house")).await;
    assert!(
        failed.contains("Photos cannot be searched right now")
            && failed.contains("value=\"house\""),
        "{failed}"
    );
    // The console shows links of the photo provider only if they are `https` addresses.
    let mut evil = crate::covers::page();
    evil["results"][0]["user"]["links"]["html"] = json!("javascript:alert(1)");
    evil["results"][1]["urls"]["regular"] = json!("javascript:alert(1)");
    provider.answer(200, &evil.to_string());
    let html = page(&browser, &format!("{cover}?query=house")).await;
    assert!(
        !html.contains("javascript:") && html.contains("White houses"),
        "{html}"
    );
    Form::of(&html, &cover)
        .with("imageUrl", "")
        .done(&browser, "saved")
        .await;
    assert_eq!(
        read(&api, &format!("/portal-manuals/{id}")).await["imageUrl"],
        json!(null)
    );
    let refused = Form::of(&html, &cover)
        .with("imageUrl", "javascript:alert(1)")
        .refused(&browser, 400)
        .await;
    assert!(refused.contains("role=\"alert\""), "{refused}");
}
