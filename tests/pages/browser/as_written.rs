//! Browser tests of two results that only a browser produces: the order of digits in right-to-left
//! text, and photos that the page's script has scaled down.

use std::time::Duration;

use serde_json::json;
use test_support::App;
use test_support::files::uploads;
use test_support::house::House;

use super::driver::browse;
use super::window::PHONE;

const DEADLINE: Duration = Duration::from_secs(120);

/// Script that returns the characters of a text in the order in which the browser draws them, from
/// left to right.
const DRAWN: &str = "
    const range = document.createRange(), drawn = [];
    const texts = document.createTreeWalker(document.querySelector('.prose'), NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        for (let place = 0; place < texts.currentNode.length; place++) {
            range.setStart(texts.currentNode, place);
            range.setEnd(texts.currentNode, place + 1);
            const box = range.getBoundingClientRect();
            drawn.push([Math.round(box.top), box.left, range.toString()]);
        }
    }
    return drawn.sort((one, other) => one[0] - other[0] || one[1] - other[1]).map((it) =>
        it[2]).join('');
";

/// Script that puts a photo of more than 10 MiB into the first file field. The photo is noise,
/// which does not compress.
const BIG_PHOTO: &str = "
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 2200;
    const context = canvas.getContext('2d'), noise = context.createImageData(2200, 2200);
    for (let place = 0; place < noise.data.length; place += 65536) \
        crypto.getRandomValues(noise.data.subarray(place, place + 65536));
    for (let place = 3; place < noise.data.length; place += 4) noise.data[place] = 255;
    context.putImageData(noise, 0, 0);
    return new Promise((done) => canvas.toBlob((blob) => {
        const files = new DataTransfer();
        files.items.add(new File([blob], 'passport.png', { type: 'image/png' }));
        document.querySelector('form:not(.cam) input[type=file]').files = files.files;
        done(blob.size);
    }, 'image/png'));
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_in_a_hebrew_manual_are_drawn_as_they_were_typed() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let house = House::build(&app).await;
        for code in ["*4321#", "+34 600 123 456", "1234-5678!"] {
            let text = json!({
                "sourceTable": "manual",
                "texts": { "en": "Code", "he": format!("הקוד הוא {code}") },
            });
            let text = house.api.post("/translations", text).await.data()["id"].clone();
            let fields = json!({
                "nickname": "Door",
                "title": "Door",
                "descriptionId": text,
                "isActive": true,
                "propertyId": house.flat,
            });
            let manual = house.api.post("/portal-manuals", fields).await.data()["id"].clone();
            window.resize(PHONE).await;
            let page = format!(
                "{}/stay/{}/manuals/{}?language=he",
                app.base,
                house.token,
                manual.as_str().unwrap()
            );
            window.go(&page).await;
            let drawn = window.run(DRAWN).await;
            assert!(
                drawn.as_str().unwrap().contains(code),
                "{code} is drawn as {drawn}"
            );
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_photo_above_the_limit_is_scaled_down_before_it_is_sent() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[uploads()]).await;
        let house = House::build(&app).await;
        let step = house.step("document_upload", json!({})).await;
        window.resize(PHONE).await;
        window
            .go(&format!("{}/stay/{}/steps/{step}", app.base, house.token))
            .await;
        let size = window.run(BIG_PHOTO).await;
        assert!(size.as_u64().unwrap() > 10 << 20, "{size}");
        window
            .run("document.querySelector('form:not(.cam) button[type=submit]').click()")
            .await;
        window
            .until(
                "the photo is listed",
                "return Boolean(document.querySelector('.got'))",
            )
            .await;
        let files = house.step_view(step, "en").await["files"].clone();
        assert_eq!(
            (&files[0]["name"], &files[0]["contentType"]),
            (&json!("passport.jpg"), &json!("image/jpeg")),
            "{files}"
        );
        assert!(files[0]["size"].as_u64().unwrap() <= 10 << 20, "{files}");
    })
    .await;
}
