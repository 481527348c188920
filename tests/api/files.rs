//! Tests of files that guests upload (rules: pre-check-in#files).

use std::path::PathBuf;
use std::time::Duration;

use engine::ids::Ids;
use engine::uploads::{Uploads, folder};
use futures_util::TryStreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use uuid::Uuid;

use test_support::files::{Part, form, send, uploads};
use test_support::house::{House, id};
use test_support::node::Node;
use test_support::s3::Bucket;
use test_support::waiting::{in_time, read_until, wait_until};
use test_support::{ApiResponse, App, http_client, new_id, on_both, reservation};

const JPEG: &[u8] = b"\xFF\xD8\xFF\xE0\0\x10JFIF\0 a passport";
const PDF: &[u8] = b"%PDF-1.7 a visa";
const LIMIT: usize = 10 << 20;

async fn upload(
    house: &House<'_>,
    step: Uuid,
    name: &str,
    sort: Option<&str>,
    content: &[u8],
) -> ApiResponse {
    let file: Part<'_> = ("file", Some(name), content);
    let sort = sort.map(|sort| ("documentType", None, sort.as_bytes()));
    send(
        house.org.app,
        &house.token,
        step,
        &[Some(file), sort].into_iter().flatten().collect::<Vec<_>>(),
    )
    .await
}

/// Uploads a file as the form of the guest page does. `sort` is the type of the document, and `key`
/// is the idempotency key of the form.
async fn upload_once(house: &House<'_>, step: Uuid, sort: &str, key: &str) -> ApiResponse {
    let parts: [Part<'_>; 3] = [
        ("file", Some("id.pdf"), PDF),
        ("documentType", None, sort.as_bytes()),
        ("key", None, key.as_bytes()),
    ];
    send(house.org.app, &house.token, step, &parts).await
}

async fn keys(app: &App) -> Vec<String> {
    let uploads = app.server.service.app_state.extension::<Uploads>().unwrap();
    let mut keys: Vec<String> = uploads.files.list(None).try_collect().await.unwrap();
    keys.sort();
    keys
}

/// Waits until exactly `count` files are stored. The service removes files in the background.
async fn wait_for_files(app: &App, count: usize) -> Vec<String> {
    read_until(async || keys(app).await, |keys| keys.len() == count).await
}

async fn rows(app: &App) -> i64 {
    app.query("select count(*) from guest_file", Vec::new(), |row| {
        row.get(0)
    })
    .await[0]
}

async fn put(app: &App, key: &str) {
    let uploads = app.server.service.app_state.extension::<Uploads>().unwrap();
    let mut writing = uploads.files.create(key).await.unwrap();
    writing.append(PDF.into()).await.unwrap();
    writing.finish().await.unwrap();
}

/// Requests a URL. Returns status, headers and body.
async fn fetch(app: &App, url: &str) -> (u16, http::HeaderMap, Vec<u8>) {
    let response = app.http.get(url).send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, response.bytes().await.unwrap().to_vec())
}

fn url(submission: &Value, file: usize) -> String {
    submission["steps"][0]["files"][file]["url"]
        .as_str()
        .unwrap()
        .to_owned()
}

on_both!(a_file_is_uploaded_read_and_deleted, uploads());
async fn a_file_is_uploaded_read_and_deleted(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let view = house.step_view(step, "en").await;
    assert_eq!(
        (&view["files"], &view["requiredDocumentTypes"]),
        (&json!([]), &json!([]))
    );

    let response = upload(
        &house,
        step,
        "C:\\docs/../pass port.jpg",
        Some(" Passport "),
        JPEG,
    )
    .await;
    assert_eq!(response.status, 201, "{}", response.body);
    let file = response.data();
    let expected = json!({
        "id": file["id"],
        "name": "pass port.jpg",
        "contentType": "image/jpeg",
        "size": JPEG.len(),
        "documentType": "Passport",
        "createdAt": "2026-11-21T09:30:00.001Z",
    });
    assert_eq!(file, expected);
    let second = upload(&house, step, "visa.pdf", None, PDF).await.data();
    assert_eq!(
        (&second["contentType"], &second["documentType"]),
        (&json!("application/pdf"), &Value::Null)
    );
    let view = house.step_view(step, "en").await;
    assert_eq!(
        (&view["files"], &view["isComplete"]),
        (&json!([file, second]), &json!(false))
    );
    assert_eq!(house.status().await, "in_progress");
    house
        .update(step, json!({ "stepType": "your_details" }))
        .await
        .error(409);
    let keys = wait_for_files(&app, 2).await;
    assert!(
        keys.iter()
            .all(|key| key.starts_with(&folder(house.org.id))),
        "{keys:?}"
    );

    // The platform reads the submission. It contains a URL for each uploaded file.
    let read = house.submission().await;
    assert_eq!(read["steps"][0]["files"][0]["name"], "pass port.jpg");
    let address = url(&read, 0);
    let (status, headers, bytes) = fetch(&app, &address).await;
    assert_eq!((status, bytes.as_slice()), (200, JPEG));
    for (name, value) in [
        ("content-type", "image/jpeg"),
        ("content-length", &JPEG.len().to_string()),
        (
            "content-disposition",
            "attachment; filename*=UTF-8''pass%20port.jpg",
        ),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("cache-control", "private, no-store"),
    ] {
        assert_eq!(headers[name], value);
    }
    let other = url(&read, 1);
    let signature = |url: &str| url.split("signature=").nth(1).unwrap().to_owned();
    for forged in [
        address.replace(&signature(&address), &signature(&other)),
        address.replace("expires=1", "expires=2"),
        address.replace("&signature", "&view=1&signature"),
        address.replace(&house.org.id.to_string(), &new_id().to_string()),
        address.split('?').next().unwrap().to_owned(),
    ] {
        assert_eq!(fetch(&app, &forged).await.0, 404, "{forged}");
    }

    // The guest's URL shows a picture inline and offers any other file as a download.
    let path = |file: &Value| format!("/steps/{step}/files/{}", id(&file["id"]));
    for (file, expected) in [(&file, "inline; "), (&second, "attachment; ")] {
        let own = house.guest(Method::GET, &path(file), None).await.data();
        let (status, headers, _) = fetch(&app, own["url"].as_str().unwrap()).await;
        assert_eq!(
            (
                status,
                headers["content-disposition"]
                    .to_str()
                    .unwrap()
                    .starts_with(expected)
            ),
            (200, true)
        );
        assert_eq!(
            headers["content-security-policy"],
            "sandbox; default-src 'none'"
        );
    }

    app.clock.advance(Duration::from_secs(599));
    assert_eq!(fetch(&app, &address).await.0, 200);
    app.clock.advance(Duration::from_secs(1));
    assert_eq!(fetch(&app, &address).await.0, 404);

    let address = url(&house.submission().await, 0);
    assert_eq!(
        house.guest(Method::DELETE, &path(&file), None).await.data(),
        json!({ "success": true })
    );
    assert_eq!(fetch(&app, &address).await.0, 404);
    wait_for_files(&app, 1).await;
    for method in [Method::DELETE, Method::GET] {
        house.guest(method, &path(&file), None).await.error(404);
    }
    assert_eq!(house.step_view(step, "en").await["files"], json!([second]));
}

on_both!(
    a_stored_name_ends_with_the_extension_of_the_detected_type,
    uploads()
);
async fn a_stored_name_ends_with_the_extension_of_the_detected_type(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let file = upload(&house, step, "passport.hta", None, PDF).await.data();
    assert_eq!(file["name"], "passport.pdf");
    let read = house.submission().await;
    assert_eq!(read["steps"][0]["files"][0]["name"], "passport.pdf");
    let (_, headers, _) = fetch(&app, &url(&read, 0)).await;
    assert_eq!(
        headers["content-disposition"],
        "attachment; filename*=UTF-8''passport.pdf"
    );
}

on_both!(
    a_form_with_a_file_that_is_sent_twice_adds_one_file,
    uploads()
);
async fn a_form_with_a_file_that_is_sent_twice_adds_one_file(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let key = new_id().to_string();
    let tapped = (0..2).map(|_| upload_once(&house, step, "Passport", &key));
    let answers = futures_util::future::join_all(tapped).await;
    assert_eq!(
        answers
            .iter()
            .map(|answer| answer.status)
            .collect::<Vec<_>>(),
        [201, 201]
    );
    assert_eq!(answers[0].data()["id"], answers[1].data()["id"]);
    assert_eq!(
        upload_once(&house, step, "Passport", &key).await.data()["id"],
        answers[0].data()["id"]
    );
    let other = upload_once(&house, step, "Visa", &key).await.data();
    assert_ne!(
        other["id"],
        answers[0].data()["id"],
        "of another sort it is another file"
    );
    let later = upload_once(&house, step, "Passport", &new_id().to_string())
        .await
        .data();
    assert_ne!(
        later["id"],
        answers[0].data()["id"],
        "of another form it is another file"
    );
    assert_eq!(rows(&app).await, 3);
    wait_for_files(&app, 3).await;
    let page = app
        .http
        .get(format!("{}/stay/{}/steps/{step}", app.base, house.token))
        .send()
        .await
        .unwrap();
    assert!(
        page.text()
            .await
            .unwrap()
            .contains(r#"<input type="hidden" name="key" value="#)
    );
}

on_both!(a_step_takes_ten_files_also_if_they_are_the_same, uploads());
async fn a_step_takes_ten_files_also_if_they_are_the_same(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    for number in 0..10 {
        assert_eq!(
            upload(&house, step, "id.pdf", None, PDF).await.status,
            201,
            "file {number}"
        );
    }
    assert_eq!(
        upload(&house, step, "id.pdf", None, PDF).await.issues(),
        ["file"]
    );
    assert_eq!(rows(&app).await, 10);
}

on_both!(
    file_storage_is_limited_per_stay_and_organization,
    uploads(),
    "--uploads-per-stay=3KiB",
    "--uploads-per-organization=5KiB"
);
async fn file_storage_is_limited_per_stay_and_organization(app: App) {
    let (house, neighbour) = (House::build(&app).await, House::build(&app).await);
    let step = house.step("document_upload", json!({})).await;
    let file = |number: u8| [PDF, &vec![number; 1 << 10]].concat();
    upload(&house, step, "1.pdf", None, &file(1)).await.data();
    let first = upload(&house, step, "2.pdf", None, &file(2)).await.data();
    let refused = upload(&house, step, "3.pdf", None, &file(3)).await;
    assert_eq!(
        (
            refused.status,
            refused.body["error"]["details"]["key"].as_str()
        ),
        (400, Some("guest.stay_storage_limit"))
    );
    assert_eq!(refused.issues(), ["file"]);
    wait_for_files(&app, 2).await;
    // Deleting a file makes room for another file within the storage limit of the stay.
    house
        .guest(
            Method::DELETE,
            &format!("/steps/{step}/files/{}", id(&first["id"])),
            None,
        )
        .await
        .data();
    upload(&house, step, "4.pdf", None, &file(4)).await.data();
    let put = |limit: Value| house.org.put("", json!({ "uploadLimitBytes": limit }));
    assert_eq!(put(json!(2_100)).await["uploadLimitBytes"], 2_100);
    house
        .guest(
            Method::DELETE,
            &format!(
                "/steps/{step}/files/{}",
                id(&house.step_view(step, "en").await["files"][0]["id"])
            ),
            None,
        )
        .await
        .data();
    let refused = upload(&house, step, "5.pdf", None, &[PDF, &[5; 1_100]].concat()).await;
    assert_eq!(
        refused.body["error"]["details"]["key"],
        "organization.storage_limit"
    );
    assert_eq!(put(Value::Null).await["uploadLimitBytes"], Value::Null);
    upload(&house, step, "5.pdf", None, &[PDF, &[5; 1_100]].concat())
        .await
        .data();
    let step = neighbour.step("document_upload", json!({})).await;
    upload(&neighbour, step, "1.pdf", None, &file(1))
        .await
        .data();
}

on_both!(
    uploads_that_would_use_the_disk_reserve_get_503,
    uploads(),
    "--uploads-reserve=1000TiB"
);
async fn uploads_that_would_use_the_disk_reserve_get_503(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let refused = upload(&house, step, "1.pdf", None, PDF).await;
    assert_eq!(
        (refused.status, refused.body["error"]["message"].as_str()),
        (
            503,
            Some("The service has no space for files at the moment.")
        )
    );
    house
        .answer(step, json!({ "note": "Other writes go on." }))
        .await
        .data();
}

on_both!(required_documents_complete_a_step, uploads());
async fn required_documents_complete_a_step(app: App) {
    let house = House::build(&app).await;
    let required =
        json!({ "requiredDocumentTypes": ["Passport", "visa "], "isPhotoIdRequired": true });
    let step = house.step("identity_check", required).await;
    assert_eq!(
        house.step_view(step, "en").await["requiredDocumentTypes"],
        json!(["Passport", "visa "])
    );
    let free = house.step("document_upload", json!({})).await;
    let is_complete = async |step| house.step_view(step, "en").await["isComplete"] == true;
    house.answer(step, json!({ "done": true })).await.data();
    upload(&house, step, "1.jpg", Some("PASSPORT"), JPEG)
        .await
        .data();
    upload(&house, step, "2.jpg", Some("other"), JPEG)
        .await
        .data();
    upload(&house, free, "3.jpg", Some("visa"), JPEG)
        .await
        .data();
    assert!(!is_complete(step).await && !is_complete(free).await);
    house.submit().await.error(409);
    let visa = upload(&house, step, "4.pdf", Some(" Visa"), PDF)
        .await
        .data();
    house.answer(free, json!({})).await.data();
    assert!(
        is_complete(step).await && is_complete(free).await,
        "none is required of the other"
    );
    assert_eq!(
        house.submission().await["steps"][0]["settings"]["requiredDocumentTypes"],
        json!(["Passport", "visa "])
    );
    house.submit().await.data();
    upload(&house, step, "5.jpg", None, JPEG).await.error(409);
    house
        .guest(
            Method::DELETE,
            &format!("/steps/{step}/files/{}", id(&visa["id"])),
            None,
        )
        .await
        .error(409);
    wait_for_files(&app, 4).await;
}

on_both!(
    every_fault_of_an_upload_is_named_and_nothing_is_stored,
    uploads()
);
async fn every_fault_of_an_upload_is_named_and_nothing_is_stored(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let mut large = JPEG.to_vec();
    large.resize(LIMIT + 1, b'x');
    let file = |content: &'static [u8]| -> Part<'static> { ("file", Some("a.jpg"), content) };
    let long = "x".repeat(201);
    let wrong: Vec<(Vec<Part<'_>>, &[&str])> = vec![
        (vec![("file", Some("a.jpg"), &large)], &["file"]),
        (
            vec![
                ("file", Some("a.jpg"), &large),
                ("documentType", None, long.as_bytes()),
            ],
            &["documentType", "file"],
        ),
        (
            vec![file(
                b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
            )],
            &["file"],
        ),
        (
            vec![file(b"<!doctype html><script>alert(1)</script>")],
            &["file"],
        ),
        (vec![file(b"<html>\n%PDF-1.7")], &["file"]),
        (vec![file(b"PK\x03\x04%PDF-1.7")], &["file"]),
        (vec![file(b"")], &["file"]),
        (vec![], &["file"]),
        (
            vec![("document", Some("a.jpg"), JPEG)],
            &["document", "file"],
        ),
        (vec![file(JPEG), file(JPEG)], &["file"]),
        (vec![file(JPEG), ("token", None, b"x")], &["token"]),
        (
            vec![
                file(JPEG),
                ("documentType", None, b"a"),
                ("documentType", None, b"b"),
            ],
            &["documentType"],
        ),
        (
            vec![file(JPEG), ("documentType", None, b" ")],
            &["documentType"],
        ),
        (
            vec![file(JPEG), ("documentType", None, b"a\0b")],
            &["documentType"],
        ),
        (
            vec![file(JPEG), ("documentType", None, b"\xFF\xFE")],
            &["documentType"],
        ),
    ];
    for (parts, issues) in wrong {
        let response = send(&app, &house.token, step, &parts).await;
        assert_eq!(response.issues(), issues, "{}", response.body);
    }
    let reported = send(&app, &house.token, step, &[("file", None, &large)])
        .await
        .error(400);
    assert_eq!(
        reported["details"]["issues"][0]["message"],
        "is larger than 10 MiB"
    );
    let url = format!(
        "{}/guest/v1/stays/{}/steps/{step}/files",
        app.base, house.token
    );
    for (kind, body) in [
        ("application/json", b"{\"file\": {}}".to_vec()),
        ("multipart/form-data", form(&[file(JPEG)])),
        ("multipart/form-data; boundary=YY", form(&[file(JPEG)])),
        (
            "multipart/form-data; boundary=XX",
            form(&[file(JPEG)])[..60].to_vec(),
        ),
        ("multipart/form-data; boundary=XX", Vec::new()),
    ] {
        ApiResponse::of(app.http.post(&url).header("content-type", kind).body(body))
            .await
            .error(400);
    }
    wait_for_files(&app, 0).await;
    assert_eq!(
        (rows(&app).await, house.status().await.as_str()),
        (0, "not_started")
    );

    assert_eq!(
        send(
            &app,
            &house.token,
            step,
            &[("file", Some("a\0b.jpg"), JPEG)]
        )
        .await
        .issues(),
        [""]
    );
    large.pop();
    assert_eq!(
        send(
            &app,
            &house.token,
            step,
            &[("file", Some("../../etc/passwd"), &large)]
        )
        .await
        .data()["size"],
        LIMIT
    );
    assert_eq!(
        house.step_view(step, "en").await["files"][0]["name"],
        "passwd.jpg"
    );
}

on_both!(files_belong_to_a_single_step_of_a_single_stay, uploads());
async fn files_belong_to_a_single_step_of_a_single_stay(app: App) {
    let house = House::build(&app).await;
    let (step, other) = (
        house.step("document_upload", json!({})).await,
        house.step("identity_check", json!({})).await,
    );
    let (details, unseen) = (
        house.step("your_details", json!({})).await,
        house.unassigned_step("document_upload", json!({})).await,
    );
    let file = id(&upload(&house, step, "a.jpg", None, JPEG).await.data()["id"]);
    let neighbour = House::build(&app).await;
    let foreign = neighbour.step("document_upload", json!({})).await;
    let theirs = id(&upload(&neighbour, foreign, "a.jpg", None, JPEG)
        .await
        .data()["id"]);
    let stay = house.org.reservation(Some(house.flat)).await;
    let second = house.org.stay_token(stay).await;
    for nowhere in [details, unseen, foreign, new_id()] {
        upload(&house, nowhere, "a.jpg", None, JPEG)
            .await
            .error(404);
    }
    for (token, step, file) in [
        (&house.token, other, file),
        (&house.token, details, file),
        (&house.token, step, theirs),
        (&house.token, step, new_id()),
        (&second, step, file),
        (&neighbour.token, foreign, file),
    ] {
        for method in [Method::DELETE, Method::GET] {
            let path = format!("/steps/{step}/files/{file}");
            test_support::house::guest(&app, token, method, &path, None)
                .await
                .error(404);
        }
    }
    // The service removes the files of refused requests. The accepted files remain.
    wait_for_files(&app, 2).await;
    for number in 1..10_u8 {
        upload(
            &house,
            step,
            &format!("{number}.jpg"),
            None,
            &[JPEG, &[number]].concat(),
        )
        .await
        .data();
    }
    let response = upload(&house, step, "10.jpg", None, &[JPEG, b"10"].concat()).await;
    assert_eq!(response.issues(), ["file"]);
    assert_eq!(
        response.body["error"]["details"]["key"],
        "guest.files_limit"
    );
    upload(&house, other, "10.jpg", None, JPEG).await.data();
    wait_for_files(&app, 12).await;
    house
        .update_portal(house.portal, json!({ "isPrecheckinEnabled": false }))
        .await;
    upload(&house, other, "11.jpg", None, JPEG).await.error(404);
    wait_for_files(&app, 12).await;
}

on_both!(unreferenced_files_are_deleted_after_an_hour, uploads());
async fn unreferenced_files_are_deleted_after_an_hour(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    upload(&house, step, "a.jpg", None, JPEG).await.data();
    let named = keys(&app).await.concat();
    let fresh = |organization: Uuid| {
        let id = Ids::default().uuid(app.clock.now()).simple().to_string();
        format!(
            "{}{id}-{}",
            folder(organization),
            Uuid::from_u128(7).simple()
        )
    };
    let minutes = |count: u64| Duration::from_secs(60 * count);
    // The first sweep looks at all stored files. Later sweeps look at all of them only once an
    // hour.
    app.server.sweep_once().await;
    app.clock.advance(minutes(30));
    let (lost, strange) = (fresh(house.org.id), "strange/readme".to_owned());
    put(&app, &lost).await;
    put(&app, &strange).await;
    app.clock.advance(minutes(40));
    app.server.sweep_once().await;
    assert_eq!(keys(&app).await.len(), 3, "it is 40 minutes old");
    app.clock.advance(minutes(30));
    let young = fresh(new_id());
    put(&app, &young).await;
    app.clock.advance(minutes(31));
    app.server.sweep_once().await;
    let mut remaining = [named.clone(), strange.clone(), young];
    remaining.sort();
    assert_eq!(keys(&app).await, remaining);
    app.clock.advance(minutes(120));
    app.server.sweep_once().await;
    assert_eq!(keys(&app).await, [named, strange]);
    assert_eq!(
        house.step_view(step, "en").await["files"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

on_both!(files_are_deleted_30_days_after_check_out, uploads());
async fn files_are_deleted_30_days_after_check_out(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    upload(&house, step, "a.jpg", None, JPEG).await.data();
    // Check-out is on 15 December at 11:00 in Madrid. The retention period ends 30 days later.
    let until = |time: &str| {
        let time: jiff::Timestamp = time.parse().unwrap();
        app.clock
            .advance(Duration::try_from(app.clock.now().duration_until(time)).unwrap());
    };
    until("2027-01-14T09:59:59Z");
    app.server.sweep_once().await;
    assert_eq!((rows(&app).await, keys(&app).await.len()), (1, 1));
    // If the check-out changes, the service applies the new end of the retention period within a
    // day.
    let mut moved = reservation(Some(house.flat));
    moved["checkOut"] = json!("2026-12-20");
    house.org.put_record("reservation", house.stay, moved).await;
    until("2027-01-14T10:00:00Z");
    app.server.sweep_once().await;
    assert_eq!((rows(&app).await, keys(&app).await.len()), (1, 1));
    until("2027-01-19T10:00:00Z");
    app.server.sweep_once().await;
    assert_eq!((rows(&app).await, keys(&app).await.len()), (0, 0));
    assert_eq!(house.submission().await["steps"][0]["files"], json!([]));
}

on_both!(files_are_deleted_with_their_stay_or_organization, uploads());
async fn files_are_deleted_with_their_stay_or_organization(app: App) {
    let (house, gone) = (House::build(&app).await, House::build(&app).await);
    for house in [&house, &gone] {
        let step = house.step("document_upload", json!({})).await;
        upload(house, step, "a.jpg", None, JPEG).await.data();
        upload(house, step, "b.pdf", None, PDF).await.data();
    }
    app.platform()
        .ok(
            Method::DELETE,
            &format!("/organizations/{}", gone.org.id),
            None,
        )
        .await;
    let keys = wait_for_files(&app, 2).await;
    assert!(
        keys.iter()
            .all(|key| key.starts_with(&folder(house.org.id)))
    );
    for _ in 0..2 {
        app.server.sweep_once().await;
    }
    app.platform()
        .ok(
            Method::PUT,
            &format!("/organizations/{}", gone.org.id),
            Some(json!({ "name": "Anew" })),
        )
        .await;
    house.org.delete_record("reservation", house.stay).await;
    wait_for_files(&app, 0).await;
    assert_eq!(rows(&app).await, 0);
}

on_both!(a_stay_may_have_two_uploads_at_once, uploads());
async fn a_stay_may_have_two_uploads_at_once(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(app.server.address).await.unwrap();
        let head = format!(
            "POST /guest/v1/stays/{}/steps/{step}/files HTTP/1.1\r\nHost: x\r\nContent-Type: \
                multipart/form-data; boundary=XX\r\nContent-Length: 5000\r\nExpect: \
                100-continue\r\n\r\n--XX\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n",
            house.token
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
            .write_all(&[JPEG, &[b'x'; 1_000]].concat())
            .await
            .unwrap();
        // The server sends `100 Continue` once it has admitted the upload.
        let mut reported = [0; 25];
        in_time(
            "the server admits the upload",
            stream.read_exact(&mut reported),
        )
        .await
        .unwrap();
        assert!(
            reported.starts_with(b"HTTP/1.1 100 "),
            "{}",
            String::from_utf8_lossy(&reported)
        );
        slow.push(stream);
    }
    let refused = upload(&house, step, "a.jpg", None, JPEG).await;
    refused.error(503);
    assert!(refused.header("retry-after").is_some());
    let neighbour = House::build(&app).await;
    let theirs = neighbour.step("document_upload", json!({})).await;
    upload(&neighbour, theirs, "a.jpg", None, JPEG).await.data();
    drop(slow);
    wait_until("another upload is admitted", async || {
        upload(&house, step, "a.jpg", None, JPEG).await.status == 201
    })
    .await;
    wait_for_files(&app, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_file_storage_uploads_get_503() {
    let Some(app) = App::on_postgres(&[]).await else {
        return;
    };
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let response = upload(&house, step, "a.jpg", None, JPEG).await;
    response.error(503);
    assert!(response.header("retry-after").is_some());
    app.server.sweep_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_sqlite_files_are_stored_beside_the_database() {
    use std::os::unix::fs::PermissionsExt as _;
    let app = App::on_sqlite(&[]).await;
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    upload(&house, step, "a.jpg", None, JPEG).await.data();
    let root = PathBuf::from(format!(
        "{}.uploads",
        app.database_url.strip_prefix("sqlite:").unwrap()
    ));
    let file = root.join(&keys(&app).await[0]);
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (
            std::fs::read(&file).unwrap().as_slice(),
            mode(&root),
            mode(&file)
        ),
        (JPEG, 0o700, 0o600)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_storage_url_is_reported_at_start() {
    test_support::choose_tls_provider();
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", directory.path().join("test.db").display());
    for (url, reported) in [
        ("uploads", "is not a storage URL such as"),
        ("ftp://x/y", "is not a storage URL such as"),
        ("file:///proc/none", "/proc/none: "),
    ] {
        let flags = test_support::serve_flags(&database, &["--uploads-url", url]);
        let started = vestibule::server::Server::start(flags, engine::clock::Clock::system()).await;
        let error = started.err().unwrap();
        assert!(
            error.starts_with("--uploads-url: ") && error.contains(reported),
            "{error}"
        );
    }
}

/// Tests files in a bucket: upload, reading, deletion, the removal of lost files, and the erasure
/// of the organization. The server process gets the bucket's settings from its environment.
#[tokio::test(flavor = "multi_thread")]
async fn files_can_be_stored_in_a_bucket() {
    let bucket = Bucket::start().await;
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", directory.path().join("test.db").display());
    let variables = [
        ("AWS_ENDPOINT", bucket.endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "eu-1"),
    ];
    let environment: Vec<(&str, PathBuf)> = variables
        .iter()
        .map(|(name, value)| (*name, PathBuf::from(value)))
        .collect();
    // The bucket contains a file that belongs to no stay and is old enough to delete. It also
    // contains objects whose names the service would not create.
    let old = Ids::default()
        .uuid("2026-01-01T00:00:00Z".parse().unwrap())
        .simple()
        .to_string();
    let lost = format!(
        "guests/files/{}{old}-{}",
        folder(new_id()),
        Uuid::from_u128(7).simple()
    );
    let strange = [
        "guests/files/strange/a",
        "guests/files/strange/b",
        "guests/files/strange/c",
        "other",
    ];
    for key in strange.iter().copied().chain([lost.as_str()]) {
        bucket.put(key, b"x");
    }
    let node = Node::start_with(
        &database,
        &["--uploads-url", "s3://bucket/guests/files/"],
        &environment,
    );
    let platform = node.platform();
    let (organization, flat, stay) = (new_id(), new_id(), new_id());
    let of = |rest: &str| format!("/organizations/{organization}{rest}");
    platform
        .ok(Method::PUT, &of(""), Some(json!({ "name": "O" })))
        .await;
    let records = json!([
        {
            "kind": "property",
            "id": flat,
            "data": { "name": "Flat", "timezone": "Europe/Madrid", "country": "ES" },
        },
        { "kind": "reservation", "id": stay, "data": reservation(Some(flat)) },
    ]);
    platform
        .ok(
            Method::POST,
            &of("/sync"),
            Some(json!({ "records": records })),
        )
        .await;
    let key = json!({
        "name": "k",
        "permissions": [
            "view_properties",
            "modify_properties",
            "manage_organization",
            "view_reservations",
        ],
    });
    let key = platform.ok(Method::POST, &of("/api-keys"), Some(key)).await;
    let api = node.api(key["token"].as_str().unwrap());
    api.post("/portals", json!({ "name": "Casa", "isDefault": true }))
        .await
        .data();
    let step = json!({ "stepType": "document_upload", "nickname": "Papers", "isActive": true });
    let step = id(&api.post("/precheck-steps", step).await.data()["id"]);
    let scope = json!({ "entityType": "precheck_step", "entityId": step, "propertyIds": [flat] });
    api.post("/entity-scopes/add", scope).await.data();
    let link = platform
        .ok(
            Method::POST,
            &of(&format!("/reservations/{stay}/guest-link")),
            None,
        )
        .await;
    let files = format!(
        "{}/guest/v1/stays/{}/steps/{step}/files",
        node.base,
        link["token"].as_str().unwrap()
    );
    let http = http_client();
    let send = |content: &[u8]| {
        let body = form(&[("file", Some("a.pdf"), content)]);
        ApiResponse::of(
            http.post(&files)
                .header("content-type", "multipart/form-data; boundary=XX")
                .body(body),
        )
    };

    let mut large = PDF.to_vec();
    large.resize(LIMIT, b'y');
    let small = id(&send(PDF).await.data()["id"]);
    assert_eq!((bucket.calls("put"), bucket.calls("begin")), (1, 0));
    send(&large).await.data();
    assert!(
        bucket.calls("begin") == 1 && bucket.calls("part") >= 2 && bucket.calls("complete") == 1
    );
    large.push(b'y');
    send(&large).await.error(400);
    let read = platform
        .get(&of(&format!("/reservations/{stay}/precheckin")))
        .await
        .data();
    let bytes = http
        .get(url(&read, 1))
        .send()
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap();
    assert_eq!(bytes, large[..LIMIT]);
    ApiResponse::of(http.delete(format!("{files}/{small}")))
        .await
        .data();
    // The first sweep lists the bucket page by page. It deletes the file that belongs to no stay.
    // It keeps objects whose names differ in form from the names that the service creates.
    let expected = |keys: &[String]| {
        let ours = keys
            .iter()
            .filter(|key| key.starts_with(&format!("guests/files/{organization}/")))
            .count();
        ours == 1
            && !keys.contains(&lost)
            && strange
                .iter()
                .all(|key| keys.iter().any(|there| there == key))
            && keys.len() == 5
    };
    read_until(
        async || (bucket.keys(), bucket.parts()),
        |(keys, parts)| expected(keys) && *parts == 0,
    )
    .await;
    assert!(bucket.calls("list") >= 2 && bucket.calls("give up") == 1);
    platform.ok(Method::DELETE, &of(""), None).await;
    read_until(async || bucket.keys(), |keys| keys.len() == strange.len()).await;
}
