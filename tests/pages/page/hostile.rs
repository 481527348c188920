//! Tests of malicious files, texts and addresses on the guest page.

use reqwest::Method;
use serde_json::json;
use test_support::files::uploads;
use test_support::house::{House, guest, id};
use test_support::{ApiResponse, App, on_both};
use uuid::Uuid;

use super::{StayBrowser, html, lacks, manual, shows};

const SCRIPT: &str = "<script>alert(document.domain)</script>";

/// Uploads a file by the form of a step. The request states the media type `text/html`.
async fn upload(browser: &StayBrowser<'_>, step: Uuid, name: &str, content: &[u8]) -> ApiResponse {
    let name = name.replace('"', "%22");
    let head = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"file\"; \
            filename=\"{name}\"\r\nContent-Type: text/html\r\n\r\n"
    );
    let body = [head.as_bytes(), content, b"\r\n--XX--\r\n"].concat();
    let request = browser
        .body(&format!("/steps/{step}/files"), body)
        .header("content-type", "multipart/form-data; boundary=XX");
    ApiResponse::of(request).await
}

on_both!(
    polyglot_files_are_served_by_their_first_bytes_and_sandboxed,
    uploads()
);
/// A file can begin like a picture or PDF and continue as HTML. The service serves the file as
/// a picture or PDF, never as HTML.
async fn polyglot_files_are_served_by_their_first_bytes_and_sandboxed(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let browser = StayBrowser::new(&house);
    let rest = format!("<html><body>{SCRIPT}</body></html>");
    let begun = |begins: &[u8]| [begins, rest.as_bytes()].concat();
    for (begins, kind, is_shown) in [
        (&b"%PDF-1.7\n"[..], "application/pdf", false),
        (b"\xFF\xD8\xFF\xE0\0\x10JFIF\0", "image/jpeg", true),
        (b"\x89PNG\r\n\x1a\n", "image/png", true),
    ] {
        assert_eq!(
            upload(&browser, step, "x.html", &begun(begins))
                .await
                .status,
            303
        );
        let view = house.step_view(step, "en").await;
        let file = id(&view["files"].as_array().unwrap().last().unwrap()["id"]);
        let redirect = ApiResponse::of(browser.http.get(format!(
            "{}/stay/{}/steps/{step}/files/{file}",
            app.base, house.token
        )))
        .await;
        let response = app
            .http
            .get(redirect.header("location").unwrap())
            .send()
            .await
            .unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap();
        assert_eq!(
            (header("content-type"), header("x-content-type-options")),
            (kind, "nosniff")
        );
        assert_eq!(
            header("content-security-policy"),
            "sandbox; default-src 'none'"
        );
        assert_eq!(
            header("content-disposition").starts_with("inline"),
            is_shown,
            "{kind}"
        );
    }
}

on_both!(uploads_of_other_types_are_refused_with_a_message, uploads());
async fn uploads_of_other_types_are_refused_with_a_message(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let browser = StayBrowser::new(&house);
    let svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\">{SCRIPT}</svg>");
    // The server never unpacks an upload, so it refuses a ZIP and a gzip. It also refuses a PDF
    // above the size limit.
    let zip = [b"PK\x03\x04".as_slice(), &[0; 1_000]].concat();
    let gzip = [b"\x1f\x8b\x08\0\0\0\0\0\0\x03".as_slice(), &[0; 1_000]].concat();
    let mut large = b"%PDF-1.7".to_vec();
    large.resize((10 << 20) + 1, b' ');
    for (name, content, reported) in [
        ("a.svg", svg.as_bytes(), "is not a JPEG"),
        ("a.pdf", SCRIPT.as_bytes(), "is not a JPEG"),
        ("a.pdf", b"\n%PDF-1.7", "is not a JPEG"),
        ("a.jpg", &zip, "is not a JPEG"),
        ("a.jpg", &gzip, "is not a JPEG"),
        ("a.jpg", b"GIF89a", "is not a JPEG"),
        ("a.pdf", &large, "too large"),
        ("a.pdf", b"", "choose a file"),
    ] {
        let response = upload(&browser, step, name, content).await;
        assert_eq!(
            (response.status, response.header("content-type")),
            (400, Some("text/html; charset=utf-8")),
            "{name}"
        );
        let page = html(&response);
        shows(&page, &["role=\"alert\"", reported]);
    }
    let packed = browser.body(&format!("/steps/{step}/files"), gzip.clone());
    let packed = packed
        .header("content-type", "multipart/form-data; boundary=XX")
        .header("content-encoding", "gzip");
    browser.page_of(400, packed).await;
    assert_eq!(house.step_view(step, "en").await["files"], json!([]));
}

on_both!(malicious_file_names_are_cleaned_and_escaped, uploads());
async fn malicious_file_names_are_cleaned_and_escaped(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let browser = StayBrowser::new(&house);
    for name in [
        "../../../etc/passwd",
        "..\\..\\boot.ini",
        "/etc/shadow",
        "C:\\x.pdf",
        "<script>alert(1)</script>.pdf",
        "\" onerror=\"alert(1)",
    ] {
        assert_eq!(
            upload(&browser, step, name, format!("%PDF-1.7 {name}").as_bytes())
                .await
                .status,
            303,
            "{name}"
        );
    }
    let page = browser.open(&format!("/steps/{step}")).await;
    lacks(&page, &["..", "etc/", "\" onerror", "boot.ini\\"]);
    shows(&page, &["passwd.pdf", "shadow.pdf", "boot.pdf"]);
    let view = house.step_view(step, "en").await;
    assert_eq!(view["files"].as_array().unwrap().len(), 6);
}

on_both!(files_of_other_stays_are_404, uploads());
async fn files_of_other_stays_are_404(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let stay = house.org.reservation(Some(house.flat)).await;
    let (own, other) = (
        StayBrowser::new(&house),
        StayBrowser::with_token(&app, &house.org.stay_token(stay).await),
    );
    upload(&own, step, "passport.pdf", b"%PDF-1.7").await;
    let file = id(&house.step_view(step, "en").await["files"][0]["id"]);
    other
        .open_missing(&format!("/steps/{step}/files/{file}"))
        .await;
    let response = other
        .post(&format!("/steps/{step}/files/{file}/remove"), &[])
        .await;
    assert_eq!(
        response.status, 303,
        "deleting a file that does not exist succeeds"
    );
    assert_eq!(
        house.step_view(step, "en").await["files"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    lacks(
        &other.open(&format!("/steps/{step}")).await,
        &["passport.pdf"],
    );
    let body = json!({ "reservationId": house.stay });
    let preview = house
        .api
        .post(&format!("/portals/{}/preview", house.portal), body)
        .await
        .data()["url"]
        .as_str()
        .unwrap()
        .to_owned();
    let preview = StayBrowser::with_token(&app, preview.rsplit('/').next().unwrap());
    lacks(
        &preview.open(&format!("/steps/{step}")).await,
        &["passport.pdf"],
    );
    preview
        .open_missing(&format!("/steps/{step}/files/{file}"))
        .await;
    let refused = upload(&preview, step, "x.pdf", b"%PDF-1.7").await;
    assert_eq!(refused.status, 403);
    assert_eq!(
        house.step_view(step, "en").await["files"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

on_both!(a_forged_preview_token_is_404);
async fn a_forged_preview_token_is_404(app: App) {
    let house = House::build(&app).await;
    let created = house
        .api
        .post(
            &format!("/portals/{}/preview", house.portal),
            json!({ "propertyId": house.flat }),
        )
        .await
        .data();
    let token = created["url"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    let mut forged = vec![
        format!("pv_{}", house.token),
        "pv_".into(),
        token[..token.len() - 1].to_owned(),
        format!("{token}A"),
    ];
    forged.push(token.replacen("pv_", "", 1));
    for token in forged {
        let browser = StayBrowser::with_token(&app, &token);
        browser.open_missing("").await;
        for rest in [
            "/messages",
            "/review",
            "/stay.ics",
            "/worker.js",
            "/stay.pkpass",
        ] {
            browser.open_missing(rest).await;
        }
        assert_eq!(browser.post("/submit", &[]).await.status, 404);
    }
    // The query parameter `at` asks for the page as it is at another time. The guest's token does
    // not permit this parameter, so the status is 401.
    let browser = StayBrowser::new(&house);
    assert_eq!(
        ApiResponse::of(app.http.get(format!(
            "{}/stay/{}?at=2026-12-12T10:00:00Z",
            app.base, house.token
        )))
        .await
        .status,
        401
    );
    browser.open("").await;
}

on_both!(texts_of_the_host_never_run_scripts);
async fn texts_of_the_host_never_run_scripts(app: App) {
    let house = House::build(&app).await;
    let texts = [
        SCRIPT.to_owned(),
        "<img src=x onerror=alert(1)>".into(),
        "[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1)) [z](data:text/html,x) \
            [w](vbscript:x)"
            .into(),
        "<a href=\"java\nscript:alert(1)\">x</a><a href=\"&#106;avascript:alert(1)\">y</a>".into(),
        "<svg><animate onbegin=alert(1) attributeName=x \
            dur=1s></svg><math><mtext><script>alert(1)</script></mtext></math>"
            .into(),
        "</div></main><form action=//evil.example><input name=password></form><base \
            href=//evil.example><meta http-equiv=refresh content=0>"
            .into(),
        "<style>*{display:none}</style><p style=\"position:fixed;inset:0\" class=\"summary\" \
            id=\"main\" onclick=x()>x</p><iframe src=//evil.example></iframe>"
            .into(),
        format!("{}x{}", "> ".repeat(2_000), "*".repeat(900)),
        "[".repeat(2_500),
    ];
    for (number, text) in texts.iter().enumerate() {
        let fields =
            json!({ "title": format!("Manual {number}"), "description": text, "iconName": "key" });
        let manual = manual(&house, fields).await;
        StayBrowser::new(&house)
            .open(&format!("/manuals/{manual}"))
            .await;
    }
    let page = StayBrowser::new(&house).open("").await.to_lowercase();
    let page = page.split_once("</style>").unwrap().1;
    for part in [
        "onerror",
        "onbegin",
        "onclick",
        "javascript:",
        "vbscript:",
        "data:text",
        "<iframe",
        "<base",
        "http-equiv=\"refresh",
        "//evil",
        "position:fixed;inset",
        "name=\"password",
    ] {
        assert!(!page.contains(part), "{part}");
    }
    assert_eq!(
        (
            page.matches("<main").count(),
            page.matches("id=\"main\"").count(),
            page.matches("<form").count()
        ),
        (1, 1, 0)
    );
}

on_both!(texts_of_the_guest_are_escaped);
async fn texts_of_the_guest_are_escaped(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "your_details",
            json!({ "requiredGuestFields": ["firstName", "<img src=x onerror=alert(1)>"] }),
        )
        .await;
    let answers = json!({
        "firstName": format!("Ada{SCRIPT}"),
        "<img src=x onerror=alert(1)>": "\"><svg onload=alert(1)>",
    });
    house.answer(step, answers).await.data();
    guest(
        &app,
        &house.token,
        Method::POST,
        "/messages",
        Some(json!({ "text": format!("Hello {SCRIPT}") })),
    )
    .await
    .data();
    let browser = StayBrowser::new(&house);
    for rest in [
        format!("/steps/{step}"),
        "/review".to_owned(),
        "/messages".to_owned(),
    ] {
        lacks(&browser.open(&rest).await, &["<img", "<svg onload"]);
    }
    shows(
        &browser.open("/messages").await,
        &["Hello &#60;script&#62;"],
    );
}
